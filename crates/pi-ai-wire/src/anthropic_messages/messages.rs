//! The messages of a request.

use pi_core::{
    AssistantContent, AssistantMessage, ImageContent, Message, MessageContent, Request,
    ThinkingContent, ToolResultMessage, UserContent,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::compat::Compat;
use crate::joined::{Joined, not_blank};

/// What a result without text says.
const ONLY_IMAGES: &str = "(see attached image)";

#[derive(Serialize)]
pub(super) struct WireMessage<'a> {
    role: Role,
    content: Content<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
    System,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<ResultContent<'a>>,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(Joined<'a>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// Marks the end of what the service shall keep in its cache.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CacheControl {
    pub(super) fn new(ttl: Option<&'static str>) -> Self {
        Self {
            r#type: "ephemeral",
            ttl,
        }
    }
}

/// Converts what is sent of a conversation.
pub(super) fn wire_messages<'a>(
    request: &'a Request,
    compat: &Compat,
    messages: &'a [Message],
    cache: Option<CacheControl>,
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
    place_instructions(&mut written, compat);
    if let Some(message) = written.last_mut() {
        message.mark_cached(cache);
    }
    written
}

struct Writer<'a, 'c> {
    compat: &'c Compat,
    takes_images: bool,
    /// The message written last holds the results of calls, and takes more of them.
    is_after_result: bool,
    written: Vec<WireMessage<'a>>,
}

impl<'a> Writer<'a, '_> {
    fn write(&mut self, message: &'a Message) {
        let (role, content) = match message {
            Message::System(system) => (Role::System, self.user_content(&system.content)),
            Message::User(user) => (Role::User, self.user_content(&user.content)),
            Message::Assistant(reply) => (Role::Assistant, self.reply(reply)),
            Message::ToolResult(result) => return self.result(result),
            _ => return,
        };
        if let Some(content) = content {
            self.written.push(WireMessage { role, content });
            self.is_after_result = false;
        }
    }

    /// Returns `None` if nothing is left that the model takes.
    fn user_content(&self, content: &'a MessageContent) -> Option<Content<'a>> {
        match content {
            MessageContent::Text(text) => is_text(text).then_some(Content::Text(text)),
            MessageContent::Blocks(blocks) => {
                let blocks = self.user_blocks(blocks);
                (!blocks.is_empty()).then_some(Content::Blocks(blocks))
            }
            _ => None,
        }
    }

    fn user_blocks(&self, blocks: &'a [UserContent]) -> Vec<Block<'a>> {
        let blocks = blocks.iter().filter_map(|block| match block {
            UserContent::Text(block) if is_text(&block.text) => Some(Block::text(&block.text)),
            UserContent::Image(image) if self.takes_images => Some(Block::image(image)),
            _ => None,
        });
        blocks.collect()
    }

    /// Returns `None` for a reply that has nothing to be sent.
    fn reply(&self, reply: &'a AssistantMessage) -> Option<Content<'a>> {
        let blocks = reply.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) if is_text(&block.text) => Some(Block::text(&block.text)),
            AssistantContent::Thinking(block) => self.thinking(block),
            AssistantContent::ToolCall(call) => Some(Block::ToolUse {
                id: &call.id,
                name: &call.name,
                input: &call.arguments,
            }),
            _ => None,
        });
        let blocks: Vec<Block<'a>> = blocks.collect();
        (!blocks.is_empty()).then_some(Content::Blocks(blocks))
    }

    /// Signed and hidden thoughts go back as they came, even empty ones: newer models sign what they
    /// do not show. Unsigned thoughts, as a cut reply leaves them, are refused, so they become plain
    /// text; blank ones are left out.
    fn thinking(&self, block: &'a ThinkingContent) -> Option<Block<'a>> {
        let signature = block.thinking_signature.as_deref().unwrap_or_default();
        let thinking = &block.thinking;
        let is_signed = !signature.trim().is_empty();
        if block.redacted {
            return Some(Block::RedactedThinking { data: signature });
        }
        let is_sent = is_text(thinking) || (is_signed && thinking.is_empty());
        if !is_sent {
            return None;
        }
        if is_signed || self.compat.allows_empty_signature {
            return Some(Block::Thinking {
                thinking,
                signature,
            });
        }
        Some(Block::text(thinking))
    }

    /// Results of one reply share a message: the API wants all of them in the next one.
    fn result(&mut self, result: &'a ToolResultMessage) {
        let block = Block::ToolResult {
            tool_use_id: &result.tool_call_id,
            content: self.result_content(&result.content),
            is_error: result.is_error,
            cache_control: None,
        };
        match self.written.last_mut() {
            Some(WireMessage {
                content: Content::Blocks(blocks),
                ..
            }) if self.is_after_result => blocks.push(block),
            _ => self.written.push(WireMessage {
                role: Role::User,
                content: Content::Blocks(vec![block]),
            }),
        }
        self.is_after_result = true;
    }

    fn result_content(&self, content: &'a [UserContent]) -> Option<ResultContent<'a>> {
        let texts: Vec<&str> = content.iter().filter_map(UserContent::as_text).collect();
        let has_text = !not_blank(texts.iter().copied()).is_empty();
        let has_images = content.iter().any(|c| matches!(c, UserContent::Image(_)));
        match (has_images, has_text) {
            (true, _) if self.takes_images => {
                let mut blocks = self.user_blocks(content);
                if !has_text {
                    blocks.insert(0, Block::text(ONLY_IMAGES));
                }
                Some(ResultContent::Blocks(blocks))
            }
            (true, false) => Some(ResultContent::Text(Joined::one(ONLY_IMAGES))),
            // Blank text is refused, no text at all is not.
            (false, false) if !content.is_empty() => None,
            _ => Some(ResultContent::Text(Joined::new(texts, "\n"))),
        }
    }
}

/// Makes instructions in mid-conversation what the model takes: messages of their own where they
/// stand right behind a user's message and before a reply or at the end, else messages of the user.
fn place_instructions(messages: &mut [WireMessage<'_>], compat: &Compat) {
    let mut before = None;
    for index in 0..messages.len() {
        let after = messages.get(index + 1).map(|message| message.role);
        let Some(message) = messages.get_mut(index) else {
            return;
        };
        let fits = before == Some(Role::User) && matches!(after, None | Some(Role::Assistant));
        if message.role == Role::System && !(compat.supports_mid_convo_system_messages && fits) {
            message.role = Role::User;
        }
        before = Some(message.role);
    }
}

impl WireMessage<'_> {
    /// Marks the end of the message, except of a reply, which is there to be continued.
    fn mark_cached(&mut self, mark: Option<CacheControl>) {
        if self.role == Role::Assistant || mark.is_none() {
            return;
        }
        match &mut self.content {
            Content::Text(text) => {
                self.content = Content::Blocks(vec![Block::Text {
                    text,
                    cache_control: mark,
                }]);
            }
            Content::Blocks(blocks) => {
                if let Some(
                    Block::Text { cache_control, .. }
                    | Block::Image { cache_control, .. }
                    | Block::ToolResult { cache_control, .. },
                ) = blocks.last_mut()
                {
                    *cache_control = mark;
                }
            }
        }
    }
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text {
            text,
            cache_control: None,
        }
    }

    fn image(image: &'a ImageContent) -> Self {
        Self::Image {
            source: Source {
                r#type: "base64",
                media_type: &image.mime_type,
                data: &image.data,
            },
            cache_control: None,
        }
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty()
}
