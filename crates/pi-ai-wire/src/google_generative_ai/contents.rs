//! The messages of a request.

use pi_core::{
    AssistantContent, AssistantMessage, ImageContent, Message, MessageContent, Model, ToolCall,
    ToolResultMessage, UserContent,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::family::{Family, Kind};
use crate::joined::Joined;

/// What a result without text says.
const ONLY_IMAGES: &str = "(see attached image)";

/// What leads the images of results where they travel in a message of their own.
const TOOL_IMAGES: &str = "Tool result image:";

/// Stands for the signature of a call that has none: Gemini 3 refuses such calls otherwise.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
pub(super) struct Content<'a> {
    role: Role,
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Model,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    #[serde(rename_all = "camelCase")]
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        thought: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Image { inline_data: Blob<'a> },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: FunctionResponse<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: &'a str,
    args: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    name: &'a str,
    response: Outcome<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<'a> {
    Output(Joined<'a>),
    Error(Joined<'a>),
}

/// Converts what is sent of a conversation.
pub(super) fn contents<'a>(model: &Model, messages: &'a [Message]) -> Vec<Content<'a>> {
    let family = Family::of(&model.id);
    let mut writer = Writer {
        takes_images: model.takes_images(),
        nests_images: !family.is_old(),
        wants_ids: family.kind == Kind::Foreign,
        wants_signatures: family.is_new(),
        images: Vec::new(),
        is_after_result: false,
        written: Vec::with_capacity(messages.len()),
    };
    for message in messages {
        writer.write(message);
    }
    writer.flush_images();
    writer.written
}

struct Writer<'a> {
    takes_images: bool,
    /// The model takes images within the results of functions.
    nests_images: bool,
    wants_ids: bool,
    wants_signatures: bool,
    /// The images of the results right before, which wait for the last of them.
    images: Vec<Part<'a>>,
    /// The content written last holds the results of calls, and takes more of them.
    is_after_result: bool,
    written: Vec<Content<'a>>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, message: &'a Message) {
        if !matches!(message, Message::ToolResult(_)) {
            self.flush_images();
        }
        match message {
            // The API knows instructions at the start only.
            Message::System(system) => self.push(Role::User, self.user_parts(&system.content)),
            Message::User(user) => self.push(Role::User, self.user_parts(&user.content)),
            Message::Assistant(reply) => self.push(Role::Model, self.reply_parts(reply)),
            Message::ToolResult(result) => self.result(result),
            _ => {}
        }
    }

    fn push(&mut self, role: Role, parts: Vec<Part<'a>>) {
        if !parts.is_empty() {
            self.written.push(Content { role, parts });
            self.is_after_result = false;
        }
    }

    fn user_parts(&self, content: &'a MessageContent) -> Vec<Part<'a>> {
        match content {
            MessageContent::Text(text) => vec![Part::text(text)],
            MessageContent::Blocks(blocks) => blocks
                .iter()
                .filter_map(|block| match block {
                    UserContent::Text(block) => Some(Part::text(&block.text)),
                    UserContent::Image(image) if self.takes_images => Some(Part::image(image)),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reply_parts(&self, reply: &'a AssistantMessage) -> Vec<Part<'a>> {
        let parts = reply.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) => {
                Part::said(&block.text, false, block.text_signature.as_deref())
            }
            AssistantContent::Thinking(block) => {
                Part::said(&block.thinking, true, block.thinking_signature.as_deref())
            }
            AssistantContent::ToolCall(call) => Some(self.call(call)),
            _ => None,
        });
        parts.collect()
    }

    fn call(&self, call: &'a ToolCall) -> Part<'a> {
        let signature = call.thought_signature.as_deref().and_then(valid);
        Part::Call {
            function_call: FunctionCall {
                name: &call.name,
                args: &call.arguments,
                id: self.wants_ids.then_some(call.id.as_str()),
            },
            thought_signature: signature.or(self.wants_signatures.then_some(NO_SIGNATURE)),
        }
    }

    /// Results of one reply share a content: the API counts them against the calls.
    fn result(&mut self, result: &'a ToolResultMessage) {
        let texts = result.content.iter().filter_map(UserContent::as_text);
        let mut text = Joined::new(texts.collect(), "\n");
        let mut images = self.images_of(result);
        if text.is_empty() && !images.is_empty() {
            text = Joined::one(ONLY_IMAGES);
        }
        if !self.nests_images {
            self.images.append(&mut images);
        }
        let part = Part::Result {
            function_response: FunctionResponse {
                name: &result.tool_name,
                response: match result.is_error {
                    true => Outcome::Error(text),
                    false => Outcome::Output(text),
                },
                parts: images,
                id: self.wants_ids.then_some(result.tool_call_id.as_str()),
            },
        };
        match self.written.last_mut() {
            Some(content) if self.is_after_result => content.parts.push(part),
            _ => self.push(Role::User, vec![part]),
        }
        self.is_after_result = true;
    }

    fn images_of(&self, result: &'a ToolResultMessage) -> Vec<Part<'a>> {
        let images = result.content.iter().filter_map(|block| match block {
            UserContent::Image(image) if self.takes_images => Some(Part::image(image)),
            _ => None,
        });
        images.collect()
    }

    /// Sends the images of results behind the last of these results: the API refuses anything
    /// between them.
    fn flush_images(&mut self) {
        if self.images.is_empty() {
            return;
        }
        let mut parts = vec![Part::text(TOOL_IMAGES)];
        parts.append(&mut self.images);
        self.push(Role::User, parts);
    }
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text {
            text,
            thought: false,
            thought_signature: None,
        }
    }

    /// Returns `None` for blank text, which some models refuse.
    fn said(text: &'a str, thought: bool, signature: Option<&'a str>) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self::Text {
            text,
            thought,
            thought_signature: signature.and_then(valid),
        })
    }

    fn image(image: &'a ImageContent) -> Self {
        Self::Image {
            inline_data: Blob {
                mime_type: &image.mime_type,
                data: &image.data,
            },
        }
    }
}

/// Returns a signature that is base64; the API fails the whole request for any other.
fn valid(signature: &str) -> Option<&str> {
    let digits = signature.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let is_valid = signature.len().is_multiple_of(4)
        && signature.len() - digits.len() <= 2
        && !digits.is_empty()
        && digits.bytes().all(is_digit);
    is_valid.then_some(signature)
}
