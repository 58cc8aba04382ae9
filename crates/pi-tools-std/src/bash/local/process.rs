//! Signals, and finding everything that a command started.

use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::sync::watch;

use super::MARK;
use crate::bash::ops::ShellExit;

/// How long the end of a killed shell is waited for.
pub(super) const REAP: Duration = Duration::from_secs(2);

/// How often it is looked whether a group has ended.
const LOOK: Duration = Duration::from_millis(10);

/// How long killed processes have to be gone.
const GONE: Duration = Duration::from_millis(500);

/// The most bytes of an environment that are looked at.
const ENVIRONMENT: u64 = 4 << 20;

/// Makes a mark that no other command on this machine has.
pub(super) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("{}-{number}-{now}", std::process::id())
}

pub(super) fn exit_of(status: ExitStatus) -> ShellExit {
    let signal = status.signal();
    ShellExit {
        code: status
            .code()
            .or(signal.map(|signal| 128 + signal))
            .unwrap_or(-1),
        signal,
    }
}

/// A command that was started: its group, and the mark that everything in it carries.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) group: Pid,
    pub(super) mark: String,
    /// How the shell ended, once it has. From then on its number may be given to another process.
    pub(super) exit: watch::Receiver<Option<ShellExit>>,
}

impl Target {
    /// Ends it, kindly first, and names what is left. It blocks.
    pub(super) fn stop(&self, grace: Duration) -> Vec<u32> {
        if !grace.is_zero() {
            self.signal(Signal::TERM);
            wait_until(grace, || !self.is_alive());
        }
        // What forks while it is looked for is found the second time.
        self.kill();
        self.kill();
        wait_until(GONE, || !self.is_alive());
        if self.is_alive() {
            self.kill();
            wait_until(GONE, || !self.is_alive());
        }
        let number = |pid: Pid| pid.as_raw_nonzero().get().unsigned_abs();
        self.processes().into_iter().map(number).collect()
    }

    /// Ends it by force, without waiting.
    pub(super) fn kill(&self) {
        if cfg!(target_os = "macos") {
            self.signal(Signal::STOP);
        }
        self.signal(Signal::KILL);
    }

    /// Returns true if anything of it is left.
    pub(super) fn is_alive(&self) -> bool {
        !self.processes().is_empty()
    }

    fn signal(&self, signal: Signal) {
        // Before the shell has ended the group is certainly ours.
        if self.exit.borrow().is_none() || !cfg!(target_os = "linux") {
            let _ = kill_process_group(self.group, signal);
        }
        if cfg!(target_os = "linux") {
            for process in self.processes() {
                let _ = kill_process(process, signal);
            }
        }
    }

    /// Lists the processes that are left: those that carry the mark, and those of the group.
    fn processes(&self) -> Vec<Pid> {
        if !cfg!(target_os = "linux") {
            let is_there = test_kill_process_group(self.group).is_ok();
            return if is_there {
                vec![self.group]
            } else {
                Vec::new()
            };
        }
        let wanted = format!("{MARK}={}", self.mark);
        let has_ended = self.exit.borrow().is_some();
        let mut marked = Vec::new();
        let mut others = Vec::new();
        let mut is_ours = true;
        for process in all_processes() {
            let Some(group) = group_of(process) else {
                continue;
            };
            let in_group = group == self.group.as_raw_nonzero().get();
            if carries(process, wanted.as_bytes()) {
                marked.push(process);
            } else if in_group {
                // Whoever has the number of a shell that has ended is somebody else, with a group of
                // its own.
                is_ours &= !(has_ended && process == self.group);
                others.push(process);
            }
        }
        if is_ours {
            marked.append(&mut others);
        }
        marked
    }
}

fn wait_until(time: Duration, is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() && start.elapsed() < time {
        thread::sleep(LOOK);
    }
}

/// Lists the processes of this machine. Only Linux tells them this way.
fn all_processes() -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Tells the group of a process; `None` if it has ended, also if nobody has taken notice yet.
fn group_of(process: Pid) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name of the program stands in parentheses and may hold anything.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(group)
}

fn carries(pid: Pid, wanted: &[u8]) -> bool {
    let read = || -> io::Result<Vec<u8>> {
        // The environments of others cannot be opened, and a process that has ended has none.
        let file = std::fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))?;
        let mut environment = Vec::new();
        file.take(ENVIRONMENT).read_to_end(&mut environment)?;
        Ok(environment)
    };
    let environment = read().unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|variable| variable == wanted)
}
