//! What a provider's stream yields.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::content::{AssistantContent, ToolCall};
use crate::error::{ErrorInfo, ErrorKind, ProviderError};
use crate::message::{AssistantMessage, StopReason};
use crate::usage::Usage;

/// One event of a reply: small deltas, no snapshot.
///
/// A stream is `Start`, then for each block its start, deltas and end, then exactly one `Done` or
/// `Error`. `content_index` is the block's place in [`AssistantMessage::content`]. An
/// [`Assembler`](crate::Assembler) folds the events to that message. An end carries the block's
/// content only where it is not the sum of its deltas.
///
/// The serde form is the wire of upstream's proxy protocol; see [`InProcess`] for the form inside
/// an agent event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AssistantEvent {
    /// The provider has begun to answer.
    #[serde(rename = "start")]
    Start,
    /// A block of text begins.
    #[serde(rename = "text_start")]
    TextStart {
        /// The block's place in the message.
        content_index: usize,
    },
    /// More text.
    #[serde(rename = "text_delta")]
    TextDelta {
        /// The block's place in the message.
        content_index: usize,
        /// What is added.
        delta: String,
    },
    /// A block of text is complete.
    #[serde(rename = "text_end")]
    TextEnd {
        /// The block's place in the message.
        content_index: usize,
        /// The whole text, where it is not the sum of its deltas.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// What the provider wants back with this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
    },
    /// A block of reasoning begins.
    #[serde(rename = "thinking_start")]
    ThinkingStart {
        /// The block's place in the message.
        content_index: usize,
        /// The signature, where it is known from the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
    },
    /// More reasoning.
    #[serde(rename = "thinking_delta")]
    ThinkingDelta {
        /// The block's place in the message.
        content_index: usize,
        /// What is added.
        delta: String,
    },
    /// A block of reasoning is complete.
    #[serde(rename = "thinking_end")]
    ThinkingEnd {
        /// The block's place in the message.
        content_index: usize,
        /// The whole text, where it is not the sum of its deltas.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// What the provider wants back with this block; keeps that of the start when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
        /// True if the provider hid the text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// A tool call begins.
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        /// The block's place in the message.
        content_index: usize,
        /// The id of the call.
        id: String,
        /// The name of the tool.
        tool_name: String,
    },
    /// More of the JSON text of a call's arguments.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        /// The block's place in the message.
        content_index: usize,
        /// What is added.
        delta: String,
    },
    /// A tool call is complete.
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        /// The block's place in the message.
        content_index: usize,
        /// What the provider wants back with this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thought_signature: Option<String>,
        /// The whole call, where it is not the sum of its start and deltas.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call: Option<Box<ToolCall>>,
    },
    /// The reply is complete. Nothing follows.
    #[serde(rename = "done")]
    Done {
        /// Why it ended: `Stop`, `Length` or `ToolUse`.
        reason: StopReason,
        /// Tokens and cost.
        #[serde(default)]
        usage: Usage,
        /// The provider's id of this reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
    },
    /// The reply ended early; what was streamed is kept. Nothing follows.
    #[serde(rename = "error")]
    Error {
        /// `Error` or `Aborted`.
        reason: StopReason,
        /// What went wrong, for people.
        #[serde(default)]
        error_message: String,
        /// Tokens and cost up to here.
        #[serde(default)]
        usage: Usage,
        /// The provider's id of this reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
        /// What went wrong, for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_info: Option<Box<ErrorInfo>>,
    },
    /// An event that this version does not know, kept as it came. Folds skip it.
    #[serde(untagged)]
    Other(Value),
}

impl AssistantEvent {
    /// Creates the closing event of a failed reply.
    #[must_use]
    pub fn from_error(error: &ProviderError, usage: Usage, response_id: Option<String>) -> Self {
        let aborted = *error.kind() == ErrorKind::Aborted;
        Self::Error {
            reason: if aborted {
                StopReason::Aborted
            } else {
                StopReason::Error
            },
            error_message: error.message().to_owned(),
            usage,
            response_id,
            error_info: Some(Box::new(error.info().clone())),
        }
    }

