//! Token counts, which every service spells a little differently.

use pi_core::{Model, Usage};
use serde::Deserialize;

use crate::read::{Count, Dollars};

/// The `usage` of a chunk.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// `DeepSeek`'s name for `prompt_tokens_details.cached_tokens`.
    prompt_cache_hit_tokens: Count,
    /// Moonshot's name for it.
    cached_tokens: Count,
    /// What the service charges, in US dollars (OpenRouter).
    cost: Dollars,
    /// Mistral's older name for it.
    num_cached_tokens: Count,
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
    pub(crate) fn to_usage(self, model: &Model) -> Usage {
        let prompt = self.prompt_tokens.0;
        let details = self.prompt_tokens_details.unwrap_or_default();
        let cache_read = [
            details.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.cached_tokens,
            self.num_cached_tokens,
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
        usage.cost.reported = self.cost.0;
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
