//! The messages of a request.

use pi_core::{
    AssistantContent, AssistantMessage, CacheRetention, ImageContent, Message, MessageContent,
    Request, ToolCall, ToolResultMessage, UserContent,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::chunk::REASONING_FIELDS;
use super::compat::Compat;
use crate::chat::{DataUrl, WireCall};
use crate::joined::{Joined, not_blank};

/// What stands between tool results and a user message where a service wants something there.
const BRIDGE: &str = "I have processed the tool results.";

/// What a result without text says.
const ONLY_IMAGES: &str = "(see attached image)";

/// What leads the images of tool results, which travel in a user message.
const TOOL_IMAGES: &str = "Attached image(s) from tool result:";

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum WireMessage<'a> {
    System {
        content: Content<'a>,
    },
    Developer {
        content: Content<'a>,
    },
    User {
        content: Content<'a>,
    },
    Assistant(WireReply<'a>),
    Tool {
        content: Content<'a>,
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
}

#[derive(Serialize)]
pub(super) struct WireReply<'a> {
    content: Content<'a>,
    #[serde(flatten)]
    reasoning: Reasoning<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Null,
    Text(Joined<'a>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text {
        text: Joined<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

/// Converts what is sent of a conversation.
pub(super) fn wire_messages<'a>(
    request: &'a Request,
    compat: &Compat<'_>,
    messages: &'a [Message],
) -> Vec<WireMessage<'a>> {
    let model = &*request.model;
    let mut writer = Writer {
        compat,
        takes_images: model.takes_images(),
        has_developer: model.reasoning && compat.supports_developer_role,
        images: Vec::new(),
        is_after_results: false,
        written: Vec::with_capacity(messages.len() + 1),
    };
    if let Some(prompt) = request
        .context
        .system_prompt
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        writer.instruct(Content::text(prompt));
    }
    for message in messages {
        writer.write(message);
    }
    writer.flush_images();
    if model.provider == "openrouter"
        && model.id.starts_with("anthropic/")
        && request.options.cache_retention != Some(CacheRetention::None)
    {
        mark_cached(&mut writer.written);
    }
    writer.written
}

struct Writer<'a, 'c> {
    compat: &'c Compat<'c>,
    takes_images: bool,
    has_developer: bool,
    /// The images of the tool results right before, which wait for the last of them.
    images: Vec<Part<'a>>,
    is_after_results: bool,
    written: Vec<WireMessage<'a>>,
}

impl<'a> Writer<'a, '_> {
    fn write(&mut self, message: &'a Message) {
        if !matches!(message, Message::ToolResult(_)) {
            self.flush_images();
        }
        match message {
            Message::System(system) => {
                if let Some(content) = self.user_content(&system.content) {
                    self.instruct(content);
                }
            }
            Message::User(user) => {
                if let Some(content) = self.user_content(&user.content) {
                    if self.is_after_results {
                        self.bridge();
                    }
                    self.written.push(WireMessage::User { content });
                    self.is_after_results = false;
                }
            }
            Message::Assistant(reply) => {
                if let Some(reply) = self.reply(reply) {
                    self.written.push(WireMessage::Assistant(reply));
                    self.is_after_results = false;
                }
            }
            Message::ToolResult(result) => self.result(result),
            _ => {}
        }
    }

    fn instruct(&mut self, content: Content<'a>) {
        self.written.push(match self.has_developer {
            true => WireMessage::Developer { content },
            false => WireMessage::System { content },
        });
    }

    fn bridge(&mut self) {
        if self.compat.requires_assistant_after_tool_result {
            let content = Content::text(BRIDGE);
            self.written
                .push(WireMessage::Assistant(WireReply::new(content)));
        }
    }

    /// Returns `None` if nothing is left that the model takes.
    fn user_content(&self, content: &'a MessageContent) -> Option<Content<'a>> {
        let blocks = match content {
            MessageContent::Text(text) => return Some(Content::text(text)),
            MessageContent::Blocks(blocks) => blocks,
            _ => return None,
        };
        let has_image = |block| matches!(block, &UserContent::Image(_)) && self.takes_images;
        if self.compat.requires_string_content && !blocks.iter().any(has_image) {
            let texts: Vec<&str> = blocks.iter().filter_map(UserContent::as_text).collect();
            return (!texts.is_empty()).then(|| Content::Text(Joined::new(texts, "\n")));
        }
        let parts: Vec<Part<'a>> = blocks
            .iter()
            .filter_map(|block| match block {
                UserContent::Text(block) => Some(Part::text(Joined::one(&block.text))),
                UserContent::Image(image) if self.takes_images => Some(Part::image(image)),
                _ => None,
            })
            .collect();
        (!parts.is_empty()).then_some(Content::Parts(parts))
    }

    /// Returns `None` for a reply with neither text nor calls, which services refuse.
    fn reply(&self, reply: &'a AssistantMessage) -> Option<WireReply<'a>> {
        let texts = not_blank(reply.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) => Some(block.text.as_str()),
            _ => None,
        }));
        let thoughts = not_blank(reply.content.iter().filter_map(|block| match block {
            AssistantContent::Thinking(block) => Some(block.thinking.as_str()),
            _ => None,
        }));
        let as_text = self.compat.requires_thinking_as_text && !thoughts.is_empty();
        let has_text = as_text || !texts.is_empty();
        let content = match (as_text, texts.is_empty()) {
            (true, true) => Content::Parts(vec![Part::text(Joined::new(thoughts, "\n\n"))]),
            (true, false) => Content::Parts(vec![
                Part::text(Joined::new(thoughts, "\n\n")),
                Part::text(Joined::new(texts, "")),
            ]),
            (false, false) => Content::Text(Joined::new(texts, "")),
            // Where replies are put in between, `null` is refused too.
            (false, true) if self.compat.requires_assistant_after_tool_result => Content::text(""),
            (false, true) => Content::Null,
        };
        let mut wire = WireReply::new(content);
        if !as_text && self.compat.echoes_reasoning {
            wire.reasoning = Reasoning::of(reply);
        }
        wire.tool_calls = reply.tool_calls().map(WireCall::new).collect();
        wire.reasoning_details = reply.tool_calls().filter_map(reasoning_detail).collect();
        (has_text || !wire.tool_calls.is_empty()).then_some(wire)
    }

    fn result(&mut self, result: &'a ToolResultMessage) {
        let texts: Vec<&str> = result
            .content
            .iter()
            .filter_map(UserContent::as_text)
            .collect();
        let text = Joined::new(texts, "\n");
        let name = Some(result.tool_name.as_str())
            .filter(|name| self.compat.requires_tool_result_name && !name.is_empty());
        self.written.push(WireMessage::Tool {
            content: if text.is_empty() {
                Content::text(ONLY_IMAGES)
            } else {
                Content::Text(text)
            },
            tool_call_id: &result.tool_call_id,
            name,
        });
        self.is_after_results = true;
        if self.takes_images {
            self.images
                .extend(result.content.iter().filter_map(|block| match block {
                    UserContent::Image(image) => Some(Part::image(image)),
                    _ => None,
                }));
        }
    }

    /// Sends the images of tool results, behind the last of these results.
    fn flush_images(&mut self) {
        if self.images.is_empty() {
            return;
        }
        self.bridge();
        let mut parts = vec![Part::text(Joined::one(TOOL_IMAGES))];
        parts.append(&mut self.images);
        self.written.push(WireMessage::User {
            content: Content::Parts(parts),
        });
        self.is_after_results = false;
    }
}

