//! The bounded queue between a running call and the loop that shows its progress.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

use crate::tool::ToolOutput;

/// The most reports of one call that wait to be read.
const CAPACITY: usize = 64;

/// Creates a queue for the progress of one call. It holds 64 reports; in a full queue the newest
/// replaces the last one.
#[must_use]
pub fn progress_channel() -> (ProgressSender, ProgressReceiver) {
    let shared = Arc::new(Shared::default());
    (
        ProgressSender(Arc::clone(&shared)),
        ProgressReceiver(shared),
    )
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct Queue {
    reports: VecDeque<ToolOutput>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tool's end of the queue.
#[derive(Debug, Clone)]
pub struct ProgressSender(Arc<Shared>);

impl ProgressSender {
    /// Adds a report, unless the call has settled.
    pub fn send(&self, report: ToolOutput) {
        let mut queue = self.0.lock();
        if queue.closed {
            return;
        }
        if queue.reports.len() >= CAPACITY {
            queue.reports.pop_back();
        }
        queue.reports.push_back(report);
        drop(queue);
        self.0.waker.wake();
    }
}

/// The loop's end of the queue. Dropping it closes the queue.
#[derive(Debug)]
pub struct ProgressReceiver(Arc<Shared>);

impl ProgressReceiver {
    /// Returns the next report.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<ToolOutput> {
        self.0.waker.register(cx.waker());
        match self.0.lock().reports.pop_front() {
            Some(report) => Poll::Ready(report),
            None => Poll::Pending,
        }
    }
}

impl Drop for ProgressReceiver {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        queue.reports.clear();
    }
}
