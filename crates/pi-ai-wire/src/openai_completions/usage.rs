//! Token counts, which every service spells a little differently.

use pi_core::{Model, Usage};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The `usage` of a chunk.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// `DeepSeek`'s name for `prompt_tokens_details.cached_tokens`.
    prompt_cache_hit_tokens: Count,
    /// Moonshot's name for it.
    cached_tokens: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    /// Returns the counts with their cost.
    pub(super) fn to_usage(self, model: &Model) -> Usage {
        let prompt = self.prompt_tokens.0;
        let details = self.prompt_tokens_details.unwrap_or_default();
        let cache_read = [
            details.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.cached_tokens,
        ]
        .iter()
        .map(|count| count.0)
        .find(|count| *count > 0)
        .unwrap_or(0);
        let cache_write = details.cache_write_tokens.0;
        let input = prompt
            .saturating_sub(cache_read)
            .saturating_sub(cache_write);
        let mut usage = Usage::new(input, self.output(), cache_read, cache_write);
        model.price(&mut usage);
        usage
    }

    /// Reasoning is part of the completion, except at services whose total says otherwise (xAI).
    fn output(&self) -> u64 {
        let completion = self.completion_tokens.0;
        let reasoning = self
            .completion_tokens_details
            .unwrap_or_default()
            .reasoning_tokens
            .0;
        let with_reasoning = completion.saturating_add(reasoning);
        if self.total_tokens.0 == self.prompt_tokens.0.saturating_add(with_reasoning) {
            with_reasoning
        } else {
            completion
        }
    }
}

/// A token count; what is no count is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl<'de> Visitor<'de> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of tokens")
            }

            fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
                Ok(Count(count))
            }

            fn visit_i64<E>(self, count: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(count).unwrap_or(0)))
            }

            fn visit_f64<E>(self, count: f64) -> Result<Count, E> {
                // A float cast saturates, and turns NaN into zero.
                Ok(Count(count as u64))
            }

            fn visit_unit<E>(self) -> Result<Count, E> {
                Ok(Count(0))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
                Ok(Count(0))
            }

            fn visit_str<E>(self, _: &str) -> Result<Count, E> {
                Ok(Count(0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Count(0))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Count(0))
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}
