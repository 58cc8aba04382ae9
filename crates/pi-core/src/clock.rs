//! Time as a value that is passed in.

use std::time::Duration;

use crate::options::BoxFuture;

/// The time, and waiting. Tests own it; see `pi_testkit` for one that is turned by hand.
pub trait Clock: Send + Sync + 'static {
    /// Returns the wall time in milliseconds since the Unix epoch, for timestamps only.
    fn now(&self) -> u64;

    /// Returns the time since a fixed moment in the past. It never goes back, so durations and
    /// deadlines are measured with it.
    fn monotonic(&self) -> Duration;

    /// Waits for a duration.
    ///
    /// # Cancel safety
    /// Dropping the future ends the wait and leaves nothing behind.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn monotonic(&self) -> Duration {
        (**self).monotonic()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        (**self).sleep(duration)
    }
}
