//! A call, as it comes.

use std::borrow::Cow;
use std::collections::VecDeque;

use pi_core::partial_json::parse_arguments;
use pi_core::{AssistantEvent, ToolCall};

use super::super::tools::GRAMMAR_INPUT;
use super::super::types::Item;
use crate::codec::call_end;
use crate::digest::Digest;
use crate::ids::CallIds;

/// A call that is open.
#[derive(Debug)]
pub(super) struct Call {
    id: String,
    name: String,
    /// The tool has a grammar: what comes is the text of its one argument, not JSON.
    has_grammar: bool,
    /// What the call began with, for services that send it so and never again.
    initial: String,
    /// All that was written, where what came in pieces was something else.
    replacement: Option<String>,
}

impl Call {
    pub(super) fn new(item: &Item<'_>, ids: &mut CallIds, seed: Option<&str>) -> Self {
        let mut id = ids.add(&item.call_id, seed);
        if !item.id.is_empty() {
            id.push('|');
            id.push_str(&item.id);
        }
        let has_grammar = &*item.r#type == "custom_tool_call";
        let mut call = Self {
            id,
            name: (*item.name).to_owned(),
            has_grammar,
            initial: String::new(),
            replacement: None,
        };
        call.initial = call.whole_of(item).to_owned();
        call
    }

    pub(super) fn start(&self, content_index: usize) -> AssistantEvent {
        AssistantEvent::ToolCallStart {
            content_index,
            id: self.id.clone(),
            tool_name: self.name.clone(),
        }
    }

    /// Returns what the model wrote, as the item has it.
    pub(super) fn whole_of<'a>(&self, item: &'a Item<'_>) -> &'a str {
        match self.has_grammar {
            true => &item.input,
            false => &item.arguments,
        }
    }

    /// Adds a piece.
    pub(super) fn push(
        &self,
        content_index: usize,
        shown: &mut Digest,
        piece: Cow<'_, str>,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let delta = match self.has_grammar {
            true => {
                let begin = if shown.is_empty() {
                    opening()
                } else {
                    String::new()
                };
                begin + &escaped(&piece)
            }
            false => piece.clone().into_owned(),
        };
        shown.push(&piece);
        events.push_back(AssistantEvent::ToolCallDelta {
            content_index,
            delta,
        });
    }

    /// Takes note of all that the model wrote.
    pub(super) fn settle(&mut self, shown: &Digest, whole: &str) {
        if !whole.is_empty() {
            self.replacement = shown.replacement(whole);
        }
    }

    /// Ends the call; one that is not whole stays cut.
    pub(super) fn end(
        mut self,
        content_index: usize,
        shown: &Digest,
        is_whole: bool,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        if shown.is_empty() && self.replacement.is_none() {
            let initial = std::mem::take(&mut self.initial);
            self.settle(shown, &initial);
        }
        if let Some(whole) = self.replacement.take() {
            events.push_back(self.replaced(content_index, &whole));
            return;
        }
        if self.has_grammar && is_whole {
            let begin = if shown.is_empty() {
                opening()
            } else {
                String::new()
            };
            events.push_back(AssistantEvent::ToolCallDelta {
                content_index,
                delta: begin + "\"}",
            });
        }
        events.push_back(call_end(content_index, None));
    }

    fn replaced(&self, content_index: usize, whole: &str) -> AssistantEvent {
        let json = match self.has_grammar {
            true => Cow::Owned(opening() + &escaped(whole) + "\"}"),
            false => Cow::Borrowed(whole),
        };
        let (arguments, error) = parse_arguments(&json);
        let mut call = ToolCall::new(&self.id, &self.name, arguments);
        call.arguments_error = error.map(|error| error.to_string());
        AssistantEvent::ToolCallEnd {
            content_index,
            thought_signature: None,
            tool_call: Some(Box::new(call)),
        }
    }
}

/// The JSON text in front of the argument of a tool with a grammar.
fn opening() -> String {
    format!("{{\"{GRAMMAR_INPUT}\":\"")
}

/// Writes a text as the inside of a JSON string, which can be cut between any two characters.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    match quoted.get(1..quoted.len().saturating_sub(1)) {
        Some(inside) => inside.to_owned(),
        None => quoted,
    }
}
