//! Responses: from frames to events.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use pi_core::{AssistantEvent, Model, Progress, ProviderError, StopReason, Usage};

use super::errors::{stop_error, stream_error};
use super::event::{Delta, Event, Reasoning, ToolUse};
use crate::codec::{self, End, ReplyDecoder, Step, text_delta, thinking_delta};
use crate::ids::CallIds;
use crate::json;

/// The events that are read.
const KNOWN: [&str; 5] = [
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
];

/// Turns the frames of one response into events.
///
/// # Events
/// Blocks follow `Start` in the order in which they begin. Only calls have an event of their own for
/// that; text and thinking begin with their first piece. Events, blocks and pieces that are not known
/// are skipped.
///
/// The reply is complete with `messageStop`; it is over with the `metadata` behind that, which has the
/// usage, or with the end of the body. Everything else is a cut stream, an error of kind `Protocol`.
/// The stop reason is `Length` if the service said so, else `ToolUse` if there is a call, else `Stop`; a
/// stop reason that tells of a failure, or is not known, makes an error, and so does an exception.
pub type Decoder = ReplyDecoder<Reply>;

/// The state of one reply of `bedrock-converse-stream`.
#[derive(Debug)]
pub struct Reply {
    model: Arc<Model>,
    usage: Usage,
    stop: Option<Stop>,
    /// The blocks that have begun and not ended, by the service's index.
    open: HashMap<u64, Open>,
    next_block: usize,
    /// The ids of the calls so far.
    calls: CallIds,
}

/// How the service says that the reply ended.
#[derive(Debug)]
enum Stop {
    Complete,
    Length,
    Failure(ProviderError),
}

#[derive(Debug)]
struct Open {
    content_index: usize,
    kind: OpenKind,
}

#[derive(Debug)]
enum OpenKind {
    Text,
    Thinking {
        signature: String,
        is_redacted: bool,
    },
    Call,
}

impl Reply {
    fn event(
        &mut self,
        name: &str,
        event: Event<'_>,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Step {
        let index = event.content_block_index.unwrap_or(0);
        match name {
            "contentBlockStart" => {
                if let Some(call) = event.start.and_then(|start| start.tool_use) {
                    self.call(index, call, events);
                }
            }
            "contentBlockDelta" => self.delta(index, event.delta.unwrap_or_default(), events),
            "contentBlockStop" => {
                if let Some(open) = self.open.remove(&index) {
                    events.push_back(open.end());
                }
            }
            "messageStop" => self.stop = Some(Stop::of(&event.stop_reason)),
            "metadata" => {
                if let Some(usage) = event.usage {
                    self.usage = usage.into_usage(&self.model);
                }
                if self.stop.is_some() {
                    return Step::Close;
                }
            }
            _ => {}
        }
        Step::More
    }

    fn call(&mut self, index: u64, call: ToolUse<'_>, events: &mut VecDeque<AssistantEvent>) {
        let content_index = self.begin(index, OpenKind::Call, events);
        events.push_back(AssistantEvent::ToolCallStart {
            content_index,
            id: self.calls.add(&call.tool_use_id, None),
            tool_name: call.name.0.into_owned(),
        });
    }

    fn delta(&mut self, index: u64, delta: Delta<'_>, events: &mut VecDeque<AssistantEvent>) {
        if let Some(text) = delta.text {
            let content_index = self.text(index, events);
            events.push_back(text_delta(content_index, text.0));
        } else if let Some(input) = delta.tool_use {
            if let Some(Open {
                content_index,
                kind: OpenKind::Call,
            }) = self.open.get(&index)
            {
                events.push_back(AssistantEvent::ToolCallDelta {
                    content_index: *content_index,
                    delta: input.input.0.into_owned(),
                });
            }
        } else if let Some(reasoning) = delta.reasoning_content {
            self.reasoning(index, reasoning, events);
        }
    }

