//! What runs: commands whose calls have not ended, and what others left behind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use super::ops::{Killer, ShellProcess};

/// The most commands that may leave something running.
pub(super) const MAX_GROUPS: usize = 16;

/// What the commands of a set have running. Cloning shares it.
#[derive(Clone, Default)]
pub(super) struct Processes(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next: u64,
    /// Of the calls that have not ended.
    running: HashMap<u64, Killer>,
    left_behind: Vec<Box<dyn ShellProcess>>,
    /// Whether nothing may be left behind any more.
    is_closed: bool,
}

impl Processes {
    /// Takes note of a command for as long as the note lives.
    pub(super) fn note(&self, killer: Killer) -> Noted {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.running.insert(id, Arc::clone(&killer));
        Noted {
            processes: self.clone(),
            id,
            killer,
        }
    }

    /// Keeps what a command left behind; gives it back if there is too much, or after the end.
    pub(super) fn keep(&self, left: Box<dyn ShellProcess>) -> Result<(), Box<dyn ShellProcess>> {
        let mut state = self.lock();
        if state.is_closed || state.left_behind.len() >= MAX_GROUPS {
            return Err(left);
        }
        state.left_behind.push(left);
        Ok(())
    }

    /// Forgets what has ended since it was left behind, if there is no room for more.
    ///
    /// # Cancel safety
    /// What was not looked at yet stays.
    pub(super) async fn make_room(&self) {
        if self.lock().left_behind.len() < MAX_GROUPS {
            return;
        }
        let mut checking = Checking {
            processes: self,
            open: std::mem::take(&mut self.lock().left_behind),
            running: Vec::new(),
        };
        while let Some(process) = checking.open.last() {
            let is_running = process.is_running().await;
            let process = checking.open.pop();
            checking.running.extend(process.filter(|_| is_running));
        }
    }

    /// Ends everything, what was left behind kindly first. From now on nothing is left behind.
    pub(super) async fn shutdown(&self, grace: Duration) {
        let (running, mut left): (Vec<Killer>, _) = {
            let mut state = self.lock();
            state.is_closed = true;
            let running = state.running.values().cloned().collect();
            (running, std::mem::take(&mut state.left_behind))
        };
        for kill in running {
            kill();
        }
        let stopping = left.iter_mut().map(|process| process.stop(grace));
        join_all(stopping).await;
    }

    /// Ends everything by force, without waiting. From now on nothing is left behind.
    pub(super) fn kill(&self) {
        let killers: Vec<Killer> = {
            let mut state = self.lock();
            state.is_closed = true;
            let left: Vec<_> = state.left_behind.drain(..).collect();
            let left = left.iter().map(|process| process.killer());
            state.running.values().cloned().chain(left).collect()
        };
        for kill in killers {
            kill();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was left behind, while it is looked through. It goes back also if that is not finished.
struct Checking<'a> {
    processes: &'a Processes,
    open: Vec<Box<dyn ShellProcess>>,
    running: Vec<Box<dyn ShellProcess>>,
}

impl Drop for Checking<'_> {
    fn drop(&mut self) {
        let mut state = self.processes.lock();
        state.left_behind.append(&mut self.open);
        state.left_behind.append(&mut self.running);
    }
}

/// The note that a command runs.
pub(super) struct Noted {
    processes: Processes,
    id: u64,
    killer: Killer,
}

impl Noted {
    /// Ends the command by force, without waiting.
    pub(super) fn kill(&self) {
        (self.killer)();
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.processes.lock().running.remove(&self.id);
    }
}
