//! Places where a script, or a tool of a test, waits for the test.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Named gates. All are closed at first; once open, a gate stays open. Cloning shares them.
///
/// A script waits at a gate with [`Turn::gate`](crate::Turn::gate); a tool written for a test can
/// wait with [`pass`](Self::pass).
#[derive(Debug, Clone, Default)]
pub struct Gates(Arc<Mutex<BTreeMap<String, Gate>>>);

#[derive(Debug, Default)]
struct Gate {
    open: bool,
    reached: bool,
    waiting: Vec<Waker>,
}

impl Gates {
    /// Creates a set of gates. A gate exists as soon as it is named.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a gate, for whoever waits there and for all who come later.
    pub fn open(&self, name: &str) {
        self.change(name, |gate| gate.open = true);
    }

    /// Returns true if something has come to the gate, whether it waits there or has passed.
    #[must_use]
    pub fn is_reached(&self, name: &str) -> bool {
        self.lock().get(name).is_some_and(|gate| gate.reached)
    }

    /// Waits until something has come to the gate.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub fn reached(&self, name: &str) -> impl Future<Output = ()> + Send + 'static {
        self.wait(name, |gate| gate.reached)
    }

    /// Comes to the gate and waits until it is open.
    ///
    /// # Cancel safety
    /// Cancel safe: whoever stops waiting has still come to the gate.
    pub fn pass(&self, name: &str) -> impl Future<Output = ()> + Send + 'static {
        let gates = self.clone();
        let name = name.to_owned();
        async move {
            gates.change(&name, |gate| gate.reached = true);
            gates.wait(&name, |gate| gate.open).await;
        }
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Gate)) {
        let mut gates = self.lock();
        let gate = gates.entry(name.to_owned()).or_default();
        change(gate);
        let waiting = std::mem::take(&mut gate.waiting);
        drop(gates);
        for waker in waiting {
            waker.wake();
        }
    }

    fn wait(
        &self,
        name: &str,
        is_over: fn(&Gate) -> bool,
    ) -> impl Future<Output = ()> + Send + 'static {
        let gates = self.clone();
        let name = name.to_owned();
        poll_fn(move |cx| {
            let mut gates = gates.lock();
            let gate = gates.entry(name.clone()).or_default();
            if is_over(gate) {
                return Poll::Ready(());
            }
            if !gate.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                gate.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Gate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stepper;

    #[test]
    fn a_gate_holds_until_it_is_opened_and_stays_open() {
        let gates = Gates::new();
        let mut first = Stepper::new(gates.pass("go"));
        let mut watcher = Stepper::new(gates.reached("go"));
        assert_eq!(watcher.step(), Poll::Pending);
        assert!(!gates.is_reached("go"));

        assert_eq!(first.step(), Poll::Pending);
        assert!(gates.is_reached("go"));
        assert_eq!(watcher.step(), Poll::Ready(()));

        gates.open("other");
        assert_eq!(first.step(), Poll::Pending);
        gates.open("go");
        assert_eq!(first.step(), Poll::Ready(()));
        assert_eq!(Stepper::new(gates.pass("go")).step(), Poll::Ready(()));
    }
}