    /// Returns the index of the text block, which begins here if it has not yet.
    fn text(&mut self, index: u64, events: &mut VecDeque<AssistantEvent>) -> usize {
        match self.open.get(&index) {
            Some(Open {
                content_index,
                kind: OpenKind::Text,
            }) => *content_index,
            _ => {
                let content_index = self.begin(index, OpenKind::Text, events);
                events.push_back(AssistantEvent::TextStart { content_index });
                content_index
            }
        }
    }

    fn reasoning(
        &mut self,
        index: u64,
        reasoning: Reasoning<'_>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let is_open = self
            .open
            .get(&index)
            .is_some_and(|open| matches!(open.kind, OpenKind::Thinking { .. }));
        if !is_open {
            let kind = OpenKind::Thinking {
                signature: String::new(),
                is_redacted: false,
            };
            let content_index = self.begin(index, kind, events);
            // Empty, as upstream has it for models that do not sign.
            events.push_back(AssistantEvent::ThinkingStart {
                content_index,
                content_signature: Some(String::new()),
            });
        }
        let Some(Open {
            content_index,
            kind:
                OpenKind::Thinking {
                    signature,
                    is_redacted,
                },
        }) = self.open.get_mut(&index)
        else {
            return;
        };
        if !reasoning.text.is_empty() {
            events.push_back(thinking_delta(*content_index, reasoning.text.0));
        }
        signature.push_str(&reasoning.signature);
        signature.push_str(&reasoning.redacted_content);
        *is_redacted |= !reasoning.redacted_content.is_empty();
    }

    /// Opens a block; one that is open under the same index ends.
    fn begin(
        &mut self,
        index: u64,
        kind: OpenKind,
        events: &mut VecDeque<AssistantEvent>,
    ) -> usize {
        let content_index = self.next_block;
        self.next_block += 1;
        let open = Open {
            content_index,
            kind,
        };
        events.extend(self.open.insert(index, open).map(Open::end));
        content_index
    }
}

impl Stop {
    fn of(reason: &str) -> Self {
        match reason {
            "end_turn" | "stop_sequence" | "tool_use" => Self::Complete,
            "max_tokens" | "model_context_window_exceeded" => Self::Length,
            reason => Self::Failure(stop_error(reason)),
        }
    }
}

impl Open {
    fn end(self) -> AssistantEvent {
        let content_index = self.content_index;
        match self.kind {
            OpenKind::Text => codec::text_end(content_index),
            OpenKind::Thinking {
                signature,
                is_redacted,
            } => AssistantEvent::ThinkingEnd {
                content_index,
                content: is_redacted.then(|| codec::REDACTED.to_owned()),
                content_signature: Some(signature),
                redacted: is_redacted,
            },
            OpenKind::Call => codec::call_end(content_index, None),
        }
    }
}

impl codec::Reply for Reply {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            usage: Usage::default(),
            stop: None,
            open: HashMap::new(),
            next_block: 0,
            calls: CallIds::default(),
        }
    }

    fn read(
        &mut self,
        name: &str,
        data: &str,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError> {
        if let Some((_, exception)) = name.split_once(':') {
            return Err(stream_error(exception, data));
        }
        if !KNOWN.contains(&name) {
            return Ok(Step::More);
        }
        let mut repaired = String::new();
        let event = json::parse::<Option<Event<'_>>>(data, &mut repaired)
            .map_err(|error| codec::broken(name, &error))?;
        Ok(self.event(name, event.unwrap_or_default(), events))
    }

    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        let Some(stop) = self.stop.take() else {
            return Err(codec::cut(end));
        };
        let mut open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_by_key(|open| open.content_index);
        events.extend(open.into_iter().map(Open::end));
        let reason = match stop {
            Stop::Failure(error) => return Err(error),
            Stop::Length => StopReason::Length,
            Stop::Complete if self.calls.is_empty() => StopReason::Stop,
            Stop::Complete => StopReason::ToolUse,
        };
        events.push_back(AssistantEvent::Done {
            reason,
            usage: self.usage.clone(),
            response_id: None,
        });
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress::new(self.usage.clone(), None)
    }
}

#[cfg(test)]
mod tests;
