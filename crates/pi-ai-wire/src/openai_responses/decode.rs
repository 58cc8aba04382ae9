//! Responses: from frames to events.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_core::{AssistantEvent, Model, Progress, ProviderError, StopReason, Usage};
use serde_json::value::RawValue;

use super::errors::{cancelled, event_error, failure, incomplete};
use super::items::{Items, Place, raw_item};
use super::types::{Event, Item, Kinds, Response};
use crate::codec::{self, End, ReplyDecoder, Step};
use crate::json;

/// Turns the frames of one response into events.
///
/// # Events
/// Blocks follow `Start` in the order in which their items begin, and may be open side by side. A
/// message is a block of text, refusals included; what the model thought is shown as its summary, or
/// as it is where the service shows it. Items of tools that the service runs itself are skipped, and
/// so are events and items that are not known. The type of an event is the one in its data.
///
/// What an item says at its end is what counts: where that is not what came in pieces, or nothing came
/// in pieces, the end of the block has all of it.
///
/// The call of a tool with a grammar has what the model wrote in its argument `input`.
///
/// The reply is complete with `response.completed` or `response.incomplete`. Everything else is a cut
/// stream, an error of kind `Protocol`. The stop reason is `Length` if the service said so, else
/// `ToolUse` if there is a call, else `Stop`; a filter that broke the reply off makes an error.
pub type Decoder = ReplyDecoder<Reply>;

/// The state of one reply of `openai-responses`.
#[derive(Debug)]
pub struct Reply {
    model: Arc<Model>,
    response_id: Option<String>,
    usage: Usage,
    items: Items,
    /// The reply was broken off at its limit.
    is_cut_at_limit: bool,
}

impl Reply {
    fn event(
        &mut self,
        kind: &str,
        mut event: Event<'_>,
        data: &str,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError> {
        let delta = std::mem::take(&mut event.delta).0;
        let place = Place::of(&event);
        let items = &mut self.items;
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                items.text(place, delta, events);
            }
            "response.reasoning_summary_text.delta" => {
                items.thinking(place, None, delta, events);
            }
            "response.reasoning_text.delta" => {
                let part = event.content_index.unwrap_or(0);
                items.thinking(place, Some(part), delta, events);
            }
            "response.reasoning_summary_part.done" => items.end_part(place, events),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                items.arguments(place, delta, events);
            }
            "response.function_call_arguments.done" => {
                items.all_arguments(place, &event.arguments);
            }
            "response.custom_tool_call_input.done" => {
                items.all_arguments(place, &event.input);
            }
            "response.output_item.added" => {
                let item = event.item.unwrap_or_default();
                let place = Place::of_item(event.output_index, &item);
                items.begin(place, &item, self.response_id.as_deref(), events);
            }
            "response.output_item.done" => {
                let item = event.item.unwrap_or_default();
                let place = Place::of_item(event.output_index, &item);
                let raw = || raw_item(data);
                items.end(place, &item, raw, self.response_id.as_deref(), events);
            }
            _ => return self.response(kind, event.response, events),
        }
        Ok(Step::More)
    }

    /// Reads an event about the response as a whole.
    fn response(
        &mut self,
        kind: &str,
        response: Option<Response<'_>>,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError> {
        let response = response.unwrap_or_default();
        if !response.id.is_empty() {
            self.response_id = Some((*response.id).to_owned());
        }
        if let Some(usage) = response.usage {
            self.usage = usage.to_usage(&self.model, &response.service_tier);
        }
        let status = match (&*response.status, kind) {
            (_, kind) if !is_last(kind) => return Ok(Step::More),
            (status @ ("failed" | "cancelled" | "incomplete"), _) => status,
            (_, kind) => kind.trim_start_matches("response."),
        };
        let reason = response.incomplete_details.as_ref();
        let reason = reason.map(|details| &*details.reason);
        match (status, reason) {
            ("failed", _) => return Err(failure(&response)),
            ("cancelled", _) => return Err(cancelled()),
            ("incomplete", Some(reason @ "content_filter")) => return Err(incomplete(reason)),
            (status, _) => self.is_cut_at_limit = status == "incomplete",
        }
        if self.items.are_none() {
            self.whole_output(response.output, events);
        }
        Ok(Step::Close)
    }

    /// Reads the items of a reply that came in one piece.
    fn whole_output(&mut self, output: Option<&RawValue>, events: &mut VecDeque<AssistantEvent>) {
        let output = output.map(RawValue::get).unwrap_or_default();
        let output: Vec<&RawValue> = serde_json::from_str(output).unwrap_or_default();
        for (index, raw) in (0..).zip(output) {
            // An item of another shape is of a kind that is not known.
            let item: Item<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            let place = Place::of_item(Some(index), &item);
            let seed = self.response_id.as_deref();
            self.items.end(place, &item, || Some(raw), seed, events);
        }
    }
}

impl codec::Reply for Reply {
    fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            response_id: None,
            usage: Usage::default(),
            items: Items::default(),
            is_cut_at_limit: false,
        }
    }

    fn read(
        &mut self,
        name: &str,
        data: &str,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<Step, ProviderError> {
        let mut repaired = String::new();
        match json::parse::<Option<Event<'_>>>(data, &mut repaired) {
            Ok(None) => Ok(Step::More),
            Ok(Some(mut event)) => {
                let kind = std::mem::take(&mut event.r#type).0;
                let kind = if kind.is_empty() { name } else { &*kind };
                if kind == "error" || event.error.is_some_and(is_truthy) {
                    return Err(event_error(data));
                }
                self.event(kind, event, data, events)
            }
            Err(_) if name == "error" => Err(event_error(data)),
            // What is not known may have any shape.
            Err(error) => match serde_json::from_str::<Kinds<'_>>(data) {
                Ok(kinds) if !kinds.are_known() => Ok(Step::More),
                _ => Err(codec::broken(name, &error)),
            },
        }
    }

    fn close(
        &mut self,
        end: End,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        if end != End::Event {
            return Err(match self.items.are_none() {
                true => codec::cut(End::EmptyBody),
                false => codec::cut(end),
            });
        }
        self.items.end_all(events);
        let reason = match () {
            () if self.is_cut_at_limit => StopReason::Length,
            () if self.items.have_calls() => StopReason::ToolUse,
            () => StopReason::Stop,
        };
        events.push_back(AssistantEvent::Done {
            reason,
            usage: self.usage.clone(),
            response_id: self.response_id.clone(),
        });
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress::new(self.usage.clone(), self.response_id.clone())
    }
}

/// Returns true for the events behind which nothing follows.
fn is_last(kind: &str) -> bool {
    matches!(
        kind,
        "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done"
    )
}

/// Returns false for what JavaScript clients take for no error.
fn is_truthy(error: &RawValue) -> bool {
    !matches!(error.get(), "false" | "0" | "\"\"")
}

#[cfg(test)]
mod tests;
