//! What a prompt asks the demo model for.

/// What a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    List(String),
    Read(String),
    Run(String),
    Write {
        path: String,
        content: String,
    },
    Replace {
        old: String,
        new: String,
        path: String,
    },
    Search {
        pattern: String,
        path: Option<String>,
    },
    Find(String),
    Greeting,
    Help,
}

/// Finds out what a prompt asks for. Only its first line counts, but for the content of a file: the
/// rest may be anything.
pub(super) fn understand(prompt: &str) -> Wish {
    let prompt = prompt.trim();
    order(prompt).unwrap_or_else(|| question(prompt))
}

/// Reads a prompt that begins with what is to be done.
fn order(prompt: &str) -> Option<Wish> {
    let (verb, rest) = prompt.split_once(char::is_whitespace)?;
    let line = rest.lines().next().unwrap_or_default().trim();
    match verb.to_lowercase().as_str() {
        "run" | "execute" => Some(Wish::Run(command(line)?)),
        "write" | "create" => {
            let (path, content) = rest.split_once(':')?;
            Some(Wish::Write {
                path: word(path)?,
                content: format!("{}\n", content.trim()),
            })
        }
        "replace" => {
            let (texts, path) = line.rsplit_once(" in ")?;
            let (old, new) = texts
                .split_once(" by ")
                .or_else(|| texts.split_once(" with "))?;
            Some(Wish::Replace {
                old: quoted(old)?,
                new: quoted(new).unwrap_or_default(),
                path: word(path)?,
            })
        }
        "search" | "grep" => {
            let line = line.strip_prefix("for ").unwrap_or(line);
            let (pattern, path) = match line.rsplit_once(" in ") {
                Some((pattern, path)) => (pattern, Some(word(path)?)),
                None => (line, None),
            };
            Some(Wish::Search {
                pattern: quoted(pattern)?,
                path,
            })
        }
        "find" => Some(Wish::Find(word(line)?)),
        _ => None,
    }
}

/// Takes a command out of a line: what is between backticks, or all of it.
fn command(line: &str) -> Option<String> {
    let ticks = line
        .split_once('`')
        .and_then(|(_, rest)| rest.rsplit_once('`'));
    let command = ticks.map_or(line, |(command, _)| command).trim();
    (!command.is_empty()).then(|| command.to_owned())
}

/// Takes a text out of its quotes.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['"', '\'', '`']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Takes a text that is one word.
fn word(text: &str) -> Option<String> {
    let text = bare(text.trim());
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    is_word.then(|| text.to_owned())
}

/// Reads a prompt by the words in it.
fn question(prompt: &str) -> Wish {
    let line = prompt.lines().next().unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_understood() {
        let list = |path: &str| Wish::List(path.to_owned());
        let read = |path: &str| Wish::Read(path.to_owned());
        for (prompt, expected) in [
            ("What is in this folder?", list(".")),
            (
                "Run `cargo test`, please",
                Wish::Run("cargo test".to_owned()),
            ),
            ("run ls -l .", Wish::Run("ls -l .".to_owned())),
            (
                "write hello.txt: one\ntwo",
                Wish::Write {
                    path: "hello.txt".to_owned(),
                    content: "one\ntwo\n".to_owned(),
                },
            ),
            (
                "Replace \"An apple\" by `A pear` in apple.txt.",
                Wish::Replace {
                    old: "An apple".to_owned(),
                    new: "A pear".to_owned(),
                    path: "apple.txt".to_owned(),
                },
            ),
            (
                "search for `fn main` in src",
                Wish::Search {
                    pattern: "fn main".to_owned(),
                    path: Some("src".to_owned()),
                },
            ),
            (
                "grep apple",
                Wish::Search {
                    pattern: "apple".to_owned(),
                    path: None,
                },
            ),
            ("find *.rs", Wish::Find("*.rs".to_owned())),
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
}
