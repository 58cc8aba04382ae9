//! Who watches an agent.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use pi_core::{AgentEvent, BoxFuture, Clock};

use crate::events::Writer;

/// The time after which a subscriber that holds up the run is named in a warning.
const SLOW: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) enum Listener {
    Sync(Arc<dyn Fn(&AgentEvent) + Send + Sync>),
    Async(Arc<dyn Fn(AgentEvent) -> BoxFuture<'static, ()> + Send + Sync>),
    Detached(Arc<Writer>),
}

/// The subscribers of an agent, in the order in which they came.
#[derive(Default)]
pub(crate) struct Subscribers(Mutex<List>);

#[derive(Default)]
struct List {
    next_id: u64,
    listeners: Vec<(u64, Listener)>,
}

impl Subscribers {
    pub(crate) fn add(self: &Arc<Self>, listener: Listener) -> Subscription {
        let mut list = self.lock();
        let id = list.next_id;
        list.next_id += 1;
        list.listeners.push((id, listener));
        Subscription {
            subscribers: Arc::downgrade(self),
            id,
        }
    }

    /// Tells every subscriber. One that is removed meanwhile is not told any more, one that is
    /// added meanwhile is.
    pub(crate) async fn notify(&self, event: &AgentEvent, clock: &dyn Clock) {
        let mut next = 0;
        while let Some((id, listener)) = self.at_or_after(next) {
            next = id + 1;
            let called = match listener {
                Listener::Sync(listener) => catch_unwind(AssertUnwindSafe(|| listener(event))),
                Listener::Detached(writer) => {
                    writer.write(event);
                    Ok(())
                }
                Listener::Async(listener) => {
                    let began = clock.monotonic();
                    let event = event.clone();
                    let called = AssertUnwindSafe(async { listener(event).await })
                        .catch_unwind()
                        .await;
                    let elapsed = clock.monotonic().saturating_sub(began);
                    if elapsed > SLOW {
                        tracing::warn!(subscriber = id, ?elapsed, "a subscriber holds up the run");
                    }
                    called
                }
            };
            if called.is_err() {
                tracing::error!(
                    subscriber = id,
                    event = event.type_name(),
                    "a subscriber panicked"
                );
            }
        }
    }

    fn at_or_after(&self, id: u64) -> Option<(u64, Listener)> {
        let list = self.lock();
        let place = list.listeners.partition_point(|(other, _)| *other < id);
        list.listeners.get(place).cloned()
    }

    fn remove(&self, id: u64) {
        self.lock().listeners.retain(|(other, _)| *other != id);
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription. Dropping it ends it.
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    subscribers: Weak<Subscribers>,
    id: u64,
}

impl Subscription {
    /// Ends the subscription.
    pub fn unsubscribe(self) {}

    /// Keeps the subscription for the life of the agent.
    pub fn detach(mut self) {
        self.subscribers = Weak::new();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(subscribers) = self.subscribers.upgrade() {
            subscribers.remove(self.id);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
