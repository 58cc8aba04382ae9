//! The APIs that can be run. One more codec is one more entry of the table.

use std::sync::Arc;

use anyhow::Result;
use pi_ai::{
    Anthropic, AzureOpenAi, Google, HttpClient, Mistral, OpenAiCompletions, OpenAiResponses,
};
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::{
    anthropic_messages, azure_openai_responses, google_generative_ai, mistral_conversations,
    openai_completions, openai_responses,
};
use pi_core::{Provider, Request};

/// How to talk one API.
#[derive(Debug)]
pub struct Api {
    /// The name in [`pi_core::Model::api`].
    pub name: &'static str,
    /// Makes the decoder of one response.
    pub decoder: fn(&Request) -> Box<dyn Decoder>,
    /// Makes the provider.
    pub provider: fn(Access) -> Result<Arc<dyn Provider>>,
}

/// How a provider reaches its server.
#[derive(Debug, Clone)]
pub enum Access {
    /// By the address in the model.
    Direct,
    /// By the address in the model, with this client.
    With(HttpClient),
    /// All requests go to this local server as the proxy, which sees the whole URL.
    Through(String),
}

/// The entry of a codec and its provider.
macro_rules! api {
    ($codec:ident, $provider:ident) => {
        Api {
            name: $codec::API,
            decoder: |request| Box::new($codec::Decoder::new(Arc::clone(&request.model))),
            provider: |access| Ok(Arc::new($provider::new().with_client(client(access)?))),
        }
    };
}

/// All APIs.
pub const ALL: &[Api] = &[
    api!(anthropic_messages, Anthropic),
    api!(azure_openai_responses, AzureOpenAi),
    api!(google_generative_ai, Google),
    api!(mistral_conversations, Mistral),
    api!(openai_completions, OpenAiCompletions),
    api!(openai_responses, OpenAiResponses),
];

/// Makes a client that needs no certificates: everything is on this machine.
fn client(access: Access) -> Result<HttpClient> {
    let proxy = match access {
        Access::Direct => return Ok(HttpClient::new()),
        Access::With(client) => return Ok(client),
        Access::Through(proxy) => proxy,
    };
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls_without_certificates()?)
        .proxy(reqwest::Proxy::http(format!("http://{proxy}"))?)
        .build()?;
    Ok(HttpClient::builder().reqwest(client).build())
}

/// Makes a TLS configuration that trusts nobody: everything is on this machine.
///
/// # Errors
/// If the cryptography has no protocol version.
pub fn tls_without_certificates() -> Result<rustls::ClientConfig> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth())
}

/// Returns how to talk an API, if this workspace can.
#[must_use]
pub fn find(name: &str) -> Option<&'static Api> {
    ALL.iter().find(|api| api.name == name)
}
