//! What comes next, read from the transcript alone.

use std::sync::Arc;

use pi_core::{AgentMessage, AssistantMessage, ToolCall};

/// The next step of a conversation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NextAction {
    /// Ask the model.
    CallModel,
    /// Run the calls of the last reply that have no result.
    RunTools(OpenCalls),
    /// Nothing is to be done until somebody says something.
    Rest,
}

/// Calls of a reply that have no result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OpenCalls {
    /// The reply.
    pub reply: Arc<AssistantMessage>,
    /// Its open calls, in source order.
    pub calls: Vec<Arc<ToolCall>>,
}

/// Decides from the transcript alone what comes next.
///
/// The transcript is the state of a run: a driver on a workflow engine calls this function between
/// its steps, and needs nothing else to go on after a crash. Calls of a failed reply were never
/// opened; calls of older replies are history. It looks at the last reply and what follows it.
///
/// # Examples
/// ```
/// use pi_agent_loop::{NextAction, next_action};
/// use pi_core::AgentMessage;
///
/// assert_eq!(next_action(&[]), NextAction::Rest);
/// assert_eq!(next_action(&[AgentMessage::user("Hi", 0)]), NextAction::CallModel);
/// ```
#[must_use]
pub fn next_action(messages: &[AgentMessage]) -> NextAction {
    let mut answered = Vec::new();
    for message in messages.iter().rev() {
        match message {
            AgentMessage::ToolResult(result) => answered.push(result.tool_call_id.as_str()),
            AgentMessage::Assistant(reply) => return after_reply(reply, &answered),
            _ => return NextAction::CallModel,
        }
    }
    // Results without a reply are a damaged transcript; the model can still be asked.
    if answered.is_empty() {
        NextAction::Rest
    } else {
        NextAction::CallModel
    }
}

fn after_reply(reply: &Arc<AssistantMessage>, answered: &[&str]) -> NextAction {
    if reply.stop_reason.is_failure() || reply.tool_calls().next().is_none() {
        return if answered.is_empty() {
            NextAction::Rest
        } else {
            NextAction::CallModel
        };
    }
    // Two calls may share an id, so each result answers one call.
    let mut answered = answered.to_vec();
    let mut calls = Vec::new();
    for call in reply.tool_calls() {
        match answered.iter().rposition(|id| *id == call.id) {
            Some(place) => {
                answered.remove(place);
            }
            None => calls.push(Arc::new(call.clone())),
        }
    }
    if calls.is_empty() {
        NextAction::CallModel
    } else {
        NextAction::RunTools(OpenCalls {
            reply: Arc::clone(reply),
            calls,
        })
    }
}
