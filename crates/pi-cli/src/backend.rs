//! Which model answers, and over which provider.

use std::env;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context as _;
use pi_ai::{
    HttpClient, OpenAiCompletions, Timeouts, list_models, local_model, normalize_base_url,
};
use pi_core::{Model, ModelCost, Provider, SecretString};
use pi_http::shown_url;

use crate::args::Args;
use crate::demo::{self, DemoModel};
use crate::exit::usage;

const OPENAI_URL: &str = "https://api.openai.com/v1";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

const DEMO_NOTICE: &str = "demo model in use: its answers follow simple rules. For a real model: \
    --base-url URL (any OpenAI-compatible server) or the environment variable OPENAI_API_KEY";

/// A server that computes on a CPU may be silent for minutes while it reads a long prompt.
const PATIENCE: Duration = Duration::from_secs(600);

/// A model and what it is asked through.
pub(crate) struct Backend {
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) model: Model,
    /// What the user should know before the answer comes.
    pub(crate) notice: Option<&'static str>,
}

/// What the command line and the environment say about the model.
#[derive(Debug)]
enum Choice {
    Demo,
    Server {
        base_url: String,
        key: Option<SecretString>,
    },
}

/// Chooses the model; asks a server for its models if the command line names none.
///
/// # Errors
/// Mistakes in the usage, and the `ProviderError` of a server that cannot be asked.
///
/// # Cancel safety
/// Dropping the future stops the request.
pub(crate) async fn choose(args: &Args) -> anyhow::Result<Backend> {
    match decide(args, |name| env::var(name).ok())? {
        Choice::Demo => Ok(demo()),
        Choice::Server { base_url, key } => server(args.model.as_deref(), &base_url, key).await,
    }
}

/// Returns the address that a request goes to, as it may be shown.
pub(crate) fn shown_address(args: &Args) -> String {
    shown_url(&normalize_base_url(
        args.base_url.as_deref().unwrap_or(OPENAI_URL),
    ))
}

