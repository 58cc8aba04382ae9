//! What a caller can do wrong.

use pi_agent_loop::BudgetExhausted;

/// Why a call on an [`Agent`](crate::Agent) was refused. Nothing has happened then.
///
/// A failure of the model is no error of the call: it is in the events and in the outcome.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A prompt came while a run is on: queue it, or wait.
    #[error(
        "Agent is already processing a prompt. Use steer() or followUp() to queue messages, or wait for completion."
    )]
    Busy,
    /// A continuation came while a run is on: wait.
    #[error("Agent is already processing. Wait for completion before continuing.")]
    BusyContinuing,
    /// A reset came while a run is on: wait, or abort first.
    #[error("Agent is already processing. Wait for completion before resetting.")]
    BusyResetting,
    /// The messages were to be edited while a run is on: wait, or queue the message.
    #[error("Agent is already processing. Wait for completion before editing messages.")]
    BusyEditing,
    /// There is no model: set one first.
    #[error("No model configured")]
    NoModel,
    /// The prompt holds no message: continue instead.
    #[error("The prompt holds no message")]
    EmptyPrompt,
    /// The transcript is empty: prompt instead.
    #[error("No messages to continue from")]
    NothingToContinue,
    /// The last reply is complete and nothing is queued: prompt instead.
    #[error("Cannot continue from message role: assistant")]
    AssistantTail,
    /// No call waits for a decision: continue instead.
    #[error("No call waits for a decision")]
    NoOpenCalls,
    /// A decision names a call that does not wait.
    #[error("The call \"{id}\" does not wait for a decision")]
    UnknownCall {
        /// The id.
        id: String,
    },
    /// The budget is used up: set a larger one.
    #[error(transparent)]
    BudgetExhausted(#[from] BudgetExhausted),
    /// The queue is full: wait until the run has taken some messages.
    #[error("The queue is full ({limit} messages)")]
    QueueFull {
        /// The most messages that wait in one queue.
        limit: usize,
    },
}
