//! Token counts and what they cost.

use serde::{Deserialize, Deserializer, Serialize};

use crate::tagged::Extra;

/// Token counts of one reply, and their cost.
///
/// `input` counts only tokens charged at the full input price; cached ones are in `cache_read` and
/// `cache_write`. Counts that a provider reports as negative or missing are zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens at the full price.
    #[serde(deserialize_with = "token_count")]
    pub input: u64,
    /// Output tokens, reasoning included.
    #[serde(deserialize_with = "token_count")]
    pub output: u64,
    /// Input tokens read from the provider's cache.
    #[serde(deserialize_with = "token_count")]
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    #[serde(deserialize_with = "token_count")]
    pub cache_write: u64,
    /// Those of `cache_write` that are kept for an hour, at services that price them apart.
    #[serde(
        rename = "cacheWrite1h",
        deserialize_with = "token_count",
        skip_serializing_if = "is_zero"
    )]
    pub cache_write_1h: u64,
    /// All tokens of the request and the reply.
    #[serde(deserialize_with = "token_count")]
    pub total_tokens: u64,
    /// The cost in US dollars.
    pub cost: Cost,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Usage {
    /// Creates counts whose total is their sum, at no cost.
    #[must_use]
    pub fn new(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        let total_tokens = input
            .saturating_add(output)
            .saturating_add(cache_read)
            .saturating_add(cache_write);
        Self {
            input,
            output,
            cache_read,
            cache_write,
            total_tokens,
            ..Self::default()
        }
    }

    /// Adds the counts and the cost of another reply; counts saturate.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        let is_reported = self.cost.reported.is_some() || other.cost.reported.is_some();
        self.cost.reported = is_reported.then(|| self.cost.usd() + other.cost.usd());
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
    }
}

/// A cost in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Cost {
    /// Of input tokens.
    pub input: f64,
    /// Of output tokens.
    pub output: f64,
    /// Of tokens read from the cache.
    pub cache_read: f64,
    /// Of tokens written to the cache.
    pub cache_write: f64,
    /// Of everything, by the prices of the model.
    pub total: f64,
    /// Of everything, as the provider reports it. Few do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<f64>,
}

impl Cost {
    /// Returns what was charged, as far as that is known: what the provider reports, else the total
    /// by the prices of the model.
    #[must_use]
    pub fn usd(&self) -> f64 {
        self.reported.unwrap_or(self.total)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Reads a token count; negative, fractional and null counts become the nearest count.
fn token_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Count;

    impl serde::de::Visitor<'_> for Count {
        type Value = u64;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number of tokens")
        }

        fn visit_u64<E>(self, count: u64) -> Result<u64, E> {
            Ok(count)
        }

        fn visit_i64<E>(self, count: i64) -> Result<u64, E> {
            Ok(u64::try_from(count).unwrap_or(0))
        }

        fn visit_f64<E>(self, count: f64) -> Result<u64, E> {
            // A float cast saturates, and turns NaN into zero.
            Ok(count as u64)
        }

        fn visit_unit<E>(self) -> Result<u64, E> {
            Ok(0)
        }
    }

    deserializer.deserialize_any(Count)
}
