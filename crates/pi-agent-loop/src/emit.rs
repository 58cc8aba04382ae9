//! The stream of a run, and how the loop puts events into it.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::FutureExt;
use pi_core::{AgentEvent, AssistantMessage, BoxFuture};

use crate::outcome::RunOutcome;

/// The events of a run. It ends after `AgentEnd`.
///
/// The loop takes a step only when the stream is polled, so whatever the consumer does with an
/// event is done before the loop goes on.
///
/// # Cancel safety
/// All state is in this value; a future that waits for the next event may be dropped. Dropping the
/// stream itself stops the request, the tools and the hooks at once, without further events.
pub struct AgentStream {
    run: Option<BoxFuture<'static, RunOutcome>>,
    shared: Arc<Shared>,
    outcome: Option<RunOutcome>,
}

impl AgentStream {
    pub(crate) fn new<F>(run: impl FnOnce(Emitter) -> F) -> Self
    where
        F: Future<Output = RunOutcome> + Send + 'static,
    {
        let shared = Arc::new(Shared::default());
        let run = Box::pin(run(Emitter(Arc::clone(&shared))));
        Self {
            run: Some(run),
            shared,
            outcome: None,
        }
    }

    /// Returns the reply that streams right now, as far as it has come.
    ///
    /// Let go of it before the next poll, or that poll copies the message.
    #[must_use]
    pub fn partial(&self) -> Option<Arc<AssistantMessage>> {
        lock(&self.shared.partial).clone()
    }

    /// Returns how the run ended, once the stream has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&RunOutcome> {
        self.outcome.as_ref()
    }

    /// Returns how the run ended, once the stream has ended.
    #[must_use]
    pub fn into_outcome(self) -> Option<RunOutcome> {
        self.outcome
    }
}

impl Stream for AgentStream {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let this = &mut *self;
        let Some(run) = &mut this.run else {
            return Poll::Ready(None);
        };
        match run.poll_unpin(cx) {
            Poll::Ready(outcome) => {
                this.outcome = Some(outcome);
                this.run = None;
                Poll::Ready(None)
            }
            Poll::Pending => match lock(&this.shared.event).take() {
                Some(event) => Poll::Ready(Some(event)),
                None => Poll::Pending,
            },
        }
    }
}

impl fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentStream")
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    event: Mutex<Option<AgentEvent>>,
    partial: Mutex<Option<Arc<AssistantMessage>>>,
}

/// The loop's end of its stream.
pub(crate) struct Emitter(Arc<Shared>);

impl Emitter {
    /// Hands an event to the consumer and waits until it asks for the next one.
    ///
    /// Only the loop's own line of code may wait here: a future that is polled together with others
    /// would hold them up until the consumer comes back.
    pub(crate) async fn emit(&self, event: AgentEvent) {
        *lock(&self.0.event) = Some(event);
        poll_fn(|_| match *lock(&self.0.event) {
            // The consumer's next poll comes here again; nobody else has to wake it.
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        })
        .await;
    }

    /// Shows a snapshot of the reply that streams; `None` lets go of it.
    pub(crate) fn show_partial(&self, partial: Option<Arc<AssistantMessage>>) {
        *lock(&self.0.partial) = partial;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
