//! What the decoders of all protocols have in common.
//!
//! A protocol implements [`Reply`], which is what is special about it; [`ReplyDecoder`] makes a
//! [`Decoder`] of it, which is what a transport drives.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use pi_core::{AssistantEvent, ErrorKind, Model, Progress, ProviderError};

use crate::sse::SseFrame;

/// Turns the frames of one response into events.
///
/// A decoder is pure: no socket, no clock. The transport feeds frames until
/// [`is_ended`](Self::is_ended) or the end of the body, and hands on what is in `events`.
pub trait Decoder: Send {
    /// Reads one frame and appends the events that follow from it.
    ///
    /// # Errors
    /// If the frame breaks the protocol or carries the provider's own error. The events appended
    /// before stay valid; nothing may be fed after it.
    fn frame(
        &mut self,
        frame: &SseFrame,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError>;

    /// Takes note of the end of the body and appends the closing event.
    ///
    /// # Errors
    /// If the reply is not complete.
    fn finish(&mut self, events: &mut VecDeque<AssistantEvent>) -> Result<(), ProviderError>;

    /// Returns true once the closing event was appended: the rest of the body is of no interest.
    fn is_ended(&self) -> bool;

    /// Returns usage and id of the reply as far as they are known.
    fn progress(&self) -> Progress;
}

/// What one protocol makes of the frames of one reply.
///
/// The decoder around it sees to what all protocols share, so that an implementation gets frames
/// with content only, none behind the end, and does not append `Start` itself.
pub trait Reply: Send {
    /// Creates the state of a reply of `model`, which sets the prices.
    fn new(model: Arc<Model>) -> Self;

    /// Reads an event: its name (`message` if it has none) and its data without the white space
    /// around it, which is not empty.
    ///
    /// # Errors
    /// If the event breaks the protocol or carries the provider's own error.
    fn read(
        &mut self,
        name: &str,
        data: &str,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError>;

    /// Appends the ends of open blocks and `Done`.
    ///
    /// # Errors
    /// If the reply is not complete, or has failed.
    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError>;

    /// Returns usage and id of the reply as far as they are known.
    fn progress(&self) -> Progress;
}

/// What follows an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an event is the last one or it is not"
)]
pub enum Step {
    /// There may be more events.
    More,
    /// The event was the protocol's last one: the reply is closed.
    Close,
}

/// What the end of a reply looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// An event that is the last one by the protocol.
    Event,
    /// The line `[DONE]`, with which services close streams in the manner of OpenAI.
    Marker,
    /// The end of the body behind some events.
    Body,
    /// The end of a body without any event.
    EmptyBody,
}

/// The decoder of a protocol.
///
/// # Events
/// `Start` comes with the first frame, or before the error of an empty body; then those of the
/// [`Reply`]. Frames without data are skipped: some gateways send them to keep the connection open.
/// Nothing is read behind the end of the reply.
#[derive(Debug)]
pub struct ReplyDecoder<R> {
    reply: R,
    is_started: bool,
    is_ended: bool,
}

impl<R: Reply> ReplyDecoder<R> {
    /// Creates a decoder for the response of `model`, which sets the prices.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            reply: R::new(model),
            is_started: false,
            is_ended: false,
        }
    }

    /// Appends `Start` if it has not come yet, and returns whether it had.
    fn start(&mut self, events: &mut VecDeque<AssistantEvent>) -> bool {
        let was_started = std::mem::replace(&mut self.is_started, true);
        if !was_started {
            events.push_back(AssistantEvent::Start);
        }
        was_started
    }

    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        self.is_ended = true;
        self.reply.close(end, events)
    }
}

impl<R: Reply> Decoder for ReplyDecoder<R> {
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
            return self.close(End::Marker, events);
        }
        match self.reply.read(frame.event(), data, events) {
            Ok(Step::More) => Ok(()),
            Ok(Step::Close) => self.close(End::Event, events),
            Err(error) => {
                self.is_ended = true;
                Err(error)
            }
        }
    }

    fn finish(&mut self, events: &mut VecDeque<AssistantEvent>) -> Result<(), ProviderError> {
        if self.is_ended {
            return Ok(());
        }
        let end = match self.start(events) {
            true => End::Body,
            false => End::EmptyBody,
        };
        self.close(end, events)
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn progress(&self) -> Progress {
        self.reply.progress()
    }
}

/// What stands for reasoning that the service hides.
pub(crate) const REDACTED: &str = "[Reasoning redacted]";

/// Makes a piece of a text block.
pub(crate) fn text_delta(content_index: usize, delta: Cow<'_, str>) -> AssistantEvent {
    AssistantEvent::TextDelta {
        content_index,
        delta: delta.into_owned(),
    }
}

/// Makes a piece of a thinking block.
pub(crate) fn thinking_delta(content_index: usize, delta: Cow<'_, str>) -> AssistantEvent {
    AssistantEvent::ThinkingDelta {
        content_index,
        delta: delta.into_owned(),
    }
}

/// Makes the end of a text block that is the sum of its deltas.
pub(crate) fn text_end(content_index: usize) -> AssistantEvent {
    AssistantEvent::TextEnd {
        content_index,
        content: None,
        content_signature: None,
    }
}

/// Makes the end of a thinking block that is the sum of its deltas.
pub(crate) fn thinking_end(content_index: usize, signature: Option<String>) -> AssistantEvent {
    AssistantEvent::ThinkingEnd {
        content_index,
        content: None,
        content_signature: signature,
        redacted: false,
    }
}

/// Makes the end of a call whose arguments are the sum of its deltas.
pub(crate) fn call_end(content_index: usize, thought_signature: Option<String>) -> AssistantEvent {
    AssistantEvent::ToolCallEnd {
        content_index,
        thought_signature,
        tool_call: None,
    }
}

/// Makes the error of a reply that breaks the protocol.
pub(crate) fn protocol(message: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Protocol, message)
}

/// Makes the error of a reply whose end is missing.
pub(crate) fn cut(end: End) -> ProviderError {
    protocol(match end {
        End::EmptyBody => "the stream ended without a reply",
        _ => "the stream ended before the reply was complete",
    })
}

/// Makes the error of an event that cannot be read. It says where, not what: the text may be private.
pub(crate) fn broken(name: &str, error: &serde_json::Error) -> ProviderError {
    protocol(&format!(
        "a {name} event is not valid (byte {})",
        error.column()
    ))
}
