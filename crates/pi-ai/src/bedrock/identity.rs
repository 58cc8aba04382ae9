//! Who asks: access keys, and where AWS's own programs find them.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials as _;
use pi_core::{ErrorKind, ExposeSecret, ProviderError, SecretString};
use pi_http::HttpClient;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use super::connector::Connector;

/// How long before they expire credentials are looked up anew.
const MARGIN: Duration = Duration::from_secs(60);

/// Who asks.
#[derive(Clone, Default)]
pub(super) struct Identity(Kind);

#[derive(Clone)]
enum Kind {
    Key(Credentials),
    Chain(Arc<Chain>),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Chain(Arc::default())
    }
}

/// The places where AWS's own programs look, and what was found there.
#[derive(Default)]
struct Chain {
    profile: Option<String>,
    config: OnceLock<SdkConfig>,
    found: Mutex<Option<Credentials>>,
}

impl Identity {
    pub(super) fn of_key(
        id: String,
        secret: &SecretString,
        session_token: Option<&SecretString>,
    ) -> Self {
        let token = session_token.map(|token| token.expose_secret().to_owned());
        let key = Credentials::new(id, secret.expose_secret(), token, None, "pi-ai");
        Self(Kind::Key(key))
    }

    pub(super) fn of_profile(profile: String) -> Self {
        Self(Kind::Chain(Arc::new(Chain {
            profile: Some(profile),
            ..Chain::default()
        })))
    }

    /// Returns the access key that was given.
    pub(super) fn key(&self) -> Option<&Credentials> {
        match &self.0 {
            Kind::Key(key) => Some(key),
            Kind::Chain(_) => None,
        }
    }

    /// Returns true if a profile was named.
    pub(super) fn has_profile(&self) -> bool {
        match &self.0 {
            Kind::Key(_) => false,
            Kind::Chain(chain) => chain.profile.is_some(),
        }
    }

    /// Returns the region of the profile.
    pub(super) async fn region(&self, client: &HttpClient) -> Option<String> {
        let Kind::Chain(chain) = &self.0 else {
            return None;
        };
        let region = chain.config(client).await.region()?;
        Some(region.as_ref().to_owned())
    }

    /// Returns the credentials to sign with at a time.
    pub(super) async fn credentials(
        &self,
        client: &HttpClient,
        now: SystemTime,
    ) -> Result<Credentials, ProviderError> {
        match &self.0 {
            Kind::Key(key) => Ok(key.clone()),
            Kind::Chain(chain) => chain.credentials(client, now).await,
        }
    }
}

impl Chain {
    /// Several requests that come at once may each look; what they find is the same.
    async fn config(&self, client: &HttpClient) -> &SdkConfig {
        if let Some(config) = self.config.get() {
            return config;
        }
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(Connector::new(client.clone()));
        if let Some(profile) = &self.profile {
            loader = loader.profile_name(profile);
        }
        // Who looks for secrets in these places may log what is found.
        let config = loader.load().with_subscriber(NoSubscriber::new()).await;
        self.config.get_or_init(|| config)
    }

    async fn credentials(
        &self,
        client: &HttpClient,
        now: SystemTime,
    ) -> Result<Credentials, ProviderError> {
        let kept = self
            .found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let is_fresh = |kept: &Credentials| {
            let expiry = kept.expiry().map(|expiry| expiry.checked_sub(MARGIN));
            expiry.is_none_or(|expiry| expiry.is_some_and(|expiry| now < expiry))
        };
        if let Some(kept) = kept.filter(is_fresh) {
            return Ok(kept);
        }
        let provider = self.config(client).await.credentials_provider();
        let missing = |why: &dyn fmt::Display| {
            let text = format!("no credentials of AWS: {why}");
            ProviderError::new(ErrorKind::Auth, text)
        };
        let provider = provider.ok_or_else(|| missing(&"there is no place to look for them"))?;
        let looking = provider.provide_credentials();
        let found = looking.with_subscriber(NoSubscriber::new()).await;
        let found = found.map_err(|error| missing(&error).with_source(error))?;
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        Ok(found)
    }
}
