//! The answer as it comes, for people: text on standard output, all else on standard error.

use std::io::Write;

use pi_agent::RunOutcome;
use pi_core::{
    AgentEvent, AgentMessage, AssistantEvent, StopReason, ToolCall, ToolOutput, Usage, joined_text,
};
use serde_json::Value;

use super::Render;
use crate::output::Output;
use crate::terminal::{Colours, compact, printable};

/// What is known about the two streams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams {
    /// Standard output is a terminal, which must not see control characters of the model.
    pub(super) plain_text: bool,
    /// Both streams are a terminal, so that a line of one must end before the other begins.
    pub(super) one_screen: bool,
    /// Of standard error.
    pub(super) colours: Colours,
}

pub(super) struct Human<E> {
    output: Output,
    notes: E,
    streams: Streams,
    /// The last line of standard output has no end yet.
    text_is_open: bool,
    /// The last line of standard error, which is thinking, has no end yet.
    thinking_is_open: bool,
    usage: Usage,
}

impl<E: Write + Send> Human<E> {
    pub(super) fn new(output: Output, notes: E, streams: Streams) -> Self {
        Self {
            output,
            notes,
            streams,
            text_is_open: false,
            thinking_is_open: false,
            usage: Usage::default(),
        }
    }

    fn text(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        self.close_thinking();
        if self.streams.plain_text {
            self.output.write(printable(delta).as_bytes());
        } else {
            self.output.write(delta.as_bytes());
        }
        self.text_is_open = !delta.ends_with('\n');
    }

    fn thinking(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if self.streams.one_screen {
            self.close_text();
        }
        self.write_note(&self.streams.colours.dim(&printable(delta)));
        self.thinking_is_open = !delta.ends_with('\n');
    }

    /// Writes a line to standard error.
    fn note(&mut self, line: &str) {
        if self.streams.one_screen {
            self.close_text();
        }
        self.close_thinking();
        self.write_note(&format!("{line}\n"));
    }

    fn close_text(&mut self) {
        if std::mem::take(&mut self.text_is_open) {
            self.output.write(b"\n");
        }
    }

    fn close_thinking(&mut self) {
        if std::mem::take(&mut self.thinking_is_open) {
            self.write_note("\n");
        }
    }

    fn write_note(&mut self, text: &str) {
        // There is nowhere to say that standard error is gone; the answer still counts.
        let _ = self
            .notes
            .write_all(text.as_bytes())
            .and_then(|()| self.notes.flush());
    }

    fn update(&mut self, event: &AssistantEvent) {
        match event {
            AssistantEvent::TextDelta { delta, .. } => self.text(delta),
            AssistantEvent::ThinkingDelta { delta, .. } => self.thinking(delta),
            AssistantEvent::TextEnd { .. } => self.close_text(),
            AssistantEvent::ThinkingEnd { .. } => self.close_thinking(),
            _ => {}
        }
    }

    fn message_end(&mut self, message: &AgentMessage) {
        let Some(reply) = message.as_assistant() else {
            return;
        };
        self.close_text();
        self.close_thinking();
        self.usage.add(&reply.usage);
        if reply.stop_reason == StopReason::Length {
            self.note("note: the reply was cut by the token limit of the model or the server");
        }
    }

    fn call_ended(&mut self, call: &ToolCall, result: &ToolOutput, is_error: bool) {
        let summary = format!("← {}: {}", compact(&call.name), summary(result));
        let colours = self.streams.colours;
        let line = if is_error {
            colours.red(&summary)
        } else {
            colours.dim(&summary)
        };
        self.note(&line);
    }
}

impl<E: Write + Send> Render for Human<E> {
    fn event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageUpdate { event, .. } => self.update(event),
            AgentEvent::MessageEnd { message } => self.message_end(message),
            AgentEvent::ToolExecutionStart { call } => {
                let line = format!("→ {} {}", compact(&call.name), arguments(call));
                let line = self.streams.colours.cyan(line.trim_end()).into_owned();
                self.note(&line);
            }
            AgentEvent::ToolExecutionEnd {
                call,
                result,
                is_error,
                ..
            } => {
                self.call_ended(call, result, *is_error);
            }
            _ => {}
        }
    }

    fn finish(&mut self, _outcome: &RunOutcome) {
        if let Some(line) = usage_line(&self.usage) {
            let line = self.streams.colours.dim(&line).into_owned();
            self.note(&line);
        }
    }
}

/// Writes the arguments of a call: a single one by its value, several as JSON.
fn arguments(call: &ToolCall) -> String {
    let mut values = call.arguments.values();
    match (values.next(), values.next()) {
        (None, _) => String::new(),
        (Some(Value::String(only)), None) => compact(only),
        _ => compact(&serde_json::to_string(&call.arguments).unwrap_or_default()),
    }
}

/// Writes the first line of a result and the number of the others.
fn summary(result: &ToolOutput) -> String {
    let text = joined_text(&result.content);
    let mut lines = text.trim_end().lines();
    let first = compact(lines.next().unwrap_or("(no text)"));
    match lines.count() {
        0 => first,
        1 => format!("{first} (+1 line)"),
        more => format!("{first} (+{more} lines)"),
    }
}

/// Writes a cost that is not zero.
pub(crate) fn dollars(cost: f64) -> String {
    if cost < 0.000_1 {
        "less than $0.0001".to_owned()
    } else {
        format!("${cost:.4}")
    }
}

/// Writes tokens and cost; `None` if the server has told nothing.
pub(crate) fn usage_line(usage: &Usage) -> Option<String> {
    if usage.total_tokens == 0 && usage.input == 0 && usage.output == 0 {
        return None;
    }
    let mut line = format!("{} tokens in, {} out", usage.input, usage.output);
    if usage.cache_read > 0 {
        line.push_str(&format!(", {} from the cache", usage.cache_read));
    }
    if usage.cache_write > 0 {
        line.push_str(&format!(", {} to the cache", usage.cache_write));
    }
    if usage.cost.usd() > 0.0 {
        line.push_str(&format!(", {}", dollars(usage.cost.usd())));
    }
    Some(line)
}
