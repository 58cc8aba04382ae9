//! The tool `read`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use pi_core::{CancellationToken, Replay, Tool, ToolContext, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confine::{Folder, failure};
use super::{MAX_BYTES, aborted, off_thread, shown_size};

/// The most lines of a result.
const MAX_LINES: u64 = 2_000;

/// How much of a file decides whether it is text.
const PROBE: u64 = 8 * 1024;

/// Reads a text file.
pub(super) struct Read {
    folder: Arc<Folder>,
}

impl Read {
    pub(super) fn new(folder: Arc<Folder>) -> Self {
        Self { folder }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadArgs {
    /// The file, relative to the working folder.
    path: String,
    /// The line to begin with; 1, the first, when absent.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// The most lines to read; 2000 when absent.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadDetails {
    /// The number of the first line that is shown.
    first_line: u64,
    /// The lines that are shown.
    lines: u64,
    /// The lines of the file.
    total_lines: u64,
}

impl Tool for Read {
    const NAME: &'static str = "read";
    const LABEL: &'static str = "Read";
    const DESCRIPTION: &'static str = "Reads a text file. At most 2000 lines or 50KB are shown, \
        whichever is less; use offset and limit for the rest of a long file.";
    const REPLAY: Replay = Replay::Safe;
    type Args = ReadArgs;
    type Details = ReadDetails;

    async fn run(
        &self,
        args: ReadArgs,
        cx: ToolContext,
    ) -> Result<ToolOutput<ReadDetails>, ToolError> {
        let folder = Arc::clone(&self.folder);
        off_thread(&cx, move |abort| {
            let file = folder.find(&args.path)?;
            let mut window = Window::new(args.offset, args.limit);
            scan(&file, &args.path, &mut window, abort)?;
            window.show(&args.path)
        })
        .await
    }
}

/// Reads a file once, in bounded memory, up to the size that it has when it is opened.
fn scan(
    file: &Path,
    path: &str,
    window: &mut Window,
    abort: &CancellationToken,
) -> Result<(), ToolError> {
    let broken = |error: io::Error| failure(&error, path);
    // Asked before opening: to open a pipe is to wait for its other end.
    let kind = fs::metadata(file).map_err(broken)?;
    if kind.is_dir() {
        return Err(ToolError::new(format!(
            "{path} is a directory. Use ls to list it."
        )));
    }
    if !kind.is_file() {
        return Err(ToolError::new(format!("{path} is not a regular file.")));
    }
    let mut opened = File::open(file).map_err(broken)?;
    let mut probe = Vec::new();
    opened
        .by_ref()
        .take(PROBE)
        .read_to_end(&mut probe)
        .map_err(broken)?;
    if memchr::memchr(0, &probe).is_some() {
        let size = shown_size(kind.len());
        return Err(ToolError::new(format!(
            "{path} is a binary file ({size}). It cannot be shown."
        )));
    }
    let rest = opened.take(kind.len().saturating_sub(probe.len() as u64));
    let mut reader = BufReader::with_capacity(64 * 1024, probe.as_slice().chain(rest));
    loop {
        if abort.is_cancelled() {
            return Err(aborted());
        }
        let bytes = reader.fill_buf().map_err(broken)?;
        if bytes.is_empty() {
            return Ok(());
        }
        window.push(bytes);
        let length = bytes.len();
        reader.consume(length);
    }
}

/// The lines of a file that are shown; whole lines only.
struct Window {
    /// The first line that is wanted, from 1.
    first: u64,
    /// The most lines that are wanted.
    limit: u64,
    /// Lines of the file that have ended.
    ended: u64,
    /// The current line has begun.
    begun: bool,
    text: Vec<u8>,
    /// Where the last line begins in `text`.
    line_at: usize,
    /// Lines in `text` that have ended.
    kept: u64,
    /// A wanted line did not fit.
    full: bool,
}

impl Window {
    fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        Self {
            first: offset.unwrap_or(1).max(1),
            limit: limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES),
            ended: 0,
            begun: false,
            text: Vec::new(),
            line_at: 0,
            kept: 0,
            full: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut from = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            let to = at + 1;
            self.add(bytes.get(from..to).unwrap_or_default());
            self.end_line();
            from = to;
        }
        let tail = bytes.get(from..).unwrap_or_default();
        if !tail.is_empty() {
            self.begun = true;
            self.add(tail);
        }
    }

    fn add(&mut self, part: &[u8]) {
        if !self.is_wanted() {
            return;
        }
        if self.text.len() + part.len() > MAX_BYTES {
            self.text.truncate(self.line_at);
            self.full = true;
        } else {
            self.text.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.kept += 1;
            self.line_at = self.text.len();
        }
        self.ended += 1;
        self.begun = false;
    }

    fn is_wanted(&self) -> bool {
        !self.full && self.ended + 1 >= self.first && self.kept < self.limit
    }

    fn show(mut self, path: &str) -> Result<ToolOutput<ReadDetails>, ToolError> {
        if self.begun {
            self.end_line();
        }
        let (first, total) = (self.first, self.ended);
        if total == 0 {
            return Ok(self.output("(empty file)".to_owned()));
        }
        if first > total {
            return Err(ToolError::new(format!(
                "Offset {first} is beyond end of file ({total} lines total)"
            )));
        }
        if self.kept == 0 {
            return Err(ToolError::new(format!(
                "Line {first} of {path} exceeds the 50.0KB limit. Use offset={} to go on behind it.",
                first.saturating_add(1)
            )));
        }
        let text = String::from_utf8_lossy(&self.text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut text = text.replace("\r\n", "\n");
        let last = first + (self.kept - 1);
        if last < total {
            let why = if self.full { " (50.0KB limit)" } else { "" };
            let next = last + 1;
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!(
                "\n[Showing lines {first}-{last} of {total}{why}. Use offset={next} to continue.]"
            ));
        }
        Ok(self.output(text))
    }

    fn output(&self, text: String) -> ToolOutput<ReadDetails> {
        ToolOutput::text(text).with_details(ReadDetails {
            first_line: self.first,
            lines: self.kept,
            total_lines: self.ended,
        })
    }
}

#[cfg(test)]
mod tests;
