//! Signals, and finding everything that a command started.

use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

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

/// Returns the work that ends a group and all that carries the mark, and names what is left.
pub(super) fn stop(
    group: Pid,
    mark: &str,
    grace: Duration,
) -> impl FnOnce() -> Vec<u32> + Send + 'static {
    let mark = mark.to_owned();
    move || {
        if !grace.is_zero() {
            let _ = kill_process_group(group, Signal::TERM);
            wait_until(grace, || !is_alive(group, &mark));
        }
        // What forks while it is looked for is found the second time.
        kill(group, &mark);
        kill(group, &mark);
        wait_until(GONE, || !is_alive(group, &mark));
        if is_alive(group, &mark) {
            kill(group, &mark);
        }
        wait_until(GONE, || !is_alive(group, &mark));
        left(group, &mark)
    }
}

/// Kills a group and all that carries the mark.
pub(super) fn kill(group: Pid, mark: &str) {
    if cfg!(target_os = "macos") {
        let _ = kill_process_group(group, Signal::STOP);
    }
    let _ = kill_process_group(group, Signal::KILL);
    for process in marked(mark) {
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Returns true if anything is left of a command.
pub(super) fn is_alive(group: Pid, mark: &str) -> bool {
    !left(group, mark).is_empty()
}

/// Lists what is left of a command.
fn left(group: Pid, mark: &str) -> Vec<u32> {
    let number = |pid: Pid| pid.as_raw_nonzero().get().unsigned_abs();
    if cfg!(target_os = "linux") {
        // A group may consist of processes that have ended and wait for somebody to take notice.
        marked(mark).into_iter().map(number).collect()
    } else if test_kill_process_group(group).is_ok() {
        vec![number(group)]
    } else {
        Vec::new()
    }
}

fn wait_until(time: Duration, is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() && start.elapsed() < time {
        thread::sleep(LOOK);
    }
}

/// Lists the running processes whose environment carries the mark. Only Linux tells it.
fn marked(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={mark}");
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let pid = Pid::from_raw(name.to_str()?.parse().ok()?)?;
            carries(pid, wanted.as_bytes()).then_some(pid)
        })
        .collect()
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
