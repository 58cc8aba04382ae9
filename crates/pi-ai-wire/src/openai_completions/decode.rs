//! Responses: from frames to events.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use pi_core::{AssistantEvent, Model, Progress, ProviderError, Usage};
use serde_json::value::RawValue;

use super::chunk::{Choice, Chunk, Delta, ReasoningDetail};
use crate::chat::{self, CallDelta, Calls, Finish, Open, Reason};
use crate::codec::{self, End, ReplyDecoder, Step};
use crate::service_tier::scale_cost;
use crate::{ids, json};

/// Turns the frames of one response into events.
///
/// # Events
/// Blocks follow `Start` in the order in which they begin; a block ends
/// when another begins or the reply is complete, but a tool call stays open while its arguments are
/// not whole JSON. What the service says after its finish reason still counts, up to `[DONE]` or the
/// end of the body.
///
/// The reply is complete with a finish reason, or with a usage chunk and `[DONE]` (Snowflake gives
/// no reason). Everything else is a cut stream, an error of kind `Protocol`. The stop reason is
/// `Length` if the service said so, else `ToolUse` if there is a call, else `Stop`, whatever the
/// service called it; a finish reason that tells of a failure makes an error.
pub type Decoder = ReplyDecoder<Reply>;

/// The state of one reply of `openai-completions`.
#[derive(Debug)]
pub struct Reply {
    model: Arc<Model>,
    response_id: Option<String>,
    usage: Usage,
    finish: Finish,
    has_usage_chunk: bool,
    /// The block of text or reasoning that is being added to.
    open: Option<Open>,
    next_block: usize,
    calls: Calls,
    /// Reasoning comes in a field of its own, so that `reasoning_details` repeat it.
    has_reasoning_field: bool,
}

impl Reply {
    fn chunk(
        &mut self,
        chunk: Chunk<'_>,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        if self.response_id.is_none() && !chunk.id.is_empty() {
            self.response_id = Some(chunk.id.0.into_owned());
        }
        let choice = chunk.choices.0;
        self.has_usage_chunk |= chunk.usage.is_some() && choice.is_none();
        let usage = chunk
            .usage
            .or_else(|| choice.as_ref().and_then(|choice| choice.usage))
            .or_else(|| chunk.x_groq.and_then(|groq| groq.usage));
        if let Some(usage) = usage {
            self.usage = usage.to_usage(&self.model);
            scale_cost(&mut self.usage, &chunk.service_tier);
        }
        if let Some(error) = chunk.error.and_then(chat::chunk_error) {
            return Err(error);
        }
        if let Some(choice) = choice {
            self.choice(choice, events);
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, events: &mut VecDeque<AssistantEvent>) {
        if !choice.finish_reason.is_empty() {
            self.finish.note(match &*choice.finish_reason {
                "stop" | "end" | "tool_calls" | "function_call" => Reason::Complete,
                "length" => Reason::Length,
                reason => Reason::Failure(reason),
            });
        }
        let Some(mut delta) = choice.delta else {
            return;
        };
        for text in [&mut delta.content, &mut delta.refusal] {
            if !text.is_empty() {
                self.text(std::mem::take(text).0, events);
            }
        }
        self.reasoning(&mut delta, events);
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call, events);
        }
        if let Some(function) = delta.function_call {
            self.call(
                CallDelta {
                    function: Some(function),
                    ..CallDelta::default()
                },
                events,
            );
        }
    }

    fn text(&mut self, delta: Cow<'_, str>, events: &mut VecDeque<AssistantEvent>) {
        let content_index = match self.open {
            Some(Open::Text(index)) => index,
            _ => {
                let content_index = self.next_block(events);
                self.open = Some(Open::Text(content_index));
                events.push_back(AssistantEvent::TextStart { content_index });
                content_index
            }
        };
        events.push_back(codec::text_delta(content_index, delta));
    }

    fn reasoning(&mut self, delta: &mut Delta<'_>, events: &mut VecDeque<AssistantEvent>) {
        if let Some((field, text)) = delta.take_reasoning() {
            self.has_reasoning_field = true;
            self.thinking(text, Some(field), events);
        }
        let Some(details) = delta.reasoning_details.map(RawValue::get) else {
            return;
        };
        if self.has_reasoning_field && !details.contains("reasoning.encrypted") {
            return;
        }
        // A list whose elements have another shape holds nothing that can be shown.
        let details: Vec<&RawValue> = serde_json::from_str(details).unwrap_or_default();
        for raw in details {
            let detail: ReasoningDetail<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            match &*detail.r#type {
                "reasoning.encrypted" if !detail.id.is_empty() && !detail.data.is_empty() => {
                    self.calls.sign(&detail.id, json::compact(raw.get()));
                }
                "reasoning.text" if !self.has_reasoning_field && !detail.text.is_empty() => {
                    self.thinking(detail.text.0, None, events);
                }
                "reasoning.summary" if !self.has_reasoning_field && !detail.summary.is_empty() => {
                    self.thinking(detail.summary.0, None, events);
                }
                _ => {}
            }
        }
    }

    fn thinking(
        &mut self,
        delta: Cow<'_, str>,
        field: Option<&str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let content_index = match self.open {
            Some(Open::Thinking(index)) => index,
            _ => {
                let content_index = self.next_block(events);
                self.open = Some(Open::Thinking(content_index));
                let content_signature = field.map(str::to_owned);
                events.push_back(AssistantEvent::ThinkingStart {
                    content_index,
                    content_signature,
                });
                content_index
            }
        };
        events.push_back(codec::thinking_delta(content_index, delta));
    }

    fn call(&mut self, piece: CallDelta<'_>, events: &mut VecDeque<AssistantEvent>) {
        let number = match self.calls.find(&piece) {
            Some(number) => number,
            None if piece.is_blank() => return,
            None => {
                self.end_for_next(events);
                self.calls.open(&piece)
            }
        };
        let seed = self.response_id.as_deref().unwrap_or_default();
        let function = piece.function.unwrap_or_default();
        self.calls
            .push(number, function, seed, &mut self.next_block, events);
    }

    /// Makes room for another block and returns its index.
    fn next_block(&mut self, events: &mut VecDeque<AssistantEvent>) -> usize {
        self.end_for_next(events);
        let index = self.next_block;
        self.next_block += 1;
        index
    }

    fn end_for_next(&mut self, events: &mut VecDeque<AssistantEvent>) {
        events.extend(self.open.take().map(Open::end));
        let seed = self.response_id.as_deref().unwrap_or_default();
        self.calls.end_whole(seed, &mut self.next_block, events);
    }
}

