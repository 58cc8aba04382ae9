//! How a run ends, and why one cannot begin.

use std::sync::Arc;

use pi_core::{AgentMessage, AssistantMessage, ErrorKind, ProviderError, StopReason, ToolCall};

use crate::budget::{BudgetExhausted, Spent};

/// What a run did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunOutcome {
    /// All messages that the run added, in order.
    pub messages: Arc<[AgentMessage]>,
    /// Why it ended.
    pub end: RunEnd,
    /// What was used, with what was used before the run.
    pub spent: Spent,
}

impl RunOutcome {
    /// Creates an outcome.
    #[must_use]
    pub fn new(messages: Arc<[AgentMessage]>, end: RunEnd, spent: Spent) -> Self {
        Self {
            messages,
            end,
            spent,
        }
    }

    /// Returns the last reply of the model.
    #[must_use]
    pub fn reply(&self) -> Option<&Arc<AssistantMessage>> {
        self.messages
            .iter()
            .rev()
            .find_map(AgentMessage::as_assistant)
    }

    /// Returns the text of the last reply; empty if there is none.
    #[must_use]
    pub fn text(&self) -> String {
        self.reply().map(|reply| reply.text()).unwrap_or_default()
    }

    /// Returns the outcome, or the failure that ended the run.
    ///
    /// # Errors
    /// If the run ended by a failure or an abort. A run that waits for a decision or a larger budget
    /// is no failure.
    pub fn into_result(self) -> Result<Self, ProviderError> {
        match &self.end {
            RunEnd::Failed(error) => Err(error.clone()),
            RunEnd::Aborted => Err(ProviderError::aborted()),
            RunEnd::Completed
            | RunEnd::Stopped
            | RunEnd::Suspended { .. }
            | RunEnd::BudgetExhausted(_) => Ok(self),
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RunEnd {
    /// The model was done and nothing was queued.
    Completed,
    /// The results of a batch or the `finish_turn` hook asked for the end. What is queued stays
    /// queued.
    Stopped,
    /// A reply or a hook failed. `continue` tries again.
    Failed(ProviderError),
    /// The caller stopped it. `continue` goes on from there.
    Aborted,
    /// Calls wait for a decision. The transcript holds all that is needed to resume, in this
    /// process or another.
    Suspended {
        /// The calls, in source order.
        calls: Vec<Arc<ToolCall>>,
    },
    /// A budget is used up. With a larger one `continue` goes on from there.
    BudgetExhausted(BudgetExhausted),
}

impl RunEnd {
    /// Reads from a failed reply how the run ends.
    pub(crate) fn of_failed(reply: &AssistantMessage) -> Self {
        if reply.stop_reason == StopReason::Aborted {
            return Self::Aborted;
        }
        let text = reply.error_message.clone().unwrap_or_default();
        let error = match &reply.error_info {
            Some(info) => ProviderError::from_info((**info).clone(), text),
            None => ProviderError::new(ErrorKind::Server, text),
        };
        Self::Failed(error.with_model(&reply.provider, &reply.model))
    }
}

/// Why a transcript cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContinueError {
    /// The transcript is empty: prompt instead.
    #[error("Cannot continue: no messages in context")]
    NoMessages,
    /// The last reply is complete: prompt or queue a message instead.
    #[error("Cannot continue from message role: assistant")]
    AssistantTail,
    /// No call waits for a decision: continue instead.
    #[error("no call waits for a decision")]
    NoOpenCalls,
    /// A decision names a call that does not wait.
    #[error("the call \"{id}\" does not wait for a decision")]
    UnknownCall {
        /// The id.
        id: String,
    },
}
