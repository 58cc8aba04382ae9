//! How long a search may go on.

use std::time::{Duration, Instant};

use pi_core::CancellationToken;

/// The time of a search, and the token that ends it early. Cloning shares both.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    abort: CancellationToken,
    /// `None` for as long as it takes.
    until: Option<Instant>,
}

impl Budget {
    pub(super) fn new(abort: &CancellationToken, time: Duration) -> Self {
        Self {
            abort: abort.clone(),
            until: Instant::now().checked_add(time),
        }
    }

    /// Returns true once the search must stop.
    pub(super) fn is_spent(&self) -> bool {
        self.is_aborted() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.abort.is_cancelled()
    }
}