fn decide(args: &Args, env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Choice> {
    let read = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let named_key = match &args.api_key_env {
        Some(name) => {
            let key = read(name).ok_or_else(|| {
                usage(format!(
                    "the environment variable {name} of --api-key-env is not set"
                ))
            })?;
            Some(SecretString::from(key))
        }
        None => None,
    };
    let Some(base_url) = &args.base_url else {
        let key = named_key.or_else(|| read(OPENAI_KEY).map(SecretString::from));
        return match (args.model.as_deref(), key) {
            (Some(demo::ID), _) | (None, None) => Ok(Choice::Demo),
            (Some(id), None) => Err(usage(format!(
                "nobody to ask for the model {id}: give the server by --base-url URL, or set \
                 {OPENAI_KEY} for OpenAI"
            ))),
            (_, key) => Ok(Choice::Server {
                base_url: OPENAI_URL.to_owned(),
                key,
            }),
        };
    };
    let base_url = checked(base_url)?;
    if !is_openai(&base_url) {
        return Ok(Choice::Server {
            base_url,
            key: named_key,
        });
    }
    let key = named_key.or_else(|| read(OPENAI_KEY).map(SecretString::from));
    match key {
        Some(key) => Ok(Choice::Server {
            base_url,
            key: Some(key),
        }),
        None => Err(usage(format!("OpenAI needs a key: set {OPENAI_KEY}"))),
    }
}

/// Brings an address to the form that requests need, or refuses it.
fn checked(written: &str) -> anyhow::Result<String> {
    let base_url = normalize_base_url(written);
    // An address without a host loses a slash on its way to the usual form.
    let is_http = |url: &str| {
        let url = url.to_ascii_lowercase();
        url.starts_with("http://") || url.starts_with("https://")
    };
    if is_http(&base_url) && is_http(&shown_url(&base_url)) {
        return Ok(base_url);
    }
    // The text is not repeated: people put keys into addresses.
    Err(usage(
        "the address of --base-url cannot be used; one that can: http://127.0.0.1:8080/v1",
    ))
}

/// Returns true for OpenAI itself, the only host that OpenAI's key is sent to by default.
fn is_openai(base_url: &str) -> bool {
    shown_url(base_url).starts_with("https://api.openai.com/")
}

fn demo() -> Backend {
    Backend {
        provider: Box::new(DemoModel::new(std::io::stdout().is_terminal())),
        model: demo::model(),
        notice: Some(DEMO_NOTICE),
    }
}

async fn server(
    id: Option<&str>,
    base_url: &str,
    key: Option<SecretString>,
) -> anyhow::Result<Backend> {
    let mut timeouts = Timeouts::default();
    timeouts.headers = Some(PATIENCE);
    timeouts.socket = Some(PATIENCE);
    let client = HttpClient::builder().timeouts(timeouts).build();
    let model = if is_openai(base_url) {
        openai_model(id, base_url)
    } else {
        let id = match id {
            Some(id) => id.to_owned(),
            None => first_model(&client, base_url, key.as_ref()).await?,
        };
        local_model(base_url, id)
    };
    let mut provider = OpenAiCompletions::new().without_key().with_client(client);
    if let Some(key) = key {
        provider = provider.with_key(key);
    }
    Ok(Backend {
        provider: Box::new(provider),
        model,
        notice: None,
    })
}

/// Describes a model of OpenAI. Only the default one has known prices here.
fn openai_model(id: Option<&str>, base_url: &str) -> Model {
    let default = "gpt-4.1-mini";
    let id = id.unwrap_or(default);
    let mut model = Model::new(id, "openai-completions", "openai", base_url);
    if id == default {
        model.cost = ModelCost::new(0.4, 1.6, 0.1, 0.0);
    }
    model
}

async fn first_model(
    client: &HttpClient,
    base_url: &str,
    key: Option<&SecretString>,
) -> anyhow::Result<String> {
    let url = shown_url(base_url);
    let models = list_models(client, base_url, key)
        .await
        .with_context(|| format!("cannot ask {url} for its models"))?;
    models
        .into_iter()
        .next()
        .with_context(|| format!("the server at {url} lists no model: name one by --model"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use pi_core::ExposeSecret;

    use super::*;

    /// Says what is chosen: `demo`, the address with the key, or the error.
    fn chosen(line: &str, variables: &[(&str, &str)]) -> String {
        let args = Args::try_parse_from(line.split_whitespace()).unwrap();
        let env = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match decide(&args, env) {
            Ok(Choice::Demo) => "demo".to_owned(),
            Ok(Choice::Server { base_url, key }) => {
                let key = key.map(|key| key.expose_secret().to_owned());
                format!("{base_url} {}", key.as_deref().unwrap_or("-"))
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn keys_go_only_where_they_belong() {
        let openai = &[("OPENAI_API_KEY", "sk")][..];
        let both = &[("OPENAI_API_KEY", "sk"), ("MINE", "my")][..];
        for (line, env, expected) in [
            ("pi x", &[][..], "demo"),
            ("pi x", &[("OPENAI_API_KEY", " ")], "demo"),
            ("pi --model demo x", openai, "demo"),
            ("pi x", openai, "https://api.openai.com/v1 sk"),
            ("pi --model gpt-5 x", openai, "https://api.openai.com/v1 sk"),
            (
                "pi --api-key-env MINE x",
                both,
                "https://api.openai.com/v1 my",
            ),
            (
                "pi --base-url https://api.openai.com x",
                openai,
                "https://api.openai.com/v1 sk",
            ),
            (
                "pi --base-url http://127.0.0.1:8080/v1/ x",
                openai,
                "http://127.0.0.1:8080/v1 -",
            ),
            (
                "pi --base-url localhost:11434 x",
                openai,
                "http://localhost:11434/v1 -",
            ),
            (
                "pi --base-url https://llm.example x",
                openai,
                "https://llm.example/v1 -",
            ),
            (
                "pi --base-url https://api.openai.com.evil.example x",
                openai,
                "https://api.openai.com.evil.example/v1 -",
            ),
            (
                "pi --base-url http://api.openai.com x",
                openai,
                "http://api.openai.com/v1 -",
            ),
            (
                "pi --base-url https://llm.example --api-key-env MINE x",
                both,
                "https://llm.example/v1 my",
            ),
        ] {
            assert_eq!(chosen(line, env), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_before_a_request() {
        for (line, expected) in [
            ("pi --model gpt-5 x", "nobody to ask"),
            (
                "pi --api-key-env NONE x",
                "NONE of --api-key-env is not set",
            ),
            (
                "pi --base-url https://api.openai.com x",
                "OpenAI needs a key",
            ),
            ("pi --base-url ftp://host x", "cannot be used"),
            ("pi --base-url http://host:99999 x", "cannot be used"),
            ("pi --base-url http:// x", "cannot be used"),
            ("pi --base-url= x", "cannot be used"),
        ] {
            let said = chosen(line, &[]);
            assert!(said.contains(expected), "{line}: {said}");
        }
    }
}
