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
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) message: Option<MessageStart<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<Block<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) usage: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow)]
    pub(super) signature: Text<'a>,
    /// The payload of hidden reasoning.
    #[serde(borrow)]
    pub(super) data: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    /// The arguments of a call, empty where they follow in pieces.
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow)]
    pub(super) partial_json: Text<'a>,
    #[serde(borrow)]
    pub(super) signature: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Option<StopDetails<'a>>,
}

/// Why the model refused.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow)]
    pub(super) category: Text<'a>,
    #[serde(borrow)]
    pub(super) explanation: Text<'a>,
}

/// The kinds of an event alone, of which all else may have any shape.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Kinds<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    index: Option<u64>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Kind<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
}

impl Kinds<'_> {
    /// Returns the index of the block that the event begins, if it does.
    pub(super) fn begun(&self) -> Option<u64> {
        (&*self.r#type == "content_block_start").then(|| self.index.unwrap_or(0))
    }

    /// Returns true for an event that this version reads.
    pub(super) fn are_known(&self) -> bool {
        const BLOCKS: &[&str] = &["text", "thinking", "redacted_thinking", "tool_use"];
        const DELTAS: &[&str] = &[
            "text_delta",
            "thinking_delta",
            "input_json_delta",
            "signature_delta",
        ];
        let (known, part) = match &*self.r#type {
            "content_block_start" => (BLOCKS, self.content_block),
            "content_block_delta" => (DELTAS, self.delta),
            "message_start" | "content_block_stop" | "message_delta" | "message_stop" => {
                return true;
            }
            _ => return false,
        };
        let kind = part.and_then(|part| serde_json::from_str::<Kind<'_>>(part.get()).ok());
        kind.is_none_or(|kind| known.contains(&&*kind.r#type))
    }
}
