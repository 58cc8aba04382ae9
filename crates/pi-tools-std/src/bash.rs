//! The tool `bash`.

mod accumulate;
mod clean;
mod config;
mod environment;
#[cfg(unix)]
mod local;
#[cfg(feature = "memory")]
mod memory;
mod notices;
mod ops;
mod policy;
mod processes;
mod protected;
mod run;
mod sandbox;
mod spill;

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::sync::Arc;

use pi_core::{
    BoxFuture, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition, ToolError, ToolOutput,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[cfg(feature = "__fuzz")]
pub use self::accumulate::accumulated;
pub use self::config::{BashConfig, LeftBehind};
pub use self::environment::{Environment, Inherit};
#[cfg(feature = "memory")]
pub use self::memory::{MemoryShell, Scripted};
pub use self::ops::{BashOps, Killer, OutputSink, ShellCommand, ShellExit, ShellProcess};
pub use self::policy::{CommandPolicy, CommandRequest, Decision};
#[cfg(feature = "policy")]
pub use self::policy::{PolicyError, PrefixPolicy, PrefixRule};
use self::processes::Processes;
pub use self::run::BashDetails;
#[cfg(feature = "sandbox")]
pub use self::sandbox::{Backend, ReadAccess, SandboxPolicy};
pub(crate) use self::spill::SpillFolder;
use crate::args::{self, Field};
use crate::call::parse;
use crate::error::SetupError;
use crate::order::Access;
use crate::shared::Shared;

const FIELDS: &[Field] = &[
    Field::other("command").required().or(&["cmd"]),
    Field::number("timeout"),
];

#[derive(Debug, Deserialize)]
struct Args {
    command: String,
    timeout: Option<f64>,
}

/// The tool `bash`. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Bash(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    config: BashConfig,
    ops: Arc<dyn BashOps>,
    spill: SpillFolder,
    processes: Processes,
    protected: protected::Protected,
    /// What is said when a sandbox may be the reason for a failure.
    sandbox: SandboxNote,
}

/// What is known about the sandbox of the commands.
#[derive(Debug, Clone)]
struct SandboxNote {
    /// `off`, `on` or `partial`.
    state: &'static str,
    /// What is limited, in words for the model.
    limits: Option<String>,
}

impl SandboxNote {
    /// Returns true if commands are confined, fully or in part.
    fn is_on(&self) -> bool {
        self.limits.is_some()
    }
}

impl Bash {
    /// # Errors
    /// If the sandbox that the configuration asks for cannot be had, or there is no shell.
    pub(crate) fn new(
        shared: Arc<Shared>,
        config: BashConfig,
        spill: SpillFolder,
    ) -> Result<Self, SetupError> {
        let machine = config.machine(&shared, &spill)?;
        let protected = protected::Protected::new(&shared.base.folder, shared.protected.paths());
        Ok(Self(Arc::new(Inner {
            ops: machine.ops,
            sandbox: machine.sandbox,
            shared,
            config,
            spill,
            processes: Processes::default(),
            protected,
        })))
    }

    /// Ends every command that was left running, and removes the files with output.
    ///
    /// # Cancel safety
    /// What is not ended yet goes on.
    pub(crate) async fn shutdown(&self) {
        self.0.processes.shutdown(self.0.config.kill_grace).await;
        self.0.spill.remove();
    }

    /// Ends every command, by force and without waiting.
    pub(crate) fn kill(&self) {
        self.0.processes.kill();
    }
}

impl DynTool for Bash {
    fn definition(&self) -> ToolDefinition {
        let limits = &self.0.shared.limits;
        let size = crate::size::shown(limits.output_bytes as u64);
        let timeout = match limits.bash_timeout {
            Some(timeout) => format!("{} s unless timeout says otherwise", timeout.as_secs()),
            None => "as long as it takes unless timeout is given".to_owned(),
        };
        ToolDefinition::new(
            "bash",
            format!(
                "Runs a command with bash in the workspace folder. Returns standard output and standard \
                 error together, the last {} lines or {size}; longer output is kept in a file. Runs \
                 {timeout}. Nothing is kept between calls but files; input is empty.",
                limits.output_lines
            ),
            json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string", "description": "Command to run" },
                    "timeout": { "type": "number", "description": "Seconds after which it is ended" },
                },
                "required": ["command"],
            }),
        )
    }

    fn replay(&self) -> Replay {
        Replay::Never
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        args::prepare(arguments, FIELDS)
    }

    fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let exclusive = self.0.config.exclusive;
        let ticket = self.0.shared.ticket(Access::Command { exclusive });
        let bash = self.clone();
        let args = parse::<Args>(call);
        Box::pin(async move { run::run(bash, args?, ticket, cx).await })
    }
}
