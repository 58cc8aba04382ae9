//! Responses: from frames to events.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use pi_core::{AssistantEvent, ErrorKind, Model, Progress, ProviderError, StopReason, Usage};
use serde_json::Value;

use super::errors::{stop_error, stream_error};
use super::types::{Block, Delta, Event, Kinds};
use crate::codec;
use crate::errors::shortened;
use crate::ids;
use crate::json;
use crate::sse::SseFrame;

/// What stands for reasoning that the service hides.
const REDACTED: &str = "[Reasoning redacted]";

/// Turns the frames of one response into events.
///
/// # Events
/// `Start` comes with the first frame, or before the error of an empty body. Blocks follow in the order in which they begin; those that
/// tools of the service itself leave behind are skipped, and so are events, blocks and deltas that
/// are not known. The type of an event is the one in its data.
///
/// The reply is complete with `message_stop`, or with a stop reason after which the body just ends
/// while no block is open: some gateways leave the last event out. Everything else is a cut stream,
/// an error of kind `Protocol`. The stop reason is `Length` if the service said so, else `ToolUse` if
/// there is a call, else `Stop`; a refusal and a stop reason that is not known make an error.
#[derive(Debug)]
pub struct Decoder {
    model: Arc<Model>,
    response_id: Option<String>,
    usage: Usage,
    stop: Option<Stop>,
    /// The blocks that have begun and not ended, by the service's index.
    open: HashMap<u64, Open>,
    next_block: usize,
    /// The ids of the calls so far.
    calls: HashSet<String>,
    is_started: bool,
    is_ended: bool,
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
    /// A call, with the arguments that it began with; those that come in pieces replace them.
    Call {
        input: Option<String>,
    },
}

