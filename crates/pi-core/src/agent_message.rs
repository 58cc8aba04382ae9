//! Messages of an agent's transcript: those of the model, and those of the application.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::message::{
    AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage, from_messages,
};
use crate::tagged::{from_value, read_tagged};

/// A message of the application with a role of its own, such as a notification.
///
/// The model does not see it unless the application's conversion turns it into a [`Message`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CustomMessage {
    role: String,
    fields: Map<String, Value>,
}

impl CustomMessage {
    /// Creates a message from its role and a value that serializes to a JSON object.
    ///
    /// # Errors
    /// If `body` does not serialize to an object, or if `role` is one of the model's roles.
    pub fn new(role: impl Into<String>, body: impl Serialize) -> Result<Self, CustomMessageError> {
        let role = role.into();
        if matches!(
            role.as_str(),
            "system" | "user" | "assistant" | "toolResult"
        ) {
            return Err(CustomMessageError::ReservedRole(role));
        }
        match serde_json::to_value(body) {
            Ok(Value::Object(fields)) => Ok(Self { role, fields }),
            Ok(_) => Err(CustomMessageError::NotAnObject),
            Err(error) => Err(CustomMessageError::Serialize(error.to_string())),
        }
    }

    /// Returns the role.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }

    /// Returns the fields beside the role.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns one field.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// Reads the fields into a type of the application.
    ///
    /// # Errors
    /// If the fields do not fit `T`.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&Value::Object(self.fields.clone()))
    }
}

impl Serialize for CustomMessage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let role = Value::String(self.role.clone());
        let fields = self.fields.iter().filter(|(key, _)| *key != "role");
        serializer.collect_map(
            std::iter::once(("role", &role))
                .chain(fields.map(|(key, value)| (key.as_str(), value))),
        )
    }
}

/// Why a [`CustomMessage`] could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CustomMessageError {
    /// The body is not a JSON object.
    #[error("the body of a custom message is not a JSON object")]
    NotAnObject,
    /// The role belongs to the model's messages.
    #[error("the role \"{0}\" is reserved for messages of the model")]
    ReservedRole(String),
    /// The body could not be serialized.
    #[error("serialize the body of a custom message: {0}")]
    Serialize(String),
}

/// A message of a transcript. Cloning shares the message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AgentMessage {
    /// An instruction in mid-conversation.
    System(Arc<SystemMessage>),
    /// What the user said.
    User(Arc<UserMessage>),
    /// A reply of a model.
    Assistant(Arc<AssistantMessage>),
    /// What a tool answered.
    ToolResult(Arc<ToolResultMessage>),
    /// A message of the application.
    Custom(Arc<CustomMessage>),
}

impl AgentMessage {
    /// Creates a user message.
    pub fn user(content: impl Into<crate::MessageContent>, timestamp: u64) -> Self {
        UserMessage::new(content, timestamp).into()
    }

    /// Returns the role as it is spelled in JSON.
    #[must_use]
    pub fn role(&self) -> &str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::Custom(message) => message.role(),
        }
    }

    /// Returns the time in milliseconds since the Unix epoch, if the message has one.
    #[must_use]
    pub fn timestamp(&self) -> Option<u64> {
        match self {
            Self::System(message) => Some(message.timestamp),
            Self::User(message) => Some(message.timestamp),
            Self::Assistant(message) => Some(message.timestamp),
            Self::ToolResult(message) => Some(message.timestamp),
            Self::Custom(message) => message.get("timestamp").and_then(Value::as_u64),
        }
    }

    /// Returns the message as the model sees it; `None` for a custom role.
    #[must_use]
    pub fn to_message(&self) -> Option<Message> {
        match self {
            Self::System(message) => Some(Message::System(Arc::clone(message))),
            Self::User(message) => Some(Message::User(Arc::clone(message))),
            Self::Assistant(message) => Some(Message::Assistant(Arc::clone(message))),
            Self::ToolResult(message) => Some(Message::ToolResult(Arc::clone(message))),
            Self::Custom(_) => None,
        }
    }

    /// Returns the reply if this is one.
    #[must_use]
    pub fn as_assistant(&self) -> Option<&Arc<AssistantMessage>> {
        match self {
            Self::Assistant(message) => Some(message),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for AgentMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (role, value) = read_tagged(deserializer, "role")?;
        match role.as_str() {
            "system" => from_value(value).map(Self::System),
            "user" => from_value(value).map(Self::User),
            "assistant" => from_value(value).map(Self::Assistant),
            "toolResult" => from_value(value).map(Self::ToolResult),
            _ => {
                let mut fields: Map<String, Value> = from_value(value)?;
                fields.shift_remove("role");
                Ok(Self::Custom(Arc::new(CustomMessage { role, fields })))
            }
        }
    }
}

impl From<Message> for AgentMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::System(message) => Self::System(message),
            Message::User(message) => Self::User(message),
            Message::Assistant(message) => Self::Assistant(message),
            Message::ToolResult(message) => Self::ToolResult(message),
        }
    }
}

from_messages! { AgentMessage:
    System(SystemMessage),
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    Custom(CustomMessage),
}
