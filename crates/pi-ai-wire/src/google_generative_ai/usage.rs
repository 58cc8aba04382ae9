//! Token counts.

use pi_core::{Model, Usage};
use serde::Deserialize;

use crate::read::Count;

/// The `usageMetadata` of a chunk: totals of the reply so far.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireUsage {
    /// The prompt, cached tokens included.
    prompt_token_count: Option<Count>,
    cached_content_token_count: Count,
    /// What the service's own tools put into the prompt.
    tool_use_prompt_token_count: Count,
    /// The reply, thoughts excluded.
    candidates_token_count: Option<Count>,
    thoughts_token_count: Count,
    total_token_count: Option<Count>,
}

impl WireUsage {
    /// Replaces the counts and works out the cost, unless there are none: Vertex AI sends chunks
    /// that only name the kind of traffic (fixture `usage-without-counts`).
    pub(super) fn apply(self, usage: &mut Usage, model: &Model) {
        let counts = [
            self.prompt_token_count,
            self.candidates_token_count,
            self.total_token_count,
        ];
        if counts.iter().all(Option::is_none) {
            return;
        }
        let of = |count: Option<Count>| count.unwrap_or_default().0;
        let cached = self.cached_content_token_count.0;
        let input = of(self.prompt_token_count)
            .saturating_sub(cached)
            .saturating_add(self.tool_use_prompt_token_count.0);
        let output = of(self.candidates_token_count).saturating_add(self.thoughts_token_count.0);
        *usage = Usage::new(input, output, cached, 0);
        if let Some(total) = self.total_token_count {
            usage.total_tokens = total.0;
        }
        model.price(usage);
    }
}
