//! The block that is being added to.

use pi_core::AssistantEvent;

use crate::codec;

/// The block of text or reasoning that is being added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Text(usize),
    Thinking(usize),
}

impl Open {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Text(index) | Self::Thinking(index) => index,
        }
    }

    /// Makes the end of the block.
    pub(crate) fn end(self) -> AssistantEvent {
        match self {
            Self::Text(content_index) => codec::text_end(content_index),
            Self::Thinking(content_index) => codec::thinking_end(content_index, None),
        }
    }
}