impl Decoder {
    /// Creates a decoder for the response of `model`, which sets the prices.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            response_id: None,
            usage: Usage::default(),
            stop: None,
            open: HashMap::new(),
            next_block: 0,
            calls: HashSet::new(),
            is_started: false,
            is_ended: false,
        }
    }

    fn start(&mut self, events: &mut VecDeque<AssistantEvent>) {
        if !std::mem::replace(&mut self.is_started, true) {
            events.push_back(AssistantEvent::Start);
        }
    }

    fn read(
        &mut self,
        name: &str,
        data: &str,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        let mut repaired = String::new();
        match json::parse::<Option<Event<'_>>>(data, &mut repaired) {
            Ok(None) => Ok(()),
            Ok(Some(event)) if is_error(name, &event) => Err(provider_error(data)),
            Ok(Some(event)) => self.event(name, event, events),
            Err(_) if name == "error" => Err(provider_error(data)),
            // What is not known may have any shape.
            Err(error) => match serde_json::from_str::<Kinds<'_>>(data) {
                Ok(kinds) if !kinds.are_known() => Ok(()),
                _ => Err(broken(name, &error)),
            },
        }
    }

    fn event(
        &mut self,
        name: &str,
        event: Event<'_>,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        let kind = match &*event.r#type {
            "" => name,
            kind => kind,
        };
        let index = event.index.unwrap_or(0);
        match kind {
            "message_start" => {
                let message = event.message.unwrap_or_default();
                if !message.id.is_empty() {
                    self.response_id = Some(message.id.0.into_owned());
                }
                if let Some(usage) = message.usage {
                    usage.apply(&mut self.usage, &self.model);
                }
            }
            "content_block_start" => {
                self.end_block(index, events);
                self.begin(index, event.content_block.unwrap_or_default(), events);
            }
            "content_block_delta" => self.delta(index, event.delta.unwrap_or_default(), events),
            "content_block_stop" => self.end_block(index, events),
            "message_delta" => {
                if let Some(usage) = event.usage {
                    usage.apply(&mut self.usage, &self.model);
                }
                if let Some(delta) = event.delta.filter(|delta| !delta.stop_reason.is_empty()) {
                    self.stop = Some(Stop::of(&delta));
                }
            }
            "message_stop" => return self.complete(events),
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, index: u64, block: Block<'_>, events: &mut VecDeque<AssistantEvent>) {
        let content_index = self.next_block;
        let kind = match &*block.r#type {
            "text" => {
                events.push_back(AssistantEvent::TextStart { content_index });
                if !block.text.is_empty() {
                    events.push_back(text_delta(content_index, block.text.0));
                }
                OpenKind::Text
            }
            "thinking" => {
                events.push_back(AssistantEvent::ThinkingStart {
                    content_index,
                    content_signature: None,
                });
                if !block.thinking.is_empty() {
                    events.push_back(thinking_delta(content_index, block.thinking.0));
                }
                OpenKind::Thinking {
                    signature: block.signature.0.into_owned(),
                    is_redacted: false,
                }
            }
            "redacted_thinking" => {
                events.push_back(AssistantEvent::ThinkingStart {
                    content_index,
                    content_signature: None,
                });
                OpenKind::Thinking {
                    signature: block.data.0.into_owned(),
                    is_redacted: true,
                }
            }
            "tool_use" => {
                events.push_back(AssistantEvent::ToolCallStart {
                    content_index,
                    id: self.call_id(block.id.0),
                    tool_name: block.name.0.into_owned(),
                });
                let input = block.input.map(|input| input.get().trim());
                OpenKind::Call {
                    input: input.filter(|input| *input != "{}").map(str::to_owned),
                }
            }
            other => {
                tracing::debug!(kind = other, "skipped a block of the reply");
                return;
            }
        };
        self.next_block += 1;
        self.open.insert(
            index,
            Open {
                content_index,
                kind,
            },
        );
    }

    /// Returns the id of a call: the service's, made different where it is empty or taken.
    fn call_id(&mut self, given: Cow<'_, str>) -> String {
        let number = self.calls.len();
        let mut id = match &*given {
            "" => ids::invented(self.response_id.as_deref().unwrap_or_default(), number),
            given => given.to_owned(),
        };
        let mut suffix = number;
        while !self.calls.insert(id.clone()) {
            id = format!("{given}_{suffix}");
            suffix += 1;
        }
        id
    }

    fn delta(&mut self, index: u64, delta: Delta<'_>, events: &mut VecDeque<AssistantEvent>) {
        let Some(open) = self.open.get_mut(&index) else {
            return;
        };
        let content_index = open.content_index;
        match (&*delta.r#type, &mut open.kind) {
            ("text_delta", OpenKind::Text) => {
                events.push_back(text_delta(content_index, delta.text.0));
            }
            (
                "thinking_delta",
                OpenKind::Thinking {
                    is_redacted: false, ..
                },
            ) => {
                events.push_back(thinking_delta(content_index, delta.thinking.0));
            }
            ("signature_delta", OpenKind::Thinking { signature, .. }) => {
                signature.push_str(&delta.signature);
            }
            ("input_json_delta", OpenKind::Call { input }) => {
                if !delta.partial_json.is_empty() {
                    *input = None;
                }
                events.push_back(AssistantEvent::ToolCallDelta {
                    content_index,
                    delta: delta.partial_json.0.into_owned(),
                });
            }
            _ => {}
        }
    }

    fn end_block(&mut self, index: u64, events: &mut VecDeque<AssistantEvent>) {
        if let Some(open) = self.open.remove(&index) {
            open.end(events);
        }
    }

    /// Closes the reply.
    fn complete(&mut self, events: &mut VecDeque<AssistantEvent>) -> Result<(), ProviderError> {
        self.is_ended = true;
        let mut open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_by_key(|open| open.content_index);
        for open in open {
            open.end(events);
        }
        let reason = match self.stop.take() {
            Some(Stop::Failure(error)) => return Err(error),
            Some(Stop::Length) => StopReason::Length,
            Some(Stop::Complete) | None if self.calls.is_empty() => StopReason::Stop,
            Some(Stop::Complete) | None => StopReason::ToolUse,
        };
        events.push_back(AssistantEvent::Done {
            reason,
            usage: self.usage.clone(),
            response_id: self.response_id.clone(),
        });
        Ok(())
    }

    /// Closes the reply at the end of the body, or finds that it was cut.
    fn close(&mut self, events: &mut VecDeque<AssistantEvent>) -> Result<(), ProviderError> {
        if self.stop.is_some() && self.open.is_empty() {
            return self.complete(events);
        }
        self.is_ended = true;
        let text = match self.is_started {
            true => "the stream ended before the reply was complete",
            // The words of Anthropic's own client, which people look for.
            false => "request ended without sending any chunks",
        };
        self.start(events);
        Err(protocol(text))
    }
}

