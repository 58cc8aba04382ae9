//! What a conformance run says.

use std::io::{self, Write};

/// How one case came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All that was compared is right.
    Passed,
    /// The differences, the first one first; never empty.
    Failed(Vec<String>),
    /// Why the case was not run.
    Skipped(String),
}

impl Outcome {
    /// Creates the outcome of a case with these differences.
    #[must_use]
    pub fn from_differences(differences: Vec<String>) -> Self {
        if differences.is_empty() {
            Self::Passed
        } else {
            Self::Failed(differences)
        }
    }
}

impl From<anyhow::Result<()>> for Outcome {
    fn from(result: anyhow::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(vec![format!("{error:#}")]),
        }
    }
}

/// What is printed beside the figures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Verbosity {
    /// All differences of a failing case, not only the first.
    pub failures: bool,
    /// One line for each skipped case.
    pub skips: bool,
}

/// The outcomes of a run.
#[derive(Debug, Default)]
pub struct Report {
    cases: Vec<(String, Outcome)>,
}

impl Report {
    /// Adds the outcome of a case.
    pub fn add(&mut self, name: impl Into<String>, outcome: Outcome) {
        self.cases.push((name.into(), outcome));
    }

    /// Returns true if no case failed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        !self
            .cases
            .iter()
            .any(|(_, outcome)| matches!(outcome, Outcome::Failed(_)))
    }

    /// Prints one line for each failing case, then the figures as the last line.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn print(&self, out: &mut impl Write, verbosity: Verbosity) -> io::Result<()> {
        let (mut passed, mut failed, mut skipped) = (0_usize, 0_usize, 0_usize);
        for (name, outcome) in &self.cases {
            match outcome {
                Outcome::Passed => passed += 1,
                Outcome::Failed(differences) => {
                    failed += 1;
                    let shown = if verbosity.failures {
                        differences.len()
                    } else {
                        1
                    };
                    for difference in differences.iter().take(shown) {
                        writeln!(out, "FAIL {name}: {}", difference.replace('\n', " "))?;
                    }
                }
                Outcome::Skipped(reason) => {
                    skipped += 1;
                    if verbosity.skips {
                        writeln!(out, "SKIP {name}: {}", reason.replace('\n', " "))?;
                    }
                }
            }
        }
        writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
        out.flush()
    }
}
