//! The messages of a request.

use pi_core::{
    AssistantContent, AssistantMessage, ImageContent, Message, MessageContent, Request,
    ThinkingContent, ToolResultMessage, UserContent,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::compat::Compat;

/// What a result says that has nothing but images, where the model takes none.
const ONLY_IMAGES: &str = "(see attached image)";

#[derive(Serialize)]
pub(super) struct WireMessage<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Block<'a> {
    Text(&'a str),
    Image(Image<'a>),
    ReasoningContent(Reasoning<'a>),
    ToolUse {
        tool_use_id: &'a str,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<Self>,
        status: &'static str,
    },
    CachePoint(CachePoint),
}

#[derive(Serialize)]
struct Image<'a> {
    format: &'a str,
    source: Source<'a>,
}

#[derive(Serialize)]
struct Source<'a> {
    bytes: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Reasoning<'a> {
    ReasoningText {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    RedactedContent(&'a str),
}

/// Marks the end of what the service shall keep in its cache.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CachePoint {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CachePoint {
    pub(super) fn new(ttl: Option<&'static str>) -> Self {
        Self {
            r#type: "default",
            ttl,
        }
    }
}

/// Converts what is sent of a conversation.
pub(super) fn wire_messages<'a>(
    request: &'a Request,
    compat: Compat,
    messages: &'a [Message],
    cache: Option<CachePoint>,
) -> Vec<WireMessage<'a>> {
    let mut writer = Writer {
        compat,
        takes_images: request.model.takes_images(),
        is_after_result: false,
        written: Vec::with_capacity(messages.len()),
    };
    for message in messages {
        writer.write(message);
    }
    let mut written = writer.written;
    if let (Some(last), Some(cache)) = (written.last_mut(), cache)
        && last.role == Role::User
    {
        last.content.push(Block::CachePoint(cache));
    }
    written
}

struct Writer<'a> {
    compat: Compat,
    takes_images: bool,
    /// The message written last holds the results of calls, and takes more of them.
    is_after_result: bool,
    written: Vec<WireMessage<'a>>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, message: &'a Message) {
        let (role, content) = match message {
            // The API has no role for instructions in mid-conversation.
            Message::System(system) => (Role::User, self.user_content(&system.content)),
            Message::User(user) => (Role::User, self.user_content(&user.content)),
            Message::Assistant(reply) => (Role::Assistant, self.reply(reply)),
            Message::ToolResult(result) => return self.result(result),
            _ => return,
        };
        if !content.is_empty() {
            self.written.push(WireMessage { role, content });
            self.is_after_result = false;
        }
    }

    fn user_content(&self, content: &'a MessageContent) -> Vec<Block<'a>> {
        match content {
            MessageContent::Text(text) => text_block(text).into_iter().collect(),
            MessageContent::Blocks(blocks) => self.user_blocks(blocks),
            _ => Vec::new(),
        }
    }

    /// Leaves out what the API refuses: blank texts, and images where the model takes none.
    fn user_blocks(&self, blocks: &'a [UserContent]) -> Vec<Block<'a>> {
        let blocks = blocks.iter().filter_map(|block| match block {
            UserContent::Text(block) => text_block(&block.text),
            UserContent::Image(image) if self.takes_images => Some(Block::image(image)),
            _ => None,
        });
        blocks.collect()
    }

    fn reply(&self, reply: &'a AssistantMessage) -> Vec<Block<'a>> {
        let blocks = reply.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) => text_block(&block.text),
            AssistantContent::Thinking(block) => self.thinking(block),
            AssistantContent::ToolCall(call) => Some(Block::ToolUse {
                tool_use_id: &call.id,
                name: &call.name,
                input: &call.arguments,
            }),
            _ => None,
        });
        blocks.collect()
    }

    /// Only Claude signs its thoughts. It wants them back as they came, even empty ones: newer models
    /// sign what they do not show. Unsigned thoughts, as a cut reply leaves them, it refuses, so they
    /// become plain text.
    fn thinking(&self, block: &'a ThinkingContent) -> Option<Block<'a>> {
        let text = block.thinking.as_str();
        let signature = block.thinking_signature.as_deref();
        let signature = signature.filter(|signature| is_text(signature));
        let reasoning = match (self.compat.is_claude, signature) {
            (_, data) if block.redacted => Reasoning::RedactedContent(data?),
            (true, Some(_)) if is_text(text) || text.is_empty() => {
                Reasoning::ReasoningText { text, signature }
            }
            (true, Some(_)) => return None,
            (true, None) => return text_block(text),
            (false, _) if is_text(text) => Reasoning::ReasoningText {
                text,
                signature: None,
            },
            (false, _) => return None,
        };
        Some(Block::ReasoningContent(reasoning))
    }

    /// Results of one reply share a message: the API wants all of them in the next one.
    fn result(&mut self, result: &'a ToolResultMessage) {
        let mut content = self.user_blocks(&result.content);
        let has_image = |block: &UserContent| matches!(block, UserContent::Image(_));
        if content.is_empty() && result.content.iter().any(has_image) {
            content.push(Block::Text(ONLY_IMAGES));
        }
        let block = Block::ToolResult {
            tool_use_id: &result.tool_call_id,
            content,
            status: if result.is_error { "error" } else { "success" },
        };
        match self.written.last_mut() {
            Some(message) if self.is_after_result => message.content.push(block),
            _ => self.written.push(WireMessage {
                role: Role::User,
                content: vec![block],
            }),
        }
        self.is_after_result = true;
    }
}

impl<'a> Block<'a> {
    fn image(image: &'a ImageContent) -> Self {
        let mime_type = image.mime_type.as_str();
        let format = match mime_type.strip_prefix("image/").unwrap_or(mime_type) {
            "jpg" => "jpeg",
            format => format,
        };
        Self::Image(Image {
            format,
            source: Source { bytes: &image.data },
        })
    }
}

fn text_block(text: &str) -> Option<Block<'_>> {
    is_text(text).then_some(Block::Text(text))
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty()
}