impl Stop {
    fn of(delta: &Delta<'_>) -> Self {
        match &*delta.stop_reason {
            "end_turn" | "tool_use" | "stop_sequence" | "pause_turn" => Self::Complete,
            "max_tokens" | "model_context_window_exceeded" => Self::Length,
            reason => {
                let details = delta.stop_details.as_ref();
                let explanation = details
                    .and_then(|details| {
                        [&details.explanation, &details.category]
                            .into_iter()
                            .find(|text| !text.is_empty())
                    })
                    .map(|text| &**text);
                Self::Failure(stop_error(reason, explanation))
            }
        }
    }
}

impl Open {
    fn end(self, events: &mut VecDeque<AssistantEvent>) {
        let content_index = self.content_index;
        let end = match self.kind {
            OpenKind::Text => AssistantEvent::TextEnd {
                content_index,
                content: None,
                content_signature: None,
            },
            OpenKind::Thinking {
                signature,
                is_redacted,
            } => AssistantEvent::ThinkingEnd {
                content_index,
                content: is_redacted.then(|| REDACTED.to_owned()),
                content_signature: Some(signature).filter(|signature| !signature.is_empty()),
                redacted: is_redacted,
            },
            OpenKind::Call { input } => {
                events.extend(input.map(|delta| AssistantEvent::ToolCallDelta {
                    content_index,
                    delta,
                }));
                AssistantEvent::ToolCallEnd {
                    content_index,
                    thought_signature: None,
                    tool_call: None,
                }
            }
        };
        events.push_back(end);
    }
}

impl codec::Decoder for Decoder {
    fn frame(
        &mut self,
        frame: &SseFrame,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        let data = frame.data();
        let data = data.trim();
        if self.is_ended || data.is_empty() {
            return Ok(());
        }
        self.start(events);
        if data == "[DONE]" {
            return self.close(events);
        }
        let result = self.read(frame.event(), data, events);
        self.is_ended |= result.is_err();
        result
    }

    fn finish(&mut self, events: &mut VecDeque<AssistantEvent>) -> Result<(), ProviderError> {
        match self.is_ended {
            true => Ok(()),
            false => self.close(events),
        }
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn progress(&self) -> Progress {
        Progress::new(self.usage.clone(), self.response_id.clone())
    }
}

fn text_delta(content_index: usize, delta: Cow<'_, str>) -> AssistantEvent {
    AssistantEvent::TextDelta {
        content_index,
        delta: delta.into_owned(),
    }
}

fn thinking_delta(content_index: usize, delta: Cow<'_, str>) -> AssistantEvent {
    AssistantEvent::ThinkingDelta {
        content_index,
        delta: delta.into_owned(),
    }
}

fn is_error(name: &str, event: &Event<'_>) -> bool {
    name == "error" || &*event.r#type == "error" || event.error.is_some()
}

fn provider_error(data: &str) -> ProviderError {
    match serde_json::from_str::<Value>(data) {
        Ok(body) => stream_error(&body),
        Err(_) => ProviderError::new(ErrorKind::Server, shortened(data.to_owned())),
    }
}

fn protocol(message: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Protocol, message)
}

/// The error of an event that cannot be read. It says where, not what: the text may be private.
fn broken(name: &str, error: &serde_json::Error) -> ProviderError {
    protocol(&format!(
        "a {name} event is not valid (byte {})",
        error.column()
    ))
}

#[cfg(test)]
mod tests;
