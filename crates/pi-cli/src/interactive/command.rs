//! What a line of a talk means.

use std::borrow::Cow;

/// What the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    /// Nothing: the line is blank.
    Nothing,
    /// Something for the model.
    Say(Cow<'a, str>),
    /// Another model, or, without a name, which one it is.
    Model(Option<&'a str>),
    /// Another level, or, without a name, which one it is.
    Thinking(Option<&'a str>),
    Cost,
    Abort,
    Quit,
    Help,
    /// A command that does not exist.
    Unknown(&'a str),
}

pub(crate) const HELP: &str = "\
/model [NAME]      show or change the model; it answers from the next prompt on
/thinking [LEVEL]  show or change how much it thinks
/cost              show the tokens and the cost of this conversation
/abort             stop the answer that is on its way, as Ctrl-C does
/quit              end, as Ctrl-D and twice Ctrl-C do
/help              show this
//...              say something that begins with a slash

What you type while the model works is queued: it reads it before its next step. When you are asked \
about a call, the next line is your answer.";

/// Reads a line.
pub(crate) fn parse(line: &str) -> Command<'_> {
    let text = line.trim();
    if text.is_empty() {
        return Command::Nothing;
    }
    let Some(command) = text.strip_prefix('/') else {
        return Command::Say(text.into());
    };
    if command.starts_with('/') {
        return Command::Say(command.into());
    }
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let argument = Some(rest.trim()).filter(|rest| !rest.is_empty());
    match (name, argument) {
        ("model", name) => Command::Model(name),
        ("thinking", level) => Command::Thinking(level),
        ("cost", None) => Command::Cost,
        ("abort", None) => Command::Abort,
        ("quit" | "exit", None) => Command::Quit,
        ("help" | "?", None) => Command::Help,
        // A path is no mistyped command.
        (name, _) if name.contains('/') => Command::Say(text.into()),
        _ => Command::Unknown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_mean_what_they_seem_to() {
        for (line, expected) in [
            ("", Command::Nothing),
            (" \t", Command::Nothing),
            (" hello ", Command::Say("hello".into())),
            ("two\nlines", Command::Say("two\nlines".into())),
            ("/model", Command::Model(None)),
            ("/model  a/b:c ", Command::Model(Some("a/b:c"))),
            ("/thinking high", Command::Thinking(Some("high"))),
            ("/thinking", Command::Thinking(None)),
            ("/cost", Command::Cost),
            ("/abort", Command::Abort),
            ("/quit", Command::Quit),
            ("/exit", Command::Quit),
            ("/help", Command::Help),
            ("/quit now", Command::Unknown("/quit now")),
            ("/modle x", Command::Unknown("/modle x")),
            ("/", Command::Unknown("/")),
            ("//model", Command::Say("/model".into())),
            (
                "/etc/hosts: what is it?",
                Command::Say("/etc/hosts: what is it?".into()),
            ),
        ] {
            assert_eq!(parse(line), expected, "{line:?}");
        }
    }
}
