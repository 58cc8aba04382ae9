//! What came of the scenarios.

use std::fmt;

use super::Scenario;
use crate::transcript::Transcript;

/// What came of one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing is wrong.
    Pass,
    /// The subject's wire cannot spell it.
    Skip {
        /// Why, as the subject says.
        reason: String,
    },
    /// Something is wrong.
    Fail {
        /// What, one sentence each; at least one.
        problems: Vec<String>,
        /// The events of the streams.
        transcripts: Vec<Transcript>,
    },
}

impl Outcome {
    pub(super) fn failed(problem: impl Into<String>) -> Self {
        Self::Fail {
            problems: vec![problem.into()],
            transcripts: Vec::new(),
        }
    }

    /// Returns what is wrong; nothing unless it failed.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        match self {
            Self::Fail { problems, .. } => problems,
            _ => &[],
        }
    }
}

/// What came of all scenarios.
///
/// `Display` is a line of counts, then a line for each scenario; failures are followed by what is
/// wrong and by the events that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report(Vec<(Scenario, Outcome)>);

impl Report {
    pub(super) fn new(outcomes: Vec<(Scenario, Outcome)>) -> Self {
        Self(outcomes)
    }

    /// Iterates over all scenarios.
    pub fn outcomes(&self) -> impl Iterator<Item = (Scenario, &Outcome)> {
        self.0
            .iter()
            .map(|(scenario, outcome)| (*scenario, outcome))
    }

    /// Iterates over those that were skipped, to say in a test which these are.
    pub fn skipped(&self) -> impl Iterator<Item = Scenario> {
        self.outcomes()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Skip { .. }))
            .map(|(scenario, _)| scenario)
    }

    /// Iterates over those that failed.
    pub fn failed(&self) -> impl Iterator<Item = Scenario> {
        self.outcomes()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Fail { .. }))
            .map(|(scenario, _)| scenario)
    }

    /// Demands that none failed.
    ///
    /// # Panics
    /// If one did, with the whole report.
    #[track_caller]
    pub fn assert(&self) {
        assert!(
            self.failed().next().is_none(),
            "the provider does not conform: {self}"
        );
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (skipped, failed) = (self.skipped().count(), self.failed().count());
        let passed = self.0.len() - skipped - failed;
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed")?;
        for (scenario, outcome) in self.outcomes() {
            match outcome {
                Outcome::Pass => write!(f, "\npass  {scenario}")?,
                Outcome::Skip { reason } => write!(f, "\nskip  {scenario}: {reason}")?,
                Outcome::Fail {
                    problems,
                    transcripts,
                } => {
                    write!(f, "\nFAIL  {scenario}: {}", problems.join("\n      and "))?;
                    for line in transcripts.iter().flat_map(Transcript::lines) {
                        write!(f, "\n      | {line}")?;
                    }
                }
            }
        }
        Ok(())
    }
}