impl codec::Reply for Reply {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            response_id: None,
            usage: Usage::default(),
            finish: Finish::default(),
            has_usage_chunk: false,
            open: None,
            next_block: 0,
            calls: Calls::new(new_id),
            has_reasoning_field: false,
        }
    }

    fn read(
        &mut self,
        name: &str,
        data: &str,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError> {
        let mut repaired = String::new();
        let chunk = json::parse::<Option<Chunk<'_>>>(data, &mut repaired)
            .map_err(|error| codec::broken(name, &error))?;
        let Some(chunk) = chunk else {
            return Ok(Step::More);
        };
        let is_error = name == "error" || &*chunk.object == "error";
        if is_error && chunk.error.is_none() {
            return Err(chat::error_of(data));
        }
        self.chunk(chunk, events)?;
        Ok(Step::More)
    }

    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        let is_done = end == End::Marker;
        let is_complete = self.finish.has_reason() || (is_done && self.has_usage_chunk);
        if !is_complete {
            return Err(match self.next_block > 0 {
                true => codec::cut(end),
                false => codec::cut(End::EmptyBody),
            });
        }
        let seed = self.response_id.as_deref().unwrap_or_default();
        let mut ends = self.calls.end_all(seed, &mut self.next_block, events);
        ends.extend(self.open.take().map(|open| (open.index(), open.end())));
        ends.sort_by_key(|(index, _)| *index);
        events.extend(ends.into_iter().map(|(_, event)| event));
        let reason = self.finish.stop_reason(!self.calls.is_empty())?;
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

fn new_id(given: &str, seed: &str, number: usize) -> String {
    match given {
        "" => ids::invented(seed, number),
        given => format!("{given}_{number}"),
    }
}

#[cfg(test)]
mod tests;
