//! What is said, as JSON in the form of the conventions.

use pi_core::{
    AssistantContent, AssistantMessage, Context, Message, MessageContent, ToolResultMessage,
    UserContent,
};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::Span;

#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        content: &'a str,
    },
    Reasoning {
        content: &'a str,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        arguments: &'a Map<String, Value>,
    },
    ToolCallResponse {
        id: &'a str,
        response: String,
    },
    /// The conventions allow parts of one's own; theirs for images holds all of the data.
    Image {
        mime_type: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { name: &'a str },
}

/// Records what the model is shown.
pub(super) fn record_input(span: &Span, context: &Context) {
    if let Some(prompt) = &context.system_prompt {
        let part = Part::Text { content: prompt };
        record(span, "gen_ai.system_instructions", &[part]);
    }
    let messages: Vec<ChatMessage<'_>> = context.messages.iter().map(message).collect();
    record(span, "gen_ai.input.messages", &messages);
    if let Some(tools) = &context.tools {
        let tools: Vec<Tool<'_>> = tools
            .iter()
            .map(|tool| Tool::Function { name: &tool.name })
            .collect();
        record(span, "gen_ai.tool.definitions", &tools);
    }
}

/// Records what the model has said.
pub(super) fn record_output(span: &Span, reply: &AssistantMessage, finish_reason: &str) {
    let message = ChatMessage {
        role: "assistant",
        parts: assistant_parts(&reply.content),
        finish_reason: Some(finish_reason),
    };
    record(span, "gen_ai.output.messages", &[message]);
}

fn record(span: &Span, name: &str, value: &(impl Serialize + ?Sized)) {
    // Only a map with keys that are no text cannot be written, and there is none.
    if let Ok(json) = serde_json::to_string(value) {
        span.record(name, json.as_str());
    }
}

fn message(message: &Message) -> ChatMessage<'_> {
    let (role, parts) = match message {
        Message::System(message) => ("system", user_parts(&message.content)),
        Message::User(message) => ("user", user_parts(&message.content)),
        Message::Assistant(message) => ("assistant", assistant_parts(&message.content)),
        Message::ToolResult(message) => ("tool", vec![result(message)]),
        _ => ("user", Vec::new()),
    };
    ChatMessage {
        role,
        parts,
        finish_reason: None,
    }
}

fn user_parts(content: &MessageContent) -> Vec<Part<'_>> {
    match content {
        MessageContent::Text(text) => vec![Part::Text { content: text }],
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(user_part).collect(),
        _ => Vec::new(),
    }
}

fn user_part(block: &UserContent) -> Option<Part<'_>> {
    match block {
        UserContent::Text(block) => Some(Part::Text {
            content: &block.text,
        }),
        UserContent::Image(block) => Some(Part::Image {
            mime_type: &block.mime_type,
        }),
        _ => None,
    }
}

fn assistant_parts(content: &[AssistantContent]) -> Vec<Part<'_>> {
    content.iter().filter_map(assistant_part).collect()
}

fn assistant_part(block: &AssistantContent) -> Option<Part<'_>> {
    match block {
        AssistantContent::Text(block) => Some(Part::Text {
            content: &block.text,
        }),
        AssistantContent::Thinking(block) => Some(Part::Reasoning {
            content: &block.thinking,
        }),
        AssistantContent::ToolCall(call) => Some(Part::ToolCall {
            id: &call.id,
            name: &call.name,
            arguments: &call.arguments,
        }),
        _ => None,
    }
}

fn result(message: &ToolResultMessage) -> Part<'_> {
    let texts: Vec<&str> = message
        .content
        .iter()
        .filter_map(|block| match block {
            UserContent::Text(block) => Some(block.text.as_str()),
            _ => None,
        })
        .collect();
    Part::ToolCallResponse {
        id: &message.tool_call_id,
        response: texts.join("\n"),
    }
}
