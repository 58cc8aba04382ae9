//! One scripted reply.

use std::collections::VecDeque;
use std::time::Duration;

use pi_core::{AssistantEvent, ErrorKind, ProviderError, StopReason, Usage};
use serde_json::Value;

/// A scripted reply, built in the order in which it happens.
///
/// The events `start` and `done` are added where the script does not say otherwise: a turn that
/// does not fail starts before its first block, and is done after its last step. A block is one
/// delta unless its deltas are given.
#[derive(Debug, Default)]
#[must_use]
pub struct Turn {
    pub(super) steps: VecDeque<Step>,
    pub(super) closing: Closing,
    next_index: usize,
}

/// What a turn does next.
#[derive(Debug)]
pub(super) enum Step {
    Event(AssistantEvent),
    Fail(ProviderError),
    Gate(String),
    Pause(Duration),
    Hang,
    Panic(String),
    EndOfStream,
}

/// What the closing event says.
#[derive(Debug, Default)]
pub(super) struct Closing {
    pub(super) stop_reason: Option<StopReason>,
    pub(super) usage: Usage,
    pub(super) response_id: Option<String>,
    has_calls: bool,
}

impl Closing {
    /// Returns the scripted reason, or the one that fits what the turn holds.
    pub(super) fn reason(&self) -> StopReason {
        let fitting = if self.has_calls {
            StopReason::ToolUse
        } else {
            StopReason::Stop
        };
        self.stop_reason.clone().unwrap_or(fitting)
    }
}

impl Turn {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Writes a block of text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.text_deltas([text])
    }

    /// Writes a block of text in these pieces.
    pub fn text_deltas<D: Into<String>>(self, deltas: impl IntoIterator<Item = D>) -> Self {
        let content_index = self.next_index;
        self.block(
            AssistantEvent::TextStart { content_index },
            deltas.into_iter().map(|delta| AssistantEvent::TextDelta {
                content_index,
                delta: delta.into(),
            }),
            AssistantEvent::TextEnd {
                content_index,
                content: None,
                content_signature: None,
            },
        )
    }

    /// Writes a block of reasoning.
    pub fn thinking(self, thinking: impl Into<String>) -> Self {
        self.thinking_deltas([thinking])
    }

    /// Writes a block of reasoning in these pieces.
    pub fn thinking_deltas<D: Into<String>>(self, deltas: impl IntoIterator<Item = D>) -> Self {
        let content_index = self.next_index;
        self.block(
            AssistantEvent::ThinkingStart {
                content_index,
                content_signature: None,
            },
            deltas
                .into_iter()
                .map(|delta| AssistantEvent::ThinkingDelta {
                    content_index,
                    delta: delta.into(),
                }),
            AssistantEvent::ThinkingEnd {
                content_index,
                content: None,
                content_signature: None,
                redacted: false,
            },
        )
    }

    /// Calls a tool. The arguments arrive as one piece of JSON text.
    pub fn tool_call(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Value,
    ) -> Self {
        self.tool_call_deltas(id, name, [arguments.to_string()])
    }

    /// Calls a tool with arguments that arrive as these pieces of JSON text, which need not add up
    /// to valid JSON.
    pub fn tool_call_deltas<D: Into<String>>(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        deltas: impl IntoIterator<Item = D>,
    ) -> Self {
        let content_index = self.next_index;
        self.closing.has_calls = true;
        self.block(
            AssistantEvent::ToolCallStart {
                content_index,
                id: id.into(),
                tool_name: name.into(),
            },
            deltas
                .into_iter()
                .map(|delta| AssistantEvent::ToolCallDelta {
                    content_index,
                    delta: delta.into(),
                }),
            AssistantEvent::ToolCallEnd {
                content_index,
                thought_signature: None,
                tool_call: None,
            },
        )
    }

    /// Signs the block before it: text, reasoning or a call.
    pub fn signature(mut self, signature: impl Into<String>) -> Self {
        use AssistantEvent::{TextEnd, ThinkingEnd, ToolCallEnd};
        if let Some(Step::Event(
            TextEnd {
                content_signature: own,
                ..
            }
            | ThinkingEnd {
                content_signature: own,
                ..
            }
            | ToolCallEnd {
                thought_signature: own,
                ..
            },
        )) = self.steps.back_mut()
        {
            *own = Some(signature.into());
        }
        self
    }

    /// Takes back the end of the block before it: the reply breaks off in its middle. Follow it
    /// with a failure or a hang.
    pub fn cut(mut self) -> Self {
        use AssistantEvent::{TextEnd, ThinkingEnd, ToolCallEnd};
        let last = self.steps.back();
        if let Some(Step::Event(TextEnd { .. } | ThinkingEnd { .. } | ToolCallEnd { .. })) = last {
            self.steps.pop_back();
        }
        self
    }

    /// Yields an event as it is. Later blocks are numbered after a block that it starts.
    pub fn event(mut self, event: AssistantEvent) -> Self {
        if let AssistantEvent::TextStart { content_index }
        | AssistantEvent::ThinkingStart { content_index, .. }
        | AssistantEvent::ToolCallStart { content_index, .. } = &event
        {
            self.next_index = content_index.saturating_add(1);
        }
        self.closing.has_calls |= matches!(event, AssistantEvent::ToolCallStart { .. });
        self.step(Step::Event(event))
    }

    /// Sets why the reply ends; by default `ToolUse` if it calls a tool, else `Stop`.
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.closing.stop_reason = Some(reason);
        self
    }

    /// Sets what the reply used; nothing by default. A usage without cost is priced by the model.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.closing.usage = usage;
        self
    }

    /// Sets the provider's id of the reply.
    pub fn response_id(mut self, id: impl Into<String>) -> Self {
        self.closing.response_id = Some(id.into());
        self
    }

    /// Ends the reply with an error; as the first step, before the reply begins.
    pub fn error(self, kind: ErrorKind, text: impl Into<String>) -> Self {
        self.fail(ProviderError::new(kind, text))
    }

    /// Ends the reply with an error that has a status, a phase or a time to wait.
    pub fn fail(self, error: ProviderError) -> Self {
        self.step(Step::Fail(error))
    }

    /// Waits until the test opens a gate of [`ScriptedProvider::gates`].
    ///
    /// [`ScriptedProvider::gates`]: crate::ScriptedProvider::gates
    pub fn gate(self, name: impl Into<String>) -> Self {
        self.step(Step::Gate(name.into()))
    }

    /// Waits by the clock of [`ScriptedProvider::with_clock`]; without one the reply fails.
    ///
    /// [`ScriptedProvider::with_clock`]: crate::ScriptedProvider::with_clock
    pub fn pause(self, duration: Duration) -> Self {
        self.step(Step::Pause(duration))
    }

    /// Waits for ever: the reply ends when it is aborted or dropped.
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    /// Panics when it is polled, as a broken provider does.
    pub fn panics(self, text: impl Into<String>) -> Self {
        self.step(Step::Panic(text.into()))
    }

    /// Ends the stream without its closing event, as a broken connection does.
    pub fn end_without_terminal(self) -> Self {
        self.step(Step::EndOfStream)
    }

    fn block(
        mut self,
        start: AssistantEvent,
        deltas: impl Iterator<Item = AssistantEvent>,
        end: AssistantEvent,
    ) -> Self {
        self.next_index += 1;
        self.steps.push_back(Step::Event(start));
        self.steps.extend(deltas.map(Step::Event));
        self.steps.push_back(Step::Event(end));
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }
}
