//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  pi \"What is in this folder?\"
  pi --base-url http://127.0.0.1:8080/v1 \"Say hello\"
  git diff | pi --print \"Explain this change:\" -
  OPENAI_API_KEY=... pi --model gpt-4.1-mini \"Read Cargo.toml and explain it\"
  pi --json=deltas \"List the files\" | jq .type

Without --base-url and without OPENAI_API_KEY an embedded demo model answers. It is no language
model: it follows a few rules, but its tool calls are real.

Exit status: 0 done, 1 the model or the run failed, 2 wrong usage, 130 aborted.";

/// Ask a model about the files of a folder.
#[derive(Debug, Parser)]
#[command(name = "pi", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The prompt; words are joined by spaces, `-` stands for standard input. Without a prompt it
    /// is read from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,

    /// The address of an OpenAI-compatible server, with or without `/v1`
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// The model; by default the first that the server has. `demo` is the embedded one
    #[arg(short, long, value_name = "ID")]
    pub(crate) model: Option<String>,

    /// The environment variable that holds the key. By default OPENAI_API_KEY, which is sent to
    /// api.openai.com only
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,

    /// Print one event of the run a line, as JSON; `deltas` leaves the repeated message out of
    /// updates
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "full",
        conflicts_with = "print"
    )]
    pub(crate) json: Option<JsonForm>,

    /// Print only the text of the final reply, when it is complete
    #[arg(short, long)]
    pub(crate) print: bool,

    /// The folder to work in; the tools see nothing outside of it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Offer no tools to the model
    #[arg(long)]
    pub(crate) no_tools: bool,

    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
}

/// What an update of a reply carries in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum JsonForm {
    /// What is new, and the reply so far.
    Full,
    /// Only what is new.
    Deltas,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn json_takes_its_form_only_after_an_equals_sign() {
        for (line, json, prompt) in [
            (&["pi", "--json", "deltas"][..], JsonForm::Full, "deltas"),
            (&["pi", "--json=deltas", "hi"], JsonForm::Deltas, "hi"),
            (&["pi", "--json=full", "hi"], JsonForm::Full, "hi"),
        ] {
            let args = Args::try_parse_from(line).unwrap();
            assert_eq!(
                (args.json, args.prompt),
                (Some(json), vec![prompt.to_owned()]),
                "{line:?}"
            );
        }
    }
}
