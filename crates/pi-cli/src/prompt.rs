//! The prompt: from the command line, from standard input, or from both.

use std::io::{IsTerminal, Read};

use anyhow::Context as _;

use crate::exit::usage;

/// The most bytes of a prompt. A larger one is surely the wrong file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the prompt.
pub(crate) fn read(words: &[String]) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    let from_stdin = words.iter().any(|word| word == "-");
    if words.is_empty() && stdin.is_terminal() {
        return Err(usage(
            "no prompt: say what you want, for example: pi \"What is in this folder?\"",
        ));
    }
    let input = if words.is_empty() || from_stdin {
        read_all(stdin.lock())?
    } else {
        String::new()
    };
    let prompt = join(words, &input);
    if prompt.trim().is_empty() {
        return Err(usage("the prompt is empty"));
    }
    Ok(prompt)
}

/// Joins the words; each `-` becomes a paragraph of its own, with what was read.
fn join(words: &[String], input: &str) -> String {
    if words.is_empty() {
        return input.to_owned();
    }
    let mut prompt = String::new();
    let mut after_input = false;
    for word in words {
        let is_input = word == "-";
        if !prompt.is_empty() {
            prompt.push_str(if is_input || after_input { "\n\n" } else { " " });
        }
        prompt.push_str(if is_input { input.trim_end() } else { word });
        after_input = is_input;
    }
    prompt
}

fn read_all(input: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    input
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the prompt from standard input")?;
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES / (1024 * 1024);
        return Err(usage(format!(
            "the prompt on standard input is larger than {limit} MiB"
        )));
    }
    String::from_utf8(bytes).map_err(|_| usage("the prompt on standard input is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_input_are_joined() {
        for (words, expected) in [
            (&[][..], "from stdin\n"),
            (&["-"], "from stdin"),
            (&["two", "words"], "two words"),
            (&["explain:", "-"], "explain:\n\nfrom stdin"),
            (&["-", "is", "this right?"], "from stdin\n\nis this right?"),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(join(&words, "from stdin\n"), expected, "{words:?}");
        }
    }

    #[test]
    fn input_that_is_no_text_is_refused() {
        assert!(read_all(&b"\xff\xfe"[..]).is_err());
        assert_eq!(read_all("ä".as_bytes()).unwrap(), "ä");
    }
}
