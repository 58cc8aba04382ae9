//! The order in which events may come, checked.
//!
//! ```text
//! run       = agent_start turn+ agent_end
//! turn      = turn_start message* assistant call* turn_end
//! message   = message_start message_end
//! assistant = message_start message_update* message_end
//! call      = tool_execution_start tool_execution_update* tool_execution_end message
//! ```
//! - Calls start in the order of the reply, and each call of the reply is there. They end in that
//!   order too, and the message of a result follows its end at once; [`Rules::completion_order`]
//!   is the option of the loop that lets calls end as they finish. Results are in the order of the
//!   reply in any case.
//! - Updates of calls that run side by side interleave. [`Rules::sequential`] forbids it.
//! - A reply that failed or was aborted has no calls, and the run ends with its turn.
//! - A suspended call has no message.
//! - A resumed turn begins with its calls; its `turn_end` carries the stored reply.
//! - The updates of a reply follow the grammar of a provider's stream (below), and the finished
//!   reply holds what they add up to.
//! - `turn_end` and `agent_end` carry the messages that the events have told.
//!
//! The stream of a provider:
//! ```text
//! stream = start? block-event* (done | error)
//! ```
//! where the events of each block are `start delta* end`, blocks start in the order of their
//! indices, and only an error leaves a block without its end.
//!
//! Events of a type that this version does not know may stand anywhere.

mod error;
mod reply;
mod run;
mod turn;

use pi_core::{AgentEvent, AssistantEvent};

pub use self::error::GrammarError;
use self::reply::ReplyChecker;
use self::run::RunChecker;
use crate::transcript::{Transcript, TranscriptOptions};

/// Checks the events of one or more runs.
///
/// # Errors
/// The first event that does not fit, with what was expected in its place.
///
/// # Examples
/// ```
/// use pi_core::AgentEvent;
/// use pi_testkit::grammar;
///
/// let error = grammar::check(&[AgentEvent::AgentStart, AgentEvent::AgentStart]).unwrap_err();
/// assert_eq!(error.to_string(), "event 1 (agent_start) does not fit: expected turn_start");
/// ```
pub fn check(events: &[AgentEvent]) -> Result<(), GrammarError> {
    Rules::new().check(events)
}

/// Checks the events of one provider stream.
///
/// # Errors
/// The first event that does not fit, with what was expected in its place.
pub fn check_stream(events: &[AssistantEvent]) -> Result<(), GrammarError> {
    let mut checker = ReplyChecker::new(0);
    let options = TranscriptOptions::new().with_join_deltas(false);
    let lines = |end: usize| Transcript::of_reply(events.get(..end).unwrap_or(events), &options);
    for (index, event) in events.iter().enumerate() {
        checker
            .push(event)
            .map_err(|expected| GrammarError::new(index, lines(index + 1).lines(), expected))?;
    }
    checker.close().map_err(|expected| {
        GrammarError::at_end(events.len(), lines(events.len()).lines(), expected)
    })
}

/// What the grammar leaves to options of the loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Rules {
    sequential: bool,
    completion_order: bool,
    unfinished: bool,
}

impl Rules {
    /// Creates the default rules: those of [`check`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Demands that a call is over, message included, before the next one starts.
    pub fn sequential(mut self) -> Self {
        self.sequential = true;
        self
    }

    /// Lets calls end in the order in which they finish. The messages of their results still come
    /// in the order of the reply.
    pub fn completion_order(mut self) -> Self {
        self.completion_order = true;
        self
    }

    /// Lets the events stop anywhere, as they do where a run was dropped.
    pub fn unfinished(mut self) -> Self {
        self.unfinished = true;
        self
    }

    /// Checks the events of one or more runs.
    ///
    /// # Errors
    /// The first event that does not fit, with what was expected in its place.
    pub fn check(self, events: &[AgentEvent]) -> Result<(), GrammarError> {
        let mut checker = RunChecker::new(self);
        let options = TranscriptOptions::new().with_join_deltas(false);
        let lines =
            |end: usize| Transcript::of_agent(events.get(..end).unwrap_or(events), &options);
        for (index, event) in events.iter().enumerate() {
            checker
                .push(event)
                .map_err(|expected| GrammarError::new(index, lines(index + 1).lines(), expected))?;
        }
        if self.unfinished {
            return Ok(());
        }
        checker.close().map_err(|expected| {
            GrammarError::at_end(events.len(), lines(events.len()).lines(), expected)
        })
    }
}

/// What was expected where an event does not fit.
type Expected = String;

#[cfg(test)]
mod tests;
