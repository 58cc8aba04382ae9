//! What has to be made alike before recorded and observed values are compared.

use serde_json::{Map, Value};

/// The smallest timestamp that comes from a clock; scripted ones are smaller.
const FIRST_CLOCK_TIME: u64 = 1_000_000;

/// Fields of messages, calls and tool events that upstream lacks.
const OWN_FIELDS: [&str; 6] = [
    "argumentsError",
    "cacheWrite1h",
    "durationMs",
    "errorInfo",
    "reported",
    "suspended",
];

/// Keys whose `null` means the same as their absence.
const NULL_IS_ABSENT: [&str; 3] = ["details", "error", "streamMessage"];

/// Removes from a message, an event or a list of them what upstream lacks.
///
/// Values that belong to the application or the model (arguments, details) are left alone.
pub fn strip_own_fields(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(strip_own_fields),
        Value::Object(fields) => {
            for key in OWN_FIELDS {
                fields.shift_remove(key);
            }
            for (key, value) in fields.iter_mut() {
                if !is_foreign(key) {
                    strip_own_fields(value);
                }
            }
        }
        _ => {}
    }
}

/// Sets the timestamp of a message to 0.
pub fn clear_timestamp(message: &mut Value) {
    if let Some(timestamp) = message.get_mut("timestamp") {
        *timestamp = Value::from(0);
    }
}

/// Sets every timestamp that comes from a clock to 0.
pub fn clear_clock_times(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(clear_clock_times),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                if key == "timestamp" {
                    if value.as_u64().is_some_and(|time| time >= FIRST_CLOCK_TIME) {
                        *value = Value::from(0);
                    }
                } else if !is_foreign(key) {
                    clear_clock_times(value);
                }
            }
        }
        _ => {}
    }
}

/// Removes `null` where it means the same as nothing.
pub fn drop_optional_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_optional_nulls),
        Value::Object(fields) => {
            for key in NULL_IS_ABSENT {
                if fields.get(key).is_some_and(Value::is_null) {
                    fields.shift_remove(key);
                }
            }
            for (key, value) in fields.iter_mut() {
                if !is_foreign(key) {
                    drop_optional_nulls(value);
                }
            }
        }
        _ => {}
    }
}

/// Replaces signatures that are the JSON text of an item by that item: the order of its keys has no
/// meaning.
pub fn open_signatures(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(open_signatures),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                if matches!(key.as_str(), "thinkingSignature" | "textSignature") {
                    let item = value
                        .as_str()
                        .and_then(|text| serde_json::from_str(text).ok());
                    if let Some(item @ Value::Object(_)) = item {
                        *value = item;
                    }
                } else if !is_foreign(key) {
                    open_signatures(value);
                }
            }
        }
        _ => {}
    }
}

/// Empties the arguments of the calls that are open in a message: while they stream they are scratch.
///
/// `is_open` tells of a block's place whether its call has begun and not ended.
pub fn empty_open_calls(message: &mut Value, is_open: impl Fn(usize) -> bool) {
    let Some(Value::Array(blocks)) = message.get_mut("content") else {
        return;
    };
    for (index, block) in blocks.iter_mut().enumerate() {
        if is_open(index)
            && block.get("type").is_some_and(|tag| tag == "toolCall")
            && let Some(arguments) = block.get_mut("arguments")
        {
            *arguments = Value::Object(Map::new());
        }
    }
}

/// Removes U+FFFD from all texts.
pub fn drop_replacement_characters(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_replacement_characters),
        Value::Object(fields) => fields.values_mut().for_each(drop_replacement_characters),
        Value::String(text) => text.retain(|c| c != '\u{FFFD}'),
        _ => {}
    }
}

/// True for fields whose content belongs to the application or the model.
fn is_foreign(key: &str) -> bool {
    matches!(
        key,
        "arguments" | "args" | "rawArgs" | "params" | "details" | "parameters"
    )
}
