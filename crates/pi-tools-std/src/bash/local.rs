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

use self::process::Target;
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
            // The reader comes first: without it the shell could not be let go.
            thread::Builder::new()
                .name("bash-read".to_owned())
                .spawn(move || pump(reader, &output))?;
            let (started, start) = oneshot::channel();
            let sandbox = self.sandbox.clone();
            // Rules of a sandbox hold for one thread and what it starts, so each command has one.
            thread::Builder::new()
                .name("bash-wait".to_owned())
                .spawn(move || spawn_and_wait(shell, mark, sandbox.as_deref(), started))?;
            let born = start
                .await
                .map_err(|_| io::Error::other("the thread of the command broke off"))??;
            let process: Box<dyn ShellProcess> = Box::new(LocalProcess(born.adopted()?));
            Ok(process)
        })
    }
}

/// Starts the shell, hands it over, waits for its end and tells that, too.
fn spawn_and_wait(
    shell: Command,
    mark: String,
    sandbox: Option<&Sandbox>,
    started: oneshot::Sender<io::Result<Born>>,
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
    let (exited, exit) = watch::channel(None);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let born = pid.map(|group| Born(Some(Target { group, mark, exit })));
    // What nobody takes is ended where it is dropped.
    let _ = started.send(born.ok_or_else(|| io::Error::other("the shell has no process id")));
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

/// A command that has just begun. It is ended if nobody takes it over.
struct Born(Option<Target>);

impl Born {
    fn adopted(mut self) -> io::Result<Target> {
        self.0
            .take()
            .ok_or_else(|| io::Error::other("the command was taken over before"))
    }
}

impl Drop for Born {
    fn drop(&mut self) {
        if let Some(target) = &self.0 {
            target.kill();
        }
    }
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

struct LocalProcess(Target);

impl ShellProcess for LocalProcess {
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ShellExit>> {
        Box::pin(async move {
            let exit = self.0.exit.wait_for(Option::is_some).await;
            exit.ok()
                .and_then(|exit| *exit)
                .ok_or_else(|| io::Error::other("the thread of the command broke off"))
        })
    }

    fn stop(&mut self, grace: Duration) -> BoxFuture<'_, Vec<u32>> {
        Box::pin(async move {
            let target = self.0.clone();
            let ended = tokio::task::spawn_blocking(move || target.stop(grace));
            let left = ended.await.unwrap_or_default();
            let reaped = tokio::time::timeout(process::REAP, self.wait()).await;
            match reaped {
                Err(_) if left.is_empty() => self.group().into_iter().collect(),
                _ => left,
            }
        })
    }

    fn killer(&self) -> Killer {
        let target = self.0.clone();
        Arc::new(move || target.kill())
    }

    fn is_running(&self) -> BoxFuture<'_, bool> {
        let target = self.0.clone();
        let looking = tokio::task::spawn_blocking(move || target.is_alive());
        Box::pin(async move { looking.await.unwrap_or(false) })
    }

    fn group(&self) -> Option<u32> {
        u32::try_from(self.0.group.as_raw_nonzero().get()).ok()
    }
}
