//! Finding models by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pi_core::Model;

use crate::catalog::LookupError;
use crate::catalog::entry::{Entry, Table};
use crate::catalog::near::{Wanted, nearest};
use crate::catalog::providers::{provider, providers};
use crate::catalog::tables::TABLES;

/// Returns a built-in model.
///
/// # Errors
/// See [`Catalog::get`].
pub fn get(provider: &str, id: &str) -> Result<Model, LookupError> {
    Catalog::builtin().get(provider, id)
}

/// Returns the built-in model that `name` means: `provider/id`, or an id that only one provider has.
///
/// # Errors
/// See [`Catalog::find`].
pub fn find(name: &str) -> Result<Model, LookupError> {
    Catalog::builtin().find(name)
}

/// Iterates over the built-in models, by provider and by id.
pub fn models() -> impl Iterator<Item = Model> {
    let entries = TABLES.iter().flat_map(Listed::of_table);
    entries.map(|listed| listed.model())
}

/// Models to choose from: those that are built in, and those that the application has added.
///
/// It is a plain value. What is added last wins, also over what is built in.
///
/// # Examples
/// ```
/// use pi_ai::catalog::Catalog;
/// use pi_core::Model;
///
/// let own = Model::new("qwen3-4b", "openai-completions", "lab", "http://10.0.0.7:8080/v1");
/// let catalog = Catalog::builtin()
///     .with_model(own)
///     .with_json(r#"[{ "provider": "openai", "id": "gpt-4.1", "maxTokens": 1000 }]"#)?;
///
/// assert_eq!(catalog.find("lab/qwen3-4b")?.name, "qwen3-4b");
/// let model = catalog.get("openai", "gpt-4.1")?;
/// assert_eq!((model.max_tokens, model.context_window), (1000, 1_047_576));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Catalog {
    tables: &'static [Table],
    /// By provider and by id.
    added: BTreeMap<String, BTreeMap<String, Model>>,
}

