//! The tool `read`.

mod lines;
mod suggest;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_core::{
    BoxFuture, CancellationToken, DynTool, PreparedCall, Replay, ToolContext, ToolDefinition,
    ToolError, ToolOutput, UserContent,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::text::{Answer, Bounded, Stopped, Window};
use crate::abort::aborted;
use crate::args::{self, Field};
use crate::call::{answer, parse, with_notices};
use crate::failure::file_failure;
use crate::image::{self, ImageKind};
use crate::ops::{FileError, OpenFile, ReadOps, open_regular};
use crate::order::{Access, Ticket};
use crate::path::Resolved;
use crate::shared::{OnAbort, Shared};
use crate::size;
use crate::truncate::{TruncatedBy, Truncation};

/// How `read` works.
#[derive(Clone, Default)]
pub struct ReadConfig {
    ops: Option<Arc<dyn ReadOps>>,
    line_numbers: bool,
    keep_image_size: bool,
}

impl ReadConfig {
    /// Reads the files of another machine than the workspace's.
    #[must_use]
    pub fn with_ops(mut self, ops: impl ReadOps + 'static) -> Self {
        self.ops = Some(Arc::new(ops));
        self
    }

    /// Sets whether each line begins with its number and a tab; off by default.
    #[must_use]
    pub fn with_line_numbers(mut self, on: bool) -> Self {
        self.line_numbers = on;
        self
    }

    /// Sets whether images are scaled to what providers take; on by default.
    #[must_use]
    pub fn with_auto_resize(mut self, on: bool) -> Self {
        self.keep_image_size = !on;
        self
    }
}

/// What hosts see of a `read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadDetails {
    /// What was cut off, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// The encoding of a text; `None` for an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// How the lines of a text end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_ending: Option<LineEnding>,
    /// The path that was read, if its name on disk is spelled in another way than the call did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<PathBuf>,
}

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, with or without a byte-order mark.
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-16, little end first, told by its byte-order mark.
    #[serde(rename = "utf-16le")]
    Utf16Le,
    /// UTF-16, big end first, told by its byte-order mark.
    #[serde(rename = "utf-16be")]
    Utf16Be,
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LineEnding {
    /// All with LF.
    Lf,
    /// All with CR LF.
    Crlf,
    /// All with CR.
    Cr,
    /// Some this way, some that way.
    Mixed,
    /// There is one line only, without an end.
    None,
}

const FIELDS: &[Field] = &[
    Field::other("path").required().or(&["file_path"]),
    Field::whole("offset"),
    Field::whole("limit"),
];

#[derive(Debug, Deserialize)]
struct Args {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
}

/// The tool `read`.
pub(crate) struct Read {
    shared: Arc<Shared>,
    ops: Arc<dyn ReadOps>,
    config: ReadConfig,
}

impl Read {
    pub(crate) fn new(shared: Arc<Shared>, ops: Arc<dyn ReadOps>, config: ReadConfig) -> Self {
        Self {
            ops: config.ops.clone().unwrap_or(ops),
            shared,
            config,
        }
    }

    async fn read(
        &self,
        args: Args,
        ticket: Ticket,
        cx: ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let call = Call {
            shared: Arc::clone(&self.shared),
            ops: Arc::clone(&self.ops),
            config: self.config.clone(),
            args,
        };
        self.shared
            .run(&cx, ticket, OnAbort::LetGo, move |abort| call.read(abort))
            .await
    }
}

impl DynTool for Read {
    fn definition(&self) -> ToolDefinition {
        let lines = self.shared.limits.output_lines;
        let size = size::shown(self.shared.limits.output_bytes as u64);
        ToolDefinition::new(
            "read",
            format!(
                "Reads a file. Text is cut to {lines} lines or {size}, whichever comes first: read on \
                 with offset and limit. Images (PNG, JPEG, GIF, WebP, BMP) are shown."
            ),
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Path of the file, relative or absolute" },
                    "offset": { "type": "number", "description": "First line to read, counted from 1" },
                    "limit": { "type": "number", "description": "Most lines to read" },
                },
                "required": ["path"],
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
            Ok((args, self.shared.ticket(Access::Read(files))))
        });
        Box::pin(async move {
            let (args, ticket) = begun?;
            self.read(args, ticket, cx).await
        })
    }
}

