//! The events of a response, read in one pass and borrowed from their frame.
//!
//! One type holds the fields of all events: unlike a tagged enum it needs no second look at the
//! text, and a field that is missing, `null` or unknown does no harm.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::read::Text;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item_id: Text<'a>,
    pub(super) content_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Text<'a>,
    /// All arguments of a call.
    #[serde(borrow)]
    pub(super) arguments: Text<'a>,
    /// The whole input of a call with a grammar.
    #[serde(borrow)]
    pub(super) input: Text<'a>,
    #[serde(borrow)]
    pub(super) item: Option<Item<'a>>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// An item of the output: a message, what the model thought, or a call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) phase: Text<'a>,
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub(super) summary: Option<Vec<Part<'a>>>,
}

/// A part of a message, or of what the model thought.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) refusal: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) service_tier: Text<'a>,
    pub(super) usage: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
    /// All items once more; of interest only where they did not come by themselves.
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
}

/// The text of an item, which goes back as it came.
#[derive(Deserialize)]
pub(super) struct RawItem<'a> {
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// What is left to look at of an event whose fields have other types than known ones.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Kinds<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    item: Option<Kind<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Kind<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
}

/// The kinds of items that become blocks of the reply.
pub(super) const ITEMS: [&str; 4] = ["message", "reasoning", "function_call", "custom_tool_call"];

impl Kinds<'_> {
    /// Returns true if the event, and its item if it has one, are of a kind that is read.
    pub(super) fn are_known(&self) -> bool {
        let is_known_item = |item: &Kind<'_>| ITEMS.contains(&&*item.r#type);
        is_known(&self.r#type) && self.item.as_ref().is_none_or(is_known_item)
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "error"
            | "response.created"
            | "response.output_item.added"
            | "response.output_item.done"
            | "response.output_text.delta"
            | "response.refusal.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_text.delta"
            | "response.function_call_arguments.delta"
            | "response.function_call_arguments.done"
            | "response.custom_tool_call_input.delta"
            | "response.custom_tool_call_input.done"
            | "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
    )
}
