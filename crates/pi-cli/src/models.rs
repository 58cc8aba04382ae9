//! The models that `pi` can ask: those of the catalogue, and those of the user.

use std::path::Path;

use anyhow::Context as _;
use pi_ai::Providers;
use pi_ai::catalog::{Catalog, LookupError};
use pi_core::Model;

use crate::args::Args;
use crate::exit::{Exit, usage};
use crate::output::Output;

/// The catalogue, with what the user has added.
#[derive(Debug)]
pub(crate) struct Models {
    catalog: Catalog,
    /// The protocols that this program speaks.
    apis: Vec<String>,
}

impl Models {
    /// Reads the models of the user over those that are built in.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no models.
    pub(crate) fn load(file: Option<&Path>) -> anyhow::Result<Self> {
        let mut catalog = Catalog::builtin();
        if let Some(file) = file {
            let shown = file.display();
            let text = std::fs::read_to_string(file)
                .map_err(|error| usage(format!("cannot read {shown} of --models: {error}")))?;
            catalog = catalog.with_json(&text).map_err(|error| {
                let cause = std::error::Error::source(&error)
                    .map(|cause| format!(": {cause}"))
                    .unwrap_or_default();
                usage(format!("{shown} of --models: {error}{cause}"))
            })?;
        }
        let router = Providers::new().router();
        Ok(Self {
            catalog,
            apis: router.apis().map(str::to_owned).collect(),
        })
    }

    /// Returns the model that a name means. Where several providers have an id, `has_key` decides,
    /// if only one of them passes.
    ///
    /// # Errors
    /// If there is no such model, with near names; if several are meant; if this program does not
    /// speak its protocol.
    pub(crate) fn find(&self, name: &str, has_key: impl Fn(&str) -> bool) -> anyhow::Result<Model> {
        let found = match self.catalog.find(name) {
            Err(LookupError::Ambiguous { id, candidates }) => {
                let providers = candidates.iter().filter_map(|candidate| {
                    let provider = candidate.strip_suffix(id.as_str())?.strip_suffix('/')?;
                    has_key(provider).then_some(provider)
                });
                match providers.collect::<Vec<_>>().as_slice() {
                    [only] => self.catalog.get(only, &id),
                    _ => Err(LookupError::Ambiguous { id, candidates }),
                }
            }
            found => found,
        };
        let model = found.map_err(|error| {
            usage(format!(
                "{error}; pi --list-models [FILTER] shows all, --base-url URL takes any name"
            ))
        })?;
        if self.speaks(&model.api) {
            return Ok(model);
        }
        Err(usage(format!(
            "{}/{} is served in the protocol {}, which this version does not speak",
            model.provider, model.id, model.api
        )))
    }

    fn speaks(&self, api: &str) -> bool {
        self.apis.iter().any(|known| known == api)
    }

    /// Returns the models that can be asked here and match all words of a filter.
    fn matching(&self, filter: &str) -> Vec<Model> {
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        let matches = |model: &Model| {
            let text = format!("{}/{} {}", model.provider, model.id, model.name).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let models = self.catalog.models();
        models
            .filter(|model| self.speaks(&model.api))
            .filter(matches)
            .collect()
    }
}

/// Lists models: a table, or one a line as JSON.
///
/// # Errors
/// If the models of the user cannot be read, or nobody reads the list.
pub(crate) fn list(args: &Args, filter: &str, output: &Output) -> anyhow::Result<Exit> {
    let models = Models::load(args.models.as_deref())?.matching(filter);
    if models.is_empty() {
        anyhow::bail!("no model matches {filter:?}");
    }
    let text = if args.json.is_some() {
        let lines: Result<Vec<String>, _> = models.iter().map(serde_json::to_string).collect();
        lines.context("a model cannot be written")?.join("\n") + "\n"
    } else {
        table(&models)
    };
    output.write(text.as_bytes());
    Ok(Exit::Done)
}

/// Writes the models below each other. Prices are those of a million tokens.
fn table(models: &[Model]) -> String {
    let head = ["model", "context", "$ in", "$ out", "thinking", "images"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(models.iter().map(row));
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for [model, context, price_in, price_out, thinking, images] in &rows {
        let [m, c, i, o, t, _] = widths;
        let line = format!(
            "{model:m$}  {context:>c$}  {price_in:>i$}  {price_out:>o$}  {thinking:t$}  {images}"
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn row(model: &Model) -> [String; 6] {
    let levels = model.thinking_levels();
    let thinking = match (levels.as_slice(), levels.last()) {
        ([_, _, ..], Some(most)) => format!("up to {}", most.as_str()),
        ([only], _) if only.as_str() != "off" => only.as_str().to_owned(),
        _ => "-".to_owned(),
    };
    [
        format!("{}/{}", model.provider, model.id),
        tokens(model.context_window),
        price(model.cost.input),
        price(model.cost.output),
        thinking,
        if model.takes_images() { "yes" } else { "-" }.to_owned(),
    ]
}

/// Writes a number of tokens; `?` for an unknown one.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0 => "?".to_owned(),
        1..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0),
    }
}

/// Writes a price; one of zero may as well be unknown.
fn price(dollars: f64) -> String {
    if dollars > 0.0 {
        format!("{dollars:.2}")
    } else {
        "-".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models() -> Models {
        let own = r#"[
            { "provider": "lab", "id": "own", "api": "openai-completions",
              "baseUrl": "http://10.0.0.7/v1", "contextWindow": 4096 },
            { "provider": "lab", "id": "odd", "api": "smoke-signals" },
            { "provider": "works", "id": "own", "api": "openai-completions" }
        ]"#;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("models.json");
        std::fs::write(&file, own).unwrap();
        Models::load(Some(&file)).unwrap()
    }

    fn found(name: &str, keys: &[&str]) -> String {
        match models().find(name, |provider| keys.contains(&provider)) {
            Ok(model) => format!("{}/{} {}", model.provider, model.id, model.api),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn names_lead_to_models_or_to_what_may_have_been_meant() {
        for (name, keys, expected) in [
            ("lab/own", &[][..], "lab/own openai-completions"),
            (
                "openai/gpt-4.1-mini",
                &[],
                "openai/gpt-4.1-mini openai-responses",
            ),
            ("own", &["works"], "works/own openai-completions"),
            ("own", &[], "lab/own, works/own"),
            ("own", &["lab", "works"], "lab/own, works/own"),
            (
                "lab/odd",
                &[],
                "smoke-signals, which this version does not speak",
            ),
            (
                "anthropic/claude-sonet-4-5",
                &[],
                "did you mean anthropic/claude-sonnet-4-5",
            ),
            (
                "antropic/claude-sonnet-4-5",
                &[],
                "anthropic/claude-sonnet-4-5",
            ),
            ("no such model at all", &[], "--list-models"),
        ] {
            let found = found(name, keys);
            assert!(found.contains(expected), "{name}: {found}");
        }
    }

    #[test]
    fn all_words_of_a_filter_must_match() {
        let models = models();
        assert_eq!(models.matching("LAB/ own").len(), 1);
        assert_eq!(models.matching("lab/ odd").len(), 0);
        assert!(models.matching("").len() > 100);
    }

    #[test]
    fn a_table_has_a_line_for_each_model() {
        let text = table(&models().matching("lab/own"));
        assert_eq!(
            text,
            "model    context  $ in  $ out  thinking  images\n\
             lab/own       4k     -      -  -         -\n"
        );
    }
}
