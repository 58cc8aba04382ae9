//! What the demo model says and does.

use pi_core::{AssistantMessage, Context, Message, ToolCall, ToolResultMessage, joined_text};
use serde_json::{Value, json};

use super::wish::{Wish, understand};

/// The most names and lines that an answer repeats.
const NAMES: usize = 40;
const LINES: usize = 12;

const HELP: &str = "I am the demo model of pi: no language model, just a few rules. I can look at the \
files of a folder and change them, with real tool calls. Try:\n\n  \
pi \"What is in this folder?\"\n  pi \"Read README.md\"\n  pi \"Search for TODO\"\n  pi \"Find *.rs\"\n  \
pi --tools coding \"Run `ls -l`\"\n  pi --tools coding \"Write hello.txt: Hello.\"\n  \
pi --tools coding \"Replace Hello by Bye in hello.txt\"\n\n\
For real answers, give me a model: pi --base-url URL for a server of yours, or the environment \
variable OPENAI_API_KEY.";

/// One reply: text, and perhaps a call behind it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) call: Option<Call>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

impl Reply {
    fn say(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            call: None,
        }
    }

    fn call(text: impl Into<String>, tool: &'static str, arguments: Value) -> Self {
        Self {
            text: text.into(),
            call: Some(Call { tool, arguments }),
        }
    }
}

/// Decides what to answer to a conversation.
pub(super) fn reply(context: &Context) -> Reply {
    match context.messages.last() {
        Some(Message::ToolResult(result)) => after_tool(context, result),
        Some(Message::User(message)) => match understand(&message.content.text()) {
            Wish::Help => Reply::say(HELP),
            Wish::Greeting => Reply::say(format!("Hello! {HELP}")),
            wish => act(context, wish),
        },
        _ => Reply::say(HELP),
    }
}

/// Does what is wished with a tool that is offered.
fn act(context: &Context, wish: Wish) -> Reply {
    let (text, tool, arguments) = match wish {
        Wish::List(path) if !is_offered(context, "ls") && is_offered(context, "bash") => {
            let path = path.replace('\'', r"'\''");
            return act(context, Wish::Run(format!("ls -A '{path}'")));
        }
        Wish::List(path) => {
            let text = match path.as_str() {
                "." => "Let me look at the folder.".to_owned(),
                _ => format!("Let me look into {path}."),
            };
            (text, "ls", json!({ "path": path }))
        }
        Wish::Read(path) => (
            format!("Let me read {path}."),
            "read",
            json!({ "path": path }),
        ),
        Wish::Run(command) => (
            "Let me run that.".to_owned(),
            "bash",
            json!({ "command": command }),
        ),
        Wish::Write { path, content } => (
            format!("Let me write {path}."),
            "write",
            json!({ "path": path, "content": content }),
        ),
        Wish::Replace { old, new, path } => (
            format!("Let me change {path}."),
            "edit",
            json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }),
        ),
        Wish::Search { pattern, path } => (
            format!("Let me search for {pattern}."),
            "grep",
            match path {
                Some(path) => json!({ "pattern": pattern, "path": path }),
                None => json!({ "pattern": pattern }),
            },
        ),
        Wish::Find(pattern) => (
            format!("Let me find {pattern}."),
            "find",
            json!({ "pattern": pattern }),
        ),
        Wish::Greeting | Wish::Help => return Reply::say(HELP),
    };
    if is_offered(context, tool) {
        return Reply::call(text, tool, arguments);
    }
    Reply::say(format!(
        "I would call the tool `{tool}` with {arguments} now, but it is not offered to me."
    ))
}

fn is_offered(context: &Context, tool: &str) -> bool {
    let mut offered = context.tools.iter().flatten();
    offered.any(|definition| definition.name == tool)
}

fn after_tool(context: &Context, result: &ToolResultMessage) -> Reply {
    let text = joined_text(&result.content);
    let path = path_of(context, &result.tool_call_id).unwrap_or(".");
    if result.is_error {
        if result.tool_name == "read" && text.contains("is a directory") {
            return act(context, Wish::List(path.to_owned()));
        }
        return Reply::say(format!("That did not work. The tool says: {text}"));
    }
    match result.tool_name.as_str() {
        "ls" => Reply::say(describe_folder(path, &text)),
        "read" => Reply::say(describe_file(path, &text)),
        "write" | "edit" => Reply::say(format!("Done. {text}")),
        "bash" => Reply::say(format!("It has run, and said:\n\n{}", first_lines(&text))),
        "grep" | "find" => Reply::say(match &*text {
            "No matches found" | "No files found matching pattern" => "There is none.".to_owned(),
            found => format!("This is what I found:\n\n{}", first_lines(found)),
        }),
        other => Reply::say(format!("The tool `{other}` answered:\n\n{text}")),
    }
}

/// Finds the path in the call that a result belongs to.
fn path_of<'a>(context: &'a Context, call_id: &str) -> Option<&'a str> {
    let calls = context
        .messages
        .iter()
        .rev()
        .filter_map(|message| match message {
            Message::Assistant(reply) => find_call(reply, call_id),
            _ => None,
        });
    calls
        .flat_map(|call| call.arguments.get("path"))
        .find_map(Value::as_str)
}

