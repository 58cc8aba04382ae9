//! What one model may see of a conversation that several models and users wrote.
//!
//! A stored conversation holds more than can be sent: failed replies, signatures that only their
//! model accepts, ids that the next service refuses, calls that were never answered. Everything
//! that does not depend on one wire format is put right here, once for all codecs.

mod report;

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::sync::Arc;

pub use self::report::{HandoffChange, HandoffEffect, HandoffReport, report};
use crate::content::{AssistantContent, TextContent, UserContent};
use crate::message::{AssistantMessage, Message, ToolResultMessage};
use crate::model::Model;

/// What stands in for the result of a call that has none.
const NO_RESULT: &str = "No result provided";

/// Turns a stored conversation into what `target` may see. Messages that need no change are shared.
///
/// - Failed and aborted replies are left out, together with the results of their calls.
/// - The blocks of a reply that `target` wrote itself (same provider, API and model) stay as they
///   are. Of another model's reply, reasoning becomes plain text; signatures, hidden reasoning and
///   unknown blocks are left out. Reasoning that is blank and has no signature is always left out.
/// - Each call that is sent is followed at once by exactly one result, in the order of the calls.
///   A call without result gets an error that says so, also at the end. A result whose call is
///   not sent, and a second result of one call, are left out.
/// - The ids of calls are made to fit and to differ, the same history giving the same ids each
///   time. `id(original, 0)` is the id in the target's form: the original where it fits. Where that
///   is empty or taken, `id(original, 1)`, `id(original, 2)` and so on are tried. Own calls keep
///   their ids unless those are empty or taken.
///
/// Doing it twice changes nothing, provided that `id(fitting, 0)` is `fitting`.
///
/// # Examples
/// ```
/// use pi_core::{AssistantMessage, Message, Model, ToolCall, handoff};
///
/// let other = Model::new("m1", "other-api", "elsewhere", "");
/// let mut reply = AssistantMessage::empty(&other, 0);
/// reply.content.push(ToolCall::new("call:1", "read", Default::default()).into());
///
/// let target = Model::new("m2", "openai-completions", "openai", "https://api.openai.com/v1");
/// let sent = handoff::for_target(&[Message::from(reply)], &target, |id, attempt| match attempt {
///     0 => id.replace(':', "_"),
///     _ => format!("{}_{attempt}", id.replace(':', "_")),
/// });
///
/// let Message::ToolResult(result) = &sent[1] else { panic!("the call is answered") };
/// assert_eq!(result.tool_call_id, "call_1");
/// assert!(result.is_error);
/// ```
pub fn for_target(
    messages: &[Message],
    target: &Model,
    id: impl Fn(&str, u32) -> String,
) -> Vec<Message> {
    let results = pair_results(messages);
    let mut ids = Ids::new(id);
    let mut sent = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        match message {
            // Each result goes with its call.
            Message::ToolResult(_) => {}
            Message::Assistant(reply) if reply.stop_reason.is_failure() => {}
            Message::Assistant(reply) => {
                let is_own = is_own(reply, target);
                let new_ids: Vec<String> = reply
                    .tool_calls()
                    .map(|call| ids.take(&call.id, is_own))
                    .collect();
                sent.push(Message::Assistant(adapt(reply, is_own, &new_ids)));
                for (position, (call, id)) in reply.tool_calls().zip(new_ids).enumerate() {
                    let result = match results.get(&(index, position)) {
                        Some((_, result)) => with_id(result, id),
                        None => no_result(id, &call.name, reply.timestamp),
                    };
                    sent.push(Message::ToolResult(result));
                }
            }
            other => sent.push(other.clone()),
        }
    }
    sent
}

/// The result of each answered call and the index of its message, by the index of the call's message
/// and its place among the calls.
type Results<'a> = HashMap<(usize, usize), (usize, &'a Arc<ToolResultMessage>)>;

/// Finds the call of each result: the first one without result among the calls of that id in the
/// last message that has the id.
fn pair_results(messages: &[Message]) -> Results<'_> {
    #[derive(Default)]
    struct Open {
        message: usize,
        positions: VecDeque<usize>,
    }

    let mut open: HashMap<&str, Open> = HashMap::new();
    let mut results = Results::new();
    for (index, message) in messages.iter().enumerate() {
        match message {
            // Calls of failed replies take part, so that their results are left out with them.
            Message::Assistant(reply) => {
                for (position, call) in reply.tool_calls().enumerate() {
                    let calls = open.entry(&call.id).or_default();
                    if calls.message != index {
                        *calls = Open {
                            message: index,
                            positions: VecDeque::new(),
                        };
                    }
                    calls.positions.push_back(position);
                }
            }
            Message::ToolResult(result) => {
                if let Some(calls) = open.get_mut(result.tool_call_id.as_str())
                    && let Some(position) = calls.positions.pop_front()
                {
                    results.insert((calls.message, position), (index, result));
                }
            }
            _ => {}
        }
    }
    results
}