impl Catalog {
    /// Creates a catalogue of the models that are built in. This costs nothing.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            tables: TABLES,
            added: BTreeMap::new(),
        }
    }

    /// Creates a catalogue without models.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a model, in place of the one with its provider and id.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.add(model);
        self
    }

    pub(super) fn add(&mut self, model: Model) {
        let of_provider = self.added.entry(model.provider.clone()).or_default();
        of_provider.insert(model.id.clone(), model);
    }

    /// Returns the model of a provider with an id, both spelled as in the catalogue.
    ///
    /// # Errors
    /// If there is no such provider or no such model, with names that are near; or if the models of
    /// the provider are left out of this build, with the feature that has them.
    pub fn get(&self, provider: &str, id: &str) -> Result<Model, LookupError> {
        self.known(provider, id)
            .ok_or_else(|| self.unknown(provider, id))
    }

    /// Returns the model that `name` means: `provider/id`, or an id that only one provider has.
    ///
    /// The part before the first `/` counts as provider if there is one of that name; ids may hold
    /// `/` and `:`.
    ///
    /// # Errors
    /// Those of [`get`](Self::get); and if several providers have the id, with their names.
    pub fn find(&self, name: &str) -> Result<Model, LookupError> {
        if let Some((provider, id)) = name.split_once('/')
            && self.has_provider(provider)
        {
            return self.get(provider, id);
        }
        let mut found: Vec<Listed<'_>> =
            self.listed().filter(|listed| listed.id() == name).collect();
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only.model()),
            (Some(last), false) => Err(LookupError::Ambiguous {
                id: name.to_owned(),
                candidates: found.iter().chain([&last]).map(Listed::name).collect(),
            }),
            (None, _) => Err(LookupError::UnknownModel {
                provider: None,
                id: name.to_owned(),
                suggestions: self.near_names(name),
            }),
        }
    }

    /// Iterates over all models: those that are built in, by provider and by id and as overridden,
    /// then those that were added.
    pub fn models(&self) -> impl Iterator<Item = Model> + '_ {
        self.listed().map(|listed| listed.model())
    }

    pub(super) fn known(&self, provider: &str, id: &str) -> Option<Model> {
        if let Some(model) = self.added(provider, id) {
            return Some(model.clone());
        }
        let table = self.table(provider)?;
        let at = table
            .models
            .binary_search_by(|entry| entry.id.cmp(id))
            .ok()?;
        Some(table.models.get(at)?.model(table.provider))
    }

    fn added(&self, provider: &str, id: &str) -> Option<&Model> {
        self.added.get(provider)?.get(id)
    }

    fn table(&self, provider: &str) -> Option<&'static Table> {
        let compare = |table: &Table| table.provider.cmp(provider);
        let at = self.tables.binary_search_by(compare).ok()?;
        self.tables.get(at)
    }

    fn has_provider(&self, id: &str) -> bool {
        self.added.contains_key(id) || provider(id).is_some()
    }

    /// Lists every model once, without making it.
    fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        let builtin = self.tables.iter().flat_map(Listed::of_table);
        let as_overridden = builtin.map(|listed| {
            let model = self.added(listed.provider(), listed.id());
            model.map_or(listed, Listed::Added)
        });
        let added = self.added.values().flat_map(BTreeMap::values);
        let new = added.filter(|model| !self.is_built_in(model));
        as_overridden.chain(new.map(Listed::Added))
    }

    fn is_built_in(&self, model: &Model) -> bool {
        let ids = self.table(&model.provider).map(|table| table.models);
        ids.is_some_and(|models| {
            let compare = |entry: &Entry| entry.id.cmp(&model.id);
            models.binary_search_by(compare).is_ok()
        })
    }

    fn unknown(&self, provider: &str, id: &str) -> LookupError {
        if !self.has_provider(provider) {
            return LookupError::UnknownProvider {
                provider: provider.to_owned(),
                suggestions: self.near_providers(provider, id),
            };
        }
        let is_left_out = self.table(provider).is_none() && !self.added.contains_key(provider);
        if let Some(info) = super::provider(provider)
            && is_left_out
        {
            return LookupError::NotBuiltIn {
                provider: provider.to_owned(),
                feature: info.feature,
            };
        }
        LookupError::UnknownModel {
            provider: Some(provider.to_owned()),
            id: id.to_owned(),
            suggestions: self.near_ids(provider, id),
        }
    }

    /// Suggests providers with a name like that, else those that have such an id.
    fn near_providers(&self, name: &str, id: &str) -> Vec<String> {
        let wanted = Wanted::new(name);
        let known = providers().iter().map(|provider| provider.id);
        let names: BTreeSet<&str> = known.chain(self.added.keys().map(String::as_str)).collect();
        let near = names
            .into_iter()
            .filter_map(|name| Some((wanted.distance(name)?, name.to_owned())));
        let near = nearest(near);
        if !near.is_empty() {
            return near;
        }
        let same = self.listed().filter(|listed| listed.id() == id);
        nearest(same.map(|listed| (0, listed.provider().to_owned())))
    }

    /// Suggests ids of the provider, and behind them other providers of this very id.
    fn near_ids(&self, provider: &str, id: &str) -> Vec<String> {
        let wanted = Wanted::new(id);
        nearest(self.listed().filter_map(|listed| {
            let distance = match listed.provider() == provider {
                true => wanted.distance(listed.id())?,
                false if listed.id() == id => usize::MAX,
                false => return None,
            };
            Some((distance, listed.name()))
        }))
    }

    /// Suggests models, each id once, whether a provider was meant to be named or not.
    fn near_names(&self, name: &str) -> Vec<String> {
        let wanted = Wanted::new(name);
        let mut best: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        let listed: Vec<Listed<'_>> = self.listed().collect();
        for listed in &listed {
            let with_provider = listed.name();
            let of_id = wanted.distance(listed.id());
            let of_both = name.contains('/').then(|| wanted.distance(&with_provider));
            let Some(distance) = of_id.into_iter().chain(of_both.flatten()).min() else {
                continue;
            };
            let found = best
                .entry(listed.id())
                .or_insert((usize::MAX, String::new()));
            if distance < found.0 {
                *found = (distance, with_provider);
            }
        }
        nearest(best.into_values())
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let builtin: usize = self.tables.iter().map(|table| table.models.len()).sum();
        f.debug_struct("Catalog")
            .field("builtin", &builtin)
            .field("added", &self.added)
            .finish()
    }
}

/// A model that is there, made only when it is asked for.
#[derive(Clone, Copy)]
enum Listed<'a> {
    BuiltIn(&'static str, &'static Entry),
    Added(&'a Model),
}

impl Listed<'_> {
    fn of_table(table: &'static Table) -> impl Iterator<Item = Self> {
        let models = table.models.iter();
        models.map(|entry| Self::BuiltIn(table.provider, entry))
    }

    fn provider(&self) -> &str {
        match self {
            Self::BuiltIn(provider, _) => provider,
            Self::Added(model) => &model.provider,
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::BuiltIn(_, entry) => entry.id,
            Self::Added(model) => &model.id,
        }
    }

    fn name(&self) -> String {
        format!("{}/{}", self.provider(), self.id())
    }

    fn model(&self) -> Model {
        match self {
            Self::BuiltIn(provider, entry) => entry.model(provider),
            Self::Added(model) => (*model).clone(),
        }
    }
}
