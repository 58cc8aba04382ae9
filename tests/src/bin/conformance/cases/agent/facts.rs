//! What the keys of `expected.json` look at.

use integration_tests::observe::to_value;
use pi_agent::Agent;
use pi_core::{AgentMessage, Message, joined_text};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::{texts, tools};

/// What was seen of one run.
#[derive(Default)]
pub(super) struct Played {
    /// The facts at each check, by its key.
    pub(super) checks: Vec<(String, Map<String, Value>)>,
    /// The facts at the end.
    pub(super) last: Map<String, Value>,
    /// The messages of each request.
    pub(super) requests: Vec<Vec<Message>>,
}

/// Where the facts are.
pub(super) struct Facts<'a> {
    pub(super) agent: &'a Agent,
    pub(super) answers: &'a Answers,
    pub(super) counter: &'a tools::Runs,
    /// The error of the last step.
    pub(super) error: Option<String>,
}

impl Facts<'_> {
    pub(super) fn collect(&self) -> Map<String, Value> {
        let messages = self.agent.messages();
        let seen: Vec<Message> = messages
            .iter()
            .filter_map(AgentMessage::to_message)
            .collect();
        let results = seen
            .iter()
            .filter(|message| matches!(message, Message::ToolResult(_)));
        let requests = self.answers.requests();
        let runs = self.counter.list();
        let final_text = seen.iter().rev().find_map(|message| match message {
            Message::Assistant(reply) => Some(reply.text()),
            _ => None,
        });
        let facts = json!({
            "llmCalls": requests.len(),
            "toolExecutions": runs.len(),
            "executedWith": runs,
            "messages": seen.iter().map(shown).collect::<Vec<_>>(),
            "toolResults": results.map(shown).collect::<Vec<_>>(),
            "texts": texts(&seen),
            "finalText": final_text,
            "secondRequestTexts": requests.get(1).map(|messages| texts(messages)),
            "queuedSteering": self.agent.queued_steering().len(),
            "queueEmpty": !self.agent.has_queued_messages(),
            "isStreaming": self.agent.is_streaming(),
            "error": self.error,
        });
        let mut facts = facts.as_object().cloned().unwrap_or_default();
        // Alternative spellings of one order: what is expected decides which one counts.
        facts.insert("order".to_owned(), seen.iter().map(order).collect());
        facts
    }
}

/// A message with its text beside its fields.
fn shown(message: &Message) -> Value {
    let mut shown = to_value(message);
    shown["text"] = text(message).into();
    shown
}

fn text(message: &Message) -> String {
    match message {
        Message::User(message) => message.content.text().into_owned(),
        Message::Assistant(message) => message.text(),
        Message::ToolResult(message) => joined_text(&message.content).into_owned(),
        Message::System(message) => message.content.text().into_owned(),
        _ => String::new(),
    }
}

/// The place of a message in the order: its role with its text, or the id of its call.
fn order(message: &Message) -> String {
    match message {
        Message::ToolResult(message) => format!("toolResult:{}", message.tool_call_id),
        Message::Assistant(reply) if reply.text().is_empty() => "assistant".to_owned(),
        other => format!("{}:{}", other.role(), text(other)),
    }
}
