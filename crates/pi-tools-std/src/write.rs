//! The tool `write`.

#[cfg(test)]
mod tests;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use pi_core::{
    BoxFuture, CancellationToken, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition,
    ToolError, ToolOutput,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::args::{self, Field};
use crate::call::{answer, parse};
use crate::diff::Diff;
use crate::failure::change_failure;
use crate::ops::{FileError, Kind, Replace, Stat, Sync, WriteOps};
use crate::order::Access;
use crate::shared::{OnAbort, Shared};
use crate::size;

/// Files up to this size are compared with their new content.
const MAX_DIFF_BYTES: u64 = 1 << 20;

/// Which files `write` replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overwrite {
    /// Any file.
    Allow,
    /// Any file but one that this set read or wrote and somebody else has changed since. The
    /// default.
    #[default]
    Stale,
    /// Only files that this set has read or written and nobody else has changed since.
    Strict,
}

/// How `write` works.
#[derive(Clone, Default)]
pub struct WriteConfig {
    ops: Option<Arc<dyn WriteOps>>,
    overwrite: Overwrite,
    sync: Sync,
}

impl WriteConfig {
    /// Writes the files of another machine than the workspace's.
    #[must_use]
    pub fn with_ops(mut self, ops: impl WriteOps + 'static) -> Self {
        self.ops = Some(Arc::new(ops));
        self
    }

    /// Sets which files are replaced.
    #[must_use]
    pub fn with_overwrite(mut self, overwrite: Overwrite) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets whether the content must have reached the disk; no by default.
    #[must_use]
    pub fn with_sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }
}

/// What hosts see of a `write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WriteDetails {
    /// True if the file is new.
    pub created: bool,
    /// Bytes of the file now.
    pub bytes: u64,
    /// Bytes of the file before, if it was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_bytes: Option<u64>,
    /// True if the new content took the place of the old one in one step.
    pub atomic: bool,
    /// What has changed, if the old file was a text of at most 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

const FIELDS: &[Field] = &[
    Field::other("path").required().or(&["file_path"]),
    Field::other("content").required(),
];

#[derive(Debug, Deserialize)]
struct Args {
    path: String,
    content: String,
}

/// The tool `write`.
pub(crate) struct Write {
    shared: Arc<Shared>,
    ops: Arc<dyn WriteOps>,
    config: WriteConfig,
}

impl Write {
    pub(crate) fn new(shared: Arc<Shared>, ops: Arc<dyn WriteOps>, config: WriteConfig) -> Self {
        Self {
            ops: config.ops.clone().unwrap_or(ops),
            shared,
            config,
        }
    }
}

impl DynTool for Write {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "write",
            "Writes a whole file. It replaces a file that is there, and makes the folders that are \
             missing.",
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Path of the file, relative or absolute" },
                    "content": { "type": "string", "description": "The whole new content" },
                },
                "required": ["path", "content"],
            }),
        )
    }

    fn replay(&self) -> Replay {
        Replay::Safe
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
        let begun = parse::<Args>(call).and_then(|args| {
            let files = self.shared.base.identities(&*self.ops, &args.path)?;
            let call = Call {
                shared: Arc::clone(&self.shared),
                ops: Arc::clone(&self.ops),
                config: self.config.clone(),
                args,
            };
            Ok((call, self.shared.ticket(Access::Mutate(files))))
        });
        Box::pin(async move {
            let (call, ticket) = begun?;
            self.shared
                .run(&cx, ticket, OnAbort::Wait, move |abort| call.write(abort))
                .await
        })
    }
}

/// One call, with all that its blocking part needs.
struct Call {
    shared: Arc<Shared>,
    ops: Arc<dyn WriteOps>,
    config: WriteConfig,
    args: Args,
}

