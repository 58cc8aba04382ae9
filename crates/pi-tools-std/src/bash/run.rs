//! One command, from its start to its answer.

use std::path::PathBuf;
use std::time::Duration;

use pi_core::{ToolContext, ToolError, ToolOutput};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::accumulate::{Accumulator, Raw};
use super::config::LeftBehind;
use super::notices::Report;
use super::ops::{Output, ShellCommand, ShellExit, ShellProcess};
use super::policy::{CommandRequest, Decision};
use super::processes::Noted;
use super::spill::Spill;
use super::{Args, Bash, Inner};
use crate::call::require_runtime;
use crate::limits::Limits;
use crate::order::Ticket;
use crate::truncate::Truncation;

/// The output ends when nothing has come for this long after the end of the shell.
const QUIET: Duration = Duration::from_millis(250);

/// The output ends this long after the end of the shell at the latest.
const DRAIN: Duration = Duration::from_secs(2);

/// What hosts see of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BashDetails {
    /// What was cut off, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// The file with the whole output, if the text is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<PathBuf>,
    /// The exit code of the shell; 128 and the number of the signal that ended it. `None` if it did
    /// not end by itself.
    pub exit_code: Option<i32>,
    /// The name of the signal that ended the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How long the call took, in milliseconds.
    pub duration_ms: u64,
    /// The process group of what was left running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_group: Option<u32>,
    /// Whether the command ran in a sandbox: `off`, `on`, or `partial` if the kernel could not
    /// enforce all of it.
    pub sandbox: String,
    /// Protected files that the command changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected_changed: Vec<PathBuf>,
}

/// Why a call ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// The shell ended.
    Exited(ShellExit),
    Aborted,
    /// The time was up; the shell may have ended before, after so long.
    TimedOut {
        after: Duration,
        exit: Option<(ShellExit, Duration)>,
    },
}

/// Runs a command.
///
/// # Cancel safety
/// Dropping the future ends the command by force.
pub(super) async fn run(
    bash: Bash,
    args: Args,
    mut ticket: Ticket,
    cx: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let inner = &*bash.0;
    let aborted = || ToolError::new("Command aborted");
    if args.command.trim().is_empty() {
        return Err("command must not be empty.".into());
    }
    let timeout = timeout(args.timeout, &inner.shared.limits)?;
    require_runtime()?;
    ticket.ready(&cx).await.map_err(|_| aborted())?;
    tokio::select! {
        biased;
        () = cx.aborted() => return Err(aborted()),
        allowed = inner.ask(&args.command, &cx) => allowed?,
    }
    cx.update(ToolOutput::<Value>::new(Vec::new()));
    let before = inner.look_at_protected().await;
    let mut running = tokio::select! {
        biased;
        () = cx.aborted() => return Err(aborted()),
        running = inner.start(&args.command, ticket, &cx) => running?,
    };
    let end = running.follow(inner, timeout.after, &cx).await;
    let mut report = running.conclude(inner, end).await;
    let after = match before {
        Some(_) => inner.look_at_protected().await,
        None => None,
    };
    // The next command may begin.
    drop(running);
    report.timeout_limited_to = timeout.limited_to;
    report.sandbox = inner.sandbox.clone();
    if let (Some(before), Some(after)) = (before, after) {
        report.protected_changed = before.changed(&after);
    }
    report.output()
}

/// The time that a call may take.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Timeout {
    after: Option<Duration>,
    /// The maximum, if the call asked for more.
    limited_to: Option<Duration>,
}

/// Reads the time that a call may take.
fn timeout(asked: Option<f64>, limits: &Limits) -> Result<Timeout, ToolError> {
    let Some(seconds) = asked else {
        return Ok(Timeout {
            after: limits.bash_timeout,
            limited_to: None,
        });
    };
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err("Invalid timeout: must be a positive number of seconds.".into());
    }
    let asked = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let limited_to = limits.bash_timeout_max.filter(|max| asked > *max);
    Ok(Timeout {
        after: Some(limited_to.unwrap_or(asked)),
        limited_to,
    })
}

