//! The shape of the generated tables, and the way from there to a [`Model`].

use pi_core::{CostTier, InputKind, Model, ModelCompat, ModelCost, ThinkingLevel};
use serde::Deserialize as _;
use serde_json::Value;

/// The models of a provider, by id.
pub(super) struct Table {
    pub(super) provider: &'static str,
    pub(super) models: &'static [Entry],
}

/// A model. The fields are those of [`Model`].
pub(super) struct Entry {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) api: &'static str,
    pub(super) base_url: &'static str,
    pub(super) reasoning: bool,
    pub(super) input: &'static [&'static str],
    pub(super) prices: Prices,
    pub(super) tiers: &'static [Tier],
    pub(super) context_window: u64,
    pub(super) max_tokens: u64,
    pub(super) thinking_levels: &'static [(&'static str, Option<&'static str>)],
    pub(super) compat: Fields,
    pub(super) extra: Fields,
}

/// US dollars for a million tokens.
pub(super) struct Prices {
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) cache_read: f64,
    pub(super) cache_write: f64,
}

/// Prices of requests with more input tokens than the threshold.
pub(super) struct Tier {
    pub(super) input_tokens_above: u64,
    pub(super) prices: Prices,
}

/// A JSON value that needs no parsing.
pub(super) enum Fact {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'static str),
    List(&'static [Self]),
    Object(Fields),
}

pub(super) type Fields = &'static [(&'static str, Fact)];

impl Entry {
    pub(super) fn model(&self, provider: &str) -> Model {
        let mut model = Model::new(self.id, self.api, provider, self.base_url);
        self.name.clone_into(&mut model.name);
        model.reasoning = self.reasoning;
        model.input = self
            .input
            .iter()
            .map(|kind| InputKind::from(*kind))
            .collect();
        model.cost = self.cost();
        model.context_window = self.context_window;
        model.max_tokens = self.max_tokens;
        if !self.thinking_levels.is_empty() {
            let words = self.thinking_levels.iter();
            let words =
                words.map(|(level, word)| (ThinkingLevel::from(*level), word.map(str::to_owned)));
            model.thinking_level_map = Some(words.collect());
        }
        if !self.compat.is_empty() {
            model.compat = Some(Box::new(self.compat()));
        }
        for (field, fact) in self.extra {
            model.extra.insert(*field, fact.value());
        }
        model
    }

    fn cost(&self) -> ModelCost {
        let Prices {
            input,
            output,
            cache_read,
            cache_write,
        } = self.prices;
        let mut cost = ModelCost::new(input, output, cache_read, cache_write);
        cost.tiers = self.tiers.iter().map(Tier::tier).collect();
        cost
    }

    /// Sorts the flags into those that `ModelCompat` has a field for and the others.
    fn compat(&self) -> ModelCompat {
        ModelCompat::deserialize(Fact::Object(self.compat).value())
            .expect("a test converts every entry of the tables")
    }
}

impl Tier {
    fn tier(&self) -> CostTier {
        let mut tier = CostTier::default();
        tier.input_tokens_above = self.input_tokens_above;
        tier.input = self.prices.input;
        tier.output = self.prices.output;
        tier.cache_read = self.prices.cache_read;
        tier.cache_write = self.prices.cache_write;
        tier
    }
}

impl Fact {
    fn value(&self) -> Value {
        match self {
            Self::Bool(value) => Value::from(*value),
            Self::Int(value) => Value::from(*value),
            Self::Float(value) => Value::from(*value),
            Self::Text(text) => Value::from(*text),
            Self::List(facts) => facts.iter().map(Self::value).collect(),
            Self::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(field, fact)| (*field, fact.value())).collect()
            }
        }
    }
}
