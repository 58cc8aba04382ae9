//! Commands on this machine: a session of its own for each, and the end of everything in it.

mod process;

use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pi_core::BoxFuture;
use process_wrap::std::{CommandWrap, ProcessSession};
use rustix::process::Pid;
use tokio::sync::{oneshot, watch};

use super::ops::{BashOps, Killer, OutputSink, ShellCommand, ShellExit, ShellProcess};
use super::sandbox::Sandbox;

/// Bytes that are read of a pipe at once.
const PIECE: usize = 64 * 1024;

/// The variable by which everything that a command started is found again.
const MARK: &str = "PI_TOOL_RUN_ID";

/// Runs commands on this machine.
pub(super) struct LocalShell {
    shell: std::path::PathBuf,
    sandbox: Option<Arc<Sandbox>>,
}

impl LocalShell {
    pub(super) fn new(shell: std::path::PathBuf, sandbox: Option<Arc<Sandbox>>) -> Self {
        Self { shell, sandbox }
    }

    fn prepare(&self, command: &ShellCommand, mark: &str) -> io::Result<(Command, io::PipeReader)> {
        let (reader, writer) = io::pipe()?;
        let mut shell = match &self.sandbox {
            Some(sandbox) => sandbox.command(&self.shell, command),
            None => Command::new(&self.shell),
        };
        shell
            .arg("-c")
            .arg(&command.command)
            .current_dir(&command.folder)
            .env_clear()
            .envs(&command.environment)
            .env("PI_TOOL_CALL_ID", &*command.call_id)
            .env(MARK, mark)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        Ok((shell, reader))
    }
}

impl BashOps for LocalShell {
    fn start(
        &self,
        command: ShellCommand,
        output: OutputSink,
    ) -> BoxFuture<'_, io::Result<Box<dyn ShellProcess>>> {
        Box::pin(async move {
            let mark = process::new_mark();
            let (shell, reader) = self.prepare(&command, &mark)?;
            let (started, start) = oneshot::channel();
            let (exited, exit) = watch::channel(None);
            let sandbox = self.sandbox.clone();
            // Rules of a sandbox hold for one thread and what it starts, so each command has one.
            thread::Builder::new()
                .name("bash-wait".to_owned())
                .spawn(move || spawn_and_wait(shell, sandbox.as_deref(), started, &exited))?;
            let pid = start
                .await
                .map_err(|_| io::Error::other("the thread of the command broke off"))??;
            thread::Builder::new()
                .name("bash-read".to_owned())
                .spawn(move || pump(reader, &output))?;
            let process: Box<dyn ShellProcess> = Box::new(LocalProcess { pid, mark, exit });
            Ok(process)
        })
    }
}

/// Starts the shell, tells its number, waits for its end and tells that, too.
fn spawn_and_wait(
    shell: Command,
    sandbox: Option<&Sandbox>,
    started: oneshot::Sender<io::Result<Pid>>,
    exited: &watch::Sender<Option<ShellExit>>,
) {
    let spawned = sandbox
        .map_or(Ok(()), Sandbox::enter)
        .and_then(|()| CommandWrap::from(shell).wrap(ProcessSession).spawn());
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            // Nobody waits any more if the call was dropped.
            let _ = started.send(Err(error));
            return;
        }
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the shell has no process id"));
    if started.send(pid).is_err() {
        // The call was dropped while the shell was started.
        let _ = child.start_kill();
    }
    // The wrapper would wait for the whole group, which background processes keep alive.
    let exit = match child.inner_mut().wait() {
        Ok(status) => process::exit_of(status),
        Err(_) => ShellExit {
            code: -1,
            signal: None,
        },
    };
    exited.send_replace(Some(exit));
}

/// Hands on what comes out of a pipe until nobody can write into it any more.
fn pump(mut reader: io::PipeReader, output: &OutputSink) {
    let mut piece = vec![0; PIECE];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => output.write(piece.get(..len).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
}

struct LocalProcess {
    pid: Pid,
    mark: String,
    exit: watch::Receiver<Option<ShellExit>>,
}

impl ShellProcess for LocalProcess {
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ShellExit>> {
        Box::pin(async move {
            let exit = self.exit.wait_for(Option::is_some).await;
            exit.ok()
                .and_then(|exit| *exit)
                .ok_or_else(|| io::Error::other("the thread of the command broke off"))
        })
    }

    fn stop(&mut self, grace: Duration) -> BoxFuture<'_, Vec<u32>> {
        Box::pin(async move {
            let ended = process::stop(self.pid, &self.mark, grace);
            let left = tokio::task::spawn_blocking(ended).await.unwrap_or_default();
            let reaped = tokio::time::timeout(process::REAP, self.wait()).await;
            match reaped {
                Ok(_) => left,
                Err(_) if left.is_empty() => vec![self.pid.as_raw_nonzero().get().unsigned_abs()],
                Err(_) => left,
            }
        })
    }

    fn killer(&self) -> Killer {
        let (pid, mark) = (self.pid, self.mark.clone());
        Arc::new(move || process::kill(pid, &mark))
    }

    fn is_running(&self) -> bool {
        process::is_alive(self.pid, &self.mark)
    }

    fn group(&self) -> Option<u32> {
        u32::try_from(self.pid.as_raw_nonzero().get()).ok()
    }
}