impl Inner {
    /// Asks the policy, and whoever decides for it.
    async fn ask(&self, command: &str, cx: &ToolContext) -> Result<(), ToolError> {
        let Some(policy) = &self.config.policy else {
            return Ok(());
        };
        let request = CommandRequest {
            command: command.to_owned(),
            folder: self.shared.base.folder.clone(),
            call_id: cx.call_id().into(),
        };
        let refused = match policy.decide(&request) {
            Decision::Allow => return Ok(()),
            Decision::Deny { reason } => reason,
            Decision::Ask { reason } => match &self.config.ask {
                Some(ask) if ask(request, reason.clone()).await => return Ok(()),
                _ => reason,
            },
        };
        Err(ToolError::new(format!("Command not allowed: {refused}")))
    }

    /// Looks at protected files, if the commands run in a sandbox.
    async fn look_at_protected(&self) -> Option<super::protected::State> {
        if !self.sandbox.is_on() {
            return None;
        }
        let protected = self.protected.clone();
        tokio::task::spawn_blocking(move || protected.look())
            .await
            .ok()
    }

    async fn start(
        &self,
        command: &str,
        ticket: Ticket,
        cx: &ToolContext,
    ) -> Result<Running, ToolError> {
        let command = match &self.config.prefix {
            Some(prefix) => format!("{prefix}\n{command}"),
            None => command.to_owned(),
        };
        let mut command = ShellCommand {
            command,
            folder: self.shared.base.folder.clone(),
            environment: self.config.environment.variables(std::env::vars_os()),
            call_id: cx.call_id().into(),
        };
        if self.sandbox.is_on() {
            let tmp = self.spill.tmp().into_os_string();
            command.environment.insert("TMPDIR".into(), tmp);
        }
        if let Some(hook) = &self.config.spawn_hook {
            hook(&mut command);
        }
        let limits = &self.shared.limits;
        let spill = Spill::new(self.spill.clone(), limits.bash_spill_bytes);
        let accumulator = Accumulator::new(limits.output_lines, limits.output_bytes);
        let raw = Raw::new(limits.output_bytes, spill);
        let (output, sink) = Output::new(accumulator, raw);
        let folder = command.folder.clone();
        let started = Instant::now();
        let process = self.ops.start(command, sink).await.map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound && !folder.is_dir() {
                let folder = folder.display();
                return ToolError::new(format!(
                    "Working directory does not exist: {folder}\nCannot execute bash commands."
                ));
            }
            ToolError::new(format!("Cannot start the command: {error}"))
        })?;
        Ok(Running {
            noted: self.processes.note(process.killer()),
            process: Some(process),
            ticket: Some(ticket),
            output,
            started,
        })
    }
}

/// A command that runs. Dropping it ends the command by force.
struct Running {
    noted: Noted,
    process: Option<Box<dyn ShellProcess>>,
    /// Kept until nothing runs any more that the call has not left behind on purpose.
    ticket: Option<Ticket>,
    output: Output,
    started: Instant,
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        self.noted.kill();
        let ticket = self.ticket.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                process.stop(Duration::ZERO).await;
                drop(ticket);
            });
        }
    }
}

