//! A call in words: what was asked, and what came of it.

use pi_core::{ToolCall, ToolOutput, joined_text};
use serde_json::Value;

use crate::terminal::{Colours, changed, compact, fold};

/// The most lines of the output of a command at its head and its tail.
const OUTPUT: (usize, usize) = (5, 5);

/// The same for a command whose output was shown while it ran.
const END_OF_OUTPUT: (usize, usize) = (0, 3);

/// The most lines of a diff.
const DIFF: (usize, usize) = (24, 6);

/// Arguments that are shown in another form, or too long to be.
const LEFT_OUT: [&str; 2] = ["content", "edits"];

/// Returns the line of a call that begins.
pub(super) fn asked(call: &ToolCall) -> String {
    let line = format!("→ {} {}", compact(&call.name), arguments(call));
    line.trim_end().to_owned()
}

/// Returns the lines of a call that is over; `is_known` if its output was shown while it ran.
pub(super) fn ended(
    call: &ToolCall,
    result: &ToolOutput,
    is_error: bool,
    is_known: bool,
    colours: Colours,
) -> Vec<String> {
    let text = joined_text(&result.content);
    let name = compact(&call.name);
    let mut lines = Vec::new();
    let mut head = |said: &str| {
        let line = format!("← {name}: {said}");
        lines.push(match is_error {
            true => colours.red(&line).into_owned(),
            false => colours.dim(&line).into_owned(),
        });
    };
    if call.name == "bash" {
        let folded = output(&text, is_known);
        let mut rest = folded.iter();
        head(rest.next().map_or("(no text)", String::as_str));
        let indented = rest.map(|line| format!("  {line}"));
        lines.extend(indented.map(|line| colours.dim(line.trim_end()).into_owned()));
    } else {
        head(&summary(&text));
    }
    let diff = result
        .details
        .as_ref()
        .and_then(|details| details.get("diff")?.as_str());
    let diff = diff.unwrap_or_default().lines().map(compact).collect();
    let diff = fold(diff, DIFF);
    lines.extend(
        diff.iter()
            .map(|line| format!("  {}", changed(colours, line))),
    );
    lines
}

/// Writes the arguments of a call: the one that matters by its value, and the others that are
/// short; those of unknown tools as JSON.
fn arguments(call: &ToolCall) -> String {
    let main = match call.name.as_str() {
        "bash" => "command",
        "grep" | "find" => "pattern",
        "read" | "write" | "edit" | "ls" => "path",
        _ => return unknown_arguments(call),
    };
    let Some(Value::String(value)) = call.arguments.get(main) else {
        return unknown_arguments(call);
    };
    let mut line = compact(value);
    for (name, value) in &call.arguments {
        if name != main && !LEFT_OUT.contains(&name.as_str()) {
            line.push_str(&compact(&format!(" {name}={value}")));
        }
    }
    line
}

/// Writes a single argument by its value, several as JSON.
fn unknown_arguments(call: &ToolCall) -> String {
    let mut values = call.arguments.values();
    match (values.next(), values.next()) {
        (None, _) => String::new(),
        (Some(Value::String(only)), None) => compact(only),
        _ => compact(&serde_json::to_string(&call.arguments).unwrap_or_default()),
    }
}

/// Writes the first line of a result and the number of the others.
fn summary(text: &str) -> String {
    let mut lines = text.trim_end().lines();
    let first = compact(lines.next().unwrap_or("(no text)"));
    match lines.count() {
        0 => first,
        1 => format!("{first} (+1 line)"),
        more => format!("{first} (+{more} lines)"),
    }
}

/// Returns the first and the last lines of the output of a command.
fn output(text: &str, is_known: bool) -> Vec<String> {
    let lines = text.trim_end().lines().map(compact).collect();
    fold(lines, if is_known { END_OF_OUTPUT } else { OUTPUT })
}
