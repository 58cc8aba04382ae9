//! Whether code runs inside a run: below the poll of its future.

use std::cell::RefCell;
use std::sync::Arc;

use crate::agent::Inner;

thread_local! {
    /// The agents whose runs are being polled on this thread, the innermost last.
    static POLLED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Marks an agent's run as being polled until the value is dropped.
pub(crate) struct Inside;

impl Inside {
    pub(crate) fn enter(agent: &Arc<Inner>) -> Self {
        POLLED.with_borrow_mut(|polled| polled.push(address(agent)));
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        POLLED.with_borrow_mut(|polled| polled.pop());
    }
}

/// Returns true below the poll of a run of this agent.
pub(crate) fn is_inside(agent: &Arc<Inner>) -> bool {
    POLLED.with_borrow(|polled| polled.contains(&address(agent)))
}

fn address(agent: &Arc<Inner>) -> usize {
    Arc::as_ptr(agent).addr()
}
