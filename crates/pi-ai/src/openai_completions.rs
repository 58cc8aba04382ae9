//! The provider for everything that speaks `openai-completions`.

use std::collections::BTreeMap;

use pi_ai_wire::errors::{http_error, stream_error};
use pi_ai_wire::openai_completions as wire;
use pi_core::{Model, ProviderError, Request};
use serde::Serialize;
use serde_json::Value;

use crate::http_provider::HttpProvider;
use crate::protocol::{KeyHeader, Protocol};

/// The provider for OpenAI's Chat Completions and every server that speaks them, on the network or
/// on this machine.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use pi_ai::{HttpClient, OpenAiCompletions, Timeouts};
///
/// let mut timeouts = Timeouts::default();
/// timeouts.headers = Some(Duration::from_secs(300));
/// let provider = OpenAiCompletions::from_env()
///     .with_client(HttpClient::builder().timeouts(timeouts).build());
/// # let _ = provider;
/// ```
pub type OpenAiCompletions = HttpProvider<ChatCompletions>;

/// The protocol `openai-completions`.
#[derive(Debug)]
pub enum ChatCompletions {}

impl Protocol for ChatCompletions {
    const NAME: &'static str = "OpenAiCompletions";
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
