//! What the model sees of `edit`, and the file around the edits.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_core::{
    BoxFuture, CancellationToken, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition,
    ToolError, ToolOutput,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::compare::compare;
use super::engine::{self, Edit, Edited, Task};
use super::refusal::Refusal;
use crate::abort::aborted;
use crate::args::{self, Field};
use crate::call::{answer, parse};
use crate::diff::Diff;
use crate::failure::{change_failure, file_failure};
use crate::ops::{FileError, OpenFile, Replace, Stamp, Sync, WriteOps, open_regular};
use crate::order::Access;
use crate::read::{Encoding, binary_failure, text_encoding};
use crate::shared::{OnAbort, Shared};
use crate::size;

/// How often a file that changes meanwhile is edited.
const ATTEMPTS: usize = 2;

/// How `edit` works.
#[derive(Clone, Default)]
pub struct EditConfig {
    ops: Option<Arc<dyn WriteOps>>,
    sync: Sync,
}

impl EditConfig {
    /// Edits the files of another machine than the workspace's.
    #[must_use]
    pub fn with_ops(mut self, ops: impl WriteOps + 'static) -> Self {
        self.ops = Some(Arc::new(ops));
        self
    }

    /// Sets whether the content must have reached the disk; no by default.
    #[must_use]
    pub fn with_sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }
}

/// What hosts see of an `edit`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EditDetails {
    /// What has changed, one line for each line: a sign (`-` removed, `+` added, a space for
    /// neither), its number, padded to the width of the largest, a space and the line. Removed lines
    /// and the four around a change have their old number, added ones the new; `...` stands for
    /// lines left out. Long lines are cut, and of a diff over 1 MiB the end.
    pub diff: String,
    /// What has changed, as a unified diff. A change that would make it larger than 1 MiB is left
    /// out with all that follow, so that the rest can still be applied.
    pub patch: String,
    /// The first changed line of the new file, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_changed_line: Option<usize>,
    /// The edits, counted from 0, whose old text was found in another spelling.
    pub fuzzy: Vec<usize>,
    /// How many pieces of text were replaced.
    pub replaced: usize,
    /// The path that was edited, if its name on disk is spelled in another way than the call did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<PathBuf>,
    /// True if the new content took the place of the old one in one step.
    pub atomic: bool,
}

const FIELDS: &[Field] = &[
    Field::other("path").required().or(&["file_path"]),
    Field::other("edits").required(),
];

const EDIT_FIELDS: &[Field] = &[
    Field::other("oldText")
        .required()
        .or(&["old_string", "old_str"]),
    Field::other("newText")
        .required()
        .or(&["new_string", "new_str"]),
    Field::other("replaceAll").or(&["replace_all"]),
];

#[derive(Debug, Deserialize)]
struct Args {
    path: String,
    edits: Vec<Edit>,
}

/// The tool `edit`.
pub(crate) struct EditTool {
    shared: Arc<Shared>,
    ops: Arc<dyn WriteOps>,
    sync: Sync,
}

impl EditTool {
    pub(crate) fn new(shared: Arc<Shared>, ops: Arc<dyn WriteOps>, config: EditConfig) -> Self {
        Self {
            ops: config.ops.unwrap_or(ops),
            sync: config.sync,
            shared,
        }
    }
}

impl DynTool for EditTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "edit",
            "Replaces pieces of text in a file. Each oldText must be found exactly once in the file as \
             it is, unless replaceAll is set, and the pieces must not overlap. Put all changes of one \
             file into one call. If one edit fails, the file stays as it was.",
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Path of the file, relative or absolute" },
                    "edits": {
                        "type": "array",
                        "description": "The replacements",
                        "items": {
                            "type": "object",
                            "properties": {
                                "oldText": { "type": "string", "description": "Text to replace, with all its white space" },
                                "newText": { "type": "string", "description": "Text to put there" },
                                "replaceAll": { "type": "boolean", "description": "Replace every occurrence" },
                            },
                            "required": ["oldText", "newText"],
                        },
                    },
                },
                "required": ["path", "edits"],
            }),
        )
    }

    fn replay(&self) -> Replay {
        Replay::Never
    }

    fn prepare_arguments(
        &self,
        mut arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        gather_edits(&mut arguments)?;
        let mut arguments = args::prepare(arguments, FIELDS)?;
        let edits = arguments.get_mut("edits").and_then(Value::as_array_mut);
        for edit in edits.into_iter().flatten() {
            if let Value::Object(fields) = edit {
                *fields = args::prepare(std::mem::take(fields), EDIT_FIELDS)?;
            }
        }
        Ok(arguments)
    }

    fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let begun = parse::<Args>(call).and_then(|args| {
            if args.edits.is_empty() {
                return Err(ToolError::new(Refusal::NoEdits.text(&args.path)));
            }
            let files = self.shared.base.identities(&*self.ops, &args.path)?;
            let call = Call {
                shared: Arc::clone(&self.shared),
                ops: Arc::clone(&self.ops),
                sync: self.sync,
                args,
            };
            Ok((call, self.shared.ticket(Access::Mutate(files))))
        });
        Box::pin(async move {
            let (call, ticket) = begun?;
            self.shared
                .run(&cx, ticket, OnAbort::Wait, move |abort| call.edit(abort))
                .await
        })
    }
}

