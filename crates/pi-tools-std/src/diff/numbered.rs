//! A diff for people.

use std::fmt::Write as _;

use super::{CONTEXT, Change, MAX_BYTES, Texts, last_lines, lines};

/// The most bytes of a line that are shown.
const MAX_LINE: usize = 2_000;

/// Shows changes with numbered lines.
pub(super) fn numbered(texts: Texts<'_>, changes: &[Change]) -> String {
    let total = |text: &[u8]| lines(text).count();
    let mut shown = Shown {
        text: String::new(),
        width: total(texts.old).max(total(texts.new)).to_string().len(),
    };
    let (mut byte, mut line) = (0, 0);
    for (index, Change { old, new }) in changes.iter().enumerate() {
        let kept = texts.old.get(byte..old.bytes.start).unwrap_or_default();
        shown.context(kept, line, old.line - line, index > 0);
        let removed = texts.old.get(old.bytes.clone()).unwrap_or_default();
        shown.lines('-', removed, old.line);
        let added = texts.new.get(new.bytes.clone()).unwrap_or_default();
        shown.lines('+', added, new.line);
        if shown.is_full() {
            shown.left_out();
            return shown.end();
        }
        (byte, line) = (old.bytes.end, old.end_line());
    }
    if !changes.is_empty() {
        let mut kept = lines(texts.old.get(byte..).unwrap_or_default());
        for (index, text) in kept.by_ref().take(CONTEXT).enumerate() {
            shown.line(' ', text, line + index);
        }
        if kept.next().is_some() {
            shown.left_out();
        }
    }
    shown.end()
}

struct Shown {
    text: String,
    width: usize,
}

impl Shown {
    /// Shows the lines before a change: those next to it, and those next to the change before.
    fn context(&mut self, kept: &[u8], first: usize, count: usize, is_between: bool) {
        let head = if is_between { CONTEXT } else { 0 };
        if count <= head + CONTEXT {
            self.lines(' ', kept, first);
            return;
        }
        for (index, text) in lines(kept).take(head).enumerate() {
            self.line(' ', text, first + index);
        }
        self.left_out();
        self.lines(' ', last_lines(kept, CONTEXT), first + count - CONTEXT);
    }

    fn lines(&mut self, sign: char, text: &[u8], first: usize) {
        for (index, text) in lines(text).enumerate() {
            if self.is_full() {
                break;
            }
            self.line(sign, text, first + index);
        }
    }

    fn line(&mut self, sign: char, text: &[u8], line: usize) {
        let width = self.width;
        let text = match line {
            0 => text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text),
            _ => text,
        };
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let cut = text.get(..MAX_LINE);
        let text = String::from_utf8_lossy(cut.unwrap_or(text));
        let end = if cut.is_some() { "... [truncated]" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{sign}{:>width$} {text}{end}", line + 1);
    }

    fn left_out(&mut self) {
        let width = self.width;
        let _ = writeln!(self.text, " {:>width$} ...", "");
    }

    fn is_full(&self) -> bool {
        self.text.len() > MAX_BYTES - 8 * MAX_LINE
    }

    fn end(mut self) -> String {
        self.text.pop();
        self.text
    }
}