/// One call, with all that its blocking part needs.
struct Call {
    shared: Arc<Shared>,
    ops: Arc<dyn ReadOps>,
    config: ReadConfig,
    args: Args,
}

impl Call {
    fn read(&self, abort: &CancellationToken) -> Result<ToolOutput, ToolError> {
        if self.args.limit.is_some_and(|limit| limit < 1) {
            return Err("limit must be at least 1.".into());
        }
        let resolved = self.shared.base.existing(&*self.ops, &self.args.path)?;
        let mut file = self.open(&resolved.path)?;
        let mut head = Vec::new();
        (&mut file.content)
            .take(text::HEAD as u64)
            .read_to_end(&mut head)
            .map_err(|error| self.failure(error, abort))?;
        if let Some(kind) = image::sniff(&head) {
            return self.image(kind, &resolved, head, file, abort);
        }
        let Some(encoding) = text::encoding(&head) else {
            return Err(binary_failure(&self.args.path, file.stat.len));
        };
        let window = Window {
            first: self.first(),
            limit: self.args.limit.map(i64::unsigned_abs),
            max_lines: self.shared.limits.output_lines as u64,
            max_bytes: self.shared.limits.output_bytes,
            line_numbers: self.config.line_numbers,
        };
        let rest = Bounded::new(file, head.len());
        let answer = text::read(io::Cursor::new(head).chain(rest), encoding, &window, abort)
            .map_err(|error| self.failure(error, abort))?;
        self.answer(answer, &resolved)
    }

    /// Shows an image.
    fn image(
        &self,
        kind: ImageKind,
        resolved: &Resolved,
        mut bytes: Vec<u8>,
        file: OpenFile,
        abort: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let limits = &self.shared.limits;
        let prepared = match image::too_large(kind, file.stat.len, limits) {
            Some(omitted) => omitted,
            None => {
                Bounded::new(file, bytes.len())
                    .read_to_end(&mut bytes)
                    .map_err(|error| self.failure(error, abort))?;
                let _permit = self.shared.image_permit(abort)?;
                image::prepare(&bytes, kind, limits, !self.config.keep_image_size, abort)?
            }
        };
        let details = ReadDetails {
            truncation: None,
            encoding: None,
            line_ending: None,
            resolved_path: resolved.variant(),
        };
        let mut content = vec![UserContent::text(prepared.text)];
        content.extend(prepared.image.map(UserContent::Image));
        ToolOutput::new(content).with_details(details).erase()
    }

    fn first(&self) -> u64 {
        self.args.offset.unwrap_or(1).max(1).unsigned_abs()
    }

    fn open(&self, path: &Path) -> Result<OpenFile, ToolError> {
        match open_regular(&*self.ops, path) {
            Ok(file) => {
                let identity = self.ops.identity(path);
                self.shared.seen.note(identity.path, file.stat.stamp);
                Ok(file)
            }
            Err(FileError::NotFound) => Err(self.not_found(path)),
            Err(error) => Err(file_failure(&self.args.path, &error)),
        }
    }

    fn not_found(&self, path: &Path) -> ToolError {
        let mut text = format!("File not found: {}", self.args.path);
        if let Some(name) = suggest::similar(&*self.ops, path) {
            text += &format!(" Did you mean {name}?");
        }
        ToolError::new(text)
    }

    fn failure(&self, error: io::Error, abort: &CancellationToken) -> ToolError {
        if abort.is_cancelled() {
            return aborted();
        }
        file_failure(&self.args.path, &error.into())
    }

