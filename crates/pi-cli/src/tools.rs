//! The tools that a model is offered.

use std::path::Path;
use std::sync::{Arc, Weak};

use pi_tools_std::{BashConfig, SetupError, ToolSet, Workspace};

use crate::args::{Args, Sandbox, Tools};
use crate::exit::usage;

/// The tools, and the folder that they work in.
pub(crate) struct Toolbox {
    workspace: Workspace,
    set: Option<Arc<ToolSet>>,
}

impl Toolbox {
    /// Opens the folder of the command line and makes its tools.
    ///
    /// # Errors
    /// If the folder cannot be used, or the sandbox not be had.
    pub(crate) fn open(args: &Args) -> anyhow::Result<Self> {
        let path = args.cwd.as_deref().unwrap_or(Path::new("."));
        let workspace = Workspace::confined(path).map_err(|error| {
            let cause = match error {
                SetupError::Folder { source, .. } => source.to_string(),
                other => other.to_string(),
            };
            usage(format!(
                "cannot work in the folder {}: {cause}",
                path.display()
            ))
        })?;
        let builder = ToolSet::builder(workspace.clone());
        let builder = match args.tools {
            Tools::None => None,
            Tools::ReadOnly => Some(builder.read_only()),
            Tools::Coding => Some(builder.coding(bash(args.sandbox)?)),
        };
        let set = builder.map(|builder| builder.build().map_err(refused));
        Ok(Self {
            workspace,
            set: set.transpose()?.map(Arc::new),
        })
    }

    /// Returns the tools; none if the command line wants none.
    pub(crate) fn tools(&self) -> Vec<pi_core::AgentTool> {
        self.set.as_ref().map(|set| set.tools()).unwrap_or_default()
    }

    /// Returns the folder in which the tools work.
    pub(crate) fn folder(&self) -> &Path {
        self.workspace.folder()
    }

    /// Returns what ends all commands by force, without waiting.
    pub(crate) fn killer(&self) -> impl Fn() + Send + 'static {
        let set = self.set.as_ref().map(Arc::downgrade);
        move || {
            if let Some(set) = set.as_ref().and_then(Weak::upgrade) {
                set.kill();
            }
        }
    }

    /// Ends what commands left running.
    ///
    /// # Cancel safety
    /// What is not ended yet is ended by force when the tools are dropped.
    pub(crate) async fn shutdown(&self) {
        if let Some(set) = &self.set {
            set.shutdown().await;
        }
    }
}

fn bash(sandbox: Sandbox) -> anyhow::Result<BashConfig> {
    match sandbox {
        Sandbox::Off => Ok(BashConfig::unsandboxed()),
        #[cfg(target_os = "linux")]
        Sandbox::On => Ok(BashConfig::sandboxed(pi_tools_std::SandboxPolicy::new())),
        #[cfg(not(target_os = "linux"))]
        Sandbox::On => Err(usage(
            "commands can be run in a sandbox on Linux only; --sandbox off runs them without one",
        )),
    }
}

fn refused(error: SetupError) -> anyhow::Error {
    let hint = match error {
        SetupError::Sandbox { .. } => "; --sandbox off runs them without one",
        _ => "",
    };
    usage(format!("{:#}{hint}", anyhow::Error::new(error)))
}
