//! Responses: from frames to events.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use pi_core::{AssistantEvent, Model, Progress, ProviderError, StopReason, Usage};
use serde_json::Value;

use super::chunk::{Candidate, Chunk, FunctionCall, Part};
use super::errors::{blocked_error, finish_error, stream_error};
use super::pieces::Pieces;
use crate::codec::{self, End, ReplyDecoder, Step};
use crate::ids::CallIds;
use crate::json;

/// Turns the frames of one response into events.
///
/// # Events
/// Blocks follow `Start` in the order in which they begin; a block ends when another begins or the
/// reply is complete. A signature belongs to the block of its part. Arguments of a call come whole,
/// in one delta; calls without an id, or with one that is taken, get one. Parts of other kinds, such
/// as code that the service ran, are skipped.
///
/// The reply is complete with a finish reason at the end of the body; what comes between the two
/// still counts. Everything else is a cut stream, an error of kind `Protocol`. The stop reason is
/// `Length` if the service said so, else `ToolUse` if there is a call, else `Stop`; a blocked prompt
/// and a finish reason that tells of a failure make an error.
pub type Decoder = ReplyDecoder<Reply>;

/// The state of one reply of `google-generative-ai`.
#[derive(Debug)]
pub struct Reply {
    model: Arc<Model>,
    response_id: Option<String>,
    usage: Usage,
    finish: Finish,
    /// The block of text or thoughts that is being added to.
    open: Option<Open>,
    /// The call whose arguments come in pieces.
    pieces: Option<Pieces>,
    next_block: usize,
    ids: CallIds,
}

/// What is known about the end of the reply.
#[derive(Debug, Default)]
struct Finish {
    has_reason: bool,
    is_length: bool,
    /// The first failure.
    failure: Option<ProviderError>,
}

#[derive(Debug)]
struct Open {
    content_index: usize,
    is_thought: bool,
    signature: Option<String>,
}

impl Reply {
    fn chunk(&mut self, chunk: Chunk<'_>, events: &mut VecDeque<AssistantEvent>) {
        if self.response_id.is_none() && !chunk.response_id.is_empty() {
            self.response_id = Some(chunk.response_id.0.into_owned());
        }
        if let Some(usage) = chunk.usage_metadata {
            usage.apply(&mut self.usage, &self.model);
        }
        if let Some(feedback) = chunk.prompt_feedback
            && !feedback.block_reason.is_empty()
        {
            let error = blocked_error(&feedback.block_reason, &feedback.block_reason_message);
            self.finish.failure.get_or_insert(error);
        }
        let Some(candidate) = chunk.candidates.0 else {
            return;
        };
        self.finish.note(&candidate);
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.part(part, events);
        }
    }

    fn part(&mut self, part: Part<'_>, events: &mut VecDeque<AssistantEvent>) {
        let is_thought = part.thought == Some(true);
        let signature = part.thought_signature;
        let signature = (!signature.is_empty()).then(|| signature.0.into_owned());
        match (part.text, part.function_call) {
            (_, Some(call)) => self.call(call, signature, events),
            (Some(text), None) => {
                self.said(text.0, is_thought, events);
                self.sign(signature);
            }
            (None, None) => self.sign(signature),
        }
    }

    fn said(
        &mut self,
        delta: Cow<'_, str>,
        is_thought: bool,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let content_index = match &self.open {
            Some(open) if open.is_thought == is_thought => open.content_index,
            _ => self.begin(is_thought, events),
        };
        events.push_back(match is_thought {
            true => codec::thinking_delta(content_index, delta),
            false => codec::text_delta(content_index, delta),
        });
    }

    fn begin(&mut self, is_thought: bool, events: &mut VecDeque<AssistantEvent>) -> usize {
        let content_index = self.next_block(events);
        self.open = Some(Open {
            content_index,
            is_thought,
            signature: None,
        });
        events.push_back(match is_thought {
            true => AssistantEvent::ThinkingStart {
                content_index,
                content_signature: None,
            },
            false => AssistantEvent::TextStart { content_index },
        });
        content_index
    }

    /// Gives a signature to the open block. It may come alone, before the text or behind it
    /// (fixtures `signature-alone`, `signature-trailing`).
    fn sign(&mut self, signature: Option<String>) {
        if let (Some(open), Some(signature)) = (&mut self.open, signature) {
            open.signature = Some(signature);
        }
    }

    fn call(
        &mut self,
        mut call: FunctionCall<'_>,
        signature: Option<String>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let goes_on = call.will_continue == Some(true);
        let is_piece = call.is_piece();
        let belongs = |pieces: &mut Pieces| {
            call.is_blank() || (!call.id.is_empty() && pieces.wire_id == *call.id)
        };
        let mut pieces = match self.pieces.take_if(belongs) {
            Some(pieces) => pieces,
            None if call.is_blank() && !is_piece => return,
            None => self.begin_call(&mut call, signature, events),
        };
        if !is_piece && let Some(arguments) = call.args {
            let delta = json::compact(arguments.get());
            events.extend(end_call(pieces, delta));
            return;
        }
        for piece in call.partial_args.into_iter().flatten() {
            pieces.push(piece);
        }
        match goes_on {
            true => self.pieces = Some(pieces),
            false => events.extend(end_pieces(pieces, true)),
        }
    }

    fn begin_call(
        &mut self,
        call: &mut FunctionCall<'_>,
        signature: Option<String>,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Pieces {
        let content_index = self.next_block(events);
        let id = self.ids.add(&call.id, self.response_id.as_deref());
        events.push_back(AssistantEvent::ToolCallStart {
            content_index,
            id,
            tool_name: std::mem::take(&mut call.name).0.into_owned(),
        });
        let wire_id = std::mem::take(&mut call.id).0.into_owned();
        Pieces::new(content_index, wire_id, signature)
    }

    /// Makes room for another block and returns its index.
    fn next_block(&mut self, events: &mut VecDeque<AssistantEvent>) -> usize {
        self.end_blocks(events);
        let index = self.next_block;
        self.next_block += 1;
        index
    }

    fn end_blocks(&mut self, events: &mut VecDeque<AssistantEvent>) {
        events.extend(self.open.take().map(Open::end));
        if let Some(pieces) = self.pieces.take() {
            events.extend(end_pieces(pieces, false));
        }
    }
}

