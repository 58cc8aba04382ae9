//! The events of an agent as lines.

use pi_core::{AgentEvent, AgentMessage, ToolCall, ToolOutput};

use super::TranscriptOptions;
use super::message::{content, details, message, reply, unknown};
use super::reply::ReplyLines;
use super::words::{Words, sentence};

/// Turns the events of an agent into lines.
pub(super) struct AgentLines<'o> {
    words: Words<'o>,
    lines: Vec<String>,
    reply: ReplyLines,
    updates: Vec<String>,
    /// A message, not a reply, whose start was the last event.
    begun: Option<AgentMessage>,
    /// True if the open reply has shown any of its content.
    has_updates: bool,
}

impl<'o> AgentLines<'o> {
    pub(super) fn new(options: &'o TranscriptOptions) -> Self {
        Self {
            words: Words::new(options),
            lines: Vec::new(),
            reply: ReplyLines::new(),
            updates: Vec::new(),
            begun: None,
            has_updates: false,
        }
    }

    pub(super) fn push(&mut self, event: &AgentEvent) {
        if let AgentEvent::MessageUpdate { event, .. } = event {
            self.flush_message();
            self.has_updates = true;
            self.reply.push(event, &mut self.words, &mut self.updates);
            self.write_updates();
            return;
        }
        self.reply.flush(&self.words, &mut self.updates);
        self.write_updates();
        match event {
            AgentEvent::MessageStart { message } => self.message_start(message),
            AgentEvent::MessageEnd { message } => self.message_end(message),
            _ => {
                self.flush_message();
                self.other(event);
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        self.reply.flush(&self.words, &mut self.updates);
        self.write_updates();
        self.flush_message();
        self.lines
    }

    fn message_start(&mut self, message: &AgentMessage) {
        self.flush_message();
        if message.as_assistant().is_some() {
            self.has_updates = false;
            self.line("message_start", "assistant");
        } else {
            self.begun = Some(message.clone());
        }
    }

    fn message_end(&mut self, ended: &AgentMessage) {
        if let Some(finished) = ended.as_assistant() {
            self.flush_message();
            let words = reply(&mut self.words, finished, !self.has_updates);
            self.line("message_end", &words);
        } else if self.begun.as_ref() == Some(ended) {
            self.begun = None;
            let words = message(&mut self.words, ended);
            self.line("message", &words);
        } else {
            self.flush_message();
            let words = message(&mut self.words, ended);
            self.line("message_end", &words);
        }
    }

    fn other(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::AgentEnd { messages } => {
                self.line("agent_end", &format!("messages={}", messages.len()));
            }
            AgentEvent::TurnEnd { tool_results, .. } => {
                self.line("turn_end", &format!("results={}", tool_results.len()));
            }
            AgentEvent::ToolExecutionStart { call } => {
                let words = self.tool_start(call);
                self.line("tool_start", &words);
            }
            AgentEvent::ToolExecutionUpdate {
                call,
                partial_result,
            } => {
                let id = self.words.id(&call.id);
                let shown = content(&self.words, &partial_result.content);
                let details = details(&self.words, partial_result.details.as_ref());
                self.line("tool_update", &sentence([&id, &shown, &details]));
            }
            AgentEvent::ToolExecutionEnd {
                call,
                result,
                is_error,
                suspended,
                ..
            } => {
                let outcome = match (suspended, is_error) {
                    (true, _) => "suspended",
                    (false, true) => "error",
                    (false, false) => "ok",
                };
                let words = self.tool_end(call, outcome, result);
                self.line("tool_end", &words);
            }
            AgentEvent::Other(value) if self.words.options.details => {
                let json = self.words.json(value);
                self.line(unknown(value), &json);
            }
            AgentEvent::Other(value) => self.line(unknown(value), ""),
            _ => self.line(event.type_name(), ""),
        }
    }

    fn tool_start(&mut self, call: &ToolCall) -> String {
        let id = self.words.id(&call.id);
        if self.words.options.details {
            let args = format!("args={}", self.words.object(&call.arguments));
            return sentence([&id, &call.name, &args]);
        }
        sentence([&id, &call.name])
    }

    fn tool_end(&mut self, call: &ToolCall, outcome: &str, result: &ToolOutput) -> String {
        let id = self.words.id(&call.id);
        let details = details(&self.words, result.details.as_ref());
        let terminates = self.words.options.details && result.terminate;
        let terminate = if terminates { "terminate=true" } else { "" };
        sentence([&id, outcome, &details, terminate])
    }

    /// Writes the start of a message that something else followed than its end.
    fn flush_message(&mut self) {
        if let Some(begun) = self.begun.take() {
            let words = message(&mut self.words, &begun);
            self.line("message_start", &words);
        }
    }

    fn write_updates(&mut self) {
        for update in std::mem::take(&mut self.updates) {
            self.line("message_update", &update);
        }
    }

    fn line(&mut self, name: &str, words: &str) {
        let line = format!("{name:<14} {words}");
        self.lines.push(line.trim_end().to_owned());
    }
}
