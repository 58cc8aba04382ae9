//! The provider for the Gemini API.

use std::collections::BTreeMap;

use pi_ai_wire::google_generative_ai as wire;
use pi_core::{Model, ProviderError, Request};
use serde::Serialize;
use serde_json::Value;

use crate::http_provider::HttpProvider;
use crate::protocol::{KeyHeader, Protocol};

/// The provider for the Gemini API and the gateways that speak it.
///
/// The key goes out as `x-goog-api-key`. The payload hook sees the body as it is sent.
///
/// # Examples
/// ```no_run
/// use pi_ai::Google;
/// use pi_core::{Context, Message, Model, Provider, Request, UserMessage};
///
/// # async fn run() -> Result<(), pi_core::ProviderError> {
/// let base_url = "https://generativelanguage.googleapis.com/v1beta";
/// let model = Model::new("gemini-2.5-flash", "google-generative-ai", "google", base_url);
/// let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
///
/// let mut reply = Google::from_env().stream(Request::new(model, context));
/// println!("{}", reply.finish().await?.text());
/// # Ok(())
/// # }
/// ```
pub type Google = HttpProvider<GenerativeAi>;

/// The protocol `google-generative-ai`.
#[derive(Debug)]
pub enum GenerativeAi {}

impl Protocol for GenerativeAi {
    const NAME: &'static str = "Google";
    type Reply = wire::Reply;

    fn url(base_url: &str, request: &Request) -> Result<String, ProviderError> {
        Ok(wire::url(base_url, &request.model.id))
    }

    fn headers(request: &Request) -> BTreeMap<String, String> {
        wire::headers(request)
    }

    fn key_header(_: &Model) -> KeyHeader {
        KeyHeader::Plain(wire::KEY_HEADER)
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
