//! Reading and writing again: messages, models and contexts must come out as they went in.

use std::path::Path;

use anyhow::{Context as _, Result};
use integration_tests::report::{Outcome, Report};
use integration_tests::{compare, normalise, stored};
use pi_core::{AgentEvent, AgentMessage, Context, Model};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Roles of messages; objects with another `role` are none.
const ROLES: [&str; 4] = ["system", "user", "assistant", "toolResult"];

/// Reads and writes every message, model, context and agent event of the JSON files below a folder.
pub(crate) fn run(folder: &Path, report: &mut Report) -> Result<()> {
    for file in stored::files_below(folder, &|name| name.ends_with(".json"))? {
        let name = file
            .strip_prefix(folder)
            .unwrap_or(&file)
            .display()
            .to_string();
        let text = std::fs::read_to_string(&file)?;
        // Strict readers refuse files with unpaired surrogate halves: they are outside this check.
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            report.add(
                name,
                Outcome::Skipped("not readable as strict JSON".to_owned()),
            );
            continue;
        };
        let file_name = file
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if file_name == "expected.message.json" && is_wrong(&file)? {
            let reason = "the recorded message is not a right one".to_owned();
            report.add(name, Outcome::Skipped(reason));
        } else if is_stored_value(file_name) {
            report.add(name, check_file(file_name, &value).into());
        }
    }
    Ok(())
}

/// Returns true for a recorded message that `right.json` beside it replaces.
fn is_wrong(file: &Path) -> Result<bool> {
    let right = stored::json_if_any(&file.with_file_name("right.json"))?;
    Ok(right.is_some_and(|right| right.get("message").is_some()))
}

fn is_stored_value(file_name: &str) -> bool {
    matches!(
        file_name,
        "model.json" | "context.json" | "expected.message.json"
    ) || file_name.ends_with(".scenario.json")
        || file_name.ends_with(".expected.json")
}

fn check_file(file_name: &str, value: &Value) -> Result<()> {
    match file_name {
        "model.json" => same::<Model>(value),
        // Contexts of bug reports name a target and have messages in short.
        "context.json" if value.get("target").is_some() => Ok(()),
        "context.json" => {
            same::<Context>(value)?;
            check_inside(value)
        }
        _ => check_inside(value),
    }
}

/// Checks every message, model and agent event inside a value.
fn check_inside(value: &Value) -> Result<()> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_inside),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            if fields.contains_key("content") && text("role").is_some_and(|r| ROLES.contains(&r)) {
                if is_complete(value) {
                    same::<AgentMessage>(value)?;
                }
            } else if fields.contains_key("contextWindow") {
                same::<Model>(value)?;
            } else if fields.contains_key("k") && fields.contains_key("state") {
                fields.get("event").map_or(Ok(()), same::<AgentEvent>)?;
            }
            fields.values().try_for_each(check_inside)
        }
        _ => Ok(()),
    }
}

/// Returns false for the parts of messages that matchers have.
fn is_complete(message: &Value) -> bool {
    message.get("timestamp").is_some_and(Value::is_u64)
}

fn same<T: Serialize + DeserializeOwned>(value: &Value) -> Result<()> {
    let kind = std::any::type_name::<T>()
        .rsplit("::")
        .next()
        .unwrap_or_default();
    let shown = compare::shorten(&value.to_string());
    let read = T::deserialize(value).with_context(|| format!("read {kind} {shown}"))?;
    let mut written = serde_json::to_value(&read).with_context(|| format!("write {kind}"))?;
    let mut value = value.clone();
    normalise::drop_optional_nulls(&mut written);
    normalise::drop_optional_nulls(&mut value);
    compare::equal(&value, &written)
        .map_err(|difference| anyhow::anyhow!("{kind} {shown}: {difference}"))
}
