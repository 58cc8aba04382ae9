//! The provider for everything that speaks `anthropic-messages`.

use std::collections::BTreeMap;

use pi_ai_wire::anthropic_messages as wire;
use pi_core::{Model, ProviderError, Request};
use serde::Serialize;
use serde_json::Value;

use crate::http_provider::HttpProvider;
use crate::protocol::{KeyHeader, Protocol};

/// The provider for Anthropic's Messages API and the gateways that speak it.
///
/// The key goes out as `x-api-key`, or as a bearer token to the services that want one.
///
/// # Examples
/// ```no_run
/// use pi_ai::Anthropic;
/// use pi_core::{Context, Message, Model, Provider, Request, UserMessage};
///
/// # async fn run() -> Result<(), pi_core::ProviderError> {
/// let base_url = "https://api.anthropic.com";
/// let mut model = Model::new("claude-sonnet-4-5", "anthropic-messages", "anthropic", base_url);
/// model.max_tokens = 64_000;
/// let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
///
/// let mut reply = Anthropic::from_env().stream(Request::new(model, context));
/// println!("{}", reply.finish().await?.text());
/// # Ok(())
/// # }
/// ```
pub type Anthropic = HttpProvider<Messages>;

/// The protocol `anthropic-messages`.
#[derive(Debug)]
pub enum Messages {}

impl Protocol for Messages {
    const NAME: &'static str = "Anthropic";
    const STARTS_WHEN_SENT: bool = true;
    type Reply = wire::Reply;

    fn url(base_url: &str, _: &Request) -> Result<String, ProviderError> {
        Ok(wire::url(base_url))
    }

    fn headers(request: &Request) -> BTreeMap<String, String> {
        wire::headers(request)
    }

    fn key_header(model: &Model) -> KeyHeader {
        match wire::key_header(model) {
            "authorization" => KeyHeader::Bearer("authorization"),
            name => KeyHeader::Plain(name),
        }
    }

    fn body(request: &Request) -> impl Serialize + Send {
        wire::body(request)
    }

    fn http_error(status: u16, body: &[u8]) -> ProviderError {
        wire::http_error(status, body)
    }

    fn document_error(document: &Value) -> ProviderError {
        wire::stream_error(document)
    }
}
