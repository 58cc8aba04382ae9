//! What a terminal may be sent: colours where they are wanted, and no tricks.

use std::borrow::Cow;
use std::env;
use std::io::{IsTerminal, Write};

use unicode_width::UnicodeWidthChar;

/// The most characters of a compact line.
const LINE: usize = 100;

/// The width of a terminal that does not tell it.
const COLUMNS: usize = 80;

/// Whether colours are written to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colours(bool);

impl Colours {
    /// Decides about a stream: only for a terminal that can, and not against `NO_COLOR`.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self(stream.is_terminal() && !refused && !dumb)
    }

    #[cfg(test)]
    pub(crate) fn new(wanted: bool) -> Self {
        Self(wanted)
    }

    pub(crate) fn dim<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("2", text)
    }

    pub(crate) fn red<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("31", text)
    }

    pub(crate) fn green<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("32", text)
    }

    pub(crate) fn cyan<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.wrap("36", text)
    }

    fn wrap<'a>(self, code: &str, text: &'a str) -> Cow<'a, str> {
        if self.0 && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m").into()
        } else {
            text.into()
        }
    }
}

/// Writes a line to standard error.
pub(crate) fn say(line: &str) {
    // There is nowhere to say that standard error is gone.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes an error, and what to do about it, to standard error.
pub(crate) fn complain(error: &str, hint: Option<&str>) {
    say(&complaint(Colours::of(&std::io::stderr()), error, hint));
}

/// Returns the lines for an error, and what to do about it.
pub(crate) fn complaint(colours: Colours, error: &str, hint: Option<&str>) -> String {
    let mut lines = format!("{} {}", colours.red("error:"), printable(error));
    if let Some(hint) = hint {
        lines.push_str(&format!("\n{} {hint}", colours.cyan("hint:")));
    }
    lines
}

/// Removes from a text what a terminal would obey: all control characters but line feeds and tabs.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(obeyed) {
        text.replace(obeyed, "").into()
    } else {
        text.into()
    }
}

/// Brings a text to one line of a usual length in which every character is what it seems.
pub(crate) fn compact(text: &str) -> String {
    one_line(text, LINE)
}

/// Brings a text to one line of at most `limit` characters in which every character is what it
/// seems.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut shown = text.chars().filter(|c| !turns_direction(*c));
    let mut line: String = shown
        .by_ref()
        .take(limit)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if shown.next().is_some() {
        line.push('…');
    }
    line
}

/// Leaves out the middle of many lines, and says how many were there. At most `head` lines before
/// it and `tail` lines behind it stay.
pub(crate) fn fold(mut lines: Vec<String>, (head, tail): (usize, usize)) -> Vec<String> {
    let left_out = lines.len().saturating_sub(head + tail);
    // A line that says so takes as much room as one line that is left out.
    if left_out > 1 {
        let mark = format!("… {left_out} lines");
        lines.splice(head..head + left_out, [mark]);
    }
    lines
}

/// Colours a line of a diff, which begins with its sign.
pub(crate) fn changed(colours: Colours, line: &str) -> Cow<'_, str> {
    match line.chars().next() {
        Some('+') => colours.green(line),
        Some('-') => colours.red(line),
        Some('$') => line.into(),
        _ => colours.dim(line),
    }
}

/// Cuts a line without control characters to a number of cells.
pub(crate) fn cut(line: &str, cells: usize) -> &str {
    let mut used = 0;
    for (at, c) in line.char_indices() {
        used += c.width().unwrap_or(0);
        if used > cells {
            return line.get(..at).unwrap_or_default();
        }
    }
    line
}

/// Returns true if a line on a stream can be written anew.
pub(crate) fn can_rewrite(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns the width of the terminal behind a stream.
#[cfg(unix)]
pub(crate) fn columns(stream: impl std::os::fd::AsFd) -> usize {
    match rustix::termios::tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => COLUMNS,
    }
}

/// Returns the width of the terminal behind a stream.
#[cfg(not(unix))]
pub(crate) fn columns<T>(_stream: T) -> usize {
    COLUMNS
}

/// Characters that change the order in which others are shown.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compact_line_plays_no_tricks() {
        for (text, expected) in [
            ("plain ä", "plain ä"),
            ("\x1b[2Jgone\r\n", " [2Jgone  "),
            ("a\u{202e}b\u{9b}31mc", "ab 31mc"),
        ] {
            assert_eq!(compact(text), expected, "{text:?}");
        }
        let long = compact(&"ä".repeat(1_000));
        assert_eq!(long.chars().count(), LINE + 1);
    }

    #[test]
    fn printable_text_keeps_lines_and_tabs_only() {
        assert_eq!(printable("a\n\tb"), "a\n\tb");
        assert_eq!(printable("\x1b]52;c;eA==\x07a\rb\u{9b}"), "]52;c;eA==ab");
    }

    #[test]
    fn colours_can_be_off() {
        assert_eq!(Colours::new(false).red("x"), "x");
        assert_eq!(Colours::new(true).red("x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Colours::new(true).dim(""), "");
    }
}
