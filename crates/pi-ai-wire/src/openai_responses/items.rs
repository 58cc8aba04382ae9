//! The items of the output, each of which becomes one block of the reply.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use pi_core::AssistantEvent;
use serde_json::value::RawValue;

use super::types::{Event, Item, Part, RawItem};
use crate::codec::{text_delta, text_end, thinking_delta, thinking_end};
use crate::digest::Digest;
use crate::ids::CallIds;
use crate::json;

use self::call::Call;

mod call;

/// What stands between the parts of what a model thought.
const PART_BREAK: &str = "\n\n";

/// The items of one reply.
///
/// An event belongs to the item at its `output_index`: ids of items are no help, since gateways make
/// new ones for each event. Where the index is missing, the id decides, and without both it is the
/// item that came last.
#[derive(Debug, Default)]
pub(super) struct Items {
    items: HashMap<u64, State>,
    by_id: HashMap<String, u64>,
    last: Option<u64>,
    next_block: usize,
    calls: CallIds,
}

/// Where an event says that it belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    index: Option<u64>,
    id: &'a str,
}

#[derive(Debug)]
enum State {
    Open(Block),
    /// The item has ended, or is of a kind that is not read.
    Closed,
}

/// An open block, and what came of it.
#[derive(Debug)]
struct Block {
    content_index: usize,
    kind: Kind,
    shown: Digest,
}

#[derive(Debug)]
enum Kind {
    Text,
    Thinking {
        /// The part of the raw thoughts that came last.
        part: Option<u64>,
    },
    Call(Box<Call>),
}

impl<'a> Place<'a> {
    pub(super) fn of(event: &'a Event<'_>) -> Self {
        Self {
            index: event.output_index,
            id: &event.item_id,
        }
    }

    /// The place of an item itself, at an index or without one.
    pub(super) fn of_item(index: Option<u64>, item: &'a Item<'_>) -> Self {
        Self {
            index,
            id: &item.id,
        }
    }
}

impl Items {
    /// Returns true if no block has begun.
    pub(super) fn are_none(&self) -> bool {
        self.next_block == 0
    }

    pub(super) fn have_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Begins the block of an item. An item that is still open at its place has ended without saying so.
    pub(super) fn begin(
        &mut self,
        place: Place<'_>,
        item: &Item<'_>,
        seed: Option<&str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        // Calls begin with their name.
        let is_call = matches!(&*item.r#type, "function_call" | "custom_tool_call");
        if is_call && item.name.is_empty() {
            return;
        }
        let key = place.index.unwrap_or_else(|| self.unnumbered());
        if let Some(State::Open(block)) = self.items.remove(&key) {
            block.abandon(events);
        }
        if !place.id.is_empty() {
            self.by_id.insert(place.id.to_owned(), key);
        }
        self.last = Some(key);
        let kind = match &*item.r#type {
            "message" => Kind::Text,
            "reasoning" => Kind::Thinking { part: None },
            _ if is_call => Kind::Call(Box::new(Call::new(item, &mut self.calls, seed))),
            other => {
                tracing::debug!(kind = other, "skipped an item of the reply");
                self.items.insert(key, State::Closed);
                return;
            }
        };
        self.open(key, kind, events);
    }

    fn open(&mut self, key: u64, kind: Kind, events: &mut VecDeque<AssistantEvent>) {
        let content_index = self.next_block;
        self.next_block += 1;
        events.push_back(match &kind {
            Kind::Text => AssistantEvent::TextStart { content_index },
            Kind::Thinking { .. } => AssistantEvent::ThinkingStart {
                content_index,
                content_signature: None,
            },
            Kind::Call(call) => call.start(content_index),
        });
        let block = Block {
            content_index,
            kind,
            shown: Digest::default(),
        };
        self.items.insert(key, State::Open(block));
    }

    /// Adds to the text of a message; one that has not begun begins.
    pub(super) fn text(
        &mut self,
        place: Place<'_>,
        delta: Cow<'_, str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        if let Some(block) = self.block(place, || Kind::Text, events)
            && matches!(block.kind, Kind::Text)
        {
            block.shown.push(&delta);
            events.push_back(text_delta(block.content_index, delta));
        }
    }

