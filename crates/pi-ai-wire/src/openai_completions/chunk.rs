//! The chunks of a response, read in one pass and borrowed from their frame.
//!
//! The types are as tolerant as services are careless: every field may be missing or `null`, and
//! unknown fields are skipped.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chat::{CallDelta, FunctionDelta, WireUsage};
use crate::read::{First, Text};

/// The fields that services put reasoning in, in the order in which they are looked at: some send
/// the same text in two of them.
pub(super) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) object: Text<'a>,
    /// Only one reply is asked for, so only the first choice counts.
    #[serde(borrow)]
    pub(super) choices: First<Choice<'a>>,
    pub(super) usage: Option<WireUsage>,
    /// The tier that the service used, which sets the price (OpenAI).
    #[serde(borrow)]
    pub(super) service_tier: Text<'a>,
    /// Groq's own place for usage, the only one in some of its streams.
    pub(super) x_groq: Option<Groq>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Groq {
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
    /// Moonshot's place for usage.
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow)]
    reasoning_content: Text<'a>,
    #[serde(borrow)]
    reasoning: Text<'a>,
    #[serde(borrow)]
    reasoning_text: Text<'a>,
    /// Read only where it has something that the fields above have not.
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The way of 2023 to ask for one call.
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

impl<'a> Delta<'a> {
    /// Takes the reasoning, with the name of the first field that has any.
    pub(super) fn take_reasoning(&mut self) -> Option<(&'static str, Cow<'a, str>)> {
        let texts = [
            &mut self.reasoning_content,
            &mut self.reasoning,
            &mut self.reasoning_text,
        ];
        REASONING_FIELDS
            .into_iter()
            .zip(texts)
            .find(|(_, text)| !text.is_empty())
            .map(|(field, text)| (field, std::mem::take(text).0))
    }
}

/// One of the `reasoning_details`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ReasoningDetail<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) data: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) summary: Text<'a>,
}
