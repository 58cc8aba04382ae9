//! The events of a response, read in one pass and borrowed from their frame.
//!
//! One type holds the fields of all events, whose names are in the headers of the frames.

use pi_core::{Model, Usage};
use serde::Deserialize;

use crate::read::{Count, Text};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Event<'a> {
    pub(super) content_block_index: Option<u64>,
    #[serde(borrow)]
    pub(super) start: Option<Start<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Start<'a> {
    #[serde(borrow)]
    pub(super) tool_use: Option<ToolUse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolUse<'a> {
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
}

/// A piece of a block; its kind is the field that is there.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Reasoning<'a>>,
    #[serde(borrow)]
    pub(super) tool_use: Option<Input<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Reasoning<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) signature: Text<'a>,
    #[serde(borrow)]
    pub(super) redacted_content: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Input<'a> {
    #[serde(borrow)]
    pub(super) input: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_write_input_tokens: Count,
    cache_details: Option<Vec<CacheDetail>>,
}

/// What was written to the cache, by how long it is kept.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CacheDetail {
    ttl: String,
    input_tokens: Count,
}

impl WireUsage {
    /// Returns the counts with their cost. Tokens of the cache are no part of the input.
    pub(super) fn into_usage(self, model: &Model) -> Usage {
        let mut usage = Usage::new(
            self.input_tokens.0,
            self.output_tokens.0,
            self.cache_read_input_tokens.0,
            self.cache_write_input_tokens.0,
        );
        let details = self.cache_details.unwrap_or_default();
        let long = details.iter().filter(|detail| detail.ttl == "1h");
        let long = long.fold(0_u64, |sum, detail| {
            sum.saturating_add(detail.input_tokens.0)
        });
        usage.cache_write_1h = long.min(usage.cache_write);
        model.price(&mut usage);
        usage
    }
}
