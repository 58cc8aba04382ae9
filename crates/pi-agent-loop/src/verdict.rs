//! What hooks are asked, and what they answer.

use std::sync::Arc;

use pi_core::{
    AgentMessage, AgentTool, AssistantMessage, CancellationToken, Model, ThinkingLevel, ToolCall,
    ToolOutput, ToolResultMessage, UserContent,
};
use serde_json::{Map, Value};

use crate::budget::Spent;

/// A call that is about to run, with validated arguments.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeToolCall {
    /// The reply that asked for the call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The call as the model wrote it.
    pub call: Arc<ToolCall>,
    /// The arguments, validated and coerced.
    pub arguments: Map<String, Value>,
    /// The transcript, the reply included. Let go of it soon: the loop copies the list if somebody
    /// holds it when the next message is added.
    pub messages: Arc<Vec<AgentMessage>>,
    /// Tells whether the run was aborted.
    pub abort: CancellationToken,
}

impl BeforeToolCall {
    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.call.name
    }
}

/// A call that has run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AfterToolCall {
    /// The reply that asked for the call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The call as the model wrote it.
    pub call: Arc<ToolCall>,
    /// The arguments that the tool received.
    pub arguments: Map<String, Value>,
    /// What the tool answered; the text of its failure if it failed. Let go of it with the rest: the
    /// loop copies the result if somebody still holds it when the hook has answered.
    pub result: Arc<ToolOutput>,
    /// True if the model is about to see a failure.
    pub is_error: bool,
    /// The transcript, the reply included. Let go of it soon.
    pub messages: Arc<Vec<AgentMessage>>,
    /// Tells whether the run was aborted.
    pub abort: CancellationToken,
}

impl AfterToolCall {
    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.call.name
    }
}

/// What a before-hook decides.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Run the call.
    Allow,
    /// Do not run it; the model sees an error with this reason, or a general one.
    Block {
        /// The reason, for the model.
        reason: Option<String>,
    },
    /// Run it with these arguments, which are validated again.
    Edit {
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// Leave it open: the other calls of the reply still run, then the run ends and waits for a
    /// [`Decision`].
    Suspend,
}

impl Verdict {
    /// Refuses the call with a reason for the model.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block {
            reason: Some(reason.into()),
        }
    }
}

/// What an after-hook replaces, field by field; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultOverride {
    /// Replaces what the model sees.
    pub content: Option<Vec<UserContent>>,
    /// Replaces what UIs and logs see.
    pub details: Option<Value>,
    /// Replaces whether the model sees a failure.
    pub is_error: Option<bool>,
    /// Replaces whether the run may end after this batch.
    pub terminate: Option<bool>,
}

impl ResultOverride {
    /// Replaces nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Replaces what the model sees.
    #[must_use]
    pub fn with_content(mut self, content: Vec<UserContent>) -> Self {
        self.content = Some(content);
        self
    }

    /// Replaces what UIs and logs see.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Replaces whether the model sees a failure.
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }
}

/// A request that is about to be prepared.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PrepareRequest {
    /// The system prompt.
    pub system_prompt: Option<String>,
    /// The transcript.
    pub messages: Arc<Vec<AgentMessage>>,
    /// The tools.
    pub tools: Option<Arc<[AgentTool]>>,
    /// The model.
    pub model: Arc<Model>,
    /// How much the model should think; `None` for not at all.
    pub thinking_level: Option<ThinkingLevel>,
    /// What the run has used so far.
    pub spent: Spent,
    /// Tells whether the run was aborted.
    pub abort: CancellationToken,
}

/// What a request is made of instead; what is `None` stays. It counts for this request only.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RequestOverride {
    /// Replaces the system prompt.
    pub system_prompt: Option<String>,
    /// Replaces the messages that the request is made of.
    pub messages: Option<Vec<AgentMessage>>,
    /// Replaces the tools, also for the calls of the reply.
    pub tools: Option<Arc<[AgentTool]>>,
    /// Replaces the model.
    pub model: Option<Arc<Model>>,
    /// Replaces how much the model should think; `Off` for not at all.
    pub thinking_level: Option<ThinkingLevel>,
}

impl RequestOverride {
    /// Replaces nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Replaces the messages.
    #[must_use]
    pub fn with_messages(mut self, messages: Vec<AgentMessage>) -> Self {
        self.messages = Some(messages);
        self
    }

    /// Replaces the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<Arc<Model>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Replaces how much the model should think.
    #[must_use]
    pub fn with_thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.thinking_level = Some(level);
        self
    }

    /// Replaces the system prompt.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Replaces the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<[AgentTool]>>) -> Self {
        self.tools = Some(tools.into());
        self
    }
}

/// A turn that is about to end.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FinishTurn {
    /// The reply.
    pub message: Arc<AssistantMessage>,
    /// The results of its calls.
    pub tool_results: Vec<Arc<ToolResultMessage>>,
    /// The transcript.
    pub messages: Arc<Vec<AgentMessage>>,
    /// What the run has used so far.
    pub spent: Spent,
    /// Tells whether the run was aborted.
    pub abort: CancellationToken,
}

/// What comes after a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterTurn {
    /// What would come anyway. The default.
    #[default]
    Continue,
    /// The end of the run. What is queued stays queued.
    End,
}

/// What becomes of an open call when a run is resumed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// It runs.
    Approve,
    /// It does not run; the model sees an error with this reason, or a general one.
    Reject {
        /// The reason, for the model.
        reason: Option<String>,
    },
    /// It runs with these arguments, which are validated again.
    Edit {
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// It does not run; this is its result.
    Supply(ToolOutput),
}

impl Decision {
    /// Refuses the call with a reason for the model.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::Reject {
            reason: Some(reason.into()),
        }
    }
}
