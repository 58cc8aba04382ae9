//! The APIs that can be run. One more codec is one more entry of the table.

use std::sync::Arc;

use anyhow::Result;
use pi_ai::{Anthropic, AzureOpenAi, HttpClient, OpenAiCompletions, OpenAiResponses};
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::{
    anthropic_messages, azure_openai_responses, openai_completions, openai_responses,
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

const APIS: &[Api] = &[
    Api {
        name: anthropic_messages::API,
        decoder: |request| Box::new(anthropic_messages::Decoder::new(Arc::clone(&request.model))),
        provider: |access| Ok(Arc::new(Anthropic::new().with_client(client(access)?))),
    },
    Api {
        name: azure_openai_responses::API,
        decoder: |request| {
            Box::new(azure_openai_responses::Decoder::new(Arc::clone(
                &request.model,
            )))
        },
        provider: |access| Ok(Arc::new(AzureOpenAi::new().with_client(client(access)?))),
    },
    Api {
        name: openai_completions::API,
        decoder: |request| Box::new(openai_completions::Decoder::new(Arc::clone(&request.model))),
        provider: |access| {
            Ok(Arc::new(
                OpenAiCompletions::new().with_client(client(access)?),
            ))
        },
    },
    Api {
        name: openai_responses::API,
        decoder: |request| Box::new(openai_responses::Decoder::new(Arc::clone(&request.model))),
        provider: |access| {
            Ok(Arc::new(
                OpenAiResponses::new().with_client(client(access)?),
            ))
        },
    },
];

/// Makes a client that needs no certificates: everything is on this machine.
fn client(access: Access) -> Result<HttpClient> {
    let proxy = match access {
        Access::Direct => return Ok(HttpClient::new()),
        Access::With(client) => return Ok(client),
        Access::Through(proxy) => proxy,
    };
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .proxy(reqwest::Proxy::http(format!("http://{proxy}"))?)
        .build()?;
    Ok(HttpClient::builder().reqwest(client).build())
}

/// Returns how to talk an API, if this workspace can.
#[must_use]
pub fn find(name: &str) -> Option<&'static Api> {
    APIS.iter().find(|api| api.name == name)
}
