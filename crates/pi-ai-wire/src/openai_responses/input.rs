//! The conversation of a request.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use pi_core::{
    AssistantContent, AssistantMessage, ImageContent, Message, MessageContent, Model, Request,
    TextContent, ToolCall, ToolResultMessage, UserContent,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ids::{self, Unique};
use super::tools::{GRAMMAR_INPUT, has_grammar};
use crate::chat::{DataUrl, as_json_text};
use crate::joined::Joined;

/// What a result without text says.
const ONLY_IMAGES: &str = "(see attached image)";

/// An item of the conversation.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WireItem<'a> {
    Said {
        role: &'static str,
        content: Content<'a>,
    },
    /// What a model thought, as it came.
    Thought(&'a RawValue),
    Other(Typed<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Typed<'a> {
    Message {
        role: &'static str,
        content: [OutputText<'a>; 1],
        status: &'static str,
        id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: &'a str,
        #[serde(serialize_with = "as_json_text")]
        arguments: &'a Map<String, Value>,
    },
    CustomToolCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: &'a str,
        input: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Content<'a>,
    },
    CustomToolCallOutput {
        call_id: Cow<'a, str>,
        output: Content<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct OutputText<'a> {
    r#type: &'static str,
    text: &'a str,
    annotations: [(); 0],
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Joined<'a>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    InputText {
        text: Joined<'a>,
    },
    InputImage {
        detail: &'static str,
        image_url: DataUrl<'a>,
    },
}

/// Converts what is sent of a conversation, `messages`, which lie in the order of
/// [`handoff::for_target`](pi_core::handoff::for_target).
pub(super) fn wire_items<'a>(request: &'a Request, messages: &'a [Message]) -> Vec<WireItem<'a>> {
    let model = &*request.model;
    let flags = model.compat.as_deref();
    let has_developer = flags.and_then(|flags| flags.supports_developer_role);
    let tools = request.context.tools.iter().flatten();
    let mut writer = Writer {
        model,
        prompt_role: match model.reasoning && has_developer != Some(false) {
            true => "developer",
            false => "system",
        },
        with_grammar: tools
            .filter(|tool| has_grammar(tool, model))
            .map(|tool| tool.name.as_str())
            .collect(),
        calls: HashMap::new(),
        call_ids: Unique::default(),
        item_ids: Unique::default(),
        number: 0,
        written: Vec::with_capacity(messages.len() + 1),
    };
    let prompt = request.context.system_prompt.as_deref();
    if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
        writer.say(writer.prompt_role, Content::Text(Joined::one(prompt)));
    }
    for message in messages {
        writer.write(message);
    }
    writer.written
}

struct Writer<'a> {
    model: &'a Model,
    prompt_role: &'static str,
    /// The names of the tools that are offered with a grammar.
    with_grammar: HashSet<&'a str>,
    /// The calls so far, by their id in the conversation.
    calls: HashMap<&'a str, Call<'a>>,
    call_ids: Unique,
    item_ids: Unique,
    /// How many messages have been written, from which ids of texts are made that have none.
    number: usize,
    written: Vec<WireItem<'a>>,
}

/// A call that is sent.
struct Call<'a> {
    call_id: Cow<'a, str>,
    has_grammar: bool,
}

impl<'a> Writer<'a> {
    fn write(&mut self, message: &'a Message) {
        match message {
            Message::System(system) => {
                let content = match &system.content {
                    MessageContent::Text(text) => Some(Content::Text(Joined::one(text))),
                    content => self.parts(content),
                };
                if let Some(content) = content {
                    self.say(self.prompt_role, content);
                    self.number += 1;
                }
            }
            Message::User(user) => {
                if let Some(content) = self.parts(&user.content) {
                    self.say("user", content);
                    self.number += 1;
                }
            }
            Message::Assistant(reply) => self.reply(reply),
            Message::ToolResult(result) => {
                self.result(result);
                self.number += 1;
            }
            _ => {}
        }
    }

    fn say(&mut self, role: &'static str, content: Content<'a>) {
        self.written.push(WireItem::Said { role, content });
    }

