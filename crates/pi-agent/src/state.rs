//! What an agent knows, and how events change it.

use std::sync::Arc;

use pi_core::{AgentEvent, AgentMessage, AgentTool, AssistantMessage, Model, ThinkingLevel};

/// A snapshot of what an agent knows. Cloning shares the messages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentState {
    /// The system prompt.
    pub system_prompt: String,
    /// The model; a run needs one.
    pub model: Option<Arc<Model>>,
    /// How much the model should think.
    pub thinking_level: ThinkingLevel,
    /// The tools.
    pub tools: Arc<[AgentTool]>,
    /// The transcript.
    pub messages: Arc<Vec<AgentMessage>>,
    /// True while a run is on, until its last subscriber is done.
    pub is_streaming: bool,
    /// The message that is on its way into the transcript. Keeping a partial reply makes its next
    /// delta copy it.
    pub stream_message: Option<AgentMessage>,
    /// The ids of calls that have begun and not ended, in order.
    pub pending_tool_calls: Vec<String>,
    /// The text of the last failed reply of the last run.
    pub error: Option<String>,
}

impl Default for AgentState {
    fn default() -> Self {
        Self {
            system_prompt: String::new(),
            model: None,
            thinking_level: ThinkingLevel::Off,
            tools: Arc::new([]),
            messages: Arc::default(),
            is_streaming: false,
            stream_message: None,
            pending_tool_calls: Vec::new(),
            error: None,
        }
    }
}

impl AgentState {
    /// Applies an event of the run.
    pub(crate) fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageStart { message } => self.stream_message = Some(message.clone()),
            AgentEvent::MessageUpdate { message, .. } => {
                self.stream_message = Some(Arc::clone(message).into());
            }
            AgentEvent::MessageEnd { message } => {
                self.stream_message = None;
                self.push(message.clone());
            }
            AgentEvent::ToolExecutionStart { call } => {
                self.pending_tool_calls.push(call.id.clone());
            }
            AgentEvent::ToolExecutionEnd { call, .. } => {
                if let Some(place) = self.pending_tool_calls.iter().position(|id| *id == call.id) {
                    self.pending_tool_calls.remove(place);
                }
            }
            AgentEvent::TurnEnd {
                message: AgentMessage::Assistant(reply),
                ..
            } if reply.error_message.is_some() => {
                self.error.clone_from(&reply.error_message);
            }
            AgentEvent::AgentEnd { .. } => self.stream_message = None,
            _ => {}
        }
    }

    /// Adds a message to the transcript.
    pub(crate) fn push(&mut self, message: AgentMessage) {
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Lets go of a partial reply, so that it can grow in place; tells whether one was held.
    pub(crate) fn release_partial(&mut self) -> bool {
        let is_reply = matches!(self.stream_message, Some(AgentMessage::Assistant(_)));
        if is_reply {
            self.stream_message = None;
        }
        is_reply
    }

    /// Takes a partial reply again after it has grown.
    pub(crate) fn hold_partial(&mut self, partial: Option<Arc<AssistantMessage>>) {
        self.stream_message = partial.map(AgentMessage::Assistant);
    }

    pub(crate) fn begin_run(&mut self) {
        self.is_streaming = true;
        self.stream_message = None;
        self.error = None;
    }

    pub(crate) fn end_run(&mut self) {
        self.is_streaming = false;
        self.stream_message = None;
        self.pending_tool_calls.clear();
    }
}
