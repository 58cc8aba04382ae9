//! A clock that is turned by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pi_core::{BoxFuture, Clock};
use tokio::sync::watch;

/// A clock whose time moves when the test says so.
#[derive(Clone)]
pub(crate) struct HandClock {
    time: Arc<watch::Sender<Duration>>,
    /// The lengths of the sleeps that were begun.
    sleeps: Arc<watch::Sender<Vec<Duration>>>,
    /// How many of them `next_sleep` has told.
    told: Arc<AtomicUsize>,
}

impl HandClock {
    pub(crate) fn new() -> Self {
        Self {
            time: Arc::new(watch::Sender::new(Duration::ZERO)),
            sleeps: Arc::new(watch::Sender::new(Vec::new())),
            told: Arc::default(),
        }
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.time.send_modify(|time| *time += by);
    }

    /// Returns how many sleeps were begun.
    pub(crate) fn sleeps(&self) -> usize {
        self.sleeps.borrow().len()
    }

    /// Waits until a sleep begins that was not told before, and returns its length.
    pub(crate) async fn next_sleep(&self) -> Duration {
        let number = self.told.load(Ordering::Relaxed);
        let mut sleeps = self.sleeps.subscribe();
        let sleeps = sleeps.wait_for(|sleeps| sleeps.len() > number).await;
        self.told.store(number + 1, Ordering::Relaxed);
        sleeps.unwrap()[number]
    }
}

impl Clock for HandClock {
    fn now(&self) -> u64 {
        0
    }

    fn monotonic(&self) -> Duration {
        *self.time.borrow()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.sleeps.send_modify(|sleeps| sleeps.push(duration));
        let mut time = self.time.subscribe();
        let until = self.monotonic() + duration;
        Box::pin(async move {
            let _ = time.wait_for(|time| *time >= until).await;
        })
    }
}
