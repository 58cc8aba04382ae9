//! Messages that a model sees.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::content::{AssistantContent, MessageContent, ToolCall, UserContent};
use crate::error::ErrorInfo;
use crate::model::Model;
use crate::tagged::{Extra, constant_tag, from_value, read_tagged, string_enum};
use crate::usage::Usage;

constant_tag!(SystemRole, "system");
constant_tag!(UserRole, "user");
constant_tag!(AssistantRole, "assistant");
constant_tag!(ToolResultRole, "toolResult");

string_enum! {
    /// Why a reply ended.
    pub enum StopReason {
        /// The model was done.
        Stop = "stop",
        /// The token limit was reached.
        Length = "length",
        /// The model wants tools to be run.
        ToolUse = "toolUse",
        /// Something failed.
        Error = "error",
        /// The caller stopped it.
        Aborted = "aborted",
    }
}

impl StopReason {
    /// Returns true for `Error` and `Aborted`: the reply is not to be sent again or acted upon.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}

/// An instruction in mid-conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SystemMessage {
    #[serde(default)]
    role: SystemRole,
    /// What it says.
    pub content: MessageContent,
    /// When it was made, in milliseconds since the Unix epoch; 0 if unknown.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl SystemMessage {
    /// Creates an instruction.
    pub fn new(content: impl Into<MessageContent>, timestamp: u64) -> Self {
        Self {
            role: SystemRole,
            content: content.into(),
            timestamp,
            extra: Extra::default(),
        }
    }
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UserMessage {
    #[serde(default)]
    role: UserRole,
    /// Text and images.
    pub content: MessageContent,
    /// When it was made, in milliseconds since the Unix epoch; 0 if unknown.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl UserMessage {
    /// Creates a user message.
    pub fn new(content: impl Into<MessageContent>, timestamp: u64) -> Self {
        Self {
            role: UserRole,
            content: content.into(),
            timestamp,
            extra: Extra::default(),
        }
    }
}

/// A reply of a model, whole or so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AssistantMessage {
    #[serde(default)]
    role: AssistantRole,
    /// The blocks in the order in which the model wrote them.
    pub content: Vec<AssistantContent>,
    /// The protocol that it came over.
    pub api: String,
    /// The provider that served it.
    pub provider: String,
    /// The id of the model that wrote it.
    pub model: String,
    /// The provider's id of this reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Tokens and cost; zero while the reply streams.
    #[serde(default)]
    pub usage: Usage,
    /// Why it ended; `Stop` while it streams.
    pub stop_reason: StopReason,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// What went wrong, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_info: Option<Box<ErrorInfo>>,
    /// When it began, in milliseconds since the Unix epoch; 0 if unknown.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl AssistantMessage {
    /// Creates an empty reply of `model`: what a stream starts from.
    #[must_use]
    pub fn empty(model: &Model, timestamp: u64) -> Self {
        Self {
            role: AssistantRole,
            content: Vec::new(),
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            response_id: None,
            usage: Usage::default(),
            stop_reason: StopReason::Stop,
            error_message: None,
            error_info: None,
            timestamp,
            extra: Extra::default(),
        }
    }

    /// Iterates over the tool calls in source order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantContent::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the text blocks, joined without a separator.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// What a tool answered to one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultMessage {
    #[serde(default)]
    role: ToolResultRole,
    /// The id of the call.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// What the model sees.
    pub content: Vec<UserContent>,
    /// What UIs and logs see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// True if the call failed, was refused or was not run.
    #[serde(default)]
    pub is_error: bool,
    /// When it was made, in milliseconds since the Unix epoch; 0 if unknown.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolResultMessage {
    /// Creates a successful result.
    pub fn new(
        tool_call_id: impl Into<String>,
        tool_name: impl Into<String>,
        content: Vec<UserContent>,
        timestamp: u64,
    ) -> Self {
        Self {
            role: ToolResultRole,
            tool_call_id: tool_call_id.into(),
            tool_name: tool_name.into(),
            content,
            details: None,
            is_error: false,
            timestamp,
            extra: Extra::default(),
        }
    }
}

/// A message that a model sees. Cloning shares the message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Message {
    /// An instruction in mid-conversation.
    System(Arc<SystemMessage>),
    /// What the user said.
    User(Arc<UserMessage>),
    /// A reply of a model.
    Assistant(Arc<AssistantMessage>),
    /// What a tool answered.
    ToolResult(Arc<ToolResultMessage>),
}

impl Message {
    /// Returns the role as it is spelled in JSON.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
        }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (role, value) = read_tagged(deserializer, "role")?;
        match role.as_str() {
            "system" => from_value(value).map(Self::System),
            "user" => from_value(value).map(Self::User),
            "assistant" => from_value(value).map(Self::Assistant),
            "toolResult" => from_value(value).map(Self::ToolResult),
            other => Err(serde::de::Error::unknown_variant(
                other,
                &["system", "user", "assistant", "toolResult"],
            )),
        }
    }
}

/// Implements the conversions from message structs that `Message` and `AgentMessage` share.
macro_rules! from_messages {
    ($target:ident: $($variant:ident($message:ty),)+) => {
        $(
            impl From<$message> for $target {
                fn from(message: $message) -> Self {
                    Self::$variant(std::sync::Arc::new(message))
                }
            }

            impl From<std::sync::Arc<$message>> for $target {
                fn from(message: std::sync::Arc<$message>) -> Self {
                    Self::$variant(message)
                }
            }
        )+
    };
}

pub(crate) use from_messages;

from_messages! { Message:
    System(SystemMessage),
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
}
