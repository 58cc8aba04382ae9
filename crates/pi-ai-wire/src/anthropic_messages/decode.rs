//! Responses: from frames to events.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use pi_core::{AssistantEvent, ErrorKind, Model, Progress, ProviderError, StopReason, Usage};
use serde_json::Value;

use super::errors::{stop_error, stream_error};
use super::types::{Block, Delta, Event, Kinds};
use crate::codec::{self, End, ReplyDecoder, Step, text_delta, thinking_delta};
use crate::errors::shortened;
use crate::ids::CallIds;
use crate::json;

/// What stands for reasoning that the service hides.
const REDACTED: &str = "[Reasoning redacted]";

/// What an empty body is called.
const NO_CHUNKS: &str = "request ended without sending any chunks";

/// Turns the frames of one response into events.
///
/// # Events
/// Blocks follow `Start` in the order in which they begin; those that tools of the service itself leave behind are skipped, and so are events, blocks and deltas that
/// are not known. The type of an event is the one in its data.
///
/// The reply is complete with `message_stop`, or with a stop reason after which the body just ends
/// while no block is open: some gateways leave the last event out. Everything else is a cut stream,
/// an error of kind `Protocol`. The stop reason is `Length` if the service said so, else `ToolUse` if
/// there is a call, else `Stop`; a refusal and a stop reason that is not known make an error.
pub type Decoder = ReplyDecoder<Reply>;

/// The state of one reply of `anthropic-messages`.
#[derive(Debug)]
pub struct Reply {
    model: Arc<Model>,
    response_id: Option<String>,
    usage: Usage,
    stop: Option<Stop>,
    /// The blocks that have begun and not ended, by the service's index.
    open: HashMap<u64, Open>,
    /// The indexes of all blocks that have begun, those that are skipped too.
    begun: HashSet<u64>,
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
    /// A call, with the arguments that it began with; those that come in pieces replace them.
    Call {
        input: Option<String>,
    },
}

impl Reply {
    fn event(
        &mut self,
        name: &str,
        event: Event<'_>,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError> {
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
                self.begun.insert(index);
                self.end_block(index, events);
                self.begin(index, event.content_block.unwrap_or_default(), events);
            }
            "content_block_delta" | "content_block_stop" if !self.begun.contains(&index) => {
                return Err(codec::protocol(&format!(
                    "a {kind} event is for block {index}, which has not begun"
                )));
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
            "message_stop" => return Ok(Step::Close),
            _ => {}
        }
        Ok(Step::More)
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
                    id: self.calls.add(&block.id, self.response_id.as_deref()),
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
            OpenKind::Text => codec::text_end(content_index),
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
                codec::call_end(content_index, None)
            }
        };
        events.push_back(end);
    }
}

impl codec::Reply for Reply {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            response_id: None,
            usage: Usage::default(),
            stop: None,
            open: HashMap::new(),
            begun: HashSet::new(),
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
        let mut repaired = String::new();
        match json::parse::<Option<Event<'_>>>(data, &mut repaired) {
            Ok(None) => Ok(Step::More),
            Ok(Some(event)) if is_error(name, &event) => Err(provider_error(data)),
            Ok(Some(event)) => self.event(name, event, events),
            Err(_) if name == "error" => Err(provider_error(data)),
            // What is not known may have any shape.
            Err(error) => match serde_json::from_str::<Kinds<'_>>(data) {
                Ok(kinds) if !kinds.are_known() => {
                    self.begun.extend(kinds.begun());
                    Ok(Step::More)
                }
                _ => Err(codec::broken(name, &error)),
            },
        }
    }

    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        match end {
            End::Event => {}
            // The words of Anthropic's own client, which people look for.
            End::EmptyBody => return Err(codec::protocol(NO_CHUNKS)),
            _ if self.stop.is_some() && self.open.is_empty() => {}
            _ => return Err(codec::cut(end)),
        }
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

    fn progress(&self) -> Progress {
        Progress::new(self.usage.clone(), self.response_id.clone())
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

#[cfg(test)]
mod tests;
