//! The tool `grep`.

mod file;
mod gather;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use pi_core::{
    BoxFuture, CancellationToken, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition,
    ToolError, ToolOutput,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::file::{FileSearch, Options, Searched};
use self::gather::Gathered;
use super::budget::Budget;
use super::glob::Glob;
use super::ordered::map_in_order;
use super::walk::{Step, Walk};
use crate::abort::aborted;
use crate::args::{self, Field, limit};
use crate::call::{answer, bytes_notice, parse, time_notice, with_notice_line};
use crate::failure::{file_failure, folder_failure};
use crate::ops::{FileError, Kind, ReadOps};
use crate::order::Access;
use crate::path::Resolved;
use crate::shared::{OnAbort, Shared};
use crate::truncate::{Truncation, truncate_head};

/// What is said where nothing was found.
const NONE: &str = "No matches found";

/// Bytes of a compiled pattern, and of its automaton.
const PATTERN_BYTES: usize = 10 << 20;

/// How `grep` works.
#[derive(Clone, Default)]
pub struct GrepConfig {
    ops: Option<Arc<dyn ReadOps>>,
}

impl GrepConfig {
    /// Searches another machine than the workspace's.
    #[must_use]
    pub fn with_ops(mut self, ops: impl ReadOps + 'static) -> Self {
        self.ops = Some(Arc::new(ops));
        self
    }
}

/// What hosts see of a `grep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GrepDetails {
    /// What was cut off, if the limit on bytes was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// The limit on matches, if it was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_limit_reached: Option<u64>,
    /// True if a line was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lines_truncated: bool,
    /// Files that were searched.
    pub files_searched: u64,
    /// True if the time was up before the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The path that was used, if its name on disk is spelled in another way than the call did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<PathBuf>,
}

const FIELDS: &[Field] = &[
    Field::other("pattern").required(),
    Field::other("path").or(&["file_path"]),
    Field::other("glob"),
    Field::other("ignoreCase"),
    Field::other("literal"),
    Field::whole("context"),
    Field::whole("limit"),
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    context: Option<i64>,
    limit: Option<i64>,
}

/// The tool `grep`.
pub(crate) struct Grep {
    shared: Arc<Shared>,
    ops: Arc<dyn ReadOps>,
}

impl Grep {
    pub(crate) fn new(shared: Arc<Shared>, ops: Arc<dyn ReadOps>, config: GrepConfig) -> Self {
        Self {
            ops: config.ops.unwrap_or(ops),
            shared,
        }
    }
}

