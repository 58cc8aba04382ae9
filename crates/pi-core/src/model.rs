//! What is known about a model.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shown::{Address, Headers};
use crate::tagged::{Extra, string_enum};
use crate::usage::{Cost, Usage};

string_enum! {
    /// A kind of input that a model takes.
    pub enum InputKind {
        /// Text.
        Text = "text",
        /// Images.
        Image = "image",
    }
}

string_enum! {
    /// How much a model should think before it answers.
    pub enum ThinkingLevel {
        /// Not at all.
        Off = "off",
        /// As little as the model can.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// The middle way.
        Medium = "medium",
        /// A lot.
        High = "high",
        /// More than `High`, on the models that have it.
        XHigh = "xhigh",
        /// As much as the model can, on the models that have it.
        Max = "max",
    }
}

/// Every level that this version knows, from the least to the most.
const LEVELS: [ThinkingLevel; 7] = [
    ThinkingLevel::Off,
    ThinkingLevel::Minimal,
    ThinkingLevel::Low,
    ThinkingLevel::Medium,
    ThinkingLevel::High,
    ThinkingLevel::XHigh,
    ThinkingLevel::Max,
];

/// A model: where it is served, what it can do and what it costs.
///
/// The values come from a catalogue or from the application; nothing here is looked up. `Debug` shows
/// neither the values of headers nor user info and query of the address, which can hold keys.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Model {
    /// The id that the provider knows it by.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The wire protocol, such as `openai-completions`; a [`Router`](crate::Router) goes by it.
    pub api: String,
    /// The provider's name, such as `openai`; keys are looked up by it.
    pub provider: String,
    /// The address that paths of the API are appended to.
    #[serde(default)]
    pub base_url: String,
    /// True if the model can think.
    #[serde(default)]
    pub reasoning: bool,
    /// What the model takes.
    #[serde(default)]
    pub input: Vec<InputKind>,
    /// Prices.
    #[serde(default)]
    pub cost: ModelCost,
    /// The size of the context window in tokens; 0 if unknown.
    #[serde(default)]
    pub context_window: u64,
    /// The most tokens of one reply; 0 if unknown.
    #[serde(default)]
    pub max_tokens: u64,
    /// Headers for every request to this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The provider's word for each thinking level; `None` means that the level is not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    /// How this server differs from the plain protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Box<ModelCompat>>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Model {
    /// Creates a text model that cannot think, with unknown limits and no price.
    pub fn new(
        id: impl Into<String>,
        api: impl Into<String>,
        provider: impl Into<String>,
        base_url: impl Into<String>,
    ) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            api: api.into(),
            provider: provider.into(),
            base_url: base_url.into(),
            input: vec![InputKind::Text],
            ..Self::default()
        }
    }

    /// Returns true if the model takes images.
    #[must_use]
    pub fn takes_images(&self) -> bool {
        self.input.contains(&InputKind::Image)
    }

    /// Returns the thinking levels that the model offers, from the least to the most.
    ///
    /// A model that cannot think offers `Off` alone. For the others `thinking_level_map` decides:
    /// a level with a word is offered, one without is not, and of the levels that it does not name
    /// all up to `High` are offered. Levels that this version does not know are left out.
    #[must_use]
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        LEVELS
            .into_iter()
            .filter(|level| self.offers(level))
            .collect()
    }

    /// Returns the level itself if the model offers it, else the next higher one that it offers,
    /// else the next lower one; `Off` if it offers none.
    ///
    /// A level that this version does not know is kept if `thinking_level_map` has a word for it,
    /// and becomes the least level that is offered if not.
    #[must_use]
    pub fn clamp_thinking(&self, level: &ThinkingLevel) -> ThinkingLevel {
        if self.offers(level) {
            return level.clone();
        }
        let known = LEVELS.iter().position(|other| other == level);
        let (lower, higher) = LEVELS.split_at(known.unwrap_or(0));
        let mut nearest = higher.iter().chain(lower.iter().rev());
        let nearest = nearest.find(|level| self.offers(level));
        nearest.cloned().unwrap_or(ThinkingLevel::Off)
    }

    fn offers(&self, level: &ThinkingLevel) -> bool {
        if !self.reasoning {
            return *level == ThinkingLevel::Off;
        }
        match self
            .thinking_level_map
            .as_ref()
            .and_then(|words| words.get(level))
        {
            Some(word) => word.is_some(),
            None => *level <= ThinkingLevel::High,
        }
    }

    /// Works out what `usage` costs at this model's prices and writes it into `usage.cost`; what the
    /// provider reports stays.
    pub fn price(&self, usage: &mut Usage) {
        let reported = usage.cost.reported;
        usage.cost = self.cost.of(usage);
        usage.cost.reported = reported;
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            name,
            api,
            provider,
            base_url,
            reasoning,
            input,
            cost,
            context_window,
            max_tokens,
            headers,
            thinking_level_map,
            compat,
            extra,
        } = self;
        f.debug_struct("Model")
            .field("id", id)
            .field("name", name)
            .field("api", api)
            .field("provider", provider)
            .field("base_url", &Address(base_url))
            .field("reasoning", reasoning)
            .field("input", input)
            .field("cost", cost)
            .field("context_window", context_window)
            .field("max_tokens", max_tokens)
            .field("headers", &headers.as_ref().map(Headers))
            .field("thinking_level_map", thinking_level_map)
            .field("compat", compat)
            .field("extra", extra)
            .finish()
    }
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ModelCost {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Tokens written to the cache for an hour; twice the price of input when absent, which is
    /// Anthropic's price.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// Other prices for long requests, in the order of their thresholds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<CostTier>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ModelCost {
    /// Creates flat prices.
    #[must_use]
    pub fn new(input: f64, output: f64, cache_read: f64, cache_write: f64) -> Self {
        Self {
            input,
            output,
            cache_read,
            cache_write,
            ..Self::default()
        }
    }

    /// Works out a cost: each price times its tokens, by the highest tier that the request reached.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Cost {
        let request = usage
            .input
            .saturating_add(usage.cache_read)
            .saturating_add(usage.cache_write);
        let tier = self
            .tiers
            .iter()
            .filter(|tier| request > tier.input_tokens_above)
            .max_by_key(|tier| tier.input_tokens_above);
        let (input, output, cache_read, cache_write) = match tier {
            Some(tier) => (tier.input, tier.output, tier.cache_read, tier.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let long = usage.cache_write_1h.min(usage.cache_write);
        let mut cost = Cost {
            input: dollars(input, usage.input),
            output: dollars(output, usage.output),
            cache_read: dollars(cache_read, usage.cache_read),
            cache_write: dollars(cache_write, usage.cache_write.saturating_sub(long)),
            ..Cost::default()
        };
        if long > 0 {
            let price = self.cache_write_1h.unwrap_or(2.0 * input);
            cost.cache_write += dollars(price, long);
        }
        cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
        cost
    }
}

/// Prices that replace the plain ones when a request has more input tokens than the threshold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct CostTier {
    /// The threshold in input tokens, cached ones included.
    pub input_tokens_above: u64,
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

fn dollars(usd_per_million_tokens: f64, tokens: u64) -> f64 {
    (usd_per_million_tokens / 1_000_000.0) * tokens as f64
}

/// How a server differs from the plain protocol that `Model::api` names.
///
/// A flag that is `None` means the default of the codec, which may guess from the address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ModelCompat {
    /// The server knows the field `store`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_store: Option<bool>,
    /// The server knows the role `developer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_developer_role: Option<bool>,
    /// The server knows `reasoning_effort`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_reasoning_effort: Option<bool>,
    /// The server's word for each effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort_map: Option<BTreeMap<ThinkingLevel, String>>,
    /// The server knows `stream_options.include_usage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_usage_in_streaming: Option<bool>,
    /// The name of the field for the token limit: `max_completion_tokens` or `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<String>,
    /// Tool results must carry the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_tool_result_name: Option<bool>,
    /// A user message behind tool results needs an assistant message in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_assistant_after_tool_result: Option<bool>,
    /// Reasoning must be sent back as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_thinking_as_text: Option<bool>,
    /// Content that is only text must be a plain string: some servers drop lists of parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_string_content: Option<bool>,
    /// How thinking is asked for: `openai`, `openrouter`, `zai`, `qwen`, `qwen-chat-template`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_format: Option<String>,
    /// Which upstream providers OpenRouter may use; sent as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_router_routing: Option<serde_json::Value>,
    /// Which upstream providers the Vercel gateway may use; sent as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vercel_gateway_routing: Option<serde_json::Value>,
    /// The server knows `strict` in a tool's definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_strict_mode: Option<bool>,
    /// Flags that this version has no field for; codecs may read them by name.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

#[cfg(test)]
mod tests;
