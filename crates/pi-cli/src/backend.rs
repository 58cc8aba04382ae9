//! Which model answers, and over which provider.

use std::env;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context as _;
use pi_ai::catalog::provider;
use pi_ai::{
    HttpClient, OpenAiCompletions, Providers, Timeouts, list_models, local_model,
    normalize_base_url,
};
use pi_core::{InputKind, Model, Provider, SecretString};
use pi_http::{is_loopback, shown_url};

use crate::args::Args;
use crate::demo::{self, DemoModel};
use crate::exit::usage;
use crate::hint::{Asked, Host};
use crate::models::Models;

const OPENAI: &str = "openai";
const OPENAI_URL: &str = "https://api.openai.com/v1";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// What is asked without `--model`: the first one whose provider has a key.
const DEFAULTS: [(&str, &str); 2] = [(OPENAI, "gpt-4.1-mini"), ("anthropic", "claude-sonnet-4-5")];

const DEMO_NOTICE: &str = "demo model in use: its answers follow simple rules. For a real model: \
    --base-url URL (any OpenAI-compatible server), or a key such as OPENAI_API_KEY or \
    ANTHROPIC_API_KEY in the environment";

/// A server that computes on a CPU may be silent for minutes while it reads a long prompt.
const PATIENCE: Duration = Duration::from_secs(600);

/// A model and what it is asked through.
pub(crate) struct Backend {
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) model: Model,
    /// Who is asked, for the hints.
    pub(crate) asked: Asked,
    /// What the user should know before the answer comes.
    pub(crate) notice: Option<&'static str>,
}

/// What the command line and the environment say about the model.
#[derive(Debug)]
enum Choice {
    Demo,
    /// A server by its address.
    Server {
        base_url: String,
        key: Option<SecretString>,
    },
    /// A model of the catalogue.
    Known {
        model: Box<Model>,
        key: Option<SecretString>,
        key_variable: Option<String>,
    },
}

/// Chooses the model by `name`, as if it stood behind `--model`; asks a server for its models if
/// there is no name.
///
/// # Errors
/// Mistakes in the usage, and the `ProviderError` of a server that cannot be asked.
///
/// # Cancel safety
/// Dropping the future stops the request.
pub(crate) async fn choose(
    args: &Args,
    models: &Models,
    name: Option<&str>,
) -> anyhow::Result<Backend> {
    match decide(args, models, name, |name| env::var(name).ok())? {
        Choice::Demo => Ok(demo()),
        Choice::Server { base_url, key } => server(models, name, &base_url, key).await,
        Choice::Known {
            model,
            key,
            key_variable,
        } => Ok(known(*model, key, key_variable)),
    }
}

/// Returns whom the command line says to ask for a list of models.
pub(crate) fn asked_first(args: &Args) -> Asked {
    let base_url = args.base_url.as_deref().unwrap_or(OPENAI_URL);
    Asked {
        address: shown_url(&normalize_base_url(base_url)),
        host: Host::OfUser,
    }
}

