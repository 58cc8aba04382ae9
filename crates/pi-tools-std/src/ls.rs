//! The tool `ls`.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_core::{
    BoxFuture, CancellationToken, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition,
    ToolError, ToolOutput,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::abort::aborted;
use crate::args::{self, Field, limit};
use crate::call::{answer, bytes_notice, parse, with_notice_line};
use crate::failure::folder_failure;
use crate::ops::{Entry, FileError, Kind, ReadOps};
use crate::order::Access;
use crate::path::Resolved;
use crate::shared::{OnAbort, Shared};
use crate::truncate::{Truncation, truncate_head};

/// How `ls` works.
#[derive(Clone, Default)]
pub struct LsConfig {
    ops: Option<Arc<dyn ReadOps>>,
}

impl LsConfig {
    /// Lists the folders of another machine than the workspace's.
    #[must_use]
    pub fn with_ops(mut self, ops: impl ReadOps + 'static) -> Self {
        self.ops = Some(Arc::new(ops));
        self
    }
}

/// What hosts see of an `ls`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LsDetails {
    /// What was cut off, if the limit on bytes was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// The limit on entries, if it was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_limit_reached: Option<u64>,
    /// The path that was used, if its name on disk is spelled in another way than the call did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<PathBuf>,
}

/// What is said of a folder without entries.
const EMPTY: &str = "(empty directory)";

const FIELDS: &[Field] = &[
    Field::other("path").or(&["file_path"]),
    Field::whole("limit"),
];

#[derive(Debug, Deserialize)]
struct Args {
    path: Option<String>,
    limit: Option<i64>,
}

/// The tool `ls`.
pub(crate) struct Ls {
    shared: Arc<Shared>,
    ops: Arc<dyn ReadOps>,
}

impl Ls {
    pub(crate) fn new(shared: Arc<Shared>, ops: Arc<dyn ReadOps>, config: LsConfig) -> Self {
        Self {
            ops: config.ops.unwrap_or(ops),
            shared,
        }
    }
}

impl DynTool for Ls {
    fn definition(&self) -> ToolDefinition {
        let entries = self.shared.limits.ls_entries;
        ToolDefinition::new(
            "ls",
            format!(
                "Lists a folder, sorted, folders with a slash behind their name. Shows {entries} \
                 entries unless limit says otherwise."
            ),
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Folder to list; the workspace folder if absent" },
                    "limit": { "type": "number", "description": "Most entries to show" },
                },
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
        let ticket = self.shared.ticket(Access::ReadTree);
        let begun = parse::<Args>(call);
        Box::pin(async move {
            let call = Call {
                shared: Arc::clone(&self.shared),
                ops: Arc::clone(&self.ops),
                args: begun?,
            };
            self.shared
                .run(&cx, ticket, OnAbort::LetGo, move |abort| call.list(abort))
                .await
        })
    }
}

/// One call, with all that its blocking part needs.
struct Call {
    shared: Arc<Shared>,
    ops: Arc<dyn ReadOps>,
    args: Args,
}

impl Call {
    fn list(&self, abort: &CancellationToken) -> Result<ToolOutput, ToolError> {
        let shown = self.args.path.as_deref().unwrap_or(".");
        let limits = &self.shared.limits;
        let limit = limit(self.args.limit, 1, limits.ls_entries);
        let resolved = self.shared.base.existing(&*self.ops, shown)?;
        let folder = &resolved.path;
        let listing = self.ops.list(folder);
        let listing = listing.map_err(|error| folder_failure(shown, &error))?;

        let mut entries = Vec::new();
        for entry in listing.take(limits.ls_scanned) {
            if abort.is_cancelled() {
                return Err(aborted());
            }
            entries.push(entry.map_err(|error| folder_failure(shown, &error.into()))?);
        }
        // The keys are made once: making them in each comparison would cost more than the sorting.
        entries.sort_by_cached_key(|entry| {
            let name = entry.name.to_string_lossy().to_lowercase();
            (name, entry.name.clone())
        });
        let more = entries.len() > limit;
        entries.truncate(limit);

        let mut text = String::new();
        for entry in &entries {
            if abort.is_cancelled() {
                return Err(aborted());
            }
            // One byte more than fits, besides the newline, and the cut below sees it.
            if text.len() > limits.output_bytes.saturating_add(1) {
                break;
            }
            text += &self.line(folder, entry);
            text.push('\n');
        }
        text.pop();
        self.answer(&text, limit, more, &resolved)
    }

    fn line(&self, folder: &Path, entry: &Entry) -> String {
        let mark = match entry.kind {
            Kind::Folder => "/",
            Kind::File | Kind::Other => "",
            Kind::Link => match self.ops.stat(&folder.join(&entry.name)) {
                Ok(target) if target.kind == Kind::Folder => "/",
                // One that leads out is there for others.
                Ok(_) | Err(FileError::Outside { .. } | FileError::PermissionDenied) => "",
                Err(_) => " (broken symlink)",
            },
        };
        format!("{}{mark}", shown_name(&entry.name))
    }

    fn answer(
        &self,
        text: &str,
        limit: usize,
        more: bool,
        resolved: &Resolved,
    ) -> Result<ToolOutput, ToolError> {
        let max_bytes = self.shared.limits.output_bytes;
        let kept = truncate_head(text, usize::MAX, max_bytes);
        let mut notices = Vec::new();
        if more {
            notices.push(format!(
                "{limit} entries limit reached. Use limit={} for more",
                limit.saturating_mul(2)
            ));
        }
        if kept.truncation.truncated {
            notices.push(bytes_notice(max_bytes));
        }
        let text = with_notice_line(kept.text, EMPTY, &notices);
        let details = LsDetails {
            entry_limit_reached: more.then_some(limit as u64),
            truncation: kept.truncation.truncated.then_some(kept.truncation),
            resolved_path: resolved.variant(),
        };
        answer(text, EMPTY, details)
    }
}

/// Shows a name as text, marked if it is not UTF-8.
fn shown_name(name: &OsStr) -> String {
    match name.to_str() {
        Some(name) => name.to_owned(),
        None => format!("{} (name is not valid UTF-8)", name.to_string_lossy()),
    }
}
