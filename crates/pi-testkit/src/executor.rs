//! Running futures on the thread of the test.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Runs a future to its end on this thread. It needs no runtime, and gives none: a future that
/// wants one (tokio's timers and sockets) fails as it does outside a runtime.
///
/// # Examples
/// ```
/// assert_eq!(pi_testkit::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    drive(future, || false)
}

/// Runs a future to its end. Where it waits and nothing has woken it, `idle` is called; the thread
/// sleeps until the future is woken if that returns false.
pub(crate) fn drive<F: Future>(future: F, mut idle: impl FnMut() -> bool) -> F::Output {
    let mut future = pin!(future);
    let signal = Arc::new(Signal::new());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        if !signal.take() && !idle() {
            signal.wait();
        }
    }
}

/// A future that a test runs piece by piece, to look around in between.
///
/// # Examples
/// ```
/// use std::task::Poll;
/// use pi_testkit::{Gates, Stepper};
///
/// let gates = Gates::new();
/// let mut work = Stepper::new(gates.pass("go"));
/// assert_eq!(work.step(), Poll::Pending);
/// gates.open("go");
/// assert_eq!(work.step(), Poll::Ready(()));
/// ```
pub struct Stepper<F: Future> {
    future: Pin<Box<F>>,
    signal: Arc<Signal>,
    waker: Waker,
}

impl<F: Future> Stepper<F> {
    /// Takes a future; nothing is run yet.
    pub fn new(future: F) -> Self {
        let signal = Arc::new(Signal::new());
        let waker = Waker::from(Arc::clone(&signal));
        Self {
            future: Box::pin(future),
            signal,
            waker,
        }
    }

    /// Runs the future until it is ready or waits for something that has not happened.
    ///
    /// # Panics
    /// As the future itself does where it is polled after it was ready.
    pub fn step(&mut self) -> Poll<F::Output> {
        let mut cx = Context::from_waker(&self.waker);
        loop {
            let polled = self.future.as_mut().poll(&mut cx);
            if polled.is_ready() || !self.signal.take() {
                return polled;
            }
        }
    }

    /// Runs the rest to the end.
    pub fn finish(self) -> F::Output {
        block_on(self.future)
    }
}

impl<F: Future> fmt::Debug for Stepper<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepper").finish_non_exhaustive()
    }
}

/// A waker that remembers, and that wakes the thread which made it.
struct Signal {
    thread: Thread,
    woken: AtomicBool,
}

impl Signal {
    fn new() -> Self {
        Self {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        }
    }

    fn take(&self) -> bool {
        self.woken.swap(false, Ordering::Acquire)
    }

    fn wait(&self) {
        while !self.take() {
            thread::park();
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Gates;

    #[test]
    fn another_thread_wakes_a_blocked_test() {
        let gates = Gates::new();
        let opener = gates.clone();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            opener.open("go");
        });
        block_on(gates.pass("go"));
        other.join().expect("the thread does not panic");
    }

    #[test]
    fn a_step_goes_on_as_long_as_the_future_wakes_itself() {
        let mut left = 3;
        let mut work = Stepper::new(std::future::poll_fn(move |cx| {
            if left == 0 {
                return Poll::Ready("done");
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        assert_eq!(work.step(), Poll::Ready("done"));
    }
}
