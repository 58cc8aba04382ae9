//! Failures of a provider, typed.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::tagged::{Extra, string_enum};

string_enum! {
    /// What kind of failure ended a reply.
    pub enum ErrorKind {
        /// The key is missing, wrong or not allowed (401, 403).
        Auth = "auth",
        /// The plan or the credit is used up.
        Quota = "quota",
        /// Too many requests for now (429).
        RateLimited = "rateLimited",
        /// The provider has too much to do (529).
        Overloaded = "overloaded",
        /// The provider failed (other 5xx).
        Server = "server",
        /// The request is too long for the model's window.
        ContextOverflow = "contextOverflow",
        /// The provider does not accept the request (other 4xx).
        InvalidRequest = "invalidRequest",
        /// The model or a filter refused to answer.
        Refused = "refused",
        /// No connection could be made.
        Connect = "connect",
        /// The connection broke.
        Transport = "transport",
        /// The server's certificate is not accepted.
        Tls = "tls",
        /// A proxy on the way refused.
        Proxy = "proxy",
        /// A time limit passed; the phase says which.
        Timeout = "timeout",
        /// The answer is not what the protocol allows, or it ended early.
        Protocol = "protocol",
        /// The answer is larger than a limit.
        TooLarge = "tooLarge",
        /// A credentials, payload or response hook failed, or there is no runtime to run on.
        Hook = "hook",
        /// The caller stopped it.
        Aborted = "aborted",
    }
}

string_enum! {
    /// The part of a request in which something happened.
    pub enum Phase {
        /// Connecting, with the TLS handshake.
        Connect = "connect",
        /// Waiting for the response's headers.
        Headers = "headers",
        /// Waiting for any byte.
        Socket = "socket",
        /// Waiting for the first content event.
        FirstContent = "firstContent",
        /// Waiting for the next content event.
        Content = "content",
        /// The whole reply.
        Whole = "whole",
    }
}

/// What is stored with a failed message, so that a program can act on it later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ErrorInfo {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The HTTP status, where there was a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// True if the same request may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The part of the request in which it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The time since the request began, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ErrorInfo {
    fn new(kind: ErrorKind) -> Self {
        Self {
            retryable: retryable(&kind, None),
            kind,
            status: None,
            retry_after_ms: None,
            phase: None,
            elapsed_ms: None,
            request_id: None,
            extra: Extra::default(),
        }
    }
}

/// A failure of a provider.
///
/// `Display` prints what went wrong at this level, without secrets; the cause is behind
/// [`source`](Error::source). What a caller can do follows from [`kind`](Self::kind) and
/// [`is_retryable`](Self::is_retryable).
#[derive(Clone)]
pub struct ProviderError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    message: String,
    info: ErrorInfo,
    provider: String,
    model: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ProviderError {
    /// Creates an error; whether it can be retried follows from its kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::from_info(ErrorInfo::new(kind), message)
    }

    /// Creates an error from what was stored with a failed message.
    pub fn from_info(info: ErrorInfo, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            message: message.into(),
            info,
            provider: String::new(),
            model: String::new(),
            source: None,
        }))
    }

    /// Creates the error of a reply that the caller stopped.
    #[must_use]
    pub fn aborted() -> Self {
        Self::new(ErrorKind::Aborted, "Request was aborted")
    }

    /// Sets the HTTP status; 408 and 409 make an invalid request retryable.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.info.status = Some(status);
        self.0.info.retryable = retryable(&self.0.info.kind, Some(status));
        self
    }

    /// Sets whether the same request may succeed later.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.info.retryable = retryable;
        self
    }

    /// Sets how long the provider asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.info.retry_after_ms = Some(millis(wait));
        self
    }

    /// Sets the part of the request in which it failed.
    #[must_use]
    pub fn with_phase(mut self, phase: Phase) -> Self {
        self.0.info.phase = Some(phase);
        self
    }

    /// Sets the time since the request began.
    #[must_use]
    pub fn with_elapsed(mut self, elapsed: Duration) -> Self {
        self.0.info.elapsed_ms = Some(millis(elapsed));
        self
    }

    /// Sets the provider's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, request_id: impl Into<String>) -> Self {
        self.0.info.request_id = Some(request_id.into());
        self
    }

    /// Sets which provider and model failed.
    #[must_use]
    pub fn with_model(mut self, provider: impl Into<String>, model: impl Into<String>) -> Self {
        self.0.provider = provider.into();
        self.0.model = model.into();
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.info.kind
    }

    /// Returns the text, as it is stored in `error_message`.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the HTTP status, where there was a response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.info.status
    }

    /// Returns true if the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.info.retryable
    }

    /// Returns how long the provider asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.info.retry_after_ms.map(Duration::from_millis)
    }

    /// Returns the part of the request in which it failed.
    #[must_use]
    pub fn phase(&self) -> Option<&Phase> {
        self.0.info.phase.as_ref()
    }

    /// Returns the time since the request began.
    #[must_use]
    pub fn elapsed(&self) -> Option<Duration> {
        self.0.info.elapsed_ms.map(Duration::from_millis)
    }

    /// Returns the provider's id of the request.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.info.request_id.as_deref()
    }

    /// Returns the provider's name; empty if unknown.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// Returns the model's id; empty if unknown.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.0.model
    }

    /// Returns what is stored with a failed message.
    #[must_use]
    pub fn info(&self) -> &ErrorInfo {
        &self.0.info
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderError")
            .field("message", &self.0.message)
            .field("info", &self.0.info)
            .field("provider", &self.0.provider)
            .field("model", &self.0.model)
            .field("source", &self.0.source)
            .finish()
    }
}

impl Error for ProviderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

/// A hook of the application failed.
///
/// The text is shown to people and, for tool hooks, to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(String);

impl HookError {
    /// Creates the error with its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<&str> for HookError {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for HookError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

fn retryable(kind: &ErrorKind, status: Option<u16>) -> bool {
    match kind {
        ErrorKind::RateLimited
        | ErrorKind::Overloaded
        | ErrorKind::Server
        | ErrorKind::Connect
        | ErrorKind::Transport
        | ErrorKind::Timeout
        | ErrorKind::Protocol => true,
        ErrorKind::InvalidRequest => matches!(status, Some(408 | 409)),
        _ => false,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
