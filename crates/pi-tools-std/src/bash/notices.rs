//! What the model is told about a command besides its output.

use std::path::PathBuf;
use std::time::Duration;

use pi_core::{ToolError, ToolOutput};

use super::SandboxNote;
use super::accumulate::Snapshot;
use super::ops::ShellExit;
use super::processes::MAX_GROUPS;
use super::run::{BashDetails, End};
use super::spill::Kept;
use crate::size;
use crate::truncate::TruncatedBy;

/// What programs say when they were refused something.
const REFUSALS: [&str; 3] = [
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
];

/// The most protected files that are named; the details have all.
const SHOWN: usize = 20;

/// What is known about a command that has ended.
pub(super) struct Report {
    end: End,
    pub(super) snapshot: Snapshot,
    pub(super) duration: Duration,
    pub(super) max_bytes: u64,
    pub(super) kept: Kept,
    /// The process group of what goes on.
    pub(super) group: Option<u32>,
    pub(super) is_left_running: bool,
    /// Whether what goes on can still write output.
    pub(super) writes_on: bool,
    pub(super) too_many_groups: bool,
    /// Processes that could not be ended.
    pub(super) left: Vec<u32>,
    pub(super) timeout_limited_to: Option<Duration>,
    pub(super) sandbox: SandboxNote,
    pub(super) protected_changed: Vec<PathBuf>,
}

impl Report {
    pub(super) fn new(end: End) -> Self {
        Self {
            end,
            snapshot: Snapshot::default(),
            duration: Duration::ZERO,
            max_bytes: 0,
            kept: Kept::default(),
            group: None,
            is_left_running: false,
            writes_on: false,
            too_many_groups: false,
            left: Vec::new(),
            timeout_limited_to: None,
            sandbox: SandboxNote {
                state: "off",
                limits: None,
            },
            protected_changed: Vec::new(),
        }
    }

    /// Makes the answer.
    ///
    /// # Errors
    /// If the details cannot be serialized, which they can.
    pub(super) fn output(self) -> Result<ToolOutput, ToolError> {
        let is_error = !matches!(self.end, End::Exited(ShellExit { code: 0, .. }));
        let mut parts = Vec::new();
        let output = self.snapshot.text.trim_end_matches('\n');
        if !output.trim().is_empty() {
            parts.push(output.to_owned());
        } else if matches!(self.end, End::Exited(_)) {
            parts.push("(no output)".to_owned());
        }
        let notices = self.notices();
        if !notices.is_empty() {
            parts.push(notices.join("\n"));
        }
        parts.extend(self.failure());
        let text = parts.join("\n\n");
        let details = self.into_details();
        ToolOutput::text(text)
            .with_details(details)
            .with_is_error(is_error)
            .erase()
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        notices.extend(self.cut_notice());
        if let Some(limit) = self.kept.stopped_at {
            notices.push(format!("[Full output stopped at {}.]", size::shown(limit)));
        }
        if let Some(reason) = &self.kept.failure {
            notices.push(format!("[Full output could not be saved: {reason}]"));
        }
        if let Some(limit) = self.timeout_limited_to {
            notices.push(format!(
                "[Timeout limited to {} seconds.]",
                limit.as_secs_f64()
            ));
        }
        if self.too_many_groups {
            notices.push(format!(
                "[Background processes were ended: at most {MAX_GROUPS} commands may leave some running.]"
            ));
        } else if self.is_left_running {
            notices.push(self.background_notice());
        }
        for process in &self.left {
            notices.push(format!("[Process {process} could not be stopped.]"));
        }
        notices.extend(self.protected_notice());
        notices.extend(self.sandbox_notice());
        notices
    }

    fn cut_notice(&self) -> Option<String> {
        let truncation = &self.snapshot.truncation;
        if !truncation.truncated {
            return None;
        }
        let total = truncation.total_lines;
        let first = total.saturating_sub(truncation.output_lines) + 1;
        let shown = if truncation.last_line_partial {
            format!(
                "Showing last {} of line {total} (line is {}).",
                size::shown(truncation.output_bytes),
                size::shown(self.snapshot.last_line_bytes)
            )
        } else if truncation.truncated_by == Some(TruncatedBy::Bytes) {
            let limit = size::shown(self.max_bytes);
            format!("Showing lines {first}-{total} of {total} ({limit} limit).")
        } else {
            format!("Showing lines {first}-{total} of {total}.")
        };
        Some(match &self.kept.file {
            Some(file) => format!("[{shown} Full output: {}]", file.display()),
            None => format!("[{shown}]"),
        })
    }

    fn background_notice(&self) -> String {
        let group = match self.group {
            Some(group) => format!(" (process group {group})"),
            None => String::new(),
        };
        let file = match &self.kept.file {
            Some(file) if self.writes_on => format!(" Further output: {}", file.display()),
            _ => String::new(),
        };
        format!("[Background processes are still running{group}.{file}]")
    }

    fn protected_notice(&self) -> Option<String> {
        let changed = &self.protected_changed;
        let shown: Vec<_> = changed
            .iter()
            .take(SHOWN)
            .map(|path| path.display().to_string())
            .collect();
        let more = match changed.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!shown.is_empty()).then(|| {
            format!(
                "[Warning: this command changed protected files: {}{more}]",
                shown.join(", ")
            )
        })
    }

    fn sandbox_notice(&self) -> Option<String> {
        let limits = self.sandbox.limits.as_ref()?;
        let failed = matches!(self.end, End::Exited(exit) if exit.code != 0);
        let refused = REFUSALS
            .iter()
            .any(|refusal| self.snapshot.text.contains(refusal));
        (failed && refused).then(|| format!("[The command ran in a sandbox: {limits}.]"))
    }

    /// Says why the call counts as failed.
    fn failure(&self) -> Option<String> {
        match self.end {
            End::Exited(ShellExit { code: 0, .. }) => None,
            End::Exited(ShellExit {
                code,
                signal: Some(signal),
            }) => Some(format!(
                "Command was killed by signal {} (exit code {code})",
                signal_name(signal)
            )),
            End::Exited(ShellExit { code, signal: None }) => {
                Some(format!("Command exited with code {code}"))
            }
            End::Aborted => Some("Command aborted".to_owned()),
            End::TimedOut { after, exit } => {
                let mut text = format!("Command timed out after {} seconds", after.as_secs_f64());
                if let Some((exit, at)) = exit {
                    text += &format!(
                        ". The shell exited with code {} after {:.1} seconds, but background \
                         processes it started kept writing output until the timeout.",
                        exit.code,
                        at.as_secs_f64()
                    );
                }
                Some(text)
            }
        }
    }

    fn into_details(self) -> BashDetails {
        let exit = match self.end {
            End::Exited(exit) => Some(exit),
            End::TimedOut { exit, .. } => exit.map(|(exit, _)| exit),
            End::Aborted => None,
        };
        let is_cut = self.snapshot.truncation.truncated;
        BashDetails {
            full_output_path: self.kept.file.filter(|_| is_cut || self.writes_on),
            truncation: is_cut.then_some(self.snapshot.truncation),
            exit_code: exit.map(|exit| exit.code),
            signal: exit.and_then(|exit| exit.signal).map(signal_name),
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            background_group: self.group.filter(|_| self.is_left_running),
            sandbox: self.sandbox.state.to_owned(),
            protected_changed: self.protected_changed,
        }
    }
}

/// Names a signal as people do.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        // These have other numbers elsewhere.
        7 if cfg!(target_os = "linux") => "SIGBUS",
        31 if cfg!(target_os = "linux") => "SIGSYS",
        signal => return format!("{signal}"),
    };
    name.to_owned()
}
