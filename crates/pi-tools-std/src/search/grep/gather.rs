//! The lines of all files, in order, as far as they fit.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use super::file::{Line, Options, Searched};
use crate::search::shown_path;

/// What a search has found so far.
pub(super) struct Gathered<'a> {
    options: &'a Options,
    text: String,
    matches: usize,
    /// Whether there are more matches than may be shown.
    pub(super) more: bool,
    pub(super) cut_lines: bool,
    pub(super) files: u64,
    /// Files and folders that could not be read.
    pub(super) unreadable: u64,
    pub(super) timed_out: bool,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self {
            options,
            text: String::new(),
            matches: 0,
            more: false,
            cut_lines: false,
            files: 0,
            unreadable: 0,
            timed_out: false,
        }
    }

    /// Takes the lines of the next file. Breaks once nothing more can be shown.
    pub(super) fn take(&mut self, path: &Path, searched: Searched) -> ControlFlow<()> {
        match searched {
            Searched::Text(lines) => {
                self.files += 1;
                if !lines.is_empty() {
                    self.add(&shown_path(path), &lines);
                }
            }
            Searched::Skipped => {}
            Searched::Failed(_) => self.unreadable += 1,
        }
        if self.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns true once nothing more can be shown.
    pub(super) fn is_full(&self) -> bool {
        // Enough for the cut to see that it is too much.
        self.more || self.text.len() > self.options.bytes.saturating_add(1)
    }

    /// The lines, without a newline at the end.
    pub(super) fn text(&self) -> &str {
        self.text.strip_suffix('\n').unwrap_or(&self.text)
    }

    fn add(&mut self, path: &str, lines: &[Line]) {
        let Some(last) = self.last_line(lines) else {
            return;
        };
        for line in lines.iter().take_while(|line| line.number <= last) {
            let shown_as_match = line.is_match && self.matches < self.options.matches;
            self.matches += usize::from(shown_as_match);
            self.cut_lines |= line.is_cut;
            let Line { number, text, .. } = line;
            // Writing to a string cannot fail.
            let _ = if shown_as_match {
                writeln!(self.text, "{path}:{number}: {text}")
            } else {
                writeln!(self.text, "{path}-{number}- {text}")
            };
        }
    }

    /// Finds the last line that is shown, and whether a match is left out. `None` if none is shown.
    fn last_line(&mut self, lines: &[Line]) -> Option<u64> {
        let room = self.options.matches - self.matches;
        let mut matches = lines.iter().filter(|line| line.is_match);
        if room == 0 {
            self.more |= matches.next().is_some();
            return None;
        }
        let last_match = matches.by_ref().take(room).last()?;
        if matches.next().is_none() {
            return Some(u64::MAX);
        }
        self.more = true;
        Some(
            last_match
                .number
                .saturating_add(self.options.context as u64),
        )
    }
}
