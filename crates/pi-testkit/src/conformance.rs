//! The tests that every provider must pass, for those who write one.
//!
//! A [`Subject`] sets up a provider, and whatever it talks to, for each [`Scenario`], or says why its
//! wire cannot spell it. The suite asks the provider as an agent does, and checks the events, the
//! message that they build, how failures are typed, and what an abort or a drop leaves behind. Every
//! scenario is in the [`Report`], as passed, skipped or failed.
//!
//! What a scenario expects ([`Scenario::expected`]) is a contract between all providers: the
//! application sees the same reply whoever gives it. Where a protocol cannot say just that, the case
//! brings its own [`Expected`].
//!
//! # Checks
//! - The events follow [`grammar`](crate::grammar), with exactly one closing event, and nothing comes
//!   after it.
//! - They build the message: blocks in their order, ends without what the deltas said already.
//! - Calls have a name and an id, and no two the same id.
//! - The reply ends as expected: with that stop reason, or with an error of that kind and a text. What
//!   came before an error is kept.
//! - Usage is there where it is expected, and has a price if the model has one.
//! - An abort closes the stream with `Error` and the reason `Aborted`, within half a second and without
//!   a word from the other side; before the first poll it asks nobody. A dropped stream leaves nothing
//!   behind.
//! - Nothing is asked before the first poll, and two streams do not mix.
//! - No poll panics, and no reply takes longer than [`Subject::patience`].
//! - [`AssistantStream::partial`](pi_core::AssistantStream::partial) costs no copy.
//!
//! # Examples
//! The suite on the scripted provider, whose wire is the script:
//! ```
//! use pi_core::{Provider, StopReason};
//! use pi_testkit::conformance::{self, Case, Expected, Scenario, Setup, Subject};
//! use pi_testkit::{ScriptedProvider, model};
//!
//! struct Scripted;
//!
//! impl Subject for Scripted {
//!     fn prepare(&self, scenario: Scenario) -> Setup {
//!         let provider = ScriptedProvider::new();
//!         let provider = match scenario {
//!             Scenario::Text => provider.turn(|t| t.text_deltas(["Hello", ", world"])),
//!             Scenario::Thinking => provider.turn(|t| t.thinking("Let me think.").text("Hello")),
//!             Scenario::EmptyBody => return Setup::skip("a script always says something"),
//!             // .. and so on; what is not prepared fails.
//!             _ => return Setup::Missing,
//!         };
//!         Case::new(provider, conformance::request(model())).into()
//!     }
//! }
//!
//! let report = conformance::run(&Scripted);
//! assert!(report.to_string().starts_with("2 passed, 1 skipped, "), "{report}");
//! ```
//! In a test it is one line: `conformance::run(&Scripted).assert()`.

mod alarm;
mod case;
mod checks;
mod expected;
mod reading;
mod report;
mod scenario;
mod trial;

use std::time::Duration;

use pi_core::BoxFuture;

pub use self::case::{Case, Setup, request};
pub use self::expected::Expected;
pub use self::report::{Outcome, Report};
pub use self::scenario::Scenario;
use self::trial::Trial;

/// A provider under test, together with the other side of its wire.
pub trait Subject {
    /// Prepares a provider for one scenario: the other side says what [`Scenario`] describes.
    ///
    /// It is called once for each scenario, before anything is polled. A `match` needs an arm for the
    /// scenarios of later versions: let it return [`Setup::Missing`], so that they are seen.
    fn prepare(&self, scenario: Scenario) -> Setup;

    /// Runs a future to its end. By default on this thread without a runtime; a provider that needs
    /// one brings it here: `self.runtime.block_on(future)`.
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::block_on(future);
    }

    /// Returns how long a scenario may take; 10 s.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// Runs all scenarios.
///
/// # Panics
/// As [`Subject::prepare`] does. A panic of the provider is a failure in the report.
#[must_use = "a report fails no test; its `assert` does"]
pub fn run(subject: &(impl Subject + ?Sized)) -> Report {
    let outcomes = Scenario::ALL
        .iter()
        .map(|scenario| (*scenario, run_scenario(subject, *scenario)));
    Report::new(outcomes.collect())
}

/// Runs one scenario.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_scenario(subject: &(impl Subject + ?Sized), scenario: Scenario) -> Outcome {
    match subject.prepare(scenario) {
        Setup::Ready(case) => {
            let mut trial = Trial::new(scenario, *case);
            subject.block_on(Box::pin(trial.run(subject.patience())));
            trial.judge()
        }
        Setup::Skip { reason } if reason.trim().is_empty() => {
            Outcome::failed("it is skipped without a reason")
        }
        Setup::Skip { reason } if scenario.is_required() => Outcome::failed(format!(
            "every provider owes this, so it cannot be skipped ({reason})"
        )),
        Setup::Skip { reason } => Outcome::Skip { reason },
        Setup::Missing => {
            Outcome::failed("it is not prepared: set it up, or skip it with a reason")
        }
    }
}

#[cfg(test)]
mod tests;