fn find_call<'a>(reply: &'a AssistantMessage, call_id: &str) -> Option<&'a ToolCall> {
    reply.tool_calls().find(|call| call.id == call_id)
}

fn describe_folder(path: &str, listing: &str) -> String {
    let place = if path == "." {
        "This folder".to_owned()
    } else {
        path.to_owned()
    };
    if listing == "(empty directory)" {
        return format!("{place} is empty.");
    }
    // A notice stands behind an empty line.
    let (entries, notice) = listing.split_once("\n\n").unwrap_or((listing, ""));
    let (folders, files): (Vec<&str>, Vec<&str>) = entries.lines().partition(|e| e.ends_with('/'));
    let parts = [
        count(&folders, "directory", "directories"),
        count(&files, "file", "files"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut answer = format!("{place} has {}.", parts.join(" and "));
    if let Some(kind) = kind_of_project(&files) {
        answer.push_str(&format!(" It looks like {kind}."));
    }
    if !notice.is_empty() {
        answer.push_str(" There is more than the tool lists at once.");
    }
    answer
}

fn count(names: &[&str], one: &str, many: &str) -> Option<String> {
    let noun = match names.len() {
        0 => return None,
        1 => one,
        _ => many,
    };
    let mut shown = names
        .iter()
        .take(NAMES)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > NAMES {
        shown.push_str(", …");
    }
    Some(format!("{} {noun} ({shown})", names.len()))
}

fn kind_of_project(files: &[&str]) -> Option<&'static str> {
    let kinds = [
        ("Cargo.toml", "a Rust project"),
        ("package.json", "a JavaScript project"),
        ("pyproject.toml", "a Python project"),
        ("go.mod", "a Go project"),
    ];
    kinds
        .iter()
        .find(|(file, _)| files.contains(file))
        .map(|(_, kind)| *kind)
}

fn describe_file(path: &str, content: &str) -> String {
    if content == "(empty file)" {
        return format!("{path} is empty.");
    }
    let (body, total) = without_notice(content);
    let lines = body.lines().count();
    let total = total.unwrap_or(lines);
    let mut answer = match total {
        1 => format!("{path} has 1 line:\n\n"),
        _ if total <= LINES => format!("{path} has {total} lines:\n\n"),
        _ => format!("{path} has {total} lines. It begins:\n\n"),
    };
    for line in body.lines().take(LINES) {
        answer.push_str(line);
        answer.push('\n');
    }
    let headings = body
        .lines()
        .skip(LINES)
        .filter(|line| is_heading(path, line));
    let headings: Vec<&str> = headings.take(NAMES).collect();
    if !headings.is_empty() {
        answer.push_str(&format!("\nFurther down: {}\n", headings.join(" · ")));
    }
    answer
}

/// Returns the first lines of a text, and says how many are left out.
fn first_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut first: String = lines
        .iter()
        .take(LINES)
        .flat_map(|line| [*line, "\n"])
        .collect();
    if lines.len() > LINES {
        first.push_str(&format!("… and {} more lines\n", lines.len() - LINES));
    }
    first
}

/// Takes the notice of the tool off a text, and the number of lines out of it.
fn without_notice(content: &str) -> (&str, Option<usize>) {
    let cut = content.rsplit_once("\n\n[Showing lines ");
    let Some((body, notice)) = cut else {
        return (content, None);
    };
    let total = notice.split_once(" of ").and_then(|(_, rest)| {
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    });
    (body, total)
}

/// Headings of Markdown and sections of TOML.
fn is_heading(path: &str, line: &str) -> bool {
    if path.ends_with(".md") {
        return line.starts_with("# ") || line.starts_with("## ");
    }
    path.ends_with(".toml") && line.starts_with('[') && line.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_described_by_their_entries() {
        for (listing, expected) in [
            ("(empty directory)", "This folder is empty."),
            ("a/\nb/", "This folder has 2 directories (a/, b/)."),
            (
                "Cargo.toml\nsrc/",
                "This folder has 1 directory (src/) and 1 file (Cargo.toml). It looks like a Rust \
                 project.",
            ),
            (
                "x\n\n[1 entries limit reached. Use limit=2 for more]",
                "This folder has 1 file (x). There is more than the tool lists at once.",
            ),
        ] {
            assert_eq!(describe_folder(".", listing), expected);
        }
    }

    #[test]
    fn files_are_described_by_their_first_lines() {
        assert_eq!(describe_file("f", "(empty file)"), "f is empty.");
        assert_eq!(describe_file("f", "one\n"), "f has 1 line:\n\none\n");
        let long: String = (1..=20).map(|n| format!("{n}\n")).collect::<String>() + "# More\n";
        let notice = "\n[Showing lines 1-21 of 99. Use offset=22 to continue.]";
        let described = describe_file("f.md", &(long + notice));
        assert!(
            described.starts_with("f.md has 99 lines. It begins:\n\n1\n2\n"),
            "{described}"
        );
        assert!(
            described.ends_with("12\n\nFurther down: # More\n"),
            "{described}"
        );
    }
}
