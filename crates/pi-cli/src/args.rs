//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use pi_core::ThinkingLevel;

const EXAMPLES: &str = "\
Examples:
  pi                                             talk in this folder
  pi \"What is in this folder?\"
  pi --continue \"And what does it do?\"
  pi --model anthropic/claude-sonnet-4-5 --image plan.png \"What is drawn here?\"
  pi --base-url http://127.0.0.1:8080/v1 \"Say hello\"
  git diff | pi --print \"Explain this change:\" -
  pi --list-models sonnet
  pi --json=deltas \"List the files\" | jq .type

The key of a provider is taken from its environment variable, such as ANTHROPIC_API_KEY. Without
--model the first of OpenAI and Anthropic that has a key is asked; without --base-url and without a
key an embedded demo model answers. It is no language model: it follows a few rules, but its tool
calls are real.

Exit status: 0 done, 1 the model or the run failed, 2 wrong usage, 130 aborted.";

/// Let a model work on the files of a folder.
#[derive(Debug, Parser)]
#[command(name = "pi", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The prompt; words are joined by spaces, `-` stands for standard input. Without a prompt it
    /// is read from standard input, or, on a terminal, a talk begins
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,

    /// The model: `provider/id` of the catalogue, or an id that only one provider has. With
    /// --base-url the server's own name for it, by default the first that it lists. `demo` is the
    /// embedded one
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// List the models of the catalogue that match all words of FILTER, and end
    #[arg(
        long,
        value_name = "FILTER",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["prompt", "print"]
    )]
    pub(crate) list_models: Option<String>,

    /// A JSON file with models that are added to the catalogue, or change those that are there
    #[arg(long, value_name = "FILE")]
    pub(crate) models: Option<PathBuf>,

    /// The address of an OpenAI-compatible server, with or without `/v1`
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// The environment variable that holds the key, in place of the provider's own. A server of
    /// --base-url gets a key only by this option
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,

    /// How much the model should think; the nearest level that the model offers is taken
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking: Option<Thinking>,

    /// Replace the system prompt, by a text or by the file behind `@`
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) system: Option<String>,

    /// Show the model an image (PNG, JPEG, GIF or WebP) with the prompt; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,

    /// Go on with the last conversation of this folder
    #[arg(short = 'c', long = "continue")]
    pub(crate) resume: bool,

    /// Do not keep the conversation
    #[arg(long)]
    pub(crate) no_session: bool,

    /// Print one event of the run a line, as JSON; `deltas` leaves the repeated message out of
    /// updates. With --list-models, one model a line
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

    /// The folder to work in; the tools for files see nothing outside of it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// The tools that the model may use
    #[arg(long, value_name = "SET", default_value = "read-only")]
    pub(crate) tools: Tools,

    /// Do not ask before each command and each change of a file
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Whether commands run in a sandbox: they can then write in the folder only, and have no network
    #[arg(long, value_name = "ON|OFF", default_value = "on")]
    pub(crate) sandbox: Sandbox,
}

/// What an update of a reply carries in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum JsonForm {
    /// What is new, and the reply so far.
    Full,
    /// Only what is new.
    Deltas,
}

/// Which tools a model may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tools {
    /// read, grep, find and ls.
    ReadOnly,
    /// read, bash, edit and write.
    Coding,
    /// No tools.
    None,
}

/// Whether commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    On,
    Off,
}

/// How much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Thinking {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    #[value(name = "xhigh")]
    XHigh,
    Max,
}

impl From<Thinking> for ThinkingLevel {
    fn from(level: Thinking) -> Self {
        match level {
            Thinking::Off => Self::Off,
            Thinking::Minimal => Self::Minimal,
            Thinking::Low => Self::Low,
            Thinking::Medium => Self::Medium,
            Thinking::High => Self::High,
            Thinking::XHigh => Self::XHigh,
            Thinking::Max => Self::Max,
        }
    }
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

    #[test]
    fn the_filter_of_the_list_may_be_left_out() {
        for (line, filter) in [
            (&["pi", "--list-models"][..], ""),
            (&["pi", "--list-models", "--json"], ""),
            (&["pi", "--list-models", "gpt mini"], "gpt mini"),
        ] {
            let args = Args::try_parse_from(line).unwrap();
            assert_eq!(args.list_models.as_deref(), Some(filter), "{line:?}");
        }
    }

    #[test]
    fn every_level_of_the_core_can_be_chosen() {
        for level in Thinking::value_variants() {
            let name = level.to_possible_value().unwrap();
            let core = ThinkingLevel::from(*level);
            assert_eq!(core.as_str(), name.get_name());
            assert!(!matches!(core, ThinkingLevel::Other(_)));
        }
    }
}