impl DynTool for Grep {
    fn definition(&self) -> ToolDefinition {
        let limits = &self.shared.limits;
        ToolDefinition::new(
            "grep",
            format!(
                "Searches the content of files by a regular expression (Rust syntax, one line at a \
                 time). Leaves out binary files and what .gitignore names. Shows {} matches unless \
                 limit says otherwise; lines are cut to {} characters.",
                limits.grep_matches, limits.grep_line_chars
            ),
            json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "description": "Regular expression, or text if literal is true" },
                    "path": { "type": "string", "description": "File or folder to search; the workspace folder if absent" },
                    "glob": { "type": "string", "description": "Search only files that match, such as *.ts or src/**/*.rs; with ! in front, all others" },
                    "ignoreCase": { "type": "boolean", "description": "Ignore upper and lower case" },
                    "literal": { "type": "boolean", "description": "Take the pattern as text" },
                    "context": { "type": "number", "description": "Lines to show before and after each match" },
                    "limit": { "type": "number", "description": "Most matches to show" },
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
                .run(&cx, ticket, OnAbort::LetGo, move |abort| call.grep(abort))
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
    fn grep(&self, abort: &CancellationToken) -> Result<ToolOutput, ToolError> {
        let limits = &self.shared.limits;
        let matcher = self.matcher()?;
        let filter = self.args.glob.as_deref().map(Filter::new).transpose()?;
        let options = Options {
            context: limit(self.args.context, 0, 0),
            matches: limit(self.args.limit, 1, limits.grep_matches),
            line_chars: limits.grep_line_chars,
            bytes: limits.output_bytes,
        };
        let budget = Budget::new(abort, limits.search_time);
        let shown = self.args.path.as_deref().unwrap_or(".");
        let resolved = self.shared.base.existing(&*self.ops, shown)?;
        let path = &resolved.path;
        let search = FileSearch {
            ops: &*self.ops,
            matcher,
            options: &options,
            budget: &budget,
        };
        let mut gathered = Gathered::new(&options);
        match self.ops.stat(path) {
            Ok(stat) if stat.kind == Kind::Folder => {
                self.search_folder(path, filter, &search, &mut gathered)
                    .map_err(|error| folder_failure(shown, &error))?;
            }
            Ok(stat) if stat.kind == Kind::Other => {
                return Err(file_failure(shown, &FileError::NotRegular));
            }
            Ok(_) => search_file(path, &search, &mut gathered)
                .map_err(|error| file_failure(shown, &error))?,
            Err(error) => return Err(folder_failure(shown, &error)),
        }
        if budget.is_aborted() {
            return Err(aborted());
        }
        gathered.timed_out |= !gathered.is_full() && budget.is_spent();
        self.answer(&gathered, options.matches, &resolved)
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let pattern = &self.args.pattern;
        if pattern.is_empty() {
            return Err("pattern must not be empty.".into());
        }
        // Lines end at LF alone, so that CR can be searched for; `$` matches before CR LF as well.
        RegexMatcherBuilder::new()
            .fixed_strings(self.args.literal)
            .case_insensitive(self.args.ignore_case)
            .multi_line(true)
            .crlf(true)
            .line_terminator(Some(b'\n'))
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build(pattern)
            .map_err(|error| {
                ToolError::new(match self.args.literal {
                    true => format!("Invalid pattern: {error}."),
                    false => format!(
                        "Invalid regex: {error}. Set literal=true to search for the text as it is."
                    ),
                })
            })
    }

    fn search_folder(
        &self,
        folder: &Path,
        filter: Option<Filter>,
        search: &FileSearch<'_>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), FileError> {
        let mut walk = Walk::new(
            Arc::clone(&self.ops),
            &self.shared.base.folder,
            folder,
            search.budget.clone(),
        )?;
        if let Some(filter) = filter.clone() {
            walk = walk.skip_folders(move |folder| filter.leaves_out(folder));
        }
        let files = Files { walk, filter };
        let files = map_in_order(
            files,
            || search.worker(),
            |worker, step: Step| {
                let searched = worker.search(&step.path);
                (step.shown, searched)
            },
            |(shown, searched)| gathered.take(&shown, searched),
        );
        gathered.unreadable += files.walk.unreadable;
        gathered.timed_out |= files.walk.timed_out;
        Ok(())
    }

    fn answer(
        &self,
        gathered: &Gathered<'_>,
        limit: usize,
        resolved: &Resolved,
    ) -> Result<ToolOutput, ToolError> {
        let limits = &self.shared.limits;
        let kept = truncate_head(gathered.text(), usize::MAX, limits.output_bytes);
        let mut notices = Vec::new();
        if gathered.more {
            notices.push(format!(
                "{limit} matches limit reached. Use limit={} for more, or refine pattern",
                limit.saturating_mul(2)
            ));
        }
        if kept.truncation.truncated {
            notices.push(bytes_notice(limits.output_bytes));
        }
        if gathered.cut_lines {
            notices.push(format!(
                "Some lines truncated to {} chars. Use read tool to see full lines",
                limits.grep_line_chars
            ));
        }
        if gathered.timed_out {
            notices.push(time_notice(limits.search_time));
        }
        if gathered.unreadable > 0 {
            notices.push(format!("{} files could not be read", gathered.unreadable));
        }
        let text = with_notice_line(kept.text, NONE, &notices);
        let details = GrepDetails {
            match_limit_reached: gathered.more.then_some(limit as u64),
            lines_truncated: gathered.cut_lines,
            files_searched: gathered.files,
            timed_out: gathered.timed_out,
            truncation: kept.truncation.truncated.then_some(kept.truncation),
            resolved_path: resolved.variant(),
        };
        answer(text, NONE, details)
    }
}

/// Searches the one file that a call names.
fn search_file(
    path: &Path,
    search: &FileSearch<'_>,
    gathered: &mut Gathered<'_>,
) -> Result<(), FileError> {
    let name = path.file_name().map(PathBuf::from).unwrap_or_default();
    match search.worker().search(path) {
        Searched::Failed(error) => Err(error),
        searched => {
            let _: ControlFlow<()> = gathered.take(&name, searched);
            Ok(())
        }
    }
}

/// Which files are searched.
#[derive(Debug, Clone)]
struct Filter {
    glob: Glob,
    negated: bool,
}

impl Filter {
    fn new(pattern: &str) -> Result<Self, ToolError> {
        let (pattern, negated) = match pattern.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        Ok(Self {
            glob: Glob::new(pattern, false)?,
            negated,
        })
    }

    /// Returns true for a folder of which nothing is searched.
    fn leaves_out(&self, folder: &Path) -> bool {
        self.negated && self.glob.matches(folder, true)
    }

    fn takes(&self, file: &Path) -> bool {
        self.glob.matches(file, false) != self.negated
    }
}

/// The files of a walk that are searched.
struct Files {
    walk: Walk,
    filter: Option<Filter>,
}

impl Iterator for Files {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let filter = &self.filter;
        self.walk.by_ref().find(|step| {
            step.kind == Kind::File
                && filter
                    .as_ref()
                    .is_none_or(|filter| filter.takes(&step.shown))
        })
    }
}
