//! A shell that follows a script, for tests of agents.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pi_core::BoxFuture;

use super::ops::{BashOps, Killer, OutputSink, ShellCommand, ShellExit, ShellProcess};

/// What a scripted command writes and how it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scripted {
    output: Vec<u8>,
    code: i32,
}

impl Scripted {
    /// Writes something and succeeds.
    #[must_use]
    pub fn output(output: impl Into<Vec<u8>>) -> Self {
        Self {
            output: output.into(),
            code: 0,
        }
    }

    /// Ends with another exit code than 0.
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }
}

/// A shell that runs nothing: a function says what each command writes.
///
/// # Examples
/// ```
/// use pi_tools_std::{BashConfig, MemoryShell, Scripted};
///
/// let shell = MemoryShell::new(|command| match command.command.as_str() {
///     "cargo test" => Scripted::output("test result: ok\n"),
///     _ => Scripted::output("command not found\n").with_code(127),
/// });
/// let bash = BashConfig::on(shell);
/// ```
#[derive(Clone)]
pub struct MemoryShell(Arc<dyn Fn(&ShellCommand) -> Scripted + Send + Sync>);

impl MemoryShell {
    /// Takes the function that says what each command writes.
    pub fn new(script: impl Fn(&ShellCommand) -> Scripted + Send + Sync + 'static) -> Self {
        Self(Arc::new(script))
    }
}

impl BashOps for MemoryShell {
    fn start(
        &self,
        command: ShellCommand,
        output: OutputSink,
    ) -> BoxFuture<'_, io::Result<Box<dyn ShellProcess>>> {
        let scripted = (self.0)(&command);
        output.write(&scripted.output);
        let process: Box<dyn ShellProcess> = Box::new(Ended(scripted.code));
        Box::pin(std::future::ready(Ok(process)))
    }
}

/// A command that ended at its start.
struct Ended(i32);

impl ShellProcess for Ended {
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ShellExit>> {
        let exit = ShellExit {
            code: self.0,
            signal: None,
        };
        Box::pin(std::future::ready(Ok(exit)))
    }

    fn stop(&mut self, _: Duration) -> BoxFuture<'_, Vec<u32>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn killer(&self) -> Killer {
        Arc::new(|| ())
    }

    fn is_running(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }

    fn group(&self) -> Option<u32> {
        None
    }
}
