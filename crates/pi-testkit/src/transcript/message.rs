//! Messages as words.

use pi_core::{
    AgentMessage, AssistantContent, AssistantMessage, MessageContent, ToolResultMessage,
    UserContent,
};
use serde_json::Value;

use super::words::{Words, counts, ending, sentence};

/// Returns a message that is not a reply.
pub(super) fn message(words: &mut Words<'_>, message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(message) => {
            sentence(["user", &message_content(words, &message.content)])
        }
        AgentMessage::System(message) => {
            sentence(["system", &message_content(words, &message.content)])
        }
        AgentMessage::ToolResult(result) => tool_result(words, result),
        AgentMessage::Custom(message) => {
            let mut fields = message.fields().clone();
            fields.shift_remove("timestamp");
            sentence(["custom", message.role(), &words.object(&fields)])
        }
        other => other.role().to_owned(),
    }
}

/// Returns a finished reply, with its blocks where `with_blocks` says so.
pub(super) fn reply(
    words: &mut Words<'_>,
    message: &AssistantMessage,
    with_blocks: bool,
) -> String {
    let info = message.error_info.as_deref();
    let end = ending(
        words,
        &message.stop_reason,
        info,
        message.error_message.as_deref(),
    );
    let mut line = sentence(["assistant", &end]);
    if with_blocks {
        for block in &message.content {
            line.push(' ');
            line.push_str(&assistant_block(words, block));
        }
    }
    if words.options.details {
        line.push_str(&format!(
            " model={} usage={}",
            message.model,
            counts(&message.usage)
        ));
        if let Some(id) = &message.response_id {
            line.push_str(&format!(" response_id={}", words.id(id)));
        }
    }
    line
}

/// Returns blocks of text and images.
pub(super) fn content(words: &Words<'_>, blocks: &[UserContent]) -> String {
    let blocks: Vec<String> = blocks
        .iter()
        .map(|block| user_block(words, block))
        .collect();
    blocks.join(" ")
}

/// Returns the details of a tool in the form of a detail of a line.
pub(super) fn details(words: &Words<'_>, details: Option<&Value>) -> String {
    match details {
        Some(details) if words.options.details => format!("details={}", words.json(details)),
        _ => String::new(),
    }
}

/// Returns the type of a value that this version does not know.
pub(super) fn unknown(value: &Value) -> &str {
    value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("unknown")
}

fn tool_result(words: &mut Words<'_>, result: &ToolResultMessage) -> String {
    let id = words.id(&result.tool_call_id);
    let failed = if result.is_error { "error" } else { "" };
    let shown = content(words, &result.content);
    let details = details(words, result.details.as_ref());
    sentence(["tool_result", &id, failed, &shown, &details])
}

fn message_content(words: &Words<'_>, blocks: &MessageContent) -> String {
    match blocks {
        MessageContent::Text(text) => words.quoted(text),
        MessageContent::Blocks(blocks) => content(words, blocks),
        _ => "[unknown]".to_owned(),
    }
}

fn user_block(words: &Words<'_>, block: &UserContent) -> String {
    match block {
        UserContent::Text(block) => words.quoted(&block.text),
        UserContent::Image(image) => {
            format!(
                "[image {} {} bytes]",
                image.mime_type,
                decoded_size(&image.data)
            )
        }
        UserContent::Other(value) => format!("[{}]", unknown(value)),
        _ => "[unknown]".to_owned(),
    }
}

fn assistant_block(words: &mut Words<'_>, block: &AssistantContent) -> String {
    match block {
        AssistantContent::Text(block) => format!("text {}", words.quoted(&block.text)),
        AssistantContent::Thinking(block) if block.redacted => "thinking redacted".to_owned(),
        AssistantContent::Thinking(block) => {
            format!("thinking {}", words.quoted(&block.thinking))
        }
        AssistantContent::ToolCall(call) => {
            let id = words.id(&call.id);
            format!(
                "toolcall {id} {} {}",
                call.name,
                words.object(&call.arguments)
            )
        }
        AssistantContent::Other(value) => format!("[{}]", unknown(value)),
        _ => "[unknown]".to_owned(),
    }
}

/// Returns how many bytes a base64 text stands for.
fn decoded_size(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits / 4 * 3 + digits % 4 * 3 / 4
}
