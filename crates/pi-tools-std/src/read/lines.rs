//! Cuts bytes into lines and keeps those of a window.

use memchr::{memchr, memchr_iter};

use super::LineEnding;
use super::text::{Answer, Stopped, Window};
use crate::truncate::TruncatedBy;

/// Takes the bytes of a text in pieces of any size.
pub(super) struct Lines<'a> {
    window: &'a Window,
    answer: Answer,
    /// Lines that have ended.
    ended: u64,
    /// The start of the line that has not ended, as far as it can be shown.
    open: Vec<u8>,
    /// Bytes of the line that has not ended.
    open_len: u64,
    ends: Ends,
}

impl<'a> Lines<'a> {
    pub(super) fn new(window: &'a Window) -> Self {
        Self {
            window,
            answer: Answer::default(),
            ended: 0,
            open: Vec::new(),
            open_len: 0,
            ends: Ends::default(),
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        self.answer.total_bytes += bytes.len() as u64;
        self.ends.push(bytes);
        while let Some(end) = memchr(b'\n', bytes) {
            if self.is_past() {
                self.skip(bytes);
                return;
            }
            let (line, rest) = bytes.split_at(end);
            self.extend(line);
            self.end_line(true);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.extend(bytes);
    }

    /// Ends the text.
    pub(super) fn end(mut self) -> Answer {
        if self.open_len > 0 {
            self.end_line(false);
        }
        self.answer.total_lines = self.ended;
        self.answer.line_ending = Some(self.ends.kind());
        self.answer
    }

    /// Counts the lines of bytes that are behind the window, which is all that is left to know.
    fn skip(&mut self, bytes: &[u8]) {
        self.ended += memchr_iter(b'\n', bytes).count() as u64;
        let open = memchr::memrchr(b'\n', bytes).map_or(bytes.len(), |end| bytes.len() - end - 1);
        self.open_len = open as u64;
    }

    /// Adds to the line that has not ended.
    fn extend(&mut self, bytes: &[u8]) {
        self.open_len += bytes.len() as u64;
        if self.is_before() || self.is_past() {
            return;
        }
        // A line over the limit is not shown, so no more of it is needed than to know that.
        let most = self.window.max_bytes.saturating_add(2);
        let room = most.saturating_sub(self.open.len());
        self.open
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn is_before(&self) -> bool {
        self.ended + 1 < self.window.first
    }

    fn is_past(&self) -> bool {
        self.answer.stopped.is_some()
    }

    fn end_line(&mut self, with_newline: bool) {
        if !self.is_before() && !self.is_past() {
            self.show(with_newline);
        }
        self.ended += 1;
        self.open.clear();
        self.open_len = 0;
    }

    /// Adds the line to the text, or finds that it is full.
    fn show(&mut self, with_newline: bool) {
        let answer = &mut self.answer;
        if self.window.limit == Some(answer.shown_lines) {
            answer.stopped = Some(Stopped::Asked);
        } else if answer.shown_lines == self.window.max_lines {
            answer.stopped = Some(Stopped::By(TruncatedBy::Lines));
        }
        if answer.stopped.is_some() {
            return;
        }
        let before = answer.text.len();
        let invalid_before = answer.invalid_bytes;
        if self.window.line_numbers {
            answer.text.push_str(&format!("{:>6}\t", self.ended + 1));
        }
        let line = match self.open.strip_suffix(b"\r") {
            Some(line) if with_newline => line,
            _ => &self.open,
        };
        for chunk in line.utf8_chunks() {
            answer.text.push_str(chunk.valid());
            for _ in chunk.invalid() {
                answer.text.push('\u{fffd}');
                answer.invalid_bytes += 1;
            }
        }
        if answer.text.len() > self.window.max_bytes || self.open_len > line.len() as u64 + 1 {
            let shown = (answer.text.len() - before) as u64;
            answer.text.truncate(before);
            answer.invalid_bytes = invalid_before;
            answer.stopped = Some(Stopped::By(TruncatedBy::Bytes));
            if answer.shown_lines == 0 {
                // Bytes that are no text take more room when they are shown.
                answer.first_line_too_long = Some(self.open_len.max(shown));
            }
            return;
        }
        if with_newline {
            answer.text.push('\n');
        }
        answer.shown_lines += 1;
    }
}

/// Counts the ends of lines.
#[derive(Default)]
struct Ends {
    lf: u64,
    crlf: u64,
    cr: u64,
    after_cr: bool,
}

impl Ends {
    fn push(&mut self, bytes: &[u8]) {
        let Some(first) = bytes.first() else { return };
        self.lf += memchr_iter(b'\n', bytes).count() as u64;
        if std::mem::take(&mut self.after_cr) {
            self.count_cr(Some(*first));
        }
        for cr in memchr_iter(b'\r', bytes) {
            match bytes.get(cr + 1) {
                None => self.after_cr = true,
                next => self.count_cr(next.copied()),
            }
        }
    }

    fn count_cr(&mut self, next: Option<u8>) {
        if next == Some(b'\n') {
            self.crlf += 1;
        } else {
            self.cr += 1;
        }
    }

    fn kind(&self) -> LineEnding {
        let cr = self.cr + u64::from(self.after_cr);
        match (self.lf - self.crlf, self.crlf, cr) {
            (0, 0, 0) => LineEnding::None,
            (_, 0, 0) => LineEnding::Lf,
            (0, _, 0) => LineEnding::Crlf,
            (0, 0, _) => LineEnding::Cr,
            _ => LineEnding::Mixed,
        }
    }
}