    /// Returns true if the event is one of this version's types whose fields do not fit.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        const KNOWN: [&str; 12] = [
            "start",
            "text_start",
            "text_delta",
            "text_end",
            "thinking_start",
            "thinking_delta",
            "thinking_end",
            "toolcall_start",
            "toolcall_delta",
            "toolcall_end",
            "done",
            "error",
        ];
        matches!(self, Self::Other(_)) && KNOWN.contains(&self.type_name())
    }

    /// Returns true for `Done` and `Error`.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Error { .. })
    }

    /// Returns true for the events of a block: what a user can see of a reply.
    #[must_use]
    pub fn is_content(&self) -> bool {
        self.content_index().is_some()
    }

    /// Returns the place of the block that the event belongs to.
    #[must_use]
    pub fn content_index(&self) -> Option<usize> {
        match self {
            Self::TextStart { content_index }
            | Self::TextDelta { content_index, .. }
            | Self::TextEnd { content_index, .. }
            | Self::ThinkingStart { content_index, .. }
            | Self::ThinkingDelta { content_index, .. }
            | Self::ThinkingEnd { content_index, .. }
            | Self::ToolCallStart { content_index, .. }
            | Self::ToolCallDelta { content_index, .. }
            | Self::ToolCallEnd { content_index, .. } => Some(*content_index),
            Self::Start | Self::Done { .. } | Self::Error { .. } | Self::Other(_) => None,
        }
    }

    /// Returns the type as it is spelled in JSON.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::Start => "start",
            Self::TextStart { .. } => "text_start",
            Self::TextDelta { .. } => "text_delta",
            Self::TextEnd { .. } => "text_end",
            Self::ThinkingStart { .. } => "thinking_start",
            Self::ThinkingDelta { .. } => "thinking_delta",
            Self::ThinkingEnd { .. } => "thinking_end",
            Self::ToolCallStart { .. } => "toolcall_start",
            Self::ToolCallDelta { .. } => "toolcall_delta",
            Self::ToolCallEnd { .. } => "toolcall_end",
            Self::Done { .. } => "done",
            Self::Error { .. } => "error",
            Self::Other(value) => value.get("type").and_then(Value::as_str).unwrap_or(""),
        }
    }

    /// Returns the text that a `TextDelta` adds.
    #[must_use]
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::TextDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }
}

/// An event in upstream's in-process form: ends carry their block, taken from the message.
///
/// The form leaves out `partial`, `message` and `error`, which repeat the message.
#[derive(Debug, Clone, Copy)]
pub struct InProcess<'a> {
    event: &'a AssistantEvent,
    message: &'a AssistantMessage,
}

impl<'a> InProcess<'a> {
    /// Pairs an event with the message as it is after that event.
    #[must_use]
    pub fn new(event: &'a AssistantEvent, message: &'a AssistantMessage) -> Self {
        Self { event, message }
    }
}

impl Serialize for InProcess<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let AssistantEvent::Other(value) = self.event {
            return value.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.event.type_name())?;
        if let Some(index) = self.event.content_index() {
            map.serialize_entry("contentIndex", &index)?;
        }
        let block = self
            .event
            .content_index()
            .and_then(|index| self.message.content.get(index));
        match (self.event, block) {
            (
                AssistantEvent::TextDelta { delta, .. }
                | AssistantEvent::ThinkingDelta { delta, .. }
                | AssistantEvent::ToolCallDelta { delta, .. },
                _,
            ) => map.serialize_entry("delta", delta)?,
            (AssistantEvent::TextEnd { .. }, Some(AssistantContent::Text(block))) => {
                map.serialize_entry("content", &block.text)?;
            }
            (AssistantEvent::ThinkingEnd { .. }, Some(AssistantContent::Thinking(block))) => {
                map.serialize_entry("content", &block.thinking)?;
            }
            (AssistantEvent::ToolCallEnd { .. }, Some(AssistantContent::ToolCall(call))) => {
                map.serialize_entry("toolCall", call)?;
            }
            (AssistantEvent::Done { reason, .. } | AssistantEvent::Error { reason, .. }, _) => {
                map.serialize_entry("reason", reason)?
            }
            _ => {}
        }
        map.end()
    }
}