    /// Returns `None` if nothing is left that the model takes.
    fn parts(&self, content: &'a MessageContent) -> Option<Content<'a>> {
        let parts: Vec<Part<'a>> = match content {
            MessageContent::Text(text) => vec![Part::text(Joined::one(text))],
            MessageContent::Blocks(blocks) => blocks
                .iter()
                .filter_map(|block| match block {
                    UserContent::Text(block) => Some(Part::text(Joined::one(&block.text))),
                    UserContent::Image(image) if self.model.takes_images() => {
                        Some(Part::image(image))
                    }
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        (!parts.is_empty()).then_some(Content::Parts(parts))
    }

    fn reply(&mut self, reply: &'a AssistantMessage) {
        let is_own = reply.provider == self.model.provider
            && reply.api == self.model.api
            && reply.model == self.model.id;
        let begin = self.written.len();
        for block in &reply.content {
            match block {
                AssistantContent::Text(text) => self.text(text),
                AssistantContent::Thinking(block) => {
                    self.thought(block.thinking_signature.as_deref());
                }
                AssistantContent::ToolCall(call) => self.call(call, is_own),
                _ => {}
            }
        }
        // The API refuses thoughts that led to nothing.
        while self.written.len() > begin
            && matches!(self.written.last(), Some(WireItem::Thought(_)))
        {
            self.written.pop();
        }
        if self.written.len() > begin {
            self.number += 1;
        }
    }

    fn text(&mut self, block: &'a TextContent) {
        let signature = block.text_signature.as_deref();
        let Signature { id, phase } = signature.map(Signature::read).unwrap_or_default();
        let id = ids::message_id(&id).into_owned();
        let id = match self.item_ids.take(&id) {
            true => Cow::Owned(id),
            false => {
                let invented = format!("msg_{}", self.number);
                Cow::Owned(self.item_ids.take_like(&invented).into_owned())
            }
        };
        self.written.push(WireItem::Other(Typed::Message {
            role: "assistant",
            content: [OutputText {
                r#type: "output_text",
                text: &block.text,
                annotations: [],
            }],
            status: "completed",
            id,
            phase,
        }));
    }

    /// Writes what the model thought, once.
    fn thought(&mut self, signature: Option<&'a str>) {
        #[derive(Deserialize)]
        struct Id<'a> {
            #[serde(default, borrow)]
            id: Option<Cow<'a, str>>,
        }

        let Some(text) = signature.filter(|text| text.starts_with('{')) else {
            return;
        };
        let (Ok(item), Ok(Id { id })) = (serde_json::from_str(text), serde_json::from_str(text))
        else {
            return;
        };
        if id.is_none_or(|id| id.is_empty() || self.item_ids.take(&id)) {
            self.written.push(WireItem::Thought(item));
        }
    }

    /// Writes a call. Its item is named to the model that made it alone: to others the item would
    /// have to follow thoughts that they do not get.
    fn call(&mut self, call: &'a ToolCall, is_own: bool) {
        let (call_id, item_id) = ids::split(&call.id);
        let call_id = match call_id {
            "" => self.call_ids.take_like("call"),
            call_id => self.call_ids.take_like(call_id),
        };
        let id = item_id.filter(|id| is_own && self.item_ids.take(id));
        let input = call.arguments.get(GRAMMAR_INPUT).and_then(Value::as_str);
        // Items of tools with a grammar have ids of their own kind.
        let was_custom = id.is_some_and(|id| id.starts_with("ct"));
        let is_custom = was_custom || self.with_grammar.contains(call.name.as_str());
        let input = input.filter(|_| is_custom && call.arguments.len() == 1);
        let seen = Call {
            call_id: call_id.clone(),
            has_grammar: input.is_some(),
        };
        self.calls.insert(&call.id, seen);
        let name = call.name.as_str();
        self.written.push(WireItem::Other(match input {
            Some(input) => Typed::CustomToolCall {
                id: id.filter(|_| was_custom),
                call_id,
                name,
                input,
            },
            None => Typed::FunctionCall {
                id: id.filter(|_| !was_custom),
                call_id,
                name,
                arguments: &call.arguments,
            },
        }));
    }

    fn result(&mut self, result: &'a ToolResultMessage) {
        let texts: Vec<&str> = result
            .content
            .iter()
            .filter_map(UserContent::as_text)
            .collect();
        let texts = Joined::new(texts, "\n");
        let images: Vec<Part<'a>> = result
            .content
            .iter()
            .filter_map(|block| match block {
                UserContent::Image(image) if self.model.takes_images() => Some(Part::image(image)),
                _ => None,
            })
            .collect();
        let output = match (images.is_empty(), texts.is_empty()) {
            (true, true) => Content::Text(Joined::one(ONLY_IMAGES)),
            (true, false) => Content::Text(texts),
            (false, true) => Content::Parts(images),
            (false, false) => {
                let text = std::iter::once(Part::text(texts));
                Content::Parts(text.chain(images).collect())
            }
        };
        let (call_id, has_grammar) = match self.calls.get(result.tool_call_id.as_str()) {
            Some(call) => (call.call_id.clone(), call.has_grammar),
            None => (Cow::Borrowed(ids::split(&result.tool_call_id).0), false),
        };
        self.written.push(WireItem::Other(match has_grammar {
            true => Typed::CustomToolCallOutput { call_id, output },
            false => Typed::FunctionCallOutput { call_id, output },
        }));
    }
}

impl<'a> Part<'a> {
    fn text(text: Joined<'a>) -> Self {
        Self::InputText { text }
    }

    fn image(image: &'a ImageContent) -> Self {
        Self::InputImage {
            detail: "auto",
            image_url: DataUrl(image),
        }
    }
}

/// What came with a text: the id of its message, and the phase if it had one.
#[derive(Default, Deserialize)]
struct Signature {
    #[serde(default)]
    id: String,
    #[serde(default)]
    phase: Option<String>,
}

impl Signature {
    /// Reads a signature. Older conversations have the id alone.
    fn read(signature: &str) -> Self {
        match serde_json::from_str(signature) {
            Ok(signature) => signature,
            Err(_) => Self {
                id: signature.to_owned(),
                phase: None,
            },
        }
    }
}
