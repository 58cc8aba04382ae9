//! Events for readers that a run does not wait for.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::task::AtomicWaker;
use pi_core::{AgentEvent, AgentMessage, Assembler, AssistantEvent, AssistantMessage};

use crate::subscribe::{Listener, Subscribers, Subscription};

/// The most events that wait for one reader.
const CAPACITY: usize = 1024;

/// The reader was too slow: events are missing from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reader of events is more than {waiting} events behind")]
#[non_exhaustive]
pub struct Lagged {
    /// The number of events that were waiting.
    pub waiting: usize,
}

/// The events of an agent as a stream, which ends when the agent is gone.
///
/// The run never waits for the reader. Deltas of one block may be merged, never lost or reordered.
/// Each reader builds the partial message itself, so one that is behind costs the run nothing.
///
/// # Cancel safety
/// All state is in this value; a future that waits for the next event may be dropped.
pub struct AgentEvents {
    queue: Arc<Queue>,
    _subscription: Subscription,
    reply: Option<Assembler>,
    ended: bool,
}

impl AgentEvents {
    pub(crate) fn new(subscribers: &Arc<Subscribers>) -> Self {
        let queue = Arc::new(Queue::default());
        let subscription =
            subscribers.add(Listener::Detached(Arc::new(Writer(Arc::clone(&queue)))));
        Self {
            queue,
            _subscription: subscription,
            reply: None,
            ended: false,
        }
    }

    /// Puts the snapshot back that the queue left out.
    fn restore(&mut self, entry: Entry) -> AgentEvent {
        match entry {
            Entry::Whole(event) => {
                match &event {
                    AgentEvent::MessageStart {
                        message: AgentMessage::Assistant(reply),
                    } => {
                        self.reply = Some(Assembler::new((**reply).clone()));
                    }
                    AgentEvent::MessageEnd { .. } => self.reply = None,
                    _ => {}
                }
                event
            }
            Entry::Update { event, seed } => {
                let reply = self
                    .reply
                    .get_or_insert_with(|| Assembler::new(seed.empty()));
                // The loop has assembled the same events already.
                let _ = reply.push(&event);
                AgentEvent::MessageUpdate {
                    message: Arc::clone(reply.message()),
                    event,
                }
            }
        }
    }
}

impl Stream for AgentEvents {
    type Item = Result<AgentEvent, Lagged>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        this.queue.waker.register(cx.waker());
        let mut state = this.queue.lock();
        if let Some(entry) = state.entries.pop_front() {
            drop(state);
            return Poll::Ready(Some(Ok(this.restore(entry))));
        }
        match state.end {
            None => Poll::Pending,
            Some(End::Closed) => {
                this.ended = true;
                Poll::Ready(None)
            }
            Some(End::Lagged) => {
                this.ended = true;
                Poll::Ready(Some(Err(Lagged { waiting: CAPACITY })))
            }
        }
    }
}

impl fmt::Debug for AgentEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentEvents")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct QueueState {
    entries: VecDeque<Entry>,
    end: Option<End>,
}

#[derive(Clone, Copy)]
enum End {
    Closed,
    Lagged,
}

/// An event that waits. The snapshot of an update is left out: to keep it would make the reply copy
/// itself for each delta.
enum Entry {
    Whole(AgentEvent),
    Update { event: AssistantEvent, seed: Seed },
}

/// What a reader needs to begin in the middle of a reply.
struct Seed {
    api: String,
    provider: String,
    model: String,
    timestamp: u64,
}

impl Seed {
    fn empty(&self) -> AssistantMessage {
        let model = pi_core::Model::new(&self.model, &self.api, &self.provider, "");
        AssistantMessage::empty(&model, self.timestamp)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run's end of the queue. Dropping it ends the reader's stream.
pub(crate) struct Writer(Arc<Queue>);

impl Writer {
    /// Adds an event without waiting.
    pub(crate) fn write(&self, event: &AgentEvent) {
        let mut state = self.0.lock();
        if state.end.is_some() {
            return;
        }
        if let AgentEvent::MessageUpdate { event, .. } = event
            && let Some(last) = state.entries.back_mut()
            && merge(last, event)
        {
            return;
        }
        if state.entries.len() >= CAPACITY {
            state.end = Some(End::Lagged);
        } else {
            state.entries.push_back(entry(event));
        }
        drop(state);
        self.0.waker.wake();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.lock().end.get_or_insert(End::Closed);
        self.0.waker.wake();
    }
}

fn entry(event: &AgentEvent) -> Entry {
    match event {
        AgentEvent::MessageUpdate { message, event } => Entry::Update {
            event: event.clone(),
            seed: Seed {
                api: message.api.clone(),
                provider: message.provider.clone(),
                model: message.model.clone(),
                timestamp: message.timestamp,
            },
        },
        other => Entry::Whole(other.clone()),
    }
}

/// Adds a delta to one of the same block that still waits.
fn merge(waiting: &mut Entry, event: &AssistantEvent) -> bool {
    use AssistantEvent::{TextDelta, ThinkingDelta, ToolCallDelta};
    let Entry::Update { event: waiting, .. } = waiting else {
        return false;
    };
    match (waiting, event) {
        (
            TextDelta {
                content_index: a,
                delta: text,
            },
            TextDelta {
                content_index: b,
                delta: more,
            },
        )
        | (
            ThinkingDelta {
                content_index: a,
                delta: text,
            },
            ThinkingDelta {
                content_index: b,
                delta: more,
            },
        )
        | (
            ToolCallDelta {
                content_index: a,
                delta: text,
            },
            ToolCallDelta {
                content_index: b,
                delta: more,
            },
        ) if a == b => {
            text.push_str(more);
            true
        }
        _ => false,
    }
}
