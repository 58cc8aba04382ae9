//! What the demo model says and does.

use pi_core::{AssistantMessage, Context, Message, ToolCall, ToolResultMessage, joined_text};
use serde_json::{Value, json};

/// The most names and lines that an answer repeats.
const NAMES: usize = 40;
const LINES: usize = 12;

const HELP: &str = "I am the demo model of pi: no language model, just a few rules. I can list a \
folder and read a text file, with real tool calls. Try:\n\n  \
pi \"What is in this folder?\"\n  pi \"Read README.md\"\n\n\
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

    fn call(text: impl Into<String>, tool: &'static str, path: &str) -> Self {
        let call = Call {
            tool,
            arguments: json!({ "path": path }),
        };
        Self {
            text: text.into(),
            call: Some(call),
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
            Wish::List(path) => ask_for(context, "ls", &path),
            Wish::Read(path) => ask_for(context, "read", &path),
        },
        _ => Reply::say(HELP),
    }
}

/// What a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    List(String),
    Read(String),
    Greeting,
    Help,
}

/// Finds out what a prompt asks for. Only its first line counts: the rest may be anything.
fn understand(prompt: &str) -> Wish {
    let line = prompt.trim().lines().next().unwrap_or_default();
    let words: Vec<&str> = line
        .split_whitespace()
        .map(bare)
        .filter(|w| !w.is_empty())
        .collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let says = |any: &[&str]| lower.iter().any(|word| any.contains(&word.as_str()));

    if let Some(path) = words.iter().find(|word| looks_like_path(word)) {
        let path = (*path).to_owned();
        let lists =
            path.ends_with('/') || path == "." || says(&["ls", "list", "folder", "directory"]);
        return if lists {
            Wish::List(path)
        } else {
            Wish::Read(path)
        };
    }
    if says(&["folder", "directory", "files", "list", "ls", "dir", "here"]) {
        return Wish::List(".".to_owned());
    }
    let verb = lower.iter().position(|word| {
        matches!(
            word.as_str(),
            "read" | "show" | "open" | "cat" | "print" | "in" | "summarize"
        )
    });
    let object = verb.and_then(|at| {
        let articles = [
            "the", "a", "an", "me", "file", "it", "this", "that", "what", "is", "in",
        ];
        let rest = words.iter().zip(&lower).skip(at + 1);
        rest.map(|(word, lower)| (word, lower.as_str()))
            .find(|(_, lower)| !articles.contains(lower))
    });
    if let Some((path, _)) = object {
        return Wish::Read((*path).to_owned());
    }
    if says(&["hello", "hi", "hey"]) {
        Wish::Greeting
    } else {
        Wish::Help
    }
}

/// Strips quotes and the punctuation of a sentence from a word.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c| matches!(c, '"' | '\'' | '`' | '(' | ')' | '“' | '”'));
    let word = if word == "." || word.ends_with("..") {
        word
    } else {
        word.trim_end_matches('.')
    };
    let word = word.trim_end_matches(['?', '!', ',', ';', ':']);
    word.trim_matches(|c| matches!(c, '"' | '\'' | '`' | '“' | '”'))
}

fn looks_like_path(word: &str) -> bool {
    let inner_dot = word
        .char_indices()
        .any(|(at, c)| c == '.' && word[at + 1..].starts_with(|c: char| c.is_alphanumeric()));
    inner_dot || word.contains('/') || matches!(word, "." | "..") || word == "Makefile"
}

fn ask_for(context: &Context, tool: &'static str, path: &str) -> Reply {
    let offered = context
        .tools
        .iter()
        .flatten()
        .any(|definition| definition.name == tool);
    if !offered {
        let text =
            format!("I would call the tool `{tool}` with {path} now, but it is not offered to me.");
        return Reply::say(text);
    }
    let text = match (tool, path) {
        ("ls", ".") => "Let me look at the folder.".to_owned(),
        ("ls", _) => format!("Let me look into {path}."),
        _ => format!("Let me read {path}."),
    };
    Reply::call(text, tool, path)
}

fn after_tool(context: &Context, result: &ToolResultMessage) -> Reply {
    let text = joined_text(&result.content);
    let path = path_of(context, &result.tool_call_id).unwrap_or(".");
    if result.is_error {
        if result.tool_name == "read" && text.contains("is a directory") {
            return ask_for(context, "ls", path);
        }
        return Reply::say(format!("That did not work. The tool says: {text}"));
    }
    match result.tool_name.as_str() {
        "ls" => Reply::say(describe_folder(path, &text)),
        "read" => Reply::say(describe_file(path, &text)),
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
    fn prompts_are_understood() {
        let list = |path: &str| Wish::List(path.to_owned());
        let read = |path: &str| Wish::Read(path.to_owned());
        for (prompt, expected) in [
            ("What is in this folder?", list(".")),
            ("list the files", list(".")),
            ("ls", list(".")),
            ("What's here?", list(".")),
            ("What is in crates/?", list("crates/")),
            ("list the folder crates/pi-core", list("crates/pi-core")),
            ("Read Cargo.toml", read("Cargo.toml")),
            ("What is in `README.md`?", read("README.md")),
            ("Show me \"docs/a b.md\".", read("docs/a")),
            ("please open the file .gitignore.", read(".gitignore")),
            ("cat LICENSE", read("LICENSE")),
            ("What is in src?", read("src")),
            ("read ../secret", read("../secret")),
            ("Hello!", Wish::Greeting),
            ("Write a poem about Rust.", Wish::Help),
            ("read", Wish::Help),
            ("...", Wish::Help),
            ("", Wish::Help),
            ("ä.ö", read("ä.ö")),
        ] {
            assert_eq!(understand(prompt), expected, "{prompt:?}");
        }
    }

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
