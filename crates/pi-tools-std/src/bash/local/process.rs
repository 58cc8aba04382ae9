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

/// How often it is looked for a process in a group of which only ended ones are seen.
const LOOKS: usize = 10;

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
        self.look().running.into_iter().map(number).collect()
    }

    /// Ends it by force, without waiting.
    pub(super) fn kill(&self) {
        if cfg!(target_os = "macos") {
            self.signal(Signal::STOP);
        }
        self.signal(Signal::KILL);
    }

    /// Returns true if anything of it is left. It blocks, for a few milliseconds at most.
    pub(super) fn is_alive(&self) -> bool {
        let mut before = self.look();
        for _ in 0..LOOKS {
            if !before.running.is_empty() {
                return true;
            }
            if !before.has_group {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
            // Where each process starts the next one and ends, hardly one is seen running.
            let now = self.look();
            if now.has_group && now.ended.iter().any(|ended| !before.ended.contains(ended)) {
                return true;
            }
            before = now;
        }
        // Nobody takes notice of those that have ended, unless there is nobody to be seen at all.
        before.ended.is_empty()
    }

    fn signal(&self, signal: Signal) {
        let seen = self.look();
        if seen.has_group {
            // One signal for all of them is the only one that nobody can run away from.
            let _ = kill_process_group(self.group, signal);
        }
        if cfg!(target_os = "linux") {
            for process in seen.running {
                let _ = kill_process(process, signal);
            }
        }
    }

    /// Looks for processes that carry the mark, and for those of the group.
    fn look(&self) -> Seen {
        let mut seen = Seen {
            has_group: test_kill_process_group(self.group).is_ok(),
            ..Seen::default()
        };
        if !cfg!(target_os = "linux") {
            seen.running.extend(seen.has_group.then_some(self.group));
            return seen;
        }
        let wanted = format!("{MARK}={}", self.mark);
        let is_free = self.exit.borrow().is_some();
        let mut others = Vec::new();
        for process in all_processes() {
            let Some((group, has_ended)) = group_of(process) else {
                continue;
            };
            let in_group = group == self.group.as_raw_nonzero().get();
            if in_group && is_free && process == self.group {
                // Whoever has the number of a shell that has ended is somebody else, with a group of
                // its own.
                seen.has_group = false;
            }
            if has_ended {
                seen.ended.extend(in_group.then_some(process));
            } else if carries(process, wanted.as_bytes()) {
                seen.running.push(process);
            } else if in_group {
                others.push(process);
            }
        }
        if seen.has_group {
            seen.running.append(&mut others);
        }
        seen
    }
}

/// What is left of a command.
#[derive(Debug, Default)]
struct Seen {
    running: Vec<Pid>,
    /// The group is there, and it is still that of the command.
    has_group: bool,
    /// Processes of the group that have ended without anybody taking notice yet.
    ended: Vec<Pid>,
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

/// Tells the group of a process, and whether it has ended without anybody taking notice yet.
fn group_of(process: Pid) -> Option<(i32, bool)> {
    let stat = std::fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name of the program stands in parentheses and may hold anything.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((group, matches!(state, "Z" | "X")))
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
