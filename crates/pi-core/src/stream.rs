//! A provider's stream together with the message that it builds.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::assembler::{Assembler, AssemblyError};
use crate::context::Request;
use crate::error::{ErrorKind, ProviderError};
use crate::event::AssistantEvent;
use crate::message::{AssistantMessage, StopReason};
use crate::usage::Usage;

/// What a provider knows of a reply beside its events, for a reply that is stopped by the caller.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Tokens and cost so far.
    pub usage: Usage,
    /// The provider's id of the reply.
    pub response_id: Option<String>,
}

impl Progress {
    /// Creates a value.
    #[must_use]
    pub fn new(usage: Usage, response_id: Option<String>) -> Self {
        Self { usage, response_id }
    }
}

/// The events of one reply, as a provider makes them.
///
/// Every stream of events is a source by [`AssistantStream::new`]; implement this trait where usage
/// should not be lost when the caller stops the reply.
pub trait EventSource: Stream<Item = AssistantEvent> + Send {
    /// Returns usage and id as far as they are known.
    fn progress(&self) -> Progress;
}

/// The events of one reply, and the message that they build.
///
/// It is a [`Stream`] of [`AssistantEvent`]s that ends with exactly one `Done` or `Error`, whatever
/// the source does: a source that just ends, or that breaks the order of events, ends in an error of
/// kind `Protocol`. Nothing happens until it is polled. Dropping it stops the request.
///
/// # Cancel safety
/// All state is in this value. A future that waits for the next event may be dropped and made anew.
pub struct AssistantStream {
    source: Source,
    assembler: Assembler,
    abort: Option<Abort>,
    failure: Option<ProviderError>,
}

enum Source {
    Events(BoxStream<'static, AssistantEvent>),
    Provider(Pin<Box<dyn EventSource>>),
    Ended,
}

struct Abort {
    token: CancellationToken,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl AssistantStream {
    /// Creates a stream from events. `seed` is the empty message that they build upon.
    pub fn new(
        seed: AssistantMessage,
        events: impl Stream<Item = AssistantEvent> + Send + 'static,
    ) -> Self {
        Self::start(seed, Source::Events(Box::pin(events)))
    }

    /// Creates a stream from a source that knows its usage at any time.
    pub fn from_source(seed: AssistantMessage, source: impl EventSource + 'static) -> Self {
        Self::start(seed, Source::Provider(Box::pin(source)))
    }

    /// Creates the stream of a reply that failed before it began.
    #[must_use]
    pub fn failed(request: &Request, timestamp: u64, error: &ProviderError) -> Self {
        let event = AssistantEvent::from_error(error, Usage::default(), None);
        let seed = AssistantMessage::empty(&request.model, timestamp);
        Self::new(seed, futures_util::stream::iter([event]))
    }

    fn start(seed: AssistantMessage, source: Source) -> Self {
        Self {
            source,
            assembler: Assembler::new(seed),
            abort: None,
            failure: None,
        }
    }

    /// Ends the stream with an `Error` event of reason `Aborted` as soon as `token` is cancelled.
    ///
    /// The partial message stays; the source is dropped at once.
    #[must_use]
    pub fn abort_on(mut self, token: CancellationToken) -> Self {
        let cancelled = Box::pin(token.clone().cancelled_owned());
        self.abort = Some(Abort { token, cancelled });
        self
    }

    /// Returns the message as far as it has come.
    ///
    /// Whoever keeps it while the stream goes on makes the next event copy the message.
    #[must_use]
    pub fn partial(&self) -> Arc<AssistantMessage> {
        Arc::clone(self.assembler.message())
    }

    /// Returns true once `Done` or `Error` was yielded.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.source, Source::Ended)
    }

    /// Reads to the end and returns the message.
    ///
    /// # Errors
    /// The failure that ended the reply. What was streamed before is in [`partial`](Self::partial).
    ///
    /// # Cancel safety
    /// Cancel safe: calling it again goes on where it was.
    pub async fn finish(&mut self) -> Result<Arc<AssistantMessage>, ProviderError> {
        while self.next().await.is_some() {}
        match &self.failure {
            Some(error) => Err(error.clone()),
            None => Ok(self.partial()),
        }
    }

    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<Option<AssistantEvent>> {
        match &mut self.source {
            Source::Events(events) => events.as_mut().poll_next(cx),
            Source::Provider(source) => source.as_mut().poll_next(cx),
            Source::Ended => Poll::Ready(None),
        }
    }

    /// Applies an event; one that does not fit is replaced by the error that closes the stream.
    fn accept(&mut self, event: AssistantEvent) -> AssistantEvent {
        match self.assembler.push(&event) {
            Ok(()) if event.is_terminal() => self.end(event),
            Ok(()) => event,
            Err(error) => {
                let kind = match error {
                    AssemblyError::TooManyBlocks { .. } => ErrorKind::TooLarge,
                    _ => ErrorKind::Protocol,
                };
                self.fail(&ProviderError::new(kind, error.to_string()).with_source(error))
            }
        }
    }

    fn fail(&mut self, error: &ProviderError) -> AssistantEvent {
        let progress = self.progress();
        let event = AssistantEvent::from_error(error, progress.usage, progress.response_id);
        // A closing event always fits.
        let _ = self.assembler.push(&event);
        self.end(event)
    }

    fn end(&mut self, event: AssistantEvent) -> AssistantEvent {
        self.source = Source::Ended;
        self.abort = None;
        if let AssistantEvent::Error {
            reason,
            error_message,
            error_info,
            ..
        } = &event
        {
            let message = self.assembler.message();
            let error = match error_info {
                Some(info) => ProviderError::from_info((**info).clone(), error_message),
                None if *reason == StopReason::Aborted => ProviderError::aborted(),
                None => ProviderError::new(ErrorKind::Server, error_message),
            };
            self.failure = Some(error.with_model(&message.provider, &message.model));
        }
        event
    }
}

impl Stream for AssistantStream {
    type Item = AssistantEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AssistantEvent>> {
        let this = &mut *self;
        if this.is_ended() {
            return Poll::Ready(None);
        }
        if this
            .abort
            .as_ref()
            .is_some_and(|abort| abort.token.is_cancelled())
        {
            return Poll::Ready(Some(this.fail(&ProviderError::aborted())));
        }
        match this.poll_source(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(this.accept(event))),
            Poll::Ready(None) => {
                let error = ProviderError::new(
                    ErrorKind::Protocol,
                    "stream ended before its closing event",
                );
                Poll::Ready(Some(this.fail(&error)))
            }
            Poll::Pending => {
                let aborted = this
                    .abort
                    .as_mut()
                    .is_some_and(|abort| abort.cancelled.as_mut().poll(cx).is_ready());
                if aborted {
                    Poll::Ready(Some(this.fail(&ProviderError::aborted())))
                } else {
                    Poll::Pending
                }
            }
        }
    }
}

/// A stream is a source itself, so that a provider that wraps another one loses nothing.
impl EventSource for AssistantStream {
    fn progress(&self) -> Progress {
        match &self.source {
            Source::Provider(source) => source.progress(),
            Source::Events(_) => Progress::default(),
            Source::Ended => {
                let message = self.assembler.message();
                Progress::new(message.usage.clone(), message.response_id.clone())
            }
        }
    }
}

impl fmt::Debug for AssistantStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssistantStream")
            .field("partial", self.assembler.message())
            .field("ended", &self.is_ended())
            .finish_non_exhaustive()
    }
}
