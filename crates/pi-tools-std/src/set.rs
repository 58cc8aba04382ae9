//! The tools of an agent, as one set.

use std::path::Path;
use std::sync::Arc;

use pi_core::AgentTool;

use crate::bash::{Bash, BashConfig, SpillFolder};
use crate::edit::{EditConfig, EditTool};
use crate::error::SetupError;
use crate::limits::Limits;
use crate::ls::{Ls, LsConfig};
use crate::order::Ordering;
use crate::read::{Read, ReadConfig};
use crate::search::{Find, FindConfig, Grep, GrepConfig};
use crate::shared::Shared;
use crate::workspace::Workspace;
use crate::write::{Write, WriteConfig};

/// The tools of an agent. They share the order of calls, the limits, and what is known about files
/// that were read; two sets share nothing, unless they work in clones of one [`Workspace`].
///
/// Dropping it ends, by force, its commands and what they left running; [`shutdown`](Self::shutdown)
/// does so kindly. Tools that were taken out of it go on working.
pub struct ToolSet {
    tools: Vec<AgentTool>,
    bash: Option<Bash>,
}

impl Drop for ToolSet {
    fn drop(&mut self) {
        self.kill();
    }
}

impl ToolSet {
    /// Begins a set without tools.
    pub fn builder(workspace: Workspace) -> ToolSetBuilder {
        ToolSetBuilder {
            workspace,
            limits: Limits::default(),
            ordering: Ordering::default(),
            read: None,
            bash: None,
            edit: None,
            write: None,
            grep: None,
            find: None,
            ls: None,
        }
    }

    /// Returns the tools, for an agent or for direct calls.
    #[must_use]
    pub fn tools(&self) -> Vec<AgentTool> {
        self.tools.clone()
    }

    /// Ends what commands left running, kindly first, and removes the files with their output. Call it
    /// before the application ends.
    ///
    /// # Cancel safety
    /// What is not ended yet goes on until the set is dropped.
    pub async fn shutdown(&self) {
        if let Some(bash) = &self.bash {
            bash.shutdown().await;
        }
    }

    /// Ends every command at once, by force and without waiting: those that run, and what others
    /// left running. For an application that must end now.
    pub fn kill(&self) {
        if let Some(bash) = &self.bash {
            bash.kill();
        }
    }

    /// Returns a tool by its name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&AgentTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }
}

/// Builds a [`ToolSet`].
#[must_use = "call `build`"]
pub struct ToolSetBuilder {
    workspace: Workspace,
    limits: Limits,
    ordering: Ordering,
    read: Option<ReadConfig>,
    bash: Option<BashConfig>,
    edit: Option<EditConfig>,
    write: Option<WriteConfig>,
    grep: Option<GrepConfig>,
    find: Option<FindConfig>,
    ls: Option<LsConfig>,
}

impl ToolSetBuilder {
    /// Returns the folder of the workspace.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.workspace.folder()
    }

    /// Adds the tools that change nothing: `read`, `grep`, `find` and `ls`.
    pub fn read_only(self) -> Self {
        self.read(ReadConfig::default())
            .grep(GrepConfig::default())
            .find(FindConfig::default())
            .ls(LsConfig::default())
    }

    /// Adds the tools that change files, and `read`: `read`, `bash`, `edit` and `write`.
    pub fn coding(self, bash: BashConfig) -> Self {
        self.read(ReadConfig::default())
            .bash(bash)
            .edit(EditConfig::default())
            .write(WriteConfig::default())
    }

    /// Adds all tools.
    pub fn all(self, bash: BashConfig) -> Self {
        self.coding(bash).read_only()
    }

    /// Adds `bash`.
    pub fn bash(mut self, config: BashConfig) -> Self {
        self.bash = Some(config);
        self
    }

    /// Adds `read`.
    pub fn read(mut self, config: ReadConfig) -> Self {
        self.read = Some(config);
        self
    }

    /// Adds `edit`.
    pub fn edit(mut self, config: EditConfig) -> Self {
        self.edit = Some(config);
        self
    }

    /// Adds `write`.
    pub fn write(mut self, config: WriteConfig) -> Self {
        self.write = Some(config);
        self
    }

    /// Adds `grep`.
    pub fn grep(mut self, config: GrepConfig) -> Self {
        self.grep = Some(config);
        self
    }

    /// Adds `find`.
    pub fn find(mut self, config: FindConfig) -> Self {
        self.find = Some(config);
        self
    }

    /// Adds `ls`.
    pub fn ls(mut self, config: LsConfig) -> Self {
        self.ls = Some(config);
        self
    }

    /// Sets the limits of all tools.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets which calls keep their order.
    pub fn ordering(mut self, ordering: Ordering) -> Self {
        self.ordering = ordering;
        self
    }

    /// Builds the set.
    ///
    /// # Errors
    /// If what the configuration asks for cannot be had on this machine.
    pub fn build(self) -> Result<ToolSet, SetupError> {
        let mut workspace = self.workspace;
        let spill = match &self.bash {
            Some(_) => Some(SpillFolder::new().map_err(SetupError::Spill)?),
            None => None,
        };
        if let Some(spill) = &spill {
            workspace = workspace.with_spill(spill.path())?;
        }
        let ops = workspace.ops();
        let has_bash = self.bash.is_some();
        let shared = Arc::new(Shared::new(
            &workspace,
            self.limits,
            self.ordering,
            has_bash,
        ));
        let mut tools = Vec::new();
        if let Some(config) = self.read {
            let read = Read::new(Arc::clone(&shared), ops.clone(), config);
            tools.push(AgentTool::new(read));
        }
        let bash = match (self.bash, spill) {
            (Some(config), Some(spill)) => Some(Bash::new(Arc::clone(&shared), config, spill)?),
            _ => None,
        };
        tools.extend(bash.clone().map(AgentTool::new));
        if let Some(config) = self.edit {
            let edit = EditTool::new(Arc::clone(&shared), ops.clone(), config);
            tools.push(AgentTool::new(edit));
        }
        if let Some(config) = self.write {
            let write = Write::new(Arc::clone(&shared), ops.clone(), config);
            tools.push(AgentTool::new(write));
        }
        if let Some(config) = self.grep {
            let grep = Grep::new(Arc::clone(&shared), ops.clone(), config);
            tools.push(AgentTool::new(grep));
        }
        if let Some(config) = self.find {
            let find = Find::new(Arc::clone(&shared), ops.clone(), config);
            tools.push(AgentTool::new(find));
        }
        if let Some(config) = self.ls {
            tools.push(AgentTool::new(Ls::new(
                Arc::clone(&shared),
                ops.clone(),
                config,
            )));
        }
        Ok(ToolSet { tools, bash })
    }
}
