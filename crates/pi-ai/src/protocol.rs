//! What the providers over HTTP differ in.

use std::collections::BTreeMap;

use pi_ai_wire::codec;
use pi_core::{ErrorKind, ExposeSecret, Model, ProviderError, Request, ResponseHead};
use pi_http::Call;
use serde::Serialize;
use serde_json::Value;

use crate::credentials::Credential;

/// One protocol: its codec, and where it wants the key.
pub trait Protocol: Send + Sync + 'static {
    /// The name in `Debug`.
    const NAME: &'static str;
    /// Whether a reply starts when its request is sent, in place of when the response comes.
    const STARTS_WHEN_SENT: bool = false;
    /// What to do about a model without a base URL.
    const WITHOUT_BASE_URL: &'static str = "set a base URL";
    /// Reads a response.
    type Reply: codec::Reply + 'static;

    /// Completes a request from the environment, which `read` reads. It is asked only where keys come
    /// from there too.
    fn complete(_request: &mut Request, _read: &dyn Fn(&str) -> Option<String>) {}
    /// Returns the base URL that the options name, in place of the model's.
    fn base_url(_request: &Request) -> Option<String> {
        None
    }
    /// Returns the address of the endpoint below a base URL.
    ///
    /// # Errors
    /// If something is missing that the address needs.
    fn url(base_url: &str, request: &Request) -> Result<String, ProviderError>;
    /// Returns all headers but that of the key, names in lower case.
    fn headers(request: &Request) -> BTreeMap<String, String>;
    /// Returns the header of the key.
    fn key_header(model: &Model) -> KeyHeader;
    /// Returns the body.
    fn body(request: &Request) -> impl Serialize + Send;
    /// Makes the error of an answer whose status is not 2xx.
    fn http_error(status: u16, body: &[u8]) -> ProviderError;
    /// Makes the error of a JSON document that came in place of an event stream.
    fn document_error(document: &Value) -> ProviderError;
}

/// The header that carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// The key behind the word `Bearer`.
    Bearer(&'static str),
    /// The key alone.
    Plain(&'static str),
}

impl KeyHeader {
    /// The headers that carry keys. Who writes one by hand brings a key.
    const NAMES: [&'static str; 5] = [
        "api-key",
        "authorization",
        "cf-aig-authorization",
        "x-api-key",
        "x-goog-api-key",
    ];

    /// Returns the header that the service of a model wants.
    pub(crate) fn of<P: Protocol>(model: &Model) -> Self {
        match &*model.provider {
            // The key is that of the gateway, which holds those of the services behind it.
            "cloudflare-ai-gateway" => Self::Bearer("cf-aig-authorization"),
            _ => P::key_header(model),
        }
    }

    /// Returns true if these headers carry a key.
    pub(crate) fn is_among(headers: &BTreeMap<String, String>) -> bool {
        Self::NAMES.iter().any(|name| headers.contains_key(*name))
    }

    /// Adds a credential to a call.
    pub(crate) fn add(self, call: Call, credential: &Credential) -> Call {
        match (self, credential) {
            (_, Credential::Token(token)) => call.with_bearer(token),
            (Self::Bearer(name), Credential::Key(key)) => {
                call.with_header(name, format!("Bearer {}", key.expose_secret()))
            }
            (Self::Plain(name), Credential::Key(key)) => {
                call.with_header(name, key.expose_secret())
            }
        }
    }
}

/// Reads the error of an answer that is no event stream.
pub(crate) fn read_error<P: Protocol>(head: &ResponseHead, body: &[u8]) -> ProviderError {
    if !(200..300).contains(&head.status) {
        return P::http_error(head.status, body);
    }
    match serde_json::from_slice(body) {
        Ok(document) => P::document_error(&document),
        Err(_) => {
            let text = "the answer is no event stream: is the base URL that of an API?";
            ProviderError::new(ErrorKind::Protocol, text).with_retryable(false)
        }
    }
}