/// Marks the last text of the conversation as the end of what Anthropic caches.
fn mark_cached(messages: &mut [WireMessage<'_>]) {
    for message in messages.iter_mut().rev() {
        let content = match message {
            WireMessage::User { content } => content,
            WireMessage::Assistant(reply) => &mut reply.content,
            _ => continue,
        };
        if content.mark_cached() {
            return;
        }
    }
}

impl<'a> Content<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text(Joined::one(text))
    }

    fn mark_cached(&mut self) -> bool {
        let mark = Some(CacheControl {
            r#type: "ephemeral",
        });
        match self {
            Self::Null => false,
            Self::Text(text) => {
                let text = std::mem::take(text);
                *self = Self::Parts(vec![Part::Text {
                    text,
                    cache_control: mark,
                }]);
                true
            }
            Self::Parts(parts) => {
                let last = parts.iter_mut().rev().find_map(|part| match part {
                    Part::Text { cache_control, .. } => Some(cache_control),
                    Part::ImageUrl { .. } => None,
                });
                last.is_some_and(|cache_control| {
                    *cache_control = mark;
                    true
                })
            }
        }
    }
}

impl<'a> Part<'a> {
    fn text(text: Joined<'a>) -> Self {
        Self::Text {
            text,
            cache_control: None,
        }
    }

    fn image(image: &'a ImageContent) -> Self {
        Self::ImageUrl {
            image_url: ImageUrl {
                url: DataUrl(image),
            },
        }
    }
}

/// Reasoning on its way back, in the field that it came in.
#[derive(Default)]
pub(super) struct Reasoning<'a> {
    field: Option<&'static str>,
    texts: Joined<'a>,
}

impl<'a> Reasoning<'a> {
    fn of(reply: &'a AssistantMessage) -> Self {
        let mut blocks = reply
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantContent::Thinking(block) => Some(block),
                _ => None,
            })
            .filter(|block| !block.thinking.trim().is_empty())
            .peekable();
        let signature = blocks
            .peek()
            .and_then(|block| block.thinking_signature.as_deref());
        let field = REASONING_FIELDS
            .into_iter()
            .find(|field| Some(*field) == signature);
        let texts = blocks.map(|block| block.thinking.as_str()).collect();
        Self {
            field,
            texts: Joined::new(texts, "\n"),
        }
    }
}

impl Serialize for Reasoning<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(field) = self.field {
            map.serialize_entry(field, &self.texts)?;
        }
        map.end()
    }
}

impl<'a> WireReply<'a> {
    fn new(content: Content<'a>) -> Self {
        Self {
            content,
            reasoning: Reasoning::default(),
            tool_calls: Vec::new(),
            reasoning_details: Vec::new(),
        }
    }
}

/// Returns the encrypted reasoning that came with a call.
fn reasoning_detail(call: &ToolCall) -> Option<&RawValue> {
    let detail: &RawValue = serde_json::from_str(call.thought_signature.as_deref()?).ok()?;
    detail.get().starts_with('{').then_some(detail)
}
