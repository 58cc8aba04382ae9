//! Token counts.

use pi_core::{Model, Usage};
use serde::Deserialize;

use crate::read::{Count, Dollars};

/// The `usage` of an event. Its numbers are totals of the reply so far; what is missing or `null`
/// is as it was.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    cache_read_input_tokens: Option<Count>,
    cache_creation_input_tokens: Option<Count>,
    cache_creation: Option<CacheCreation>,
    /// What a gateway charges, in US dollars.
    cost: Option<Dollars>,
}

/// What was written to the cache, by how long it is kept. Some gateways give nothing else.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Count,
    ephemeral_1h_input_tokens: Count,
}

impl WireUsage {
    /// Replaces the counts that are there, and works out the cost again.
    pub(super) fn apply(self, usage: &mut Usage, model: &Model) {
        let of = |count: Option<Count>, before: u64| count.map_or(before, |count| count.0);
        let written = self
            .cache_creation_input_tokens
            .or(self.cache_creation.map(CacheCreation::total));
        let long = self
            .cache_creation
            .map(|written| written.ephemeral_1h_input_tokens);
        let (long, reported) = (of(long, usage.cache_write_1h), usage.cost.reported);
        *usage = Usage::new(
            of(self.input_tokens, usage.input),
            of(self.output_tokens, usage.output),
            of(self.cache_read_input_tokens, usage.cache_read),
            of(written, usage.cache_write),
        );
        usage.cache_write_1h = long.min(usage.cache_write);
        usage.cost.reported = self.cost.and_then(|cost| cost.0).or(reported);
        model.price(usage);
    }
}

impl CacheCreation {
    fn total(self) -> Count {
        let Self {
            ephemeral_5m_input_tokens: short,
            ephemeral_1h_input_tokens: long,
        } = self;
        Count(short.0.saturating_add(long.0))
    }
}
