//! What a check found, and how it is shown.

use std::fmt;

/// One broken rule: where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// A path relative to the workspace root, or the name of a crate.
    place: String,
    line: Option<usize>,
    message: String,
}

impl Violation {
    /// Creates a violation that concerns a whole file, folder or crate.
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            line: None,
            message: message.into(),
        }
    }

    /// Creates a violation at a line of a file, counted from 1.
    pub(crate) fn at(place: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.place, self.message),
            None => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

/// Prints all violations to stderr and returns whether there were none.
pub(crate) fn print(check: &str, violations: &[Violation]) -> bool {
    for violation in violations {
        eprintln!("{violation}");
    }
    match violations.len() {
        0 => println!("{check}: ok"),
        1 => eprintln!("{check}: 1 violation"),
        count => eprintln!("{check}: {count} violations"),
    }
    violations.is_empty()
}