impl Finish {
    fn note(&mut self, candidate: &Candidate<'_>) {
        match &*candidate.finish_reason {
            "" => return,
            "STOP" => {}
            // The reply could be asked to go on, which nobody does here.
            "MAX_TOKENS" | "CONTINUATION" => self.is_length = true,
            reason => {
                let error = finish_error(reason, &candidate.finish_message);
                self.failure.get_or_insert(error);
            }
        }
        self.has_reason = true;
    }
}

impl Open {
    fn end(self) -> AssistantEvent {
        match self.is_thought {
            true => codec::thinking_end(self.content_index, self.signature),
            false => AssistantEvent::TextEnd {
                content_index: self.content_index,
                content: None,
                content_signature: self.signature,
            },
        }
    }
}

/// Makes the rest of a call whose arguments came in pieces.
fn end_pieces(pieces: Pieces, is_whole: bool) -> [AssistantEvent; 2] {
    let delta = pieces.text(is_whole);
    end_call(pieces, delta)
}

fn end_call(pieces: Pieces, delta: String) -> [AssistantEvent; 2] {
    let content_index = pieces.content_index;
    [
        AssistantEvent::ToolCallDelta {
            content_index,
            delta,
        },
        codec::call_end(content_index, pieces.signature),
    ]
}

impl codec::Reply for Reply {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            response_id: None,
            usage: Usage::default(),
            finish: Finish::default(),
            open: None,
            pieces: None,
            next_block: 0,
            ids: CallIds::default(),
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
        let is_error = chunk.error.is_some();
        self.chunk(chunk, events);
        match is_error {
            true => {
                let body = serde_json::from_str::<Value>(data);
                Err(body.map_or_else(
                    |error| codec::broken(name, &error),
                    |body| stream_error(&body),
                ))
            }
            false => Ok(Step::More),
        }
    }

    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(error) = self.finish.failure.take() {
            return Err(error);
        }
        if !self.finish.has_reason {
            return Err(match self.next_block > 0 {
                true => codec::cut(end),
                false => codec::cut(End::EmptyBody),
            });
        }
        self.end_blocks(events);
        let reason = match () {
            () if self.finish.is_length => StopReason::Length,
            () if self.ids.is_empty() => StopReason::Stop,
            () => StopReason::ToolUse,
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

#[cfg(test)]
mod tests;
