//! A clock that stands still until the test turns it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pi_core::{BoxFuture, Clock};

use crate::executor::drive;

/// A [`Clock`] that the test turns by hand. It starts at zero; cloning shares it.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use pi_core::Clock;
/// use pi_testkit::{ManualClock, Stepper};
///
/// let clock = ManualClock::new();
/// let mut nap = Stepper::new(clock.sleep(Duration::from_secs(5)));
/// assert!(nap.step().is_pending());
/// clock.advance(Duration::from_secs(5));
/// assert!(nap.step().is_ready());
/// assert_eq!(clock.now(), 5_000);
/// ```
#[derive(Clone, Default)]
pub struct ManualClock(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The wall time since the Unix epoch; a duration, so that parts of a millisecond add up.
    wall: Duration,
    monotonic: Duration,
    /// Who sleeps until when, in the order in which they wake.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    next_sleeper: u64,
}

impl ManualClock {
    /// Creates a clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a clock whose wall time is `now`, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn at(now: u64) -> Self {
        let clock = Self::new();
        clock.set_now(now);
        clock
    }

    /// Sets the wall time alone, forwards or back, as an operator would. Sleepers do not notice.
    pub fn set_now(&self, now: u64) {
        self.lock().wall = Duration::from_millis(now);
    }

    /// Turns the clock forward and wakes who has slept long enough, the earliest first.
    ///
    /// The clock turns before the first is woken: all see the new time.
    pub fn advance(&self, duration: Duration) {
        for waker in self.turn(duration) {
            waker.wake();
        }
    }

    /// Turns the clock to the moment at which the next sleeper wakes; false if nobody sleeps.
    pub fn advance_to_next(&self) -> bool {
        let wait = {
            let state = self.lock();
            let next = state.sleepers.keys().next();
            next.map(|(deadline, _)| deadline.saturating_sub(state.monotonic))
        };
        if let Some(wait) = wait {
            self.advance(wait);
        }
        wait.is_some()
    }

    /// Returns how many sleep. A sleep counts from its first poll on.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.lock().sleepers.len()
    }

    /// Runs a future to its end and turns the clock to the next sleeper whenever the future waits
    /// and nothing else can go on. Hours pass in no time, in a fixed order.
    ///
    /// Where nobody sleeps, it waits for another thread as [`block_on`](crate::block_on) does.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        drive(future, || self.advance_to_next())
    }

    fn turn(&self, duration: Duration) -> Vec<Waker> {
        let mut state = self.lock();
        state.wall = state.wall.saturating_add(duration);
        state.monotonic = state.monotonic.saturating_add(duration);
        let mut due = Vec::new();
        let now = state.monotonic;
        while let Some(entry) = state.sleepers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            due.push(entry.remove());
        }
        due
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> u64 {
        u64::try_from(self.lock().wall.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.lock().monotonic
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let deadline = self.monotonic().saturating_add(duration);
        Box::pin(Sleep {
            clock: self.clone(),
            deadline,
            id: None,
        })
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("ManualClock")
            .field("wall", &state.wall)
            .field("monotonic", &state.monotonic)
            .field("sleepers", &state.sleepers.len())
            .finish()
    }
}

struct Sleep {
    clock: ManualClock,
    deadline: Duration,
    id: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = this.clock.lock();
        if state.monotonic >= this.deadline {
            return Poll::Ready(());
        }
        let id = *this.id.get_or_insert_with(|| {
            state.next_sleeper += 1;
            state.next_sleeper
        });
        state
            .sleepers
            .insert((this.deadline, id), cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.clock.lock().sleepers.remove(&(self.deadline, id));
        }
    }
}

#[cfg(test)]
mod tests;
