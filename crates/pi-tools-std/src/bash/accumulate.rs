//! The output of a command: its end for the model, all of it for a file.

#[cfg(test)]
mod tests;

use super::clean::{Cleaner, Lines};
use super::spill::{Kept, Spill};
use crate::truncate::{TruncatedBy, Truncation, truncate_tail};

/// Takes the output in pieces of any size and keeps its end. Memory is bounded by the limits.
#[derive(Debug)]
pub(crate) struct Accumulator {
    cleaner: Cleaner,
    tail: Tail,
    received: u64,
}

/// The end of an output, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Snapshot {
    pub(super) text: String,
    pub(super) truncation: Truncation,
    /// Bytes of the last line, if it is cut.
    pub(super) last_line_bytes: u64,
}

impl Accumulator {
    pub(super) fn new(max_lines: usize, max_bytes: usize) -> Self {
        Self {
            cleaner: Cleaner::default(),
            tail: Tail::new(max_lines, max_bytes),
            received: 0,
        }
    }

    /// Takes a piece; returns true if not all of the output fits any more.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.received += bytes.len() as u64;
        self.cleaner.push(bytes, &mut self.tail);
        self.tail.is_over()
    }

    /// Returns how many bytes have come.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the end of the output so far.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.tail.snapshot()
    }

    /// Ends the output as far as the model is concerned, and returns its end.
    pub(super) fn finish(&mut self) -> Snapshot {
        self.cleaner.end(&mut self.tail);
        self.snapshot()
    }
}

/// Returns the end of an output that comes in pieces, for the fuzz targets.
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
#[must_use]
pub fn accumulated(pieces: &[&[u8]], max_lines: usize, max_bytes: usize) -> String {
    let mut accumulator = Accumulator::new(max_lines, max_bytes);
    for piece in pieces {
        accumulator.push(piece);
    }
    accumulator.finish().text
}

/// The bytes as they came: in memory as long as they are few, else in a file. It writes to the disk,
/// so it is for threads that may block.
#[derive(Debug)]
pub(super) struct Raw {
    /// What has come so far, as long as nothing is in the file.
    head: Option<Vec<u8>>,
    max_bytes: usize,
    spill: Spill,
}

impl Raw {
    pub(super) fn new(max_bytes: usize, spill: Spill) -> Self {
        Self {
            head: Some(Vec::new()),
            max_bytes,
            spill,
        }
    }

    /// Takes a piece; `is_over` if not all of the output fits into the answer.
    pub(super) fn push(&mut self, bytes: &[u8], is_over: bool) {
        match &mut self.head {
            None => self.spill.write(bytes),
            Some(head) => {
                head.extend_from_slice(bytes);
                if is_over || head.len() > self.max_bytes {
                    self.keep();
                }
            }
        }
    }

    /// Makes sure that all output, also what is still to come, goes to the file.
    pub(super) fn keep(&mut self) {
        if let Some(head) = self.head.take() {
            self.spill.write(&head);
        }
    }

    /// Returns what is known about the file.
    pub(super) fn kept(&self) -> Kept {
        self.spill.kept()
    }
}

/// The last lines of the cleaned output.
#[derive(Debug)]
struct Tail {
    max_lines: usize,
    max_bytes: usize,
    /// The end of the lines that have ended, with their newlines.
    ended: Vec<u8>,
    /// The end of the line that has not.
    open: Vec<u8>,
    /// Bytes of the line that has not ended.
    open_bytes: u64,
    /// Bytes of the last line that has ended.
    last_bytes: u64,
    lines: u64,
    /// Bytes of the lines that have ended, with their newlines.
    bytes: u64,
}

impl Tail {
    fn new(max_lines: usize, max_bytes: usize) -> Self {
        Self {
            max_lines,
            max_bytes,
            ended: Vec::new(),
            open: Vec::new(),
            open_bytes: 0,
            last_bytes: 0,
            lines: 0,
            bytes: 0,
        }
    }

    fn total_lines(&self) -> u64 {
        self.lines + u64::from(self.open_bytes > 0)
    }

    fn total_bytes(&self) -> u64 {
        self.bytes + self.open_bytes
    }

    fn is_over(&self) -> bool {
        // The newline at the end is not counted.
        let last = u64::from(self.open_bytes == 0 && self.lines > 0);
        self.total_lines() > self.max_lines as u64
            || self.total_bytes() - last > self.max_bytes as u64
    }

    fn snapshot(&self) -> Snapshot {
        let mut text = String::with_capacity(self.ended.len() + self.open.len());
        push_lossy(&mut text, &self.ended);
        push_lossy(&mut text, &self.open);
        let kept = truncate_tail(&text, self.max_lines, self.max_bytes);
        let mut truncation = kept.truncation;
        truncation.total_lines = self.total_lines();
        truncation.total_bytes = self.total_bytes();
        if !truncation.truncated && self.is_over() {
            // What is missing was dropped before; the text is its end all the same.
            truncation.truncated = true;
            truncation.truncated_by = Some(TruncatedBy::Bytes);
        }
        Snapshot {
            text: kept.text.to_owned(),
            last_line_bytes: match self.open_bytes {
                0 => self.last_bytes,
                bytes => bytes,
            },
            truncation,
        }
    }
}

impl Lines for Tail {
    fn text(&mut self, bytes: &[u8]) {
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            return self.add_to_open(bytes);
        };
        let (last, _) = bytes.split_at(end);
        self.last_bytes = match memchr::memrchr(b'\n', last) {
            Some(before) => (end - before - 1) as u64,
            None => self.open_bytes + end as u64,
        };
        let (ended, open) = bytes.split_at(end + 1);
        self.lines += memchr::memchr_iter(b'\n', ended).count() as u64;
        self.bytes += self.open_bytes + ended.len() as u64;
        push_bounded(&mut self.ended, &self.open, self.max_bytes);
        push_bounded(&mut self.ended, ended, self.max_bytes);
        self.rewrite_line();
        self.add_to_open(open);
    }

    fn rewrite_line(&mut self) {
        self.open.clear();
        self.open_bytes = 0;
    }
}

impl Tail {
    fn add_to_open(&mut self, bytes: &[u8]) {
        self.open_bytes += bytes.len() as u64;
        push_bounded(&mut self.open, bytes, self.max_bytes);
    }
}

/// Adds bytes and keeps at least the last `max` and at most about twice as many.
fn push_bounded(kept: &mut Vec<u8>, bytes: &[u8], max: usize) {
    // A few more, so that a character that is cut at the front is outside of what is shown.
    let max = max.saturating_add(8);
    let skip = bytes.len().saturating_sub(max);
    let bytes = bytes.get(skip..).unwrap_or_default();
    if skip > 0 || kept.len() + bytes.len() > max.saturating_mul(2) {
        let rest = max.saturating_sub(bytes.len()).min(kept.len());
        kept.drain(..kept.len() - rest);
    }
    kept.extend_from_slice(bytes);
}

/// Adds bytes as text; each byte that is no UTF-8 becomes U+FFFD.
fn push_lossy(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            text.push('\u{fffd}');
        }
    }
}
