//! The seam to models.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::context::Request;
use crate::error::{ErrorKind, ProviderError};
use crate::stream::AssistantStream;

/// Something that answers requests with a stream of events.
///
/// # Contract
/// - `stream` returns at once. Nothing happens until the stream is polled.
/// - Every failure is the stream's last event, never a panic.
/// - Dropping the stream stops the request and leaves nothing behind.
/// - [`Request::abort`] is obeyed by ending the stream with
///   [`abort_on`](AssistantStream::abort_on); the agent loop does the same on its side.
///
/// Wrappers delegate `stream`, and are providers themselves.
pub trait Provider: Send + Sync {
    /// Asks a model.
    ///
    /// # Cancel safety
    /// Dropping the stream stops the request.
    fn stream(&self, request: Request) -> AssistantStream;
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn stream(&self, request: Request) -> AssistantStream {
        (**self).stream(request)
    }
}

impl<P: Provider + ?Sized> Provider for Box<P> {
    fn stream(&self, request: Request) -> AssistantStream {
        (**self).stream(request)
    }
}

/// A provider that hands each request to the provider of its model's `api`.
#[derive(Clone, Default)]
pub struct Router(BTreeMap<String, Arc<dyn Provider>>);

impl Router {
    /// Creates a router that knows no API.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends models of `api` to `provider`; it replaces what was there before.
    #[must_use]
    pub fn with(mut self, api: impl Into<String>, provider: impl Provider + 'static) -> Self {
        self.0.insert(api.into(), Arc::new(provider));
        self
    }

    /// Iterates over the APIs that the router knows.
    pub fn apis(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Provider for Router {
    fn stream(&self, request: Request) -> AssistantStream {
        if let Some(provider) = self.0.get(&request.model.api) {
            return provider.stream(request);
        }
        let known: Vec<&str> = self.apis().collect();
        let error = ProviderError::new(
            ErrorKind::InvalidRequest,
            format!(
                "no provider for api \"{}\" (known: {})",
                request.model.api,
                known.join(", ")
            ),
        );
        AssistantStream::failed(&request, 0, &error)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
