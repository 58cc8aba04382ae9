//! Text above the line that is being edited.
//!
//! The editor owns the last rows of the terminal. It takes text to print above them, but only whole
//! lines. A reply comes in pieces of a line: each piece is printed as a line, and the next one first
//! moves the cursor back behind it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use unicode_width::UnicodeWidthChar;

/// Prints whole lines above the line that is being edited.
pub(super) trait Printer: Send {
    fn print(&mut self, lines: String);
}

/// The part of the terminal above the editor; clones share it.
#[derive(Clone)]
pub(super) struct Screen {
    lines: Arc<Mutex<Lines>>,
    /// Something else was written below the last line, so that it cannot be gone on with.
    left: Arc<AtomicBool>,
}

struct Lines {
    printer: Box<dyn Printer>,
    columns: fn() -> usize,
    /// How far the last line is written; zero if it has its end.
    column: usize,
}

impl Screen {
    /// Creates a screen; `columns` tells the width of the terminal.
    pub(super) fn new(printer: impl Printer + 'static, columns: fn() -> usize) -> Self {
        let lines = Lines {
            printer: Box::new(printer),
            columns,
            column: 0,
        };
        Self {
            lines: Arc::new(Mutex::new(lines)),
            left: Arc::default(),
        }
    }

    /// Writes text behind what was written before.
    pub(super) fn print(&self, text: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if self.left.swap(false, Ordering::Relaxed) {
            lines.column = 0;
        }
        lines.print(text);
    }

    /// Writes a line of its own.
    pub(super) fn say(&self, line: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.column = 0;
        lines.print(line);
        lines.column = 0;
    }

    /// Takes note that the editor has left a line behind. It does not wait for a print.
    pub(super) fn leave_line(&self) {
        self.left.store(true, Ordering::Relaxed);
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.print(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let columns = (self.columns)().max(1);
        let mut text = text;
        let mut printed = String::with_capacity(text.len() + 16);
        if self.column >= columns {
            // The row was full: the cursor is where the next piece belongs, and the line has its end.
            self.column = 0;
            text = text.strip_prefix('\n').unwrap_or(text);
            if text.is_empty() {
                return;
            }
        } else if self.column > 0 {
            printed.push_str(&format!("\x1b[A\x1b[{}G", self.column + 1));
        }
        printed.push_str(text);
        self.column = end_column(self.column, text, columns);
        if !text.ends_with('\n') {
            printed.push('\n');
        }
        self.printer.print(printed);
    }
}

/// Returns the column behind a text that begins at `column`; `columns` for a row that is full.
fn end_column(mut column: usize, text: &str, columns: usize) -> usize {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\n' => column = 0,
            '\t' => column = ((column / 8 + 1) * 8).min(columns.saturating_sub(1)),
            // Colours are the only sequences that get here: `ESC [ .. m`.
            '\x1b' => {
                chars.by_ref().find(|c| *c == 'm');
            }
            c => {
                let width = c.width().unwrap_or(0);
                column = match column + width {
                    end if end > columns => width,
                    end => end,
                };
            }
        }
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal of ten columns and many rows, whose last row is the editor's.
    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<(Vec<String>, usize)>>);

    impl Printer for Terminal {
        fn print(&mut self, lines: String) {
            let mut terminal = self.0.lock().unwrap();
            let (rows, row) = &mut *terminal;
            let mut rest = lines.as_str();
            if let Some(moved) = rest.strip_prefix("\x1b[A\x1b[") {
                *row -= 1;
                let (column, text) = moved.split_once('G').unwrap();
                assert_eq!(column.parse::<usize>().unwrap(), rows[*row].len() + 1);
                rest = text;
            }
            assert!(rest.ends_with('\n'));
            for c in rest.chars() {
                rows.resize(rows.len().max(*row + 1), String::new());
                if c == '\n' {
                    *row += 1;
                } else {
                    if rows[*row].len() == 10 {
                        *row += 1;
                        rows.resize(rows.len().max(*row + 1), String::new());
                    }
                    rows[*row].push(c);
                }
            }
        }
    }

    fn shown(pieces: &[&str]) -> Vec<String> {
        let terminal = Terminal::default();
        let screen = Screen::new(terminal.clone(), || 10);
        for piece in pieces {
            screen.print(piece);
        }
        terminal.0.lock().unwrap().0.clone()
    }

    #[test]
    fn pieces_of_a_line_are_joined() {
        for (pieces, expected) in [
            (&["He", "llo", ".\n", "Next"][..], &["Hello.", "Next"][..]),
            (
                &["one\ntw", "o\n", "\n", "three"],
                &["one", "two", "", "three"],
            ),
            (&["0123456789", "abc", "d"], &["0123456789", "abcd"]),
            (
                &["01234567", "89abc", "d\n", "e"],
                &["0123456789", "abcd", "e"],
            ),
            (&["0123456789", "\n", "e"], &["0123456789", "e"]),
        ] {
            assert_eq!(shown(pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_line_that_was_left_is_not_gone_on_with() {
        let terminal = Terminal::default();
        let screen = Screen::new(terminal.clone(), || 10);
        screen.print("one");
        screen.leave_line();
        screen.print("two");
        screen.say("three");
        screen.print("four");
        assert_eq!(
            terminal.0.lock().unwrap().0,
            ["one", "two", "three", "four"]
        );
    }

    #[test]
    fn columns_count_what_is_seen() {
        for (text, expected) in [
            ("abc", 3),
            ("\x1b[31mab\x1b[0m", 2),
            ("日本", 4),
            ("a\tb", 9),
            ("123456789日", 2),
            ("1234567890", 10),
        ] {
            assert_eq!(end_column(0, text, 10), expected, "{text:?}");
        }
    }
}
