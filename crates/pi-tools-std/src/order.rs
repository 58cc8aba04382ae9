//! The order of calls that run at once: a later call waits for an earlier one that it conflicts
//! with, so that a batch has the effects and the results of its calls one by one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_core::{ToolContext, ToolError};
use tokio::sync::Notify;

use crate::abort::aborted;
use crate::ops::Identity;

/// What a call does to the files.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    /// Reads one file: the one that any of these names means.
    Read(Vec<Identity>),
    /// Reads any file below a folder.
    ReadTree,
    /// Changes one file: the one that any of these names means.
    Mutate(Vec<Identity>),
    /// Runs a command, which may do anything.
    Command {
        /// Whether it waits for other commands too.
        exclusive: bool,
    },
}

impl Access {
    /// Returns true if this call must wait for an earlier one.
    fn waits_for(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Command { exclusive: a }, Self::Command { exclusive: b }) => *a || *b,
            (Self::Command { .. }, _) | (_, Self::Command { .. }) => true,
            (Self::Mutate(a), Self::Mutate(b) | Self::Read(b))
            | (Self::Read(a), Self::Mutate(b)) => a.iter().any(|a| b.iter().any(|b| a.is_same(b))),
            (Self::Mutate(_), Self::ReadTree) | (Self::ReadTree, Self::Mutate(_)) => true,
            (Self::Read(_) | Self::ReadTree, Self::Read(_) | Self::ReadTree) => false,
        }
    }
}

/// Which calls keep their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Ordering {
    /// A later call waits for every earlier one whose effects it could see or disturb. The default.
    #[default]
    Full,
    /// Only changes of one file wait for each other, as in the TypeScript agent.
    Upstream,
}

/// The queue of a workspace. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    live: HashMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    access: Access,
    /// How many earlier calls it still waits for.
    blockers: usize,
    /// Later calls that wait for it.
    dependents: Vec<u64>,
    ready: Arc<Notify>,
}

impl Order {
    /// Takes the next place in the queue. It does not wait.
    pub(crate) fn take(&self, ordering: Ordering, access: Access) -> Ticket {
        let mut queue = self.lock();
        let id = queue.next;
        queue.next += 1;
        let mut blockers = 0;
        for place in queue.live.values_mut() {
            let both_mutate = matches!(
                (&access, &place.access),
                (Access::Mutate(_), Access::Mutate(_))
            );
            let counts = ordering == Ordering::Full || both_mutate;
            if counts && access.waits_for(&place.access) {
                place.dependents.push(id);
                blockers += 1;
            }
        }
        let ready = Arc::new(Notify::new());
        queue.live.insert(
            id,
            Place {
                access,
                blockers,
                dependents: Vec::new(),
                ready: Arc::clone(&ready),
            },
        );
        drop(queue);
        Ticket {
            order: self.clone(),
            id,
            ready,
            waits: blockers > 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, given up when dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    order: Order,
    id: u64,
    ready: Arc<Notify>,
    waits: bool,
}

impl Ticket {
    /// Waits until no earlier call is in the way.
    ///
    /// # Errors
    /// If the run is aborted first, or was before.
    ///
    /// # Cancel safety
    /// Cancel safe: the place is kept until the ticket is dropped.
    pub(crate) async fn ready(&mut self, cx: &ToolContext) -> Result<(), ToolError> {
        if cx.is_aborted() {
            return Err(aborted());
        }
        if self.waits {
            tokio::select! {
                biased;
                () = cx.aborted() => return Err(aborted()),
                () = self.ready.notified() => self.waits = false,
            }
        }
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut queue = self.order.lock();
        let Some(place) = queue.live.remove(&self.id) else {
            return;
        };
        for dependent in place.dependents {
            if let Some(later) = queue.live.get_mut(&dependent) {
                later.blockers -= 1;
                if later.blockers == 0 {
                    later.ready.notify_one();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
