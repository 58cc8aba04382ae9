//! The answer as it comes, for people: text on standard output, all else on standard error.

use std::io::Write;
use std::time::Instant;

use pi_agent::RunOutcome;
use pi_core::{AgentEvent, AgentMessage, AssistantEvent, StopReason, ToolCall, ToolOutput, Usage};

use super::Render;
use super::call::{asked, ended};
use super::live::{Live, Progress, Shown};
use crate::output::Output;
use crate::terminal::{Colours, printable};

/// What is known about the two streams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams {
    /// Standard output is a terminal, which must not see control characters of the model.
    pub(super) plain_text: bool,
    /// Both streams are a terminal, so that a line of one must end before the other begins.
    pub(super) one_screen: bool,
    /// Of standard error.
    pub(super) colours: Colours,
    /// How the output of a running command is shown on standard error.
    pub(super) live: Live,
}

pub(super) struct Human<E> {
    output: Output,
    notes: E,
    streams: Streams,
    /// The last line of standard output has no end yet.
    text_is_open: bool,
    /// The last line of standard error, which is thinking, has no end yet.
    thinking_is_open: bool,
    progress: Progress,
    usage: Usage,
}

impl<E: Write + Send> Human<E> {
    pub(super) fn new(output: Output, notes: E, streams: Streams) -> Self {
        Self {
            output,
            notes,
            progress: Progress::new(streams.live),
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
        self.clear_row();
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
        self.clear_row();
        self.write_note(&self.streams.colours.dim(&printable(delta)));
        self.thinking_is_open = !delta.ends_with('\n');
    }

    /// Writes a line to standard error.
    fn note(&mut self, line: &str) {
        if self.streams.one_screen {
            self.close_text();
        }
        self.close_thinking();
        self.clear_row();
        self.write_note(&format!("{line}\n"));
    }

    /// Takes away what is shown of a running command.
    fn clear_row(&mut self) {
        if let Some(clear) = self.progress.clear() {
            self.write_note(clear);
        }
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

    fn call_goes_on(&mut self, call: &ToolCall, so_far: &ToolOutput) {
        let colours = self.streams.colours;
        match self.progress.update(call, so_far, Instant::now()) {
            Shown::Nothing => {}
            Shown::Row(row) => {
                self.clear_row();
                self.write_note(&colours.dim(&row));
                self.progress.row_is_shown();
            }
            Shown::Lines(lines) => {
                for line in lines {
                    self.note(&colours.dim(&format!("  {line}")));
                }
            }
        }
    }

    fn call_ended(&mut self, call: &ToolCall, result: &ToolOutput, is_error: bool) {
        let is_known = self.progress.end(call);
        for line in ended(call, result, is_error, is_known, self.streams.colours) {
            self.note(&line);
        }
    }
}

impl<E: Write + Send> Render for Human<E> {
    fn event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageUpdate { event, .. } => self.update(event),
            AgentEvent::MessageEnd { message } => self.message_end(message),
            AgentEvent::ToolExecutionStart { call } => {
                let line = self.streams.colours.cyan(&asked(call)).into_owned();
                self.note(&line);
            }
            AgentEvent::ToolExecutionUpdate {
                call,
                partial_result,
            } => self.call_goes_on(call, partial_result),
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
        self.clear_row();
        if let Some(line) = usage_line(&self.usage) {
            let line = self.streams.colours.dim(&line).into_owned();
            self.note(&line);
        }
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
