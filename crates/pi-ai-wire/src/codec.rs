//! What the decoders of all protocols over server-sent events have in common.

use std::collections::VecDeque;

use pi_core::{AssistantEvent, Progress, ProviderError};

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
