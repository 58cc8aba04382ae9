//! The provider for everything that speaks `openai-completions`.

use std::fmt;
use std::sync::Arc;

use pi_ai_wire::errors::{http_error, stream_error};
use pi_ai_wire::openai_completions::{Decoder, body, headers, url};
use pi_core::{
    AssistantMessage, AssistantStream, ErrorKind, Provider, ProviderError, Request, ResponseHead,
    SecretString,
};
use pi_http::{Call, Exchange, HttpClient, is_loopback};
use serde_json::Value;

use crate::keys::{KeyResolver, Keys, Source};
use crate::local::LOCAL_PROVIDER;

/// A provider for OpenAI's Chat Completions and every server that speaks them, at the address that
/// the model names.
///
/// # Keys
/// The key of a request is looked up when its stream is polled: first
/// [`StreamOptions::api_key`](pi_core::StreamOptions::api_key), then the key or resolver of this
/// value, then, only with [`from_env`](Self::from_env), the environment. Without a key the stream
/// ends in an error of kind `Auth`, except where none is needed: for a server on this machine, for
/// the provider `local`, after [`without_key`](Self::without_key), and where the headers of the
/// model or the options hold an `authorization` of their own.
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
#[derive(Clone, Default)]
pub struct OpenAiCompletions {
    client: HttpClient,
    keys: Keys,
    base_url: Option<String>,
}

impl OpenAiCompletions {
    /// Creates a provider that knows no key and does not read the environment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a provider that takes keys from the environment, by
    /// [`key_variables`](crate::key_variables) of the model's provider, where nothing else gives
    /// one. The environment is read for each request.
    #[must_use]
    pub fn from_env() -> Self {
        let mut provider = Self::new();
        provider.keys.use_env = true;
        provider
    }

    /// Sets the key for all requests; it replaces a resolver.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<SecretString>) -> Self {
        self.keys.source = Source::Key(key.into());
        self
    }

    /// Sets where keys are looked up; it replaces a key.
    #[must_use]
    pub fn with_key_resolver(mut self, resolver: impl KeyResolver + 'static) -> Self {
        self.keys.source = Source::Resolver(Arc::new(resolver));
        self
    }

    /// Sends requests for which no key is found without one.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.keys.optional = true;
        self
    }

    /// Sets the address for all requests, in place of the model's. It is taken as it stands; see
    /// [`normalize_base_url`](crate::normalize_base_url).
    #[must_use]
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Sets the HTTP client, to share its connections or to change its limits and clock.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = client;
        self
    }
}

impl Provider for OpenAiCompletions {
    fn stream(&self, request: Request) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let seed = AssistantMessage::empty(&model, self.client.clock().now());
        let abort = request.abort.clone();
        let on_response = request.options.on_response.clone();
        let decoder = Decoder::new(Arc::clone(&model));
        let call = call(self.keys.clone(), self.base_url.clone(), request);
        let exchange =
            Exchange::new(model, call, decoder, read_error).with_response_hook(on_response);
        let stream = AssistantStream::from_source(seed, self.client.stream_events(exchange));
        match abort {
            Some(token) => stream.abort_on(token),
            None => stream,
        }
    }
}

impl fmt::Debug for OpenAiCompletions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiCompletions")
            .field(
                "base_url",
                &self.base_url.as_deref().map(pi_http::shown_url),
            )
            .finish_non_exhaustive()
    }
}

/// Reads the error of an answer that is no event stream.
pub(crate) fn read_error(head: &ResponseHead, body: &[u8]) -> ProviderError {
    if !(200..300).contains(&head.status) {
        return http_error(head.status, body);
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(body) => stream_error(body.get("error").unwrap_or(&body)),
        Err(_) => {
            let text = "the answer is no event stream: is the base URL that of an API?";
            ProviderError::new(ErrorKind::Protocol, text).with_retryable(false)
        }
    }
}

/// Makes the call: looks up the key, writes the body and shows it to the payload hook.
async fn call(
    keys: Keys,
    base_url: Option<String>,
    request: Request,
) -> Result<Call, ProviderError> {
    let model = &request.model;
    let base_url = base_url.as_deref().unwrap_or(&model.base_url);
    if base_url.trim().is_empty() {
        let text = format!("model {} has no base URL to send a request to", model.id);
        return Err(ProviderError::new(ErrorKind::InvalidRequest, text));
    }
    let headers = headers(&request);
    let is_optional = headers.contains_key("authorization")
        || model.provider == LOCAL_PROVIDER
        || is_loopback(base_url);
    let of_request = request.options.api_key.clone();
    let key = keys.find(of_request, &model.provider, is_optional).await?;

    let mut call = Call::post(url(base_url), payload(&request).await?);
    if let Some(key) = key {
        call = call.with_bearer(&key);
    }
    // Behind the key: an `authorization` that somebody wrote by hand wins.
    for (name, value) in headers {
        call = call.with_header(name, value);
    }
    Ok(call)
}

async fn payload(request: &Request) -> Result<Vec<u8>, ProviderError> {
    let invalid = |error: serde_json::Error| {
        ProviderError::new(
            ErrorKind::InvalidRequest,
            "the request cannot be written as JSON",
        )
        .with_source(error)
    };
    let mut replaced = None;
    if let Some(hook) = &request.options.on_payload {
        let payload = serde_json::to_value(body(request)).map_err(invalid)?;
        replaced = hook
            .call(payload, Arc::clone(&request.model))
            .await
            .map_err(|error| {
                ProviderError::new(ErrorKind::Hook, format!("the payload hook failed: {error}"))
                    .with_source(error)
            })?;
    }
    match replaced {
        Some(payload) => serde_json::to_vec(&payload),
        None => serde_json::to_vec(&body(request)),
    }
    .map_err(invalid)
}
