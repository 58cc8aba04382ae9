//! A folder with tools in it, for the tests of this crate.

use std::fs;
use std::path::{Path, PathBuf};

use pi_core::{ToolContext, ToolError, ToolOutput, joined_text};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    EditConfig, FindConfig, GrepConfig, LsConfig, ReadConfig, ToolSet, ToolSetBuilder, Workspace,
    WriteConfig,
};

/// A fresh folder with tools in it.
pub(crate) struct Place {
    dir: TempDir,
    pub(crate) set: ToolSet,
}

/// What a call gave back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) details: Value,
}

impl Place {
    /// All tools on files, as they are by default.
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(ToolSetBuilder) -> ToolSetBuilder) -> Self {
        Self::on(|root| Workspace::confined(root).unwrap(), change)
    }

    pub(crate) fn on(
        workspace: impl FnOnce(&Path) -> Workspace,
        change: impl FnOnce(ToolSetBuilder) -> ToolSetBuilder,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        let builder = ToolSet::builder(workspace(&root))
            .read(ReadConfig::default())
            .write(WriteConfig::default())
            .edit(EditConfig::default())
            .grep(GrepConfig::default())
            .find(FindConfig::default())
            .ls(LsConfig::default());
        Self {
            set: change(builder).build().unwrap(),
            dir,
        }
    }

    /// The folder of the workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// A path beside the folder of the workspace.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn content(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Calls a tool as the agent loop does.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Answered {
        self.call_in(tool, arguments, ToolContext::detached("c1"))
            .await
    }

    pub(crate) async fn call_in(&self, tool: &str, arguments: Value, cx: ToolContext) -> Answered {
        call_set_in(&self.set, tool, arguments, cx).await
    }

    /// Calls a tool that must succeed, and returns its text.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> String {
        let answered = self.call(tool, arguments).await;
        assert!(!answered.is_error, "{}", answered.text);
        answered.text
    }

    /// Calls a tool that must fail, and returns its text.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> String {
        let answered = self.call(tool, arguments).await;
        assert!(answered.is_error, "{}", answered.text);
        answered.text
    }
}

/// Calls a tool of a set.
pub(crate) async fn call_set(set: &ToolSet, tool: &str, arguments: Value) -> Answered {
    call_set_in(set, tool, arguments, ToolContext::detached("c1")).await
}

/// Calls a tool as the agent loop does: its place in the order is taken now, not at the first poll.
pub(crate) fn call_set_in<'a>(
    set: &'a ToolSet,
    tool: &str,
    arguments: Value,
    cx: ToolContext,
) -> impl Future<Output = Answered> + use<'a> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let tool = set.tool(tool).unwrap();
    let running = tool.prepare(arguments).map(|call| tool.run(call, cx));
    async move {
        match running {
            Ok(running) => answered(running.await),
            Err(error) => answered(Err(error)),
        }
    }
}

fn answered(result: Result<ToolOutput, ToolError>) -> Answered {
    match result {
        Ok(output) => Answered {
            text: joined_text(&output.content).into_owned(),
            is_error: output.is_error,
            details: output.details.unwrap_or_default(),
        },
        Err(error) => Answered {
            text: error.to_string(),
            is_error: true,
            details: error.details.unwrap_or_default(),
        },
    }
}
