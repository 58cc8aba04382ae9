//! How `bash` works.

#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::SandboxNote;
use super::environment::Environment;
use super::ops::{BashOps, ShellCommand};
use super::policy::{AskHook, CommandPolicy, CommandRequest};
#[cfg(feature = "sandbox")]
use super::sandbox::SandboxPolicy;
use super::spill::SpillFolder;
use crate::error::SetupError;
use crate::shared::Shared;

/// What becomes of processes that a command leaves running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LeftBehind {
    /// They go on until the set is shut down; what they write goes to a file. The default.
    #[default]
    Keep,
    /// They are ended with the call.
    Kill,
}

/// How `bash` works. There is no default: whoever embeds it says whether commands are confined.
#[derive(Clone)]
pub struct BashConfig {
    walls: Walls,
    shell: Option<PathBuf>,
    pub(super) prefix: Option<String>,
    pub(super) environment: Environment,
    pub(super) spawn_hook: Option<SpawnHook>,
    pub(super) kill_grace: Duration,
    pub(super) left_behind: LeftBehind,
    pub(super) exclusive: bool,
    pub(super) policy: Option<Arc<dyn CommandPolicy>>,
    pub(super) ask: Option<AskHook>,
}

pub(super) type SpawnHook = Arc<dyn Fn(&mut ShellCommand) + Send + Sync>;

#[derive(Clone)]
enum Walls {
    None,
    #[cfg(feature = "sandbox")]
    Sandbox(SandboxPolicy),
    Other(Arc<dyn BashOps>),
}

/// What runs the commands.
pub(super) struct Machine {
    pub(super) ops: Arc<dyn BashOps>,
    pub(super) sandbox: SandboxNote,
}

impl BashConfig {
    /// Runs commands with all rights of the process.
    #[must_use]
    pub fn unsandboxed() -> Self {
        Self::new(Walls::None)
    }

    /// Runs commands in a sandbox of the kernel. If it cannot enforce what the policy asks for, the
    /// set cannot be built; on other systems than Linux it never can.
    #[cfg(feature = "sandbox")]
    #[must_use]
    pub fn sandboxed(policy: SandboxPolicy) -> Self {
        Self::new(Walls::Sandbox(policy))
    }

    /// Runs commands on another machine, or on a fake one.
    #[must_use]
    pub fn on(ops: impl BashOps + 'static) -> Self {
        Self::new(Walls::Other(Arc::new(ops)))
    }

    fn new(walls: Walls) -> Self {
        Self {
            walls,
            shell: None,
            prefix: None,
            environment: Environment::default(),
            spawn_hook: None,
            kill_grace: Duration::from_millis(500),
            left_behind: LeftBehind::default(),
            exclusive: false,
            policy: None,
            ask: None,
        }
    }

    /// Sets the shell: `/bin/bash` by default, else a `bash` or `sh` of the `PATH`.
    #[must_use]
    pub fn with_shell(mut self, shell: impl Into<PathBuf>) -> Self {
        self.shell = Some(shell.into());
        self
    }

    /// Puts a line before each command, such as `set -e`.
    #[must_use]
    pub fn with_command_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets what the environment is made of.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Changes each command, its folder and its environment right before it starts.
    #[must_use]
    pub fn with_spawn_hook(
        mut self,
        hook: impl Fn(&mut ShellCommand) + Send + Sync + 'static,
    ) -> Self {
        self.spawn_hook = Some(Arc::new(hook));
        self
    }

    /// Sets how long a command has to end by itself after an abort or a timeout: 500 ms by default,
    /// zero to end it by force at once.
    #[must_use]
    pub fn with_kill_grace(mut self, grace: Duration) -> Self {
        self.kill_grace = grace;
        self
    }

    /// Sets what becomes of processes that a command leaves running.
    #[must_use]
    pub fn with_left_behind(mut self, left_behind: LeftBehind) -> Self {
        self.left_behind = left_behind;
        self
    }

    /// Sets whether a command waits for those before it; no by default.
    #[must_use]
    pub fn with_exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// Asks a policy before each command.
    #[must_use]
    pub fn with_policy(mut self, policy: impl CommandPolicy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Sets who decides on commands about which the policy says [`Ask`](crate::Decision::Ask): true
    /// lets the command run. Without it such commands are refused.
    #[must_use]
    pub fn with_approval<F, R>(mut self, ask: F) -> Self
    where
        F: Fn(CommandRequest, String) -> R + Send + Sync + 'static,
        R: Future<Output = bool> + Send + 'static,
    {
        self.ask = Some(Arc::new(move |request, reason| {
            Box::pin(ask(request, reason))
        }));
        self
    }

    /// Makes what runs the commands.
    pub(super) fn machine(
        &self,
        shared: &Shared,
        spill: &SpillFolder,
    ) -> Result<Machine, SetupError> {
        #[cfg(not(all(feature = "sandbox", target_os = "linux")))]
        let _ = (shared, spill);
        let off = SandboxNote {
            state: "off",
            limits: None,
        };
        match &self.walls {
            Walls::Other(ops) => Ok(Machine {
                ops: Arc::clone(ops),
                sandbox: off,
            }),
            #[cfg(unix)]
            Walls::None => Ok(Machine {
                ops: Arc::new(super::local::LocalShell::new(self.find_shell()?, None)),
                sandbox: off,
            }),
            #[cfg(not(unix))]
            Walls::None => Err(SetupError::ShellUnsupported),
            #[cfg(all(feature = "sandbox", not(target_os = "linux")))]
            Walls::Sandbox(_) => Err(SetupError::SandboxUnsupported),
            #[cfg(all(feature = "sandbox", target_os = "linux"))]
            Walls::Sandbox(policy) => {
                let sandbox = super::sandbox::Sandbox::new(
                    policy,
                    &shared.base.folder,
                    spill,
                    shared.protected.paths(),
                )?;
                let note = SandboxNote {
                    state: sandbox.state(),
                    limits: Some(sandbox.limits()),
                };
                let shell = self.find_shell()?;
                Ok(Machine {
                    ops: Arc::new(super::local::LocalShell::new(
                        shell,
                        Some(Arc::new(sandbox)),
                    )),
                    sandbox: note,
                })
            }
        }
    }

    #[cfg(unix)]
    fn find_shell(&self) -> Result<PathBuf, SetupError> {
        if let Some(shell) = &self.shell {
            return Ok(shell.clone());
        }
        let bash = Path::new("/bin/bash");
        if bash.is_file() {
            return Ok(bash.to_owned());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        ["bash", "sh"]
            .into_iter()
            .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
            .find(|shell| shell.is_file())
            .ok_or(SetupError::NoShell)
    }
}
