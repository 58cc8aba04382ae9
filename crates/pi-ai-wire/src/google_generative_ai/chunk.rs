//! The chunks of a response, read in one pass and borrowed from their frame.
//!
//! The types are as tolerant as services are careless: every field may be missing or `null`, and
//! unknown fields are skipped. Parts of kinds that are not known have no field that counts here.

use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::read::{First, Text};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) response_id: Text<'a>,
    /// Only one reply is asked for, so only the first one counts.
    #[serde(borrow)]
    pub(super) candidates: First<Candidate<'a>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    pub(super) usage_metadata: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) finish_message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<Part<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    /// The text is a thought.
    pub(super) thought: Option<bool>,
    /// What the model wants back with this part, of whatever kind it is.
    #[serde(borrow)]
    pub(super) thought_signature: Text<'a>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    /// Pieces of the arguments. They come only to those who ask Vertex AI for them.
    #[serde(borrow)]
    pub(super) partial_args: Option<Vec<PartialArg<'a>>>,
    /// More pieces follow.
    pub(super) will_continue: Option<bool>,
}

impl FunctionCall<'_> {
    /// Returns true for a part that says nothing but that there is a call.
    pub(super) fn is_blank(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.args.is_none()
    }

    pub(super) fn is_piece(&self) -> bool {
        self.partial_args.is_some() || self.will_continue == Some(true)
    }
}

/// A value within the arguments, or a piece of a string.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialArg<'a> {
    /// The place, such as `$.files[0].path`.
    #[serde(borrow)]
    pub(super) json_path: Text<'a>,
    #[serde(borrow)]
    pub(super) string_value: Option<Text<'a>>,
    pub(super) number_value: Option<Number>,
    pub(super) bool_value: Option<bool>,
    /// More pieces of this string follow.
    pub(super) will_continue: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) block_reason_message: Text<'a>,
}
