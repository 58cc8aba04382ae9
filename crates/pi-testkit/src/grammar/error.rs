//! An event that does not fit, in words.

use std::error::Error;
use std::fmt;

/// Lines of the transcript that `Debug` shows before the event.
const BEFORE: usize = 5;

/// An event that does not fit the events before it.
///
/// `Display` is one line; `Debug`, which `unwrap` prints, also shows what came before.
#[derive(Clone, PartialEq, Eq)]
pub struct GrammarError {
    index: usize,
    found: Option<String>,
    expected: String,
    /// The last lines of the transcript, with that of the event.
    lines: Vec<String>,
}

impl GrammarError {
    /// Creates the error from the transcript up to and with the event.
    pub(super) fn new(index: usize, lines: &[String], expected: String) -> Self {
        let found = lines.last().map(|line| words(line));
        Self {
            index,
            found,
            expected,
            lines: tail(lines, BEFORE + 1),
        }
    }

    /// Creates the error of events that stop too early.
    pub(super) fn at_end(index: usize, lines: &[String], expected: String) -> Self {
        Self {
            index,
            found: None,
            expected,
            lines: tail(lines, BEFORE),
        }
    }

    /// Returns the place of the event, from 0; the number of events if they stop too early.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the event as a line of a transcript; `None` if the events stop too early.
    #[must_use]
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// Returns what was expected in its place.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Some(found) => write!(f, "event {} ({found}) does not fit", self.index)?,
            None => write!(f, "the events stop too early, after {}", self.index)?,
        }
        write!(f, ": expected {}", self.expected)
    }
}

impl fmt::Debug for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{self}")?;
        let (event, before) = match self.lines.split_last() {
            Some((event, before)) if self.found.is_some() => (event.as_str(), before),
            _ => ("(end)", self.lines.as_slice()),
        };
        for line in before {
            writeln!(f, "    {line}")?;
        }
        write!(f, "--> {event}")
    }
}

impl Error for GrammarError {}

fn tail(lines: &[String], count: usize) -> Vec<String> {
    lines
        .iter()
        .skip(lines.len().saturating_sub(count))
        .cloned()
        .collect()
}

/// Takes the columns out of a line.
fn words(line: &str) -> String {
    match line.split_once(' ') {
        Some((name, rest)) => format!("{name} {}", rest.trim_start()),
        None => line.to_owned(),
    }
}
