//! The clock of the real world.

use std::fmt;
use std::time::{Duration, SystemTime};

use pi_core::{BoxFuture, Clock};
use tokio::time::Instant;

/// The system's time, and waiting on tokio's timer.
#[derive(Clone, Copy)]
pub struct TokioClock {
    origin: Instant,
}

impl TokioClock {
    /// Creates the clock; its monotonic time counts from now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TokioClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokioClock")
    }
}

impl Clock for TokioClock {
    fn now(&self) -> u64 {
        // A wall clock before 1970 is wrong anyway: timestamps are then 0.
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Waits on tokio's timer.
    ///
    /// # Panics
    /// The future panics when it is polled outside a tokio runtime with a time driver.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async move { tokio::time::sleep(duration).await })
    }
}