    /// Puts the notices behind the text.
    fn answer(&self, found: Answer, resolved: &Resolved) -> Result<ToolOutput, ToolError> {
        let (first, total) = (self.first(), found.total_lines);
        if first > total && !(first == 1 && total == 0) {
            return Err(ToolError::new(format!(
                "Offset {first} is beyond end of file ({total} lines total)"
            )));
        }
        let mut notices = Vec::new();
        match found.encoding {
            Some(Encoding::Utf16Le) => notices.push("[Decoded from UTF-16LE.]".to_owned()),
            Some(Encoding::Utf16Be) => notices.push("[Decoded from UTF-16BE.]".to_owned()),
            Some(Encoding::Utf8) | None => {}
        }
        if found.invalid_bytes > 0 {
            let bytes = found.invalid_bytes;
            notices.push(format!("[{bytes} invalid UTF-8 bytes shown as U+FFFD.]"));
        }
        notices.extend(self.cut_notice(&found, resolved));
        let details = ReadDetails {
            truncation: truncation(&found),
            encoding: found.encoding,
            line_ending: found.line_ending,
            resolved_path: resolved.variant(),
        };
        answer(with_notices(found.text, &notices), "(empty file)", details)
    }

    /// Writes the path so that a command in the workspace folder finds the file.
    fn path_for_shell(&self, resolved: &Resolved) -> String {
        let given = &self.args.path;
        match self.shared.base.folder.join(given) == resolved.path {
            true => shell_quoted(given),
            false => shell_quoted(&resolved.path.to_string_lossy()),
        }
    }

    fn cut_notice(&self, found: &Answer, resolved: &Resolved) -> Option<String> {
        let (first, total) = (self.first(), found.total_lines);
        let last = first + found.shown_lines - u64::from(found.shown_lines > 0);
        let next = first + found.shown_lines;
        let size = size::shown(self.shared.limits.output_bytes as u64);
        if let Some(bytes) = found.first_line_too_long {
            let line = size::shown(bytes);
            let advice = if self.shared.has_bash {
                let path = self.path_for_shell(resolved);
                let limit = self.shared.limits.output_bytes;
                format!("Use bash: sed -n '{first}p' {path} | head -c {limit}")
            } else {
                "Use grep to find the part you need.".to_owned()
            };
            return Some(format!(
                "[Line {first} is {line}, exceeds {size} limit. {advice}]"
            ));
        }
        Some(match found.stopped? {
            Stopped::Asked => format!(
                "[{} more lines in file. Use offset={next} to continue.]",
                total - next + 1
            ),
            Stopped::By(TruncatedBy::Lines) => {
                format!("[Showing lines {first}-{last} of {total}. Use offset={next} to continue.]")
            }
            Stopped::By(TruncatedBy::Bytes) => format!(
                "[Showing lines {first}-{last} of {total} ({size} limit). Use offset={next} to \
                 continue.]"
            ),
        })
    }
}

/// Tells the encoding of a text by its first bytes; `None` if it is no text.
pub(crate) fn text_encoding(content: &[u8]) -> Option<Encoding> {
    text::encoding(content.get(..text::HEAD).unwrap_or(content))
}

/// Says that a file is no text.
pub(crate) fn binary_failure(path: &str, bytes: u64) -> ToolError {
    let size = size::shown(bytes);
    ToolError::new(format!(
        "{path} is a binary file ({size}). Use bash (for example file, xxd or strings) to inspect it."
    ))
}

fn truncation(found: &Answer) -> Option<Truncation> {
    let Some(Stopped::By(by)) = found.stopped else {
        return None;
    };
    Some(Truncation {
        truncated: true,
        truncated_by: Some(by),
        total_lines: found.total_lines,
        total_bytes: found.total_bytes,
        output_lines: found.shown_lines,
        output_bytes: found.text.len() as u64,
        first_line_exceeds_limit: found.first_line_too_long.is_some(),
        last_line_partial: false,
    })
}

/// Quotes a word for a shell.
fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
