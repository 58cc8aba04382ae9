//! The seam between `bash` and the machine that runs its commands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pi_core::BoxFuture;
use tokio::sync::Notify;

use super::accumulate::{Accumulator, Raw};
use super::spill::Kept;

/// A command that is about to run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShellCommand {
    /// What the shell runs.
    pub command: String,
    /// Where it runs, absolute.
    pub folder: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The id of the call.
    pub call_id: Arc<str>,
}

/// What `bash` needs of a machine.
pub trait BashOps: Send + Sync {
    /// Starts a command. What it writes to standard output and standard error goes to `output`, in
    /// order; `output` and its clones are dropped when nobody can write any more. Standard input is
    /// empty.
    ///
    /// # Errors
    /// If the command cannot be started.
    fn start(
        &self,
        command: ShellCommand,
        output: OutputSink,
    ) -> BoxFuture<'_, io::Result<Box<dyn ShellProcess>>>;
}

/// A command that runs. Dropping it leaves the command alone.
pub trait ShellProcess: Send + Sync {
    /// Waits until the shell itself has ended; processes that it left behind may still run. Once it
    /// has ended, the same answer comes again.
    ///
    /// # Cancel safety
    /// Cancel safe.
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ShellExit>>;

    /// Ends the command and everything that it started: kindly first, by force after `grace`.
    /// Returns what could not be ended.
    ///
    /// # Cancel safety
    /// What was sent so far stays sent.
    fn stop(&mut self, grace: Duration) -> BoxFuture<'_, Vec<u32>>;

    /// Returns what ends everything by force, at once and without waiting. It must not take long, and
    /// it may be called when all has ended.
    fn killer(&self) -> Killer;

    /// Returns true if anything that the command started still runs.
    ///
    /// # Cancel safety
    /// Cancel safe.
    fn is_running(&self) -> BoxFuture<'_, bool>;

    /// Returns a number by which people can find what is left behind, such as that of the process
    /// group.
    fn group(&self) -> Option<u32>;
}

/// Ends a command and everything that it started, by force.
pub type Killer = Arc<dyn Fn() + Send + Sync>;

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellExit {
    /// The exit code; for a signal 128 and its number.
    pub code: i32,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
}

/// Where the output of a command goes. The end of the last clone is the end of the output.
#[derive(Debug, Clone)]
pub struct OutputSink(Arc<Open>);

#[derive(Debug)]
struct Open(Output);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.0.moved.notify_one();
    }
}

impl OutputSink {
    /// Takes a piece of the output. Memory is bounded whatever comes. Long output is written to a
    /// file, so this is for a thread that may block.
    pub fn write(&self, bytes: &[u8]) {
        let output = &self.0.0;
        let is_over = output.lock().accumulator.push(bytes);
        output.0.moved.notify_one();
        // The disk may be slow, and nobody else waits for this lock while the command runs.
        output.raw().push(bytes, is_over);
    }
}

/// The output of a command, as the call sees it.
#[derive(Debug, Clone)]
pub(super) struct Output(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    raw: Mutex<Raw>,
    /// Told when something has come, and at the end.
    moved: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) accumulator: Accumulator,
    pub(super) is_closed: bool,
}

impl Output {
    pub(super) fn new(accumulator: Accumulator, raw: Raw) -> (Self, OutputSink) {
        let output = Self(Arc::new(Shared {
            state: Mutex::new(State {
                accumulator,
                is_closed: false,
            }),
            raw: Mutex::new(raw),
            moved: Notify::new(),
        }));
        let sink = OutputSink(Arc::new(Open(output.clone())));
        (output, sink)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raw(&self) -> MutexGuard<'_, Raw> {
        self.0.raw.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that all output is in the file if it is wanted there, and tells about the file.
    pub(super) async fn kept(&self, is_wanted: bool) -> Kept {
        let output = self.clone();
        let telling = move || {
            let mut raw = output.raw();
            if is_wanted {
                raw.keep();
            }
            raw.kept()
        };
        tokio::task::spawn_blocking(telling)
            .await
            .unwrap_or_default()
    }

    /// Waits until something has come, or the output has ended.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(super) async fn moved(&self) {
        self.0.moved.notified().await;
    }
}
