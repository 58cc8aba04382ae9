//! The short labels of events.

use serde_json::Value;

/// Returns the label of an agent event.
pub(super) fn label(event: &Value) -> String {
    let text = |pointer: &str| {
        event
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = text("/type");
    let ends_in_error = event
        .get("isError")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    match kind {
        "message_start" | "message_end" => {
            let role = match text("/message/role") {
                "toolResult" => format!("toolResult:{}", text("/message/toolCallId")),
                "assistant" if kind == "message_end" => {
                    format!("assistant({})", text("/message/stopReason"))
                }
                role => role.to_owned(),
            };
            format!("{kind}:{role}")
        }
        "message_update" => format!("{kind}:{}", text("/assistantMessageEvent/type")),
        "tool_execution_start" | "tool_execution_update" => {
            format!("{kind}:{}", text("/toolCallId"))
        }
        "tool_execution_end" => {
            let outcome = if ends_in_error { "error" } else { "ok" };
            format!("{kind}:{}({outcome})", text("/toolCallId"))
        }
        "turn_end" => {
            let ids = joined(event.get("toolResults"), "toolCallId");
            format!("{kind}:{}[{ids}]", text("/message/stopReason"))
        }
        "agent_end" => format!("{kind}[{}]", joined(event.get("messages"), "role")),
        _ => kind.to_owned(),
    }
}

fn joined(list: Option<&Value>, key: &str) -> String {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    let texts = items.filter_map(|item| item.get(key).and_then(Value::as_str));
    texts.collect::<Vec<_>>().join(",")
}
