//! The one TLS stack: rustls over ring, with the certificates that the system trusts.
//!
//! The crypto provider is passed in here and never installed for the process, so that it cannot
//! clash with one that the application chose. `docs/decisions/0003-tls-provider.md` says why ring.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// Creates the configuration for servers of the network.
///
/// # Errors
/// If the system has no certificates that it trusts.
pub(crate) fn system() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(negotiating(config))
}

/// Creates a configuration that trusts nobody, for connections that need no TLS. It does not read
/// the system's certificates, which a machine in a container may not have.
///
/// # Errors
/// None in practice: ring has the default protocol versions.
pub(crate) fn trusting_nobody() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(negotiating(config))
}

fn negotiating(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}