fn is_own(reply: &AssistantMessage, target: &Model) -> bool {
    reply.provider == target.provider && reply.api == target.api && reply.model == target.id
}

/// The ids that are sent.
struct Ids<F> {
    rule: F,
    taken: HashSet<String>,
    /// The last attempt for each original id, so that many equal ids take linear time.
    attempts: HashMap<String, u32>,
}

impl<F: Fn(&str, u32) -> String> Ids<F> {
    fn new(rule: F) -> Self {
        Self {
            rule,
            taken: HashSet::new(),
            attempts: HashMap::new(),
        }
    }

    fn take(&mut self, original: &str, is_own: bool) -> String {
        let mut id = if is_own {
            original.to_owned()
        } else {
            (self.rule)(original, 0)
        };
        if self.is_free(&id) {
            self.taken.insert(id.clone());
            return id;
        }
        let attempt = self.attempts.entry(original.to_owned()).or_default();
        // A rule that gives a new id for each attempt finds a free one within this many.
        for _ in 0..=self.taken.len() {
            *attempt += 1;
            id = (self.rule)(original, *attempt);
            if !id.is_empty() && !self.taken.contains(&id) {
                break;
            }
        }
        self.taken.insert(id.clone());
        id
    }

    fn is_free(&self, id: &str) -> bool {
        !id.is_empty() && !self.taken.contains(id)
    }
}

/// What becomes of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Kept without what only its own model accepts.
    Plain,
    Dropped,
}

fn fate(block: &AssistantContent, is_own: bool) -> Fate {
    match block {
        AssistantContent::Thinking(block) => {
            let is_signed = block
                .thinking_signature
                .as_deref()
                .is_some_and(|s| !s.is_empty());
            match is_own {
                true if block.redacted || is_signed => Fate::Kept,
                false if block.redacted => Fate::Dropped,
                _ if block.thinking.trim().is_empty() => Fate::Dropped,
                true => Fate::Kept,
                false => Fate::Plain,
            }
        }
        _ if is_own => Fate::Kept,
        AssistantContent::Text(block) if block.text_signature.is_some() => Fate::Plain,
        AssistantContent::ToolCall(call) if call.thought_signature.is_some() => Fate::Plain,
        AssistantContent::Text(_) | AssistantContent::ToolCall(_) => Fate::Kept,
        AssistantContent::Other(_) => Fate::Dropped,
    }
}

fn adapt(reply: &Arc<AssistantMessage>, is_own: bool, ids: &[String]) -> Arc<AssistantMessage> {
    let is_renamed = reply.tool_calls().zip(ids).any(|(call, id)| call.id != *id);
    if !is_renamed
        && reply
            .content
            .iter()
            .all(|block| fate(block, is_own) == Fate::Kept)
    {
        return Arc::clone(reply);
    }
    let mut reply = AssistantMessage::clone(reply);
    let mut ids = ids.iter();
    let blocks = mem::take(&mut reply.content).into_iter();
    reply.content = blocks
        .filter_map(|block| adapt_block(block, is_own, &mut ids))
        .collect();
    Arc::new(reply)
}

fn adapt_block<'a>(
    block: AssistantContent,
    is_own: bool,
    ids: &mut impl Iterator<Item = &'a String>,
) -> Option<AssistantContent> {
    let fate = fate(&block, is_own);
    match block {
        _ if fate == Fate::Dropped => None,
        AssistantContent::ToolCall(mut call) => {
            if let Some(id) = ids.next() {
                call.id.clone_from(id);
            }
            if fate == Fate::Plain {
                call.thought_signature = None;
            }
            Some(call.into())
        }
        AssistantContent::Text(block) if fate == Fate::Plain => {
            Some(TextContent::new(block.text).into())
        }
        AssistantContent::Thinking(block) if fate == Fate::Plain => {
            Some(TextContent::new(block.thinking).into())
        }
        block => Some(block),
    }
}

fn with_id(result: &Arc<ToolResultMessage>, id: String) -> Arc<ToolResultMessage> {
    if result.tool_call_id == id {
        return Arc::clone(result);
    }
    let mut result = ToolResultMessage::clone(result);
    result.tool_call_id = id;
    Arc::new(result)
}

fn no_result(id: String, tool_name: &str, timestamp: u64) -> Arc<ToolResultMessage> {
    let content = vec![UserContent::text(NO_RESULT)];
    let mut result = ToolResultMessage::new(id, tool_name, content, timestamp);
    result.is_error = true;
    Arc::new(result)
}

#[cfg(test)]
mod tests;
