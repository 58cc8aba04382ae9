//! The messages of a request.

use std::borrow::Cow;

use pi_core::{
    AssistantContent, AssistantMessage, Message, MessageContent, Request, ToolResultMessage,
    UserContent, joined_text,
};
use serde::Serialize;

use crate::chat::{DataUrl, WireCall};

/// What stands for the images of a message where the model takes none and nothing else is left.
const NO_IMAGES: &str = "(image omitted: model does not support images)";

/// What stands between the results of calls and a user's message where the model wants something
/// there.
const BRIDGE: &str = "I have processed the tool results.";

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum WireMessage<'a> {
    System {
        content: Content<'a>,
    },
    User {
        content: Content<'a>,
    },
    Assistant(WireReply<'a>),
    Tool {
        content: Vec<Part<'a>>,
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        name: &'a str,
    },
}

#[derive(Serialize)]
pub(super) struct WireReply<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    content: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<IndexedCall<'a>>,
    prefix: bool,
}

#[derive(Serialize)]
struct IndexedCall<'a> {
    #[serde(flatten)]
    call: WireCall<'a>,
    /// Always zero, as Mistral's own clients send it.
    index: u8,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ImageUrl {
        image_url: DataUrl<'a>,
    },
    Thinking {
        thinking: [Thought<'a>; 1],
        closed: bool,
    },
}

#[derive(Serialize)]
pub(super) struct Thought<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// Converts what is sent of a conversation.
pub(super) fn wire_messages<'a>(
    request: &'a Request,
    messages: &'a [Message],
) -> Vec<WireMessage<'a>> {
    let model = &*request.model;
    let compat = model.compat.as_deref();
    let mut writer = Writer {
        takes_images: model.takes_images(),
        bridges_results: compat
            .and_then(|flags| flags.requires_assistant_after_tool_result)
            .unwrap_or(false),
        written: Vec::with_capacity(messages.len() + 1),
    };
    if let Some(prompt) = request.context.system_prompt.as_deref()
        && !prompt.is_empty()
    {
        let content = Content::Text(prompt);
        writer.written.push(WireMessage::System { content });
    }
    for message in messages {
        writer.write(message);
    }
    writer.written
}

struct Writer<'a> {
    takes_images: bool,
    bridges_results: bool,
    written: Vec<WireMessage<'a>>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, message: &'a Message) {
        match message {
            Message::System(system) => {
                if let Some(content) = self.user_content(&system.content) {
                    self.instruct(content);
                }
            }
            Message::User(user) => {
                if let Some(content) = self.user_content(&user.content) {
                    self.say(content);
                }
            }
            Message::Assistant(reply) => self.reply(reply),
            Message::ToolResult(result) => self.result(result),
            _ => {}
        }
    }

    /// Instructions are taken at the beginning only; later ones go out as the user's.
    fn instruct(&mut self, content: Content<'a>) {
        let is_system = |message: &WireMessage<'_>| matches!(message, WireMessage::System { .. });
        if self.written.iter().all(is_system) {
            self.written.push(WireMessage::System { content });
        } else {
            self.say(content);
        }
    }

    fn say(&mut self, content: Content<'a>) {
        if self.bridges_results && matches!(self.written.last(), Some(WireMessage::Tool { .. })) {
            self.written.push(WireMessage::Assistant(WireReply {
                content: vec![Part::text(BRIDGE)],
                tool_calls: Vec::new(),
                prefix: false,
            }));
        }
        self.written.push(WireMessage::User { content });
    }

    /// Returns `None` if there is nothing that could be sent.
    fn user_content(&self, content: &'a MessageContent) -> Option<Content<'a>> {
        let blocks = match content {
            MessageContent::Text(text) => return Some(Content::Text(text)),
            MessageContent::Blocks(blocks) => blocks,
            _ => return None,
        };
        let parts: Vec<Part<'a>> = blocks
            .iter()
            .filter_map(|block| match block {
                UserContent::Text(block) => Some(Part::text(&block.text)),
                block => self.image(block),
            })
            .collect();
        match parts.is_empty() {
            false => Some(Content::Parts(parts)),
            true => has_images(blocks).then_some(Content::Text(NO_IMAGES)),
        }
    }

    fn image(&self, block: &'a UserContent) -> Option<Part<'a>> {
        match block {
            UserContent::Image(image) if self.takes_images => Some(Part::ImageUrl {
                image_url: DataUrl(image),
            }),
            _ => None,
        }
    }

    /// Writes nothing for a reply with neither text nor calls, which the API refuses.
    fn reply(&mut self, reply: &'a AssistantMessage) {
        let parts = reply.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) if is_text(&block.text) => Some(Part::text(&block.text)),
            AssistantContent::Thinking(block) if is_text(&block.thinking) => Some(Part::Thinking {
                thinking: [Thought {
                    r#type: "text",
                    text: &block.thinking,
                }],
                closed: true,
            }),
            _ => None,
        });
        let calls = reply.tool_calls().map(|call| IndexedCall {
            call: WireCall::new(call),
            index: 0,
        });
        let wire = WireReply {
            content: parts.collect(),
            tool_calls: calls.collect(),
            prefix: false,
        };
        if !(wire.content.is_empty() && wire.tool_calls.is_empty()) {
            self.written.push(WireMessage::Assistant(wire));
        }
    }

    fn result(&mut self, result: &'a ToolResultMessage) {
        let mut content = vec![Part::Text {
            text: self.result_text(result),
        }];
        content.extend(result.content.iter().filter_map(|block| self.image(block)));
        self.written.push(WireMessage::Tool {
            content,
            tool_call_id: &result.tool_call_id,
            name: &result.tool_name,
        });
    }

    /// Returns the text of a result, which says too what the API has no field for: that the call
    /// failed, and that there were images.
    fn result_text(&self, result: &'a ToolResultMessage) -> Cow<'a, str> {
        let text = match joined_text(&result.content) {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        let omits_images = has_images(&result.content) && !self.takes_images;
        let text = match (text.is_empty(), has_images(&result.content)) {
            (false, _) if omits_images => {
                let notice = "[tool image omitted: model does not support images]";
                Cow::Owned(format!("{text}\n{notice}"))
            }
            (false, _) => text,
            (true, true) if omits_images => Cow::Borrowed(NO_IMAGES),
            (true, true) => Cow::Borrowed("(see attached image)"),
            (true, false) => Cow::Borrowed("(no tool output)"),
        };
        match result.is_error {
            true => Cow::Owned(format!("[tool error] {text}")),
            false => text,
        }
    }
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text {
            text: Cow::Borrowed(text),
        }
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty()
}

fn has_images(blocks: &[UserContent]) -> bool {
    blocks
        .iter()
        .any(|block| matches!(block, UserContent::Image(_)))
}