impl Call {
    fn write(&self, abort: &CancellationToken) -> Result<ToolOutput, ToolError> {
        let Args { path, content } = &self.args;
        let (len, limit) = (content.len() as u64, self.shared.limits.write_bytes);
        if len > limit {
            return Err(ToolError::new(format!(
                "The content is {}, the limit is {}; {path} was not changed.",
                size::shown(len),
                size::shown(limit)
            )));
        }
        let target = self.shared.base.written(&*self.ops, path)?;
        let real = self.ops.identity(&target).path;
        self.shared.check_protected(path, &real)?;
        let old = self.old(&target)?;
        self.check_overwrite(&real, old.as_ref())?;
        let diff = old.as_ref().and_then(|old| self.diff(&target, old));
        let how = Replace {
            expected: old
                .as_ref()
                .filter(|_| self.config.overwrite != Overwrite::Allow)
                .map(|old| old.stamp),
            sync: self.config.sync,
            abort: Some(abort),
        };
        let replaced = self
            .ops
            .replace(&target, content.as_bytes(), &how)
            .map_err(|error| match error {
                FileError::Changed => self.stale(),
                error => change_failure(path, &self.named(error)),
            })?;
        self.shared.seen.note(real, replaced.stamp);
        let details = WriteDetails {
            created: replaced.created,
            bytes: len,
            previous_bytes: old.map(|old| old.len),
            atomic: replaced.atomic,
            diff,
        };
        let text = format!("Successfully wrote {len} bytes to {path}");
        answer(text, "", details)
    }

    fn old(&self, target: &Path) -> Result<Option<Stat>, ToolError> {
        let refused = |error| Err(change_failure(&self.args.path, &self.named(error)));
        match self.ops.stat(target) {
            Ok(stat) => match stat.kind {
                Kind::File => Ok(Some(stat)),
                Kind::Folder => refused(FileError::IsFolder),
                Kind::Link | Kind::Other => refused(FileError::NotRegular),
            },
            Err(FileError::NotFound) => Ok(None),
            Err(error) => refused(error),
        }
    }

    /// Names a part of the path as the model does: relative to the workspace.
    fn named(&self, error: FileError) -> FileError {
        match error {
            FileError::NotFolder { part } => FileError::NotFolder {
                part: match part.strip_prefix(&self.shared.base.folder) {
                    Ok(relative) => relative.to_owned(),
                    Err(_) => part,
                },
            },
            error => error,
        }
    }

    fn check_overwrite(&self, real: &Path, old: Option<&Stat>) -> Result<(), ToolError> {
        let path = &self.args.path;
        let Some(old) = old else { return Ok(()) };
        match (self.config.overwrite, self.shared.seen.stamp(real)) {
            (Overwrite::Allow, _) | (Overwrite::Stale, None) => Ok(()),
            (Overwrite::Stale | Overwrite::Strict, Some(seen)) if seen != old.stamp => {
                Err(self.stale())
            }
            (Overwrite::Stale | Overwrite::Strict, Some(_)) => Ok(()),
            (Overwrite::Strict, None) => Err(ToolError::new(format!(
                "{path} exists but was not read yet. Read it first, or use edit."
            ))),
        }
    }

    fn stale(&self) -> ToolError {
        let path = &self.args.path;
        ToolError::new(format!(
            "{path} changed on disk after you read it. Read it again before overwriting."
        ))
    }

    /// Compares with the old file, if that is a text of moderate size.
    fn diff(&self, target: &Path, old: &Stat) -> Option<String> {
        if old.len > MAX_DIFF_BYTES {
            return None;
        }
        let mut before = Vec::new();
        let file = self.ops.open(target).ok()?;
        file.content
            .take(MAX_DIFF_BYTES)
            .read_to_end(&mut before)
            .ok()?;
        let is_text = memchr::memchr(0, &before).is_none() && std::str::from_utf8(&before).is_ok();
        let after = self.args.content.as_bytes();
        is_text.then(|| Diff::of_texts(&self.args.path, &before, after).numbered)
    }
}
