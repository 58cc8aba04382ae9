//! The APIs that can be run. One more codec is one more entry of the table.

use std::sync::Arc;

use pi_ai_wire::codec::Decoder;
use pi_core::{Provider, Request};

/// How to talk one API.
pub(crate) struct Api {
    /// The name in [`pi_core::Model::api`].
    pub(crate) name: &'static str,
    /// Makes the decoder of one response.
    pub(crate) decoder: fn(&Request) -> Box<dyn Decoder>,
    /// Makes the provider.
    pub(crate) provider: fn(Access) -> anyhow::Result<Arc<dyn Provider>>,
}

/// How a provider reaches its server.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    /// By the address in the model.
    Direct,
    /// All requests go to this local server as the proxy, which sees the whole URL.
    Through(String),
}

const APIS: &[Api] = &[];

/// Returns how to talk an API, if this workspace can.
pub(crate) fn find(name: &str) -> Option<&'static Api> {
    APIS.iter().find(|api| api.name == name)
}
