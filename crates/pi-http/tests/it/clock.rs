//! A clock that is turned by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_core::{BoxFuture, Clock};
use tokio::sync::watch;

/// A clock whose time moves when the test says so.
#[derive(Clone)]
pub(crate) struct HandClock {
    time: Arc<watch::Sender<Duration>>,
    sleeps: Arc<Mutex<u64>>,
}

impl HandClock {
    pub(crate) fn new() -> Self {
        Self {
            time: Arc::new(watch::Sender::new(Duration::ZERO)),
            sleeps: Arc::default(),
        }
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.time.send_modify(|time| *time += by);
    }

    /// Returns how many sleeps were begun.
    pub(crate) fn sleeps(&self) -> u64 {
        *self.sleeps.lock().unwrap()
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
        *self.sleeps.lock().unwrap() += 1;
        let mut time = self.time.subscribe();
        let until = self.monotonic() + duration;
        Box::pin(async move {
            let _ = time.wait_for(|time| *time >= until).await;
        })
    }
}
