//! The tool `find`.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use pi_core::{
    BoxFuture, CancellationToken, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition,
    ToolError, ToolOutput,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::budget::Budget;
use super::glob::Glob;
use super::shown_path;
use super::walk::Walk;
use crate::abort::aborted;
use crate::args::{self, Field, limit};
use crate::call::{answer, bytes_notice, parse, time_notice, with_notice_line};
use crate::failure::folder_failure;
use crate::ops::{Kind, ReadOps};
use crate::order::Access;
use crate::path::Resolved;
use crate::shared::{OnAbort, Shared};
use crate::truncate::{Truncation, truncate_head};

/// How `find` works.
#[derive(Clone, Default)]
pub struct FindConfig {
    ops: Option<Arc<dyn ReadOps>>,
}

impl FindConfig {
    /// Searches another machine than the workspace's.
    #[must_use]
    pub fn with_ops(mut self, ops: impl ReadOps + 'static) -> Self {
        self.ops = Some(Arc::new(ops));
        self
    }
}

/// What hosts see of a `find`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FindDetails {
    /// What was cut off, if the limit on bytes was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// The limit on results, if it was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_limit_reached: Option<u64>,
    /// True if the time was up before the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The path that was used, if its name on disk is spelled in another way than the call did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<PathBuf>,
}

/// What is said where nothing was found.
const NONE: &str = "No files found matching pattern";

const FIELDS: &[Field] = &[
    Field::other("pattern").required(),
    Field::other("path").or(&["file_path"]),
    Field::whole("limit"),
];

#[derive(Debug, Deserialize)]
struct Args {
    pattern: String,
    path: Option<String>,
    limit: Option<i64>,
}

/// The tool `find`.
pub(crate) struct Find {
    shared: Arc<Shared>,
    ops: Arc<dyn ReadOps>,
}

impl Find {
    pub(crate) fn new(shared: Arc<Shared>, ops: Arc<dyn ReadOps>, config: FindConfig) -> Self {
        Self {
            ops: config.ops.unwrap_or(ops),
            shared,
        }
    }
}

impl DynTool for Find {
    fn definition(&self) -> ToolDefinition {
        let results = self.shared.limits.find_results;
        ToolDefinition::new(
            "find",
            format!(
                "Finds files and folders by a glob pattern, such as *.ts or src/**/*.spec.ts. Leaves \
                 out what .gitignore names. Shows {results} results unless limit says otherwise."
            ),
            json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "description": "Glob; without a slash it means names at any depth" },
                    "path": { "type": "string", "description": "Folder to search; the workspace folder if absent" },
                    "limit": { "type": "number", "description": "Most results to show" },
                },
                "required": ["pattern"],
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
                .run(&cx, ticket, OnAbort::LetGo, move |abort| call.find(abort))
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

/// What was found.
struct Found {
    text: String,
    more: bool,
    timed_out: bool,
    unreadable: u64,
}

impl Call {
    fn find(&self, abort: &CancellationToken) -> Result<ToolOutput, ToolError> {
        let pattern = &self.args.pattern;
        if pattern.is_empty() {
            return Err("pattern must not be empty.".into());
        }
        let ignore_case = !pattern.chars().any(char::is_uppercase);
        let glob = Glob::new(pattern, ignore_case)?;
        let limit = limit(self.args.limit, 1, self.shared.limits.find_results);
        let shown = self.args.path.as_deref().unwrap_or(".");
        let resolved = self.shared.base.existing(&*self.ops, shown)?;
        let budget = Budget::new(abort, self.shared.limits.search_time);
        let walk = Walk::new(
            Arc::clone(&self.ops),
            &self.shared.base.folder,
            &resolved.path,
            budget.clone(),
        )
        .map_err(|error| folder_failure(shown, &error))?;
        let found = self.collect(walk, &glob, limit);
        if budget.is_aborted() {
            return Err(aborted());
        }
        self.answer(&found, limit, &resolved)
    }

    fn collect(&self, mut walk: Walk, glob: &Glob, limit: usize) -> Found {
        let mut text = String::new();
        let mut results = 0;
        let mut more = false;
        for step in &mut walk {
            let is_folder = step.kind == Kind::Folder;
            if !glob.matches(&step.shown, is_folder) {
                continue;
            }
            if results == limit {
                more = true;
                break;
            }
            results += 1;
            text += &shown_path(&step.shown);
            text += if is_folder { "/\n" } else { "\n" };
            // Enough for the cut below to see that it is too much.
            if text.len() > self.shared.limits.output_bytes.saturating_add(1) {
                break;
            }
        }
        text.pop();
        Found {
            text,
            more,
            timed_out: walk.timed_out,
            unreadable: walk.unreadable,
        }
    }

    fn answer(
        &self,
        found: &Found,
        limit: usize,
        resolved: &Resolved,
    ) -> Result<ToolOutput, ToolError> {
        let max_bytes = self.shared.limits.output_bytes;
        let kept = truncate_head(&found.text, usize::MAX, max_bytes);
        let mut notices = Vec::new();
        if found.more {
            notices.push(format!(
                "{limit} results limit reached. Use limit={} for more, or refine pattern",
                limit.saturating_mul(2)
            ));
        }
        if kept.truncation.truncated {
            notices.push(bytes_notice(max_bytes));
        }
        if found.timed_out {
            notices.push(time_notice(self.shared.limits.search_time));
        }
        if found.unreadable > 0 {
            notices.push(format!("{} folders could not be read", found.unreadable));
        }
        let text = with_notice_line(kept.text, NONE, &notices);
        let details = FindDetails {
            result_limit_reached: found.more.then_some(limit as u64),
            timed_out: found.timed_out,
            truncation: kept.truncation.truncated.then_some(kept.truncation),
            resolved_path: resolved.variant(),
        };
        answer(text, NONE, details)
    }
}
