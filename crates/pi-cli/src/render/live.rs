//! The output of commands while they run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pi_core::{ToolCall, ToolOutput, joined_text};

use crate::terminal::{compact, cut, fold};

/// A command that ends sooner is shown at its end only.
const SOON: Duration = Duration::from_millis(500);

/// The least time between new lines.
const PAUSE: Duration = Duration::from_secs(1);

/// The most lines at once.
const AT_ONCE: (usize, usize) = (0, 3);

/// How output is shown before its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Live {
    Off,
    /// In one row that is written anew and taken away at the end, on a terminal that is so wide.
    Row(fn() -> usize),
    /// In lines that stay.
    Lines,
}

/// What is to be shown of an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    Row(String),
    Lines(Vec<String>),
}

/// What is known about the output of the calls that run.
pub(super) struct Progress {
    live: Live,
    /// A row is on the terminal.
    has_row: bool,
    calls: HashMap<String, Seen>,
}

/// What was shown of a call.
struct Seen {
    next: Instant,
    /// The whole lines of the last snapshot that was shown.
    text: String,
}

impl Progress {
    pub(super) fn new(live: Live) -> Self {
        Self {
            live,
            has_row: false,
            calls: HashMap::new(),
        }
    }

    /// Takes the end of an output as it is at `now`.
    pub(super) fn update(&mut self, call: &ToolCall, so_far: &ToolOutput, now: Instant) -> Shown {
        match self.live {
            Live::Off => Shown::Nothing,
            Live::Row(columns) => {
                let text = joined_text(&so_far.content);
                let last = text.lines().rev().find(|line| !line.trim().is_empty());
                let Some(last) = last else {
                    return Shown::Nothing;
                };
                let line = format!("  {}", compact(last).replace('\t', " "));
                // The last column stays empty: some terminals go to the next row behind it.
                Shown::Row(cut(&line, columns().saturating_sub(1)).to_owned())
            }
            Live::Lines => self.lines(call, &joined_text(&so_far.content), now),
        }
    }

    /// Takes note that the row was written.
    pub(super) fn row_is_shown(&mut self) {
        self.has_row = true;
    }

    /// Returns what takes the row away, if there is one.
    pub(super) fn clear(&mut self) -> Option<&'static str> {
        std::mem::take(&mut self.has_row).then_some("\r\x1b[K")
    }

    /// Forgets a call; returns true if lines of it were shown.
    pub(super) fn end(&mut self, call: &ToolCall) -> bool {
        self.calls
            .remove(&call.id)
            .is_some_and(|seen| !seen.text.is_empty())
    }

    /// Returns the whole lines that are new.
    fn lines(&mut self, call: &ToolCall, so_far: &str, now: Instant) -> Shown {
        let seen = self.calls.entry(call.id.clone()).or_insert(Seen {
            next: now + SOON,
            text: String::new(),
        });
        let whole = so_far.rfind('\n').and_then(|end| so_far.get(..=end));
        let Some(whole) = whole.filter(|_| now >= seen.next) else {
            return Shown::Nothing;
        };
        // Of an output that is too long the first lines are gone, and the rest is all new.
        let new = whole.strip_prefix(seen.text.as_str()).unwrap_or(whole);
        let lines: Vec<String> = new.lines().map(compact).collect();
        if lines.is_empty() {
            return Shown::Nothing;
        }
        seen.next = now + PAUSE;
        whole.clone_into(&mut seen.text);
        Shown::Lines(fold(lines, AT_ONCE))
    }
}

#[cfg(test)]
mod tests;