    /// Adds to what the model thinks. Raw thoughts come in parts that have a number.
    pub(super) fn thinking(
        &mut self,
        place: Place<'_>,
        raw_part: Option<u64>,
        delta: Cow<'_, str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let Some(block) = self.block(place, || Kind::Thinking { part: None }, events) else {
            return;
        };
        let Kind::Thinking { part } = &mut block.kind else {
            return;
        };
        let is_next = raw_part.is_some() && part.is_some_and(|part| Some(part) != raw_part);
        *part = raw_part.or(*part);
        if is_next {
            block.show_thought(Cow::Borrowed(PART_BREAK), events);
        }
        block.show_thought(delta, events);
    }

    /// Takes note of the end of a part of a summary.
    pub(super) fn end_part(&mut self, place: Place<'_>, events: &mut VecDeque<AssistantEvent>) {
        if let Some(block) = self.known(place)
            && matches!(block.kind, Kind::Thinking { .. })
        {
            block.show_thought(Cow::Borrowed(PART_BREAK), events);
        }
    }

    /// Adds to the arguments of a call.
    pub(super) fn arguments(
        &mut self,
        place: Place<'_>,
        delta: Cow<'_, str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        if let Some(Block {
            content_index,
            kind: Kind::Call(call),
            shown,
        }) = self.known(place)
        {
            call.push(*content_index, shown, delta, events);
        }
    }

    /// Takes note of all arguments of a call.
    pub(super) fn all_arguments(&mut self, place: Place<'_>, whole: &str) {
        if let Some(Block {
            kind: Kind::Call(call),
            shown,
            ..
        }) = self.known(place)
        {
            call.settle(shown, whole);
        }
    }

    /// Ends the block of an item, which is there as a whole; one that has not begun begins. `raw`
    /// returns its JSON text.
    pub(super) fn end<'d>(
        &mut self,
        place: Place<'_>,
        item: &Item<'_>,
        raw: impl FnOnce() -> Option<&'d RawValue>,
        seed: Option<&str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let key = match self.find(place) {
            Some(key) => key,
            None => {
                self.begin(place, item, seed, events);
                match self.find(place) {
                    Some(key) => key,
                    None => return,
                }
            }
        };
        if let Some(State::Open(block)) = self.items.insert(key, State::Closed) {
            block.end(item, raw, events);
        }
    }

    /// Ends the blocks that are still open, in their order.
    pub(super) fn end_all(&mut self, events: &mut VecDeque<AssistantEvent>) {
        let mut open: Vec<Block> = self
            .items
            .drain()
            .filter_map(|(_, state)| match state {
                State::Open(block) => Some(block),
                State::Closed => None,
            })
            .collect();
        open.sort_by_key(|block| block.content_index);
        for block in open {
            block.abandon(events);
        }
    }

    /// Returns the open block at a place; where there is nothing yet, one of this kind begins.
    fn block(
        &mut self,
        place: Place<'_>,
        kind: impl FnOnce() -> Kind,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Option<&mut Block> {
        if self.find(place).is_none() {
            let key = place.index.unwrap_or_else(|| self.unnumbered());
            if !place.id.is_empty() {
                self.by_id.insert(place.id.to_owned(), key);
            }
            self.last = Some(key);
            self.open(key, kind(), events);
        }
        self.known(place)
    }

    /// Returns the open block at a place.
    fn known(&mut self, place: Place<'_>) -> Option<&mut Block> {
        let key = self.find(place)?;
        match self.items.get_mut(&key)? {
            State::Open(block) => Some(block),
            State::Closed => None,
        }
    }

    /// Returns the key of the item at a place.
    fn find(&self, place: Place<'_>) -> Option<u64> {
        if let Some(index) = place.index {
            return self.items.contains_key(&index).then_some(index);
        }
        if let Some(key) = self.by_id.get(place.id) {
            return Some(*key);
        }
        let is_open = |key: &u64| matches!(self.items.get(key), Some(State::Open(_)));
        self.last.filter(is_open)
    }

    /// Returns a key for an item without index; those of the service begin at the other end.
    fn unnumbered(&self) -> u64 {
        u64::MAX - self.next_block as u64
    }
}

impl Block {
    fn show_thought(&mut self, delta: Cow<'_, str>, events: &mut VecDeque<AssistantEvent>) {
        self.shown.push(&delta);
        events.push_back(thinking_delta(self.content_index, delta));
    }

    /// Ends a block whose item came as a whole.
    fn end<'d>(
        self,
        item: &Item<'_>,
        raw: impl FnOnce() -> Option<&'d RawValue>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let content_index = self.content_index;
        match self.kind {
            Kind::Text => {
                let whole = joined(item.content.as_deref(), "");
                let signature = text_signature(item);
                events.push_back(AssistantEvent::TextEnd {
                    content_index,
                    content: self.shown.replacement(&whole),
                    content_signature: signature,
                });
            }
            Kind::Thinking { .. } => {
                let whole = thoughts(item, &self.shown);
                events.push_back(AssistantEvent::ThinkingEnd {
                    content_index,
                    content: self.shown.replacement(&whole),
                    content_signature: raw().map(|raw| json::compact(raw.get())),
                    redacted: false,
                });
            }
            Kind::Call(mut call) => {
                call.settle(&self.shown, call.whole_of(item));
                call.end(content_index, &self.shown, true, events);
            }
        }
    }

    /// Ends a block whose item never came as a whole.
    fn abandon(self, events: &mut VecDeque<AssistantEvent>) {
        match self.kind {
            Kind::Text => events.push_back(text_end(self.content_index)),
            Kind::Thinking { .. } => events.push_back(thinking_end(self.content_index, None)),
            Kind::Call(call) => call.end(self.content_index, &self.shown, false, events),
        }
    }
}

/// Returns the JSON text of the item of an event.
pub(super) fn raw_item(data: &str) -> Option<&RawValue> {
    let event: RawItem<'_> = serde_json::from_str(data).ok()?;
    Some(event.item)
}

/// Returns the summary of the thoughts, or the thoughts themselves, whichever was shown.
fn thoughts(item: &Item<'_>, shown: &Digest) -> String {
    let summary = joined(item.summary.as_deref(), PART_BREAK);
    let raw = joined(item.content.as_deref(), PART_BREAK);
    match summary.is_empty() || (!raw.is_empty() && *shown == Digest::of(&raw)) {
        true => raw,
        false => summary,
    }
}

fn joined(parts: Option<&[Part<'_>]>, separator: &str) -> String {
    let texts: Vec<&str> = parts
        .unwrap_or_default()
        .iter()
        .map(|part| match part.text.is_empty() {
            true => &*part.refusal,
            false => &*part.text,
        })
        .collect();
    texts.join(separator)
}

/// Returns what goes back with a text: the id of its message, and the phase if it has one.
fn text_signature(item: &Item<'_>) -> Option<String> {
    #[derive(serde::Serialize)]
    struct Signature<'a> {
        v: u8,
        id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        phase: &'a str,
    }

    let signature = Signature {
        v: 1,
        id: &item.id,
        phase: &item.phase,
    };
    (!item.id.is_empty())
        .then(|| serde_json::to_string(&signature).ok())
        .flatten()
}
