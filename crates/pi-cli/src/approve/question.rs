//! What the user is asked.

use serde_json::{Map, Value};

use crate::terminal::{Colours, changed, fold, one_line};

/// The most characters of a line of a command; what is allowed must be seen.
const COMMAND_LINE: usize = 500;

/// The most lines of a command at its head and its tail.
const COMMAND: (usize, usize) = (30, 10);

/// The most lines of a change.
const CHANGE: (usize, usize) = (12, 3);

/// A question about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    tool: String,
    title: String,
    preview: Vec<String>,
}

impl Question {
    /// Asks about a call with valid arguments.
    pub(crate) fn about(tool: &str, arguments: &Map<String, Value>) -> Self {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let path = one_line(text("path").unwrap_or_default(), COMMAND_LINE);
        let (title, preview) = match tool {
            "bash" => (
                "run".to_owned(),
                command(text("command").unwrap_or_default()),
            ),
            "write" => {
                let content = text("content").unwrap_or_default();
                let lines: Vec<String> = content.lines().map(|line| format!("+{line}")).collect();
                let title = match lines.len() {
                    1 => format!("write {path}, 1 line"),
                    n => format!("write {path}, {n} lines"),
                };
                (title, change(&lines))
            }
            _ => {
                let edits = arguments.get("edits").and_then(Value::as_array);
                let lines: Vec<String> = edits.into_iter().flatten().flat_map(replaced).collect();
                (format!("{tool} {path}"), change(&lines))
            }
        };
        Self {
            tool: one_line(tool, COMMAND_LINE),
            title,
            preview,
        }
    }

    /// Returns what is asked about, in lines without an end.
    pub(crate) fn lines(&self, colours: Colours) -> String {
        let mut lines = colours
            .cyan(&format!("pi wants to {}:", self.title))
            .into_owned();
        for line in &self.preview {
            lines.push_str("\n  ");
            lines.push_str(&changed(colours, line));
        }
        lines
    }

    /// Returns what can be answered.
    pub(crate) fn choice(&self) -> String {
        format!(
            "allow it? y yes, n no, a always {}, or say what to do instead",
            self.tool
        )
    }
}

fn command(command: &str) -> Vec<String> {
    let lines: Vec<String> = command
        .lines()
        .map(|line| format!("$ {}", one_line(line, COMMAND_LINE)))
        .collect();
    fold(lines, COMMAND)
}

fn change(lines: &[String]) -> Vec<String> {
    let lines = lines.iter().map(|line| crate::terminal::compact(line));
    fold(lines.collect(), CHANGE)
}

/// Returns the lines that an edit takes away, and those that it puts in their place.
fn replaced(edit: &Value) -> Vec<String> {
    let lines = |name: &str, sign: &'static str| {
        let text = edit.get(name).and_then(Value::as_str).unwrap_or_default();
        text.lines()
            .map(move |line| format!("{sign}{line}"))
            .collect::<Vec<_>>()
    };
    let mut all = lines("oldText", "-");
    all.extend(lines("newText", "+"));
    all
}
