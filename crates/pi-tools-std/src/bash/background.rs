//! What commands left running.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use super::ops::ShellProcess;

/// The most commands that may leave something running.
pub(super) const MAX_GROUPS: usize = 16;

/// What commands left running. Cloning shares it.
#[derive(Clone, Default)]
pub(super) struct Background(Arc<Mutex<Vec<Box<dyn ShellProcess>>>>);

impl Background {
    /// Keeps a command; gives it back if there are too many.
    pub(super) fn keep(&self, group: Box<dyn ShellProcess>) -> Result<(), Box<dyn ShellProcess>> {
        let mut groups = self.lock();
        if groups.len() >= MAX_GROUPS {
            groups.retain(|group| group.is_running());
        }
        if groups.len() >= MAX_GROUPS {
            return Err(group);
        }
        groups.push(group);
        Ok(())
    }

    /// Ends all groups.
    pub(super) async fn shutdown(&self, grace: Duration) {
        let mut groups = std::mem::take(&mut *self.lock());
        let stopping = groups.iter_mut().map(|group| group.stop(grace));
        join_all(stopping).await;
    }

    /// Ends all groups by force, without waiting.
    pub(super) fn kill(&self) {
        for group in self.lock().drain(..) {
            group.kill();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<dyn ShellProcess>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
