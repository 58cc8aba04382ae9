//! Time limits on any runtime, or none.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use futures_util::future::{Either, select};

use crate::gate::Gates;

/// Waits for a future for so long; none if it is not ready by then.
///
/// A thread keeps the time, since a runtime's timer exists only inside that runtime.
pub(super) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let gates = Gates::new();
    let alarm = gates.clone();
    let (guard, over) = channel::<()>();
    thread::spawn(move || {
        if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            alarm.open("alarm");
        }
    });
    let output = match select(pin!(future), pin!(gates.pass("alarm"))).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    };
    // The thread ends with its sender.
    drop(guard);
    output
}

/// Waits for so long, while the rest of the runtime goes on.
pub(super) async fn pause(duration: Duration) {
    within(duration, pending::<()>()).await;
}
