//! The steps that every call has in common.

use pi_core::{PreparedCall, ToolError, ToolOutput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Makes sure that there is a runtime to work in.
///
/// # Errors
/// If there is none.
pub(crate) fn require_runtime() -> Result<(), ToolError> {
    match tokio::runtime::Handle::try_current() {
        Ok(_) => Ok(()),
        Err(_) => Err("This tool needs a tokio runtime.".into()),
    }
}

/// Reads the arguments of a call.
///
/// # Errors
/// If they do not fit, which the schema should have caught.
pub(crate) fn parse<A: DeserializeOwned>(call: PreparedCall) -> Result<A, ToolError> {
    serde_json::from_value(Value::Object(call.into_arguments()))
        .map_err(|error| ToolError::new(format!("Invalid arguments: {error}")))
}

/// Makes an output of a text that is never blank, since some providers refuse that.
///
/// # Errors
/// If the details cannot be serialized.
pub(crate) fn answer<D: Serialize>(
    text: String,
    if_blank: &str,
    details: D,
) -> Result<ToolOutput, ToolError> {
    let text = if text.trim().is_empty() {
        if_blank.to_owned()
    } else {
        text
    };
    ToolOutput::text(text).with_details(details).erase()
}

/// Puts notices behind a text, after a blank line.
pub(crate) fn with_notices(mut text: String, notices: &[String]) -> String {
    if notices.is_empty() {
        return text;
    }
    if text.ends_with('\n') {
        text.pop();
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text + &notices.join("\n")
}

/// Puts one line with all notices behind a text, after a blank line.
pub(crate) fn with_notice_line(text: &str, if_empty: &str, notices: &[String]) -> String {
    let text = if text.is_empty() { if_empty } else { text };
    match notices {
        [] => text.to_owned(),
        notices => format!("{text}\n\n[{}]", notices.join(". ")),
    }
}

/// Says that the limit on bytes was reached.
pub(crate) fn bytes_notice(max_bytes: usize) -> String {
    format!("{} limit reached", crate::size::shown(max_bytes as u64))
}

/// Says that the time of a search was up.
pub(crate) fn time_notice(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    format!("Search stopped after {seconds}s; results are partial")
}
