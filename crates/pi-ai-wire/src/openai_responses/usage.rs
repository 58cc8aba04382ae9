//! Token counts, and what they cost.

use pi_core::{Model, Usage};
use serde::Deserialize;

use crate::read::{Count, Dollars};
use crate::service_tier::scale_cost;

/// The `usage` of a response.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Count,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Count,
    output_tokens_details: Option<OutputDetails>,
    total_tokens: Count,
    /// What the service charges, in US dollars (OpenRouter).
    cost: Dollars,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    /// Returns the counts with their cost, which depends on how fast the service was to answer.
    pub(super) fn to_usage(self, model: &Model, service_tier: &str) -> Usage {
        let details = self.input_tokens_details.unwrap_or_default();
        let cache_read = details.cached_tokens.0;
        let cache_write = details.cache_write_tokens.0;
        let input = self
            .input_tokens
            .0
            .saturating_sub(cache_read)
            .saturating_sub(cache_write);
        let mut usage = Usage::new(input, self.output(), cache_read, cache_write);
        if self.total_tokens.0 > 0 {
            usage.total_tokens = self.total_tokens.0;
        }
        usage.cost.reported = self.cost.0;
        model.price(&mut usage);
        scale_cost(&mut usage, service_tier);
        usage
    }

    /// Reasoning is part of the output, except at services whose total says otherwise.
    fn output(&self) -> u64 {
        let output = self.output_tokens.0;
        let details = self.output_tokens_details.unwrap_or_default();
        let with_reasoning = output.saturating_add(details.reasoning_tokens.0);
        if self.total_tokens.0 == self.input_tokens.0.saturating_add(with_reasoning) {
            with_reasoning
        } else {
            output
        }
    }
}
