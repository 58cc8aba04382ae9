//! The provider for everything that speaks `mistral-conversations`.

use std::collections::BTreeMap;

use pi_ai_wire::errors::stream_error;
use pi_ai_wire::mistral_conversations as wire;
use pi_core::{Model, ProviderError, Request};
use serde::Serialize;
use serde_json::Value;

use crate::http_provider::HttpProvider;
use crate::protocol::{KeyHeader, Protocol};

/// The provider for Mistral's own API.
///
/// # Examples
/// ```no_run
/// use pi_ai::Mistral;
/// use pi_core::{Context, Message, Model, Provider, Request, UserMessage};
///
/// # async fn run() -> Result<(), pi_core::ProviderError> {
/// let base_url = "https://api.mistral.ai";
/// let model = Model::new("mistral-large-latest", "mistral-conversations", "mistral", base_url);
/// let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
///
/// let mut reply = Mistral::from_env().stream(Request::new(model, context));
/// println!("{}", reply.finish().await?.text());
/// # Ok(())
/// # }
/// ```
pub type Mistral = HttpProvider<Conversations>;

/// The protocol `mistral-conversations`.
#[derive(Debug)]
pub enum Conversations {}

impl Protocol for Conversations {
    const NAME: &'static str = "Mistral";
    type Reply = wire::Reply;

    fn url(base_url: &str, _: &Request) -> Result<String, ProviderError> {
        Ok(wire::url(base_url))
    }

    fn headers(request: &Request) -> BTreeMap<String, String> {
        wire::headers(request)
    }

    fn key_header(_: &Model) -> KeyHeader {
        KeyHeader::Bearer("authorization")
    }

    fn body(request: &Request) -> impl Serialize + Send {
        wire::body(request)
    }

    fn http_error(status: u16, body: &[u8]) -> ProviderError {
        wire::http_error(status, body)
    }

    fn document_error(document: &Value) -> ProviderError {
        stream_error(document.get("error").unwrap_or(document))
    }
}