impl Running {
    /// Shows the output until the command has ended, or must end.
    async fn follow(&mut self, inner: &Inner, timeout: Option<Duration>, cx: &ToolContext) -> End {
        let Some(process) = self.process.as_mut() else {
            return End::Aborted;
        };
        let deadline = timeout.and_then(|timeout| self.started.checked_add(timeout));
        let mut updates = interval(
            inner
                .shared
                .limits
                .bash_update_interval
                .max(Duration::from_millis(1)),
        );
        updates.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut exit: Option<(ShellExit, Instant)> = None;
        let mut last_output = self.started;
        let mut shown = 0;
        let mut is_shown = true;
        let end = loop {
            let over = exit.map(|(_, at)| (at + DRAIN).min(last_output.max(at) + QUIET));
            tokio::select! {
                biased;
                () = cx.aborted() => break End::Aborted,
                () = at(deadline) => {
                    let after = timeout.unwrap_or_default();
                    let exit = exit.map(|(exit, at)| (exit, at - self.started));
                    break End::TimedOut { after, exit };
                }
                ended = process.wait(), if exit.is_none() => {
                    let lost = ShellExit { code: -1, signal: None };
                    exit = Some((ended.unwrap_or(lost), Instant::now()));
                }
                () = at(over) => {}
                _ = updates.tick(), if !is_shown => {
                    shown = show(&self.output, cx);
                    is_shown = true;
                }
                () = self.output.moved() => {
                    last_output = Instant::now();
                    is_shown = false;
                }
            }
            let is_over =
                self.output.lock().is_closed || over.is_some_and(|over| Instant::now() >= over);
            match exit {
                Some((exit, _)) if is_over => break End::Exited(exit),
                _ => {}
            }
        };
        if self.output.lock().accumulator.received() > shown {
            show(&self.output, cx);
        }
        end
    }

    /// Ends or leaves behind what still runs, and reports.
    async fn conclude(&mut self, inner: &Inner, end: End) -> Report {
        let mut report = Report::new(end);
        let grace = inner.config.kill_grace;
        let is_closed = self.output.lock().is_closed;
        let still_runs = match &self.process {
            Some(process) => !is_closed || runs_on(&**process).await,
            None => false,
        };
        match end {
            End::Exited(_) if !still_runs => {}
            End::Exited(_) if inner.config.left_behind == LeftBehind::Keep => {
                report.group = self.process.as_ref().and_then(|process| process.group());
                report.is_left_running = self.leave_behind(inner).await;
                report.writes_on = report.is_left_running && !is_closed;
                report.too_many_groups = !report.is_left_running;
                report.left = self.stop(grace).await;
            }
            _ => {
                report.left = self.stop(grace).await;
                drain(&self.output).await;
            }
        }
        // Nothing is left that a drop would have to end.
        self.process = None;
        report.duration = self.started.elapsed();
        report.snapshot = self.output.lock().accumulator.finish();
        let is_wanted = report.snapshot.truncation.truncated || report.writes_on;
        report.kept = self.output.kept(is_wanted).await;
        report.max_bytes = inner.shared.limits.output_bytes as u64;
        report
    }

    /// Hands over what runs on; returns false if it must be ended.
    async fn leave_behind(&mut self, inner: &Inner) -> bool {
        inner.processes.make_room().await;
        let Some(process) = self.process.take() else {
            return false;
        };
        // What is given back is ended by the caller, or with this.
        self.process = inner.processes.keep(process).err();
        self.process.is_none()
    }

    /// Ends what runs on, if there is anything, and names what could not be ended.
    async fn stop(&mut self, grace: Duration) -> Vec<u32> {
        match &mut self.process {
            Some(process) => process.stop(grace).await,
            None => Vec::new(),
        }
    }
}

/// Waits for a moment; for ever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Returns true if something still runs although nobody can write output any more. What is about to
/// end, as the keeper of a namespace is, does not count.
async fn runs_on(process: &dyn ShellProcess) -> bool {
    for _ in 0..10 {
        if !process.is_running().await {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    true
}

/// Takes what a stopped command has written last.
async fn drain(output: &Output) {
    let until = Instant::now() + QUIET;
    while !output.lock().is_closed {
        tokio::select! {
            () = sleep_until(until) => break,
            () = output.moved() => {}
        }
    }
}

/// Shows the end of the output so far, and returns how many bytes that were.
fn show(output: &Output, cx: &ToolContext) -> u64 {
    let (snapshot, received) = {
        let state = output.lock();
        (state.accumulator.snapshot(), state.accumulator.received())
    };
    cx.update(ToolOutput::<Value>::text(snapshot.text));
    received
}
