//! The facts of `models.json`, as far as the catalogue takes them over.

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Only these are conversations; the other types have no place in `pi_core::Model`.
const TYPE: &str = "chat";

/// The providers that have at least one model for conversations, by id.
pub(super) struct Catalog {
    pub(super) source: Source,
    pub(super) providers: Vec<Provider>,
}

#[derive(Deserialize)]
pub(super) struct Source {
    pub(super) package: String,
    pub(super) version: String,
    pub(super) license: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Provider {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) api_key_env: Vec<String>,
    #[serde(default)]
    pub(super) other_env: Vec<String>,
    /// By id.
    #[serde(skip)]
    pub(super) models: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Model {
    provider: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) api: String,
    pub(super) base_url: String,
    pub(super) reasoning: bool,
    pub(super) input: Vec<String>,
    pub(super) cost: Cost,
    pub(super) context_window: u64,
    pub(super) max_tokens: u64,
    #[serde(default)]
    pub(super) thinking_level_map: Map<String, Value>,
    #[serde(default)]
    pub(super) compat: Map<String, Value>,
    /// All other fields.
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

// Unlike a model, a price has no place for a field that is not known; better to stop than to drop it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Cost {
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) cache_read: f64,
    pub(super) cache_write: f64,
    #[serde(default)]
    pub(super) tiers: Vec<Tier>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Tier {
    pub(super) input_tokens_above: u64,
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) cache_read: f64,
    pub(super) cache_write: f64,
}

#[derive(Deserialize)]
struct File {
    source: Source,
    providers: Vec<Provider>,
    models: Vec<Map<String, Value>>,
}

/// Reads the text of `models.json`.
pub(super) fn parse(text: &str) -> anyhow::Result<Catalog> {
    let mut file: File = serde_json::from_str(text)?;
    file.providers.sort_by(|a, b| a.id.cmp(&b.id));
    for mut entry in file.models {
        if entry.shift_remove("type").is_none_or(|kind| kind != TYPE) {
            continue;
        }
        let name = |key| entry.get(key).and_then(Value::as_str).unwrap_or("?");
        let place = format!("the model {}/{}", name("provider"), name("id"));
        let model = Model::deserialize(Value::Object(entry)).with_context(|| place.clone())?;
        file.providers
            .iter_mut()
            .find(|provider| provider.id == model.provider)
            .with_context(|| format!("{place} has a provider that is not listed"))?
            .models
            .push(model);
    }
    for provider in &mut file.providers {
        provider.models.sort_by(|a, b| a.id.cmp(&b.id));
        check(provider)?;
    }
    file.providers
        .retain(|provider| !provider.models.is_empty());
    Ok(Catalog {
        source: file.source,
        providers: file.providers,
    })
}

/// Refuses what the lookups of the catalogue rely on not to be there.
fn check(provider: &Provider) -> anyhow::Result<()> {
    ensure!(
        !provider.id.contains('/'),
        "the provider {} has a `/` in its id: `provider/id` could not be split",
        provider.id
    );
    for pair in provider.models.windows(2) {
        if let [a, b] = pair
            && a.id == b.id
        {
            bail!("{}/{} is there twice", provider.id, a.id);
        }
    }
    Ok(())
}
