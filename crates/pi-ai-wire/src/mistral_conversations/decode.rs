//! Responses: from frames to events.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use pi_core::{AssistantEvent, Model, Progress, ProviderError, Usage};

use super::chunk::{Choice, Chunk, Part};
use super::ids::new_id;
use crate::chat::{self, CallDelta, Calls, Finish, Open, Reason};
use crate::codec::{self, End, ReplyDecoder, Step};
use crate::json;
use crate::read::Text;

/// Turns the frames of one response into events.
///
/// # Events
/// Blocks follow `Start` in the order in which they begin. A block of text or thinking ends when
/// another begins or the reply is complete, calls when the reply is complete. Parts of content that
/// can not be shown are skipped.
///
/// The reply is complete with a finish reason; without one it was cut, an error of kind `Protocol`.
/// The stop reason is `Length` if the service said so, else `ToolUse` if there is a call, else `Stop`.
/// The finish reason `error` makes an error.
pub type Decoder = ReplyDecoder<Reply>;

/// The state of one reply of `mistral-conversations`.
#[derive(Debug)]
pub struct Reply {
    model: Arc<Model>,
    response_id: Option<String>,
    usage: Usage,
    finish: Finish,
    /// The block of text or thinking that is being added to.
    open: Option<Open>,
    next_block: usize,
    calls: Calls,
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
        if let Some(usage) = chunk.usage {
            self.usage = usage.to_usage(&self.model);
        }
        if let Some(error) = chunk.error.and_then(chat::chunk_error) {
            return Err(error);
        }
        if let Some(choice) = chunk.choices.0 {
            self.choice(choice, events);
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, events: &mut VecDeque<AssistantEvent>) {
        match &*choice.finish_reason {
            "" => {}
            "length" | "model_length" => self.finish.note(Reason::Length),
            reason @ ("error" | "content_filter") => self.finish.note(Reason::Failure(reason)),
            _ => self.finish.note(Reason::Complete),
        }
        let Some(delta) = choice.delta else {
            return;
        };
        for part in delta.content.0 {
            match part {
                Part::Text(text) => self.text(text, events),
                Part::Thinking(text) if !text.is_empty() => self.thinking(text, events),
                Part::Thinking(_) | Part::Other => {}
            }
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call, events);
        }
    }

    /// Replies begin with an empty text, which is a block too, as upstream has it.
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

    fn thinking(&mut self, delta: Cow<'_, str>, events: &mut VecDeque<AssistantEvent>) {
        let content_index = match self.open {
            Some(Open::Thinking(index)) => index,
            _ => {
                let content_index = self.next_block(events);
                self.open = Some(Open::Thinking(content_index));
                events.push_back(AssistantEvent::ThinkingStart {
                    content_index,
                    content_signature: None,
                });
                content_index
            }
        };
        events.push_back(codec::thinking_delta(content_index, delta));
    }

    fn call(&mut self, mut piece: CallDelta<'_>, events: &mut VecDeque<AssistantEvent>) {
        // Some models write the id as this word.
        if &*piece.id == "null" {
            piece.id = Text::default();
        }
        let number = match self.calls.find(&piece) {
            Some(number) => number,
            None if piece.is_blank() => return,
            None => self.calls.open(&piece),
        };
        events.extend(self.open.take().map(Open::end));
        let seed = self.response_id.as_deref().unwrap_or_default();
        let function = piece.function.unwrap_or_default();
        self.calls
            .push(number, function, seed, &mut self.next_block, events);
    }

    /// Makes room for another block and returns its index.
    fn next_block(&mut self, events: &mut VecDeque<AssistantEvent>) -> usize {
        events.extend(self.open.take().map(Open::end));
        let index = self.next_block;
        self.next_block += 1;
        index
    }
}

impl codec::Reply for Reply {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            response_id: None,
            usage: Usage::default(),
            finish: Finish::default(),
            open: None,
            next_block: 0,
            calls: Calls::new(new_id),
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
        if !self.finish.has_reason() {
            return Err(codec::cut(match self.next_block {
                0 => End::EmptyBody,
                _ => end,
            }));
        }
        events.extend(self.open.take().map(Open::end));
        let seed = self.response_id.as_deref().unwrap_or_default();
        let ends = self.calls.end_all(seed, &mut self.next_block, events);
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

#[cfg(test)]
mod tests;
