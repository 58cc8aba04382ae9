//! Content blocks: the parts of a message.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::tagged::{Extra, constant_tag, from_value, read_tagged};

constant_tag!(TextTag, "text");
constant_tag!(ThinkingTag, "thinking");
constant_tag!(ImageTag, "image");
constant_tag!(ToolCallTag, "toolCall");

/// A block of text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextContent {
    #[serde(rename = "type", default)]
    tag: TextTag,
    /// The text.
    pub text: String,
    /// What the provider wants back with this text, opaque to everyone else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl TextContent {
    /// Creates a block of text without a signature.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// A block of the model's reasoning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ThinkingContent {
    #[serde(rename = "type", default)]
    tag: ThinkingTag,
    /// The reasoning, or a summary of it; a placeholder where it is redacted.
    pub thinking: String,
    /// What the provider wants back with this block: a signature, the encrypted reasoning, or the
    /// name of the field it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// True if the provider hid the text; the payload is then in `thinking_signature`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ThinkingContent {
    /// Creates a block of reasoning without a signature.
    pub fn new(thinking: impl Into<String>) -> Self {
        Self {
            thinking: thinking.into(),
            ..Self::default()
        }
    }

    /// Sets the signature.
    #[must_use]
    pub fn with_signature(mut self, signature: impl Into<String>) -> Self {
        self.thinking_signature = Some(signature.into());
        self
    }
}

/// An image, inline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    #[serde(rename = "type", default)]
    tag: ImageTag,
    /// The bytes in base64 (standard alphabet), without a `data:` prefix.
    pub data: String,
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ImageContent {
    /// Creates an image from base64 text and its media type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            mime_type: mime_type.into(),
            ..Self::default()
        }
    }
}

/// A call of a tool, as the model asked for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "StoredToolCall")]
#[non_exhaustive]
pub struct ToolCall {
    #[serde(rename = "type", default)]
    tag: ToolCallTag,
    /// The id that the result refers to.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as the model wrote them; while the call streams, what has arrived so far.
    pub arguments: Map<String, Value>,
    /// What the provider wants back with this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// Why `arguments` is not what the model meant: cut, broken, or no object. Such a call is
    /// answered with an error and never run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolCall {
    /// Creates a call.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments,
            ..Self::default()
        }
    }
}

/// `ToolCall` as it may lie in a file: arguments that are no object become an error of that call
/// instead of a message that cannot be read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredToolCall {
    #[serde(rename = "type", default)]
    tag: ToolCallTag,
    id: String,
    name: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    thought_signature: Option<String>,
    #[serde(default)]
    arguments_error: Option<String>,
    #[serde(flatten)]
    extra: Extra,
}

impl From<StoredToolCall> for ToolCall {
    fn from(stored: StoredToolCall) -> Self {
        let (arguments, not_an_object) = match stored.arguments {
            Value::Object(arguments) => (arguments, None),
            Value::Null => (Map::new(), None),
            other => (
                Map::new(),
                Some(format!("the arguments are not an object: {other}")),
            ),
        };
        Self {
            tag: stored.tag,
            id: stored.id,
            name: stored.name,
            arguments,
            thought_signature: stored.thought_signature,
            arguments_error: stored.arguments_error.or(not_an_object),
            extra: stored.extra,
        }
    }
}

/// One block of an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AssistantContent {
    /// Text for the user.
    Text(TextContent),
    /// Reasoning.
    Thinking(ThinkingContent),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// A block that this version does not know, kept as it came.
    Other(Value),
}

impl<'de> Deserialize<'de> for AssistantContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (tag, value) = read_tagged(deserializer, "type")?;
        match tag.as_str() {
            "text" => from_value(value).map(Self::Text),
            "thinking" => from_value(value).map(Self::Thinking),
            "toolCall" => from_value(value).map(Self::ToolCall),
            _ => Ok(Self::Other(value)),
        }
    }
}

impl From<TextContent> for AssistantContent {
    fn from(block: TextContent) -> Self {
        Self::Text(block)
    }
}

impl From<ThinkingContent> for AssistantContent {
    fn from(block: ThinkingContent) -> Self {
        Self::Thinking(block)
    }
}

impl From<ToolCall> for AssistantContent {
    fn from(block: ToolCall) -> Self {
        Self::ToolCall(block)
    }
}

/// One block of a user message or of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum UserContent {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// A block that this version does not know, kept as it came.
    Other(Value),
}

impl UserContent {
    /// Creates a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Creates an image from base64 text and its media type.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// Returns the text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for UserContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (tag, value) = read_tagged(deserializer, "type")?;
        match tag.as_str() {
            "text" => from_value(value).map(Self::Text),
            "image" => from_value(value).map(Self::Image),
            _ => Ok(Self::Other(value)),
        }
    }
}

impl From<&str> for UserContent {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for UserContent {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<TextContent> for UserContent {
    fn from(block: TextContent) -> Self {
        Self::Text(block)
    }
}

impl From<ImageContent> for UserContent {
    fn from(block: ImageContent) -> Self {
        Self::Image(block)
    }
}

/// What a user or system message holds: a plain string or blocks.
///
/// Both spellings occur in stored conversations; each is written back as it was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MessageContent {
    /// A plain string.
    Text(String),
    /// Blocks of text and images.
    Blocks(Vec<UserContent>),
}

impl MessageContent {
    /// Returns all text, the blocks joined with line feeds.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Blocks(blocks) => joined_text(blocks),
        }
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            value => from_value(value).map(Self::Blocks),
        }
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<UserContent>> for MessageContent {
    fn from(blocks: Vec<UserContent>) -> Self {
        Self::Blocks(blocks)
    }
}

/// Joins the text blocks with line feeds; a single block is borrowed.
#[must_use]
pub fn joined_text(blocks: &[UserContent]) -> std::borrow::Cow<'_, str> {
    let mut texts = blocks.iter().filter_map(UserContent::as_text);
    match (texts.next(), texts.next()) {
        (None, _) => "".into(),
        (Some(only), None) => only.into(),
        (Some(first), Some(second)) => {
            let mut all = format!("{first}\n{second}");
            for text in texts {
                all.push('\n');
                all.push_str(text);
            }
            all.into()
        }
    }
}
