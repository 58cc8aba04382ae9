//! The search in one file.

use std::io::{self, Read};
use std::path::Path;

use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use crate::ops::{FileError, OpenFile, ReadOps};
use crate::search::budget::Budget;

/// Files up to this size are read as a whole.
const WHOLE: u64 = 128 * 1024;

/// The fewest bytes that are shown around a line: a path, a number, what parts them, and a newline.
const FRAME: usize = 6;

/// The most memory for one line.
const LINE_BYTES: usize = 64 << 20;

/// What is shown of a match.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// Lines before and after a match.
    pub(super) context: usize,
    /// Matches in all.
    pub(super) matches: usize,
    /// Characters of a line.
    pub(super) line_chars: usize,
    /// Bytes in all.
    pub(super) bytes: usize,
}

/// The search that is made in every file.
pub(super) struct FileSearch<'a> {
    pub(super) ops: &'a dyn ReadOps,
    pub(super) matcher: RegexMatcher,
    pub(super) options: &'a Options,
    pub(super) budget: &'a Budget,
}

/// What came of one file.
pub(super) enum Searched {
    /// It was searched; there may be no lines.
    Text(Vec<Line>),
    /// It is no text, or is not there any more.
    Skipped,
    /// It could not be read.
    Failed(FileError),
}

/// A line that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) is_match: bool,
    /// Cut to size, without its end.
    pub(super) text: String,
    pub(super) is_cut: bool,
}

impl FileSearch<'_> {
    /// Returns what one thread needs.
    pub(super) fn worker(&self) -> Worker<'_> {
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.options.context)
            .after_context(self.options.context)
            .heap_limit(Some(LINE_BYTES))
            .build();
        Worker {
            search: self,
            matcher: self.matcher.clone(),
            searcher,
            whole: Vec::new(),
        }
    }
}

/// What one thread searches with.
pub(super) struct Worker<'a> {
    search: &'a FileSearch<'a>,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// The content of a small file.
    whole: Vec<u8>,
}

impl Worker<'_> {
    pub(super) fn search(&mut self, path: &Path) -> Searched {
        let file = match self.search.ops.open(path) {
            Ok(file) => file,
            Err(FileError::NotFound) => return Searched::Skipped,
            Err(error) => return Searched::Failed(error),
        };
        let mut lines = Lines::new(self.search.options);
        let result = if file.stat.len <= WHOLE {
            self.search_whole(file, &mut lines)
        } else {
            self.search_streamed(file, &mut lines)
        };
        match result {
            Ok(()) if lines.is_binary => Searched::Skipped,
            Ok(()) => Searched::Text(lines.lines),
            // The caller sees that the time is up.
            Err(_) if self.search.budget.is_spent() => Searched::Text(lines.lines),
            Err(error) => Searched::Failed(error.into()),
        }
    }

    fn search_whole(&mut self, file: OpenFile, lines: &mut Lines<'_>) -> io::Result<()> {
        self.whole.clear();
        // A file of unknown length, as in /proc, has the length 0.
        let len = match file.stat.len {
            0 => WHOLE,
            len => len,
        };
        file.content.take(len).read_to_end(&mut self.whole)?;
        let is_utf16 =
            self.whole.starts_with(&[0xff, 0xfe]) || self.whole.starts_with(&[0xfe, 0xff]);
        if !is_utf16 && memchr::memchr(0, &self.whole).is_some() {
            lines.is_binary = true;
            return Ok(());
        }
        self.searcher
            .search_slice(&self.matcher, &self.whole, lines)
    }

    fn search_streamed(&mut self, file: OpenFile, lines: &mut Lines<'_>) -> io::Result<()> {
        let content = Budgeted {
            content: file.content.take(file.stat.len),
            budget: self.search.budget,
        };
        self.searcher.search_reader(&self.matcher, content, lines)
    }
}

/// Content that ends with an error when the time is up.
struct Budgeted<'a, R> {
    content: R,
    budget: &'a Budget,
}

impl<R: Read> Read for Budgeted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.budget.is_spent() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.content.read(buffer)
    }
}

/// Keeps the lines of one file that may be shown.
struct Lines<'a> {
    options: &'a Options,
    lines: Vec<Line>,
    matches: usize,
    bytes: usize,
    /// The last line that can be shown, once there are more matches than that.
    last: Option<u64>,
    is_binary: bool,
}

impl<'a> Lines<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            lines: Vec::new(),
            matches: 0,
            bytes: 0,
            last: None,
            is_binary: false,
        }
    }

    /// Returns false once no further line can be shown.
    fn add(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) -> bool {
        let number = number.unwrap_or_default();
        if is_match {
            self.matches += 1;
            if self.matches == self.options.matches {
                self.last = Some(number.saturating_add(self.options.context as u64));
            }
        }
        let (text, is_cut) = shown(bytes, self.options.line_chars);
        self.bytes += text.len() + FRAME;
        self.lines.push(Line {
            number,
            is_match,
            text,
            is_cut,
        });
        // One match more than is shown tells that there are more.
        let told = self.matches > self.options.matches;
        let past = self.last.is_some_and(|last| number > last);
        !(told && past) && self.bytes <= self.options.bytes
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(self.add(line.line_number(), line.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(line.line_number(), line.bytes(), false))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Shows a line as text, cut to a number of characters.
fn shown(line: &[u8], max_chars: usize) -> (String, bool) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // No character has more than four bytes, so the rest of a long line is not looked at.
    let start = line.get(..max_chars.saturating_mul(4) + 4).unwrap_or(line);
    let text = String::from_utf8_lossy(start);
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => (format!("{}... [truncated]", &text[..end]), true),
        None => (text.into_owned(), false),
    }
}
