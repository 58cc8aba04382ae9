//! How the log shows an agent's state.

use std::sync::atomic::Ordering;

use pi_agent::{Agent, QueueMode};
use pi_core::AgentMessage;
use serde_json::{Value, json};

use super::world::World;
use integration_tests::observe::to_value;

/// Returns the state in short.
pub(super) fn seen(agent: &Agent) -> Value {
    let state = agent.state();
    json!({
        "isStreaming": state.is_streaming,
        "streamMessage": state.stream_message.as_ref().map(AgentMessage::role),
        "pendingToolCalls": state.pending_tool_calls,
        "error": state.error,
        "messages": state.messages.len(),
    })
}

/// Returns the entry of an inspection.
pub(super) fn inspected(agent: &Agent, id: &str) -> Value {
    let signal = match agent.abort_token() {
        None => "none",
        Some(token) if token.is_cancelled() => "aborted",
        Some(_) => "live",
    };
    json!({
        "k": "inspect",
        "id": id,
        "state": seen(agent),
        "hasQueuedMessages": agent.has_queued_messages(),
        "signal": signal,
    })
}

/// Returns the state in full, after the last action.
pub(super) fn last(world: &World, agent: &Agent) -> Value {
    let state = agent.state();
    let tools: Vec<&str> = state.tools.iter().map(|tool| tool.name()).collect();
    let mut last = json!({
        "state": {
            "isStreaming": state.is_streaming,
            "streamMessage": state.stream_message.as_ref().map(AgentMessage::role),
            "pendingToolCalls": state.pending_tool_calls,
            "error": state.error,
            "messages": to_value(&*state.messages),
            "systemPrompt": state.system_prompt,
            "model": state.model.as_ref().map(|model| model.id.as_str()),
            "thinkingLevel": state.thinking_level.as_str(),
            "tools": tools,
        },
        "steeringMode": mode(agent.steering_mode()),
        "followUpMode": mode(agent.follow_up_mode()),
        "hasQueuedMessages": agent.has_queued_messages(),
        "llmCalls": world.llm_calls.load(Ordering::Relaxed),
    });
    if world.scenario.check_concurrency {
        last["maxConcurrentTools"] = world.concurrency.most().into();
    }
    last
}

fn mode(mode: QueueMode) -> &'static str {
    match mode {
        QueueMode::All => "all",
        _ => "one-at-a-time",
    }
}
