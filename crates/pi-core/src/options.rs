//! Options of one request.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::HookError;
use crate::model::{Model, ThinkingLevel};
use crate::shown::Headers;
use crate::tagged::{Extra, string_enum};

string_enum! {
    /// How long a provider should keep the prompt in its cache.
    pub enum CacheRetention {
        /// Do not ask for caching.
        None = "none",
        /// The provider's short time. The default.
        Short = "short",
        /// The provider's long time, where it has one.
        Long = "long",
    }
}

string_enum! {
    /// How events travel, for providers that have a choice.
    pub enum Transport {
        /// Server-sent events.
        Sse = "sse",
        /// A web socket.
        WebSocket = "websocket",
        /// What the provider thinks best.
        Auto = "auto",
    }
}

/// Token budgets for thinking levels, for providers that count thinking in tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ThinkingBudgets {
    /// Tokens for [`ThinkingLevel::Minimal`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimal: Option<u64>,
    /// Tokens for [`ThinkingLevel::Low`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    /// Tokens for [`ThinkingLevel::Medium`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<u64>,
    /// Tokens for [`ThinkingLevel::High`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
}

/// What a reply must be: a JSON value that fits a schema.
///
/// Where the service can be held to a schema, the reply's text is the value. Elsewhere the model is
/// told to call a tool of this name, whose arguments are the value; no such tool needs to exist. In
/// both cases the value should be checked: not every service keeps its word.
/// [`ProviderExt::complete_as`](crate::ProviderExt::complete_as) does all of that.
#[derive(Debug, Clone, PartialEq, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OutputSchema {
    /// The name of the value, and of the tool: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The JSON Schema of the value, which must be an object.
    pub schema: Value,
}

impl OutputSchema {
    /// Creates a value.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        Self {
            name: name.into(),
            schema,
        }
    }
}

/// Options of one request. All are optional; the default asks for nothing special.
///
/// It can be read from JSON as upstream spells it; it cannot be written, since it holds a key. `Debug`
/// shows neither the key nor the values of headers.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Sampling temperature; the provider's default when absent.
    pub temperature: Option<f64>,
    /// The most tokens of the reply; the model's own limit when absent.
    pub max_tokens: Option<u64>,
    /// The key or token for this request, before any other source of keys.
    pub api_key: Option<SecretString>,
    /// Headers for this request; they win over those of the model and the provider.
    pub headers: BTreeMap<String, String>,
    /// Prompt caching; short when absent.
    pub cache_retention: Option<CacheRetention>,
    /// A name of the conversation, for providers that cache or route by it.
    pub session_id: Option<String>,
    /// Data for the provider; each takes what it knows.
    pub metadata: Option<Map<String, Value>>,
    /// How much to think; not at all when absent.
    pub reasoning: Option<ThinkingLevel>,
    /// Token budgets for thinking.
    pub thinking_budgets: Option<ThinkingBudgets>,
    /// How events travel.
    pub transport: Option<Transport>,
    /// The longest wait between retries that a server may ask for, in milliseconds; 60,000 when
    /// absent, 0 for no cap.
    pub max_retry_delay_ms: Option<u64>,
    /// Which tool the model must use, in the provider's own form.
    pub tool_choice: Option<Value>,
    /// What the reply must be, in place of free text.
    pub output: Option<OutputSchema>,
    /// Sees, and may replace, the request's body before it is sent.
    #[serde(skip)]
    pub on_payload: Option<PayloadHook>,
    /// Sees the status and headers of the response before its body.
    #[serde(skip)]
    pub on_response: Option<ResponseHook>,
    /// Options of a single API, by their upstream names.
    #[serde(flatten)]
    pub extra: Extra,
}

impl StreamOptions {
    /// Returns the thinking level, `None` if thinking is off.
    #[must_use]
    pub fn thinking(&self) -> Option<&ThinkingLevel> {
        self.reasoning
            .as_ref()
            .filter(|level| **level != ThinkingLevel::Off)
    }
}

impl fmt::Debug for StreamOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            temperature,
            max_tokens,
            api_key,
            headers,
            cache_retention,
            session_id,
            metadata,
            reasoning,
            thinking_budgets,
            transport,
            max_retry_delay_ms,
            tool_choice,
            output,
            on_payload,
            on_response,
            extra,
        } = self;
        f.debug_struct("StreamOptions")
            .field("temperature", temperature)
            .field("max_tokens", max_tokens)
            .field("api_key", api_key)
            .field("headers", &Headers(headers))
            .field("cache_retention", cache_retention)
            .field("session_id", session_id)
            .field("metadata", metadata)
            .field("reasoning", reasoning)
            .field("thinking_budgets", thinking_budgets)
            .field("transport", transport)
            .field("max_retry_delay_ms", max_retry_delay_ms)
            .field("tool_choice", tool_choice)
            .field("output", output)
            .field("on_payload", on_payload)
            .field("on_response", on_response)
            .field("extra", extra)
            .finish()
    }
}

/// A boxed future, as hooks return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

type PayloadFn =
    dyn Fn(Value, Arc<Model>) -> BoxFuture<'static, Result<Option<Value>, HookError>> + Send + Sync;

/// Sees, and may replace, the body of a request before it is sent.
#[derive(Clone)]
pub struct PayloadHook(Arc<PayloadFn>);

impl PayloadHook {
    /// Creates a hook from a function; `None` leaves the body as it is.
    pub fn new<F, R>(hook: F) -> Self
    where
        F: Fn(Value, Arc<Model>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Option<Value>, HookError>> + Send + 'static,
    {
        Self(Arc::new(move |payload, model| {
            Box::pin(hook(payload, model))
        }))
    }

    /// Calls the hook.
    ///
    /// # Errors
    /// What the hook returns; the stream then ends in an error of kind `Hook`.
    ///
    /// # Cancel safety
    /// As the hook's own future.
    pub async fn call(
        &self,
        payload: Value,
        model: Arc<Model>,
    ) -> Result<Option<Value>, HookError> {
        (self.0)(payload, model).await
    }
}

impl fmt::Debug for PayloadHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PayloadHook")
    }
}

/// The head of a provider's response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
}

impl ResponseHead {
    /// Creates a head.
    #[must_use]
    pub fn new(status: u16, headers: BTreeMap<String, String>) -> Self {
        Self { status, headers }
    }
}

type ResponseFn =
    dyn Fn(ResponseHead, Arc<Model>) -> BoxFuture<'static, Result<(), HookError>> + Send + Sync;

/// Sees the status and headers of a response before its body.
#[derive(Clone)]
pub struct ResponseHook(Arc<ResponseFn>);

impl ResponseHook {
    /// Creates a hook from a function.
    pub fn new<F, R>(hook: F) -> Self
    where
        F: Fn(ResponseHead, Arc<Model>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        Self(Arc::new(move |head, model| Box::pin(hook(head, model))))
    }

    /// Calls the hook.
    ///
    /// # Errors
    /// What the hook returns; the stream then ends in an error of kind `Hook`.
    ///
    /// # Cancel safety
    /// As the hook's own future.
    pub async fn call(&self, head: ResponseHead, model: Arc<Model>) -> Result<(), HookError> {
        (self.0)(head, model).await
    }
}

impl fmt::Debug for ResponseHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseHook")
    }
}
