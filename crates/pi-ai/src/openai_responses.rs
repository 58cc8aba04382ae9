//! The provider for everything that speaks `openai-responses`.

use std::collections::BTreeMap;

use pi_ai_wire::errors::{http_error, stream_error};
use pi_ai_wire::openai_responses as wire;
use pi_core::{Model, ProviderError, Request};
use serde::Serialize;
use serde_json::Value;

use crate::http_provider::HttpProvider;
use crate::protocol::{KeyHeader, Protocol};

/// The provider for OpenAI's Responses API and the services that speak it, such as xAI's.
///
/// # Examples
/// ```no_run
/// use pi_ai::OpenAiResponses;
/// use pi_core::{Context, Message, Model, Provider, Request, ThinkingLevel, UserMessage};
///
/// # async fn run() -> Result<(), pi_core::ProviderError> {
/// let mut model = Model::new("gpt-5", "openai-responses", "openai", "https://api.openai.com/v1");
/// model.reasoning = true;
/// let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
/// let mut request = Request::new(model, context);
/// request.options.reasoning = Some(ThinkingLevel::Low);
///
/// let mut reply = OpenAiResponses::from_env().stream(request);
/// println!("{}", reply.finish().await?.text());
/// # Ok(())
/// # }
/// ```
pub type OpenAiResponses = HttpProvider<Responses>;

/// The protocol `openai-responses`.
#[derive(Debug)]
pub enum Responses {}

impl Protocol for Responses {
    const NAME: &'static str = "OpenAiResponses";
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
        http_error(status, body)
    }

    fn document_error(document: &Value) -> ProviderError {
        stream_error(document.get("error").unwrap_or(document))
    }
}
