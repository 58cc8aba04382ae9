//! What a caller can do wrong.

/// Why a call on an [`Agent`](crate::Agent) was refused. Nothing has happened then.
///
/// A failure of the model is no error of the call: it is in the events and in the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
    /// The queue is full: wait until the run has taken some messages.
    #[error("The queue is full ({limit} messages)")]
    QueueFull {
        /// The most messages that wait in one queue.
        limit: usize,
    },
}