fn decide(
    args: &Args,
    models: &Models,
    name: Option<&str>,
    env: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Choice> {
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
    match (&args.base_url, name) {
        (Some(base_url), _) => at_address(base_url, named_key, read),
        (None, Some(demo::ID)) => Ok(Choice::Demo),
        (None, Some(name)) => by_name(args, models, name, named_key, read),
        (None, None) => {
            let has_key = |provider: &str| named_key.is_some() || key_of(provider, read).is_some();
            match DEFAULTS.iter().find(|(provider, _)| has_key(provider)) {
                Some((provider, id)) => {
                    let name = format!("{provider}/{id}");
                    by_name(args, models, &name, named_key, read)
                }
                None => Ok(Choice::Demo),
            }
        }
    }
}

/// Chooses a server by its address. It gets a key only if that was named for it, OpenAI's own apart.
fn at_address(
    base_url: &str,
    named_key: Option<SecretString>,
    read: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Choice> {
    let base_url = checked(base_url)?;
    let key = if is_openai(&base_url) {
        let key = named_key.or_else(|| read(OPENAI_KEY).map(SecretString::from));
        let missing = || usage(format!("OpenAI needs a key: set {OPENAI_KEY}"));
        Some(key.ok_or_else(missing)?)
    } else {
        named_key
    };
    Ok(Choice::Server { base_url, key })
}

/// Chooses a model of the catalogue, with the key of its provider.
fn by_name(
    args: &Args,
    models: &Models,
    name: &str,
    named_key: Option<SecretString>,
    read: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Choice> {
    let model = models.find(name, |provider| key_of(provider, &read).is_some())?;
    let found = match (named_key, &args.api_key_env) {
        (Some(key), Some(variable)) => Some((variable.clone(), key)),
        _ => key_of(&model.provider, &read),
    };
    let variables = provider(&model.provider).map_or(&[][..], |provider| provider.key_variables);
    if found.is_none() && !variables.is_empty() && !is_loopback(&model.base_url) {
        return Err(usage(format!(
            "no key for {}: set the environment variable {}, or name another one by --api-key-env",
            model.provider,
            variables.join(" or ")
        )));
    }
    let (key_variable, key) = found.unzip();
    Ok(Choice::Known {
        model: Box::new(model),
        key,
        key_variable,
    })
}

/// Returns the key of a provider, and the variable that holds it.
fn key_of(id: &str, read: impl Fn(&str) -> Option<String>) -> Option<(String, SecretString)> {
    let variables = provider(id)?.key_variables;
    variables.iter().find_map(|variable| {
        let key = SecretString::from(read(variable)?);
        Some(((*variable).to_owned(), key))
    })
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
        asked: Asked {
            address: String::new(),
            host: Host::Provider { key_variable: None },
        },
        notice: Some(DEMO_NOTICE),
    }
}

fn known(model: Model, key: Option<SecretString>, key_variable: Option<String>) -> Backend {
    let mut providers = Providers::from_env();
    if let Some(key) = key {
        // It must not go to another provider.
        let owner = model.provider.clone();
        providers = providers.with_credentials(move |provider: String| {
            std::future::ready(Ok((provider == owner).then(|| key.clone())))
        });
    }
    let asked = Asked {
        address: shown_url(&model.base_url),
        host: Host::Provider { key_variable },
    };
    Backend {
        provider: Box::new(providers),
        model,
        asked,
        notice: None,
    }
}

async fn server(
    models: &Models,
    id: Option<&str>,
    base_url: &str,
    key: Option<SecretString>,
) -> anyhow::Result<Backend> {
    let mut timeouts = Timeouts::default();
    timeouts.headers = Some(PATIENCE);
    timeouts.socket = Some(PATIENCE);
    let client = HttpClient::builder().timeouts(timeouts).build();
    let model = if is_openai(base_url) {
        openai_model(models, id, base_url)
    } else {
        let id = match id {
            Some(id) => id.to_owned(),
            None => first_model(&client, base_url, key.as_ref()).await?,
        };
        let mut model = local_model(base_url, id);
        // Nobody has said what the model takes: the user knows, and the server answers.
        model.input.push(InputKind::Image);
        model
    };
    let mut provider = OpenAiCompletions::new().without_key().with_client(client);
    if let Some(key) = key {
        provider = provider.with_key(key);
    }
    let asked = Asked {
        address: shown_url(base_url),
        host: Host::OfUser,
    };
    Ok(Backend {
        provider: Box::new(provider),
        model,
        asked,
        notice: None,
    })
}

/// Describes a model of OpenAI, which may be newer than the catalogue.
fn openai_model(models: &Models, id: Option<&str>, base_url: &str) -> Model {
    let id = id.unwrap_or(DEFAULTS[0].1);
    let known = models.find(&format!("{OPENAI}/{id}"), |_| false);
    let mut model = known.unwrap_or_else(|_| {
        let mut model = Model::new(id, "openai-completions", OPENAI, base_url);
        model.input.push(InputKind::Image);
        model
    });
    base_url.clone_into(&mut model.base_url);
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
mod tests;