/// Brings the edits into the one form: a list under `edits`. One may also come by itself, as an
/// object or as fields beside the path, and all of them as a text of JSON.
fn gather_edits(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(Value::String(text)) = arguments.get("edits")
        && let Ok(edits) = serde_json::from_str::<Value>(text)
    {
        arguments.insert("edits".into(), edits);
    }
    let mut edits = match arguments.shift_remove("edits") {
        Some(Value::Object(edit)) => vec![Value::Object(edit)],
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(edits)) => edits,
        Some(other) => {
            arguments.insert("edits".into(), other);
            return Ok(());
        }
    };
    let names = EDIT_FIELDS.iter().flat_map(Field::names);
    let alone: Map<_, _> = names
        .filter_map(|name| Some((name.to_owned(), arguments.shift_remove(name)?)))
        .collect();
    let alone = args::prepare(alone, EDIT_FIELDS)?;
    let is_whole = alone.contains_key("oldText") && alone.contains_key("newText");
    if is_whole || (edits.is_empty() && !alone.is_empty()) {
        edits.push(alone.into());
    }
    arguments.insert("edits".into(), edits.into());
    Ok(())
}

/// One call, with all that its blocking part needs.
struct Call {
    shared: Arc<Shared>,
    ops: Arc<dyn WriteOps>,
    sync: Sync,
    args: Args,
}

/// What is about to take the place of a file.
struct Planned {
    old: Vec<u8>,
    encoding: Encoding,
    stamp: Stamp,
    edited: Edited,
}

impl Call {
    fn edit(&self, abort: &CancellationToken) -> Result<ToolOutput, ToolError> {
        let shown = &self.args.path;
        let resolved = self.shared.base.existing(&*self.ops, shown)?;
        let real = self.ops.identity(&resolved.path).path;
        self.shared.check_protected(shown, &real)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let planned = self.plan(&resolved.path, abort)?;
            // Made before the file is replaced, so that nothing can fail after it.
            let diff = compare(shown, &planned.old, planned.encoding, &planned.edited);
            let how = Replace {
                expected: Some(planned.stamp),
                sync: self.sync,
                abort: Some(abort),
            };
            let replaced = self
                .ops
                .replace(&resolved.path, &planned.edited.bytes, &how);
            match replaced {
                Err(FileError::Changed) if attempts < ATTEMPTS => {}
                Err(error) => return Err(change_failure(shown, &error)),
                Ok(replaced) => {
                    self.shared.seen.note(real, replaced.stamp);
                    let mut details = self.details(&planned.edited, diff);
                    details.atomic = replaced.atomic;
                    details.resolved_path = resolved.variant();
                    return self.answer(details);
                }
            }
        }
    }

    fn plan(&self, path: &Path, abort: &CancellationToken) -> Result<Planned, ToolError> {
        let shown = &self.args.path;
        let file = self.open(path)?;
        let (len, limit) = (file.stat.len, self.shared.limits.edit_bytes);
        if len > limit {
            return Err(ToolError::new(format!(
                "{shown} is {}, edit takes files up to {}.",
                size::shown(len),
                size::shown(limit)
            )));
        }
        let stamp = file.stat.stamp;
        let mut old = Vec::new();
        // A file that grows meanwhile is not what its stamp says, and is refused below.
        file.content
            .take(limit.saturating_add(1))
            .read_to_end(&mut old)
            .map_err(|error| file_failure(shown, &error.into()))?;
        let Some(encoding) = text_encoding(&old) else {
            return Err(binary_failure(shown, len));
        };
        let task = Task {
            file: &old,
            encoding,
            edits: &self.args.edits,
            max_bytes: limit,
            is_aborted: &|| abort.is_cancelled(),
        };
        match engine::apply(&task) {
            Ok(edited) => Ok(Planned {
                old,
                encoding,
                stamp,
                edited,
            }),
            Err(Refusal::Aborted) => Err(aborted()),
            Err(refusal) => Err(ToolError::new(refusal.text(shown))),
        }
    }

    fn open(&self, path: &Path) -> Result<OpenFile, ToolError> {
        let shown = &self.args.path;
        open_regular(&*self.ops, path).map_err(|error| match error {
            FileError::NotFound => ToolError::new(format!(
                "Could not edit file: {shown}. File not found. Use write to create it."
            )),
            error => file_failure(shown, &error),
        })
    }

    fn details(&self, edited: &Edited, diff: Diff) -> EditDetails {
        EditDetails {
            diff: diff.numbered,
            patch: diff.patch,
            first_changed_line: diff.first_changed_line,
            fuzzy: edited.fuzzy.clone(),
            replaced: edited.regions.len(),
            resolved_path: None,
            atomic: true,
        }
    }

    fn answer(&self, details: EditDetails) -> Result<ToolOutput, ToolError> {
        let (replaced, path) = (details.replaced, &self.args.path);
        let mut text = format!("Successfully replaced {replaced} block(s) in {path}.");
        if !details.fuzzy.is_empty() {
            let edits: Vec<_> = details
                .fuzzy
                .iter()
                .map(|edit| format!("edits[{edit}]"))
                .collect();
            text += &format!(
                " Matched after ignoring differences in whitespace, quotes or dashes in {}.",
                edits.join(", ")
            );
        }
        answer(text, "", details)
    }
}
