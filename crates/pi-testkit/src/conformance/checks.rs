//! What is wrong with a reply.

use std::collections::BTreeSet;

use pi_core::{Assembler, AssistantEvent, AssistantMessage, Cost, ErrorKind, Model, Usage};

use super::expected::{Block, Ending, Expected, shown};
use super::reading::Shown;
use crate::grammar;

/// Returns everything that is wrong with a reply; nothing of one that has not ended.
pub(super) fn problems(reply: &Shown, expected: &Expected, model: &Model) -> Vec<String> {
    let (Some(message), true) = (&reply.message, reply.is_ended) else {
        return Vec::new();
    };
    let events = &reply.events;
    let mut problems = Vec::new();
    problems.extend(
        grammar::check_stream(events)
            .err()
            .map(|error| error.to_string()),
    );
    problems.extend(ending(events, expected));
    problems.extend(content(message, expected));
    problems.extend(error(events, expected));
    problems.extend(usage(&message.usage, expected, model));
    problems.extend(calls(message));
    problems.extend(repeated(events, message, model));
    problems.extend(fold(events, message));
    problems.extend(model_of(message, model));
    if let Some(what) = &reply.after_end {
        problems.push(format!("after its end the stream gives {what}"));
    }
    if reply.copies > 0 {
        let copies = reply.copies;
        problems.push(format!("the message was copied by {copies} events"));
    }
    problems
}

fn ending(events: &[AssistantEvent], expected: &Expected) -> Option<String> {
    let event = events.last()?;
    let found = Ending::of(event)?;
    let text = match event {
        AssistantEvent::Error { error_message, .. } => format!(" ({error_message})"),
        _ => String::new(),
    };
    let wanted = &expected.ending;
    (found != *wanted).then(|| format!("it ended with {found}{text}, expected {wanted}"))
}

fn content(message: &AssistantMessage, expected: &Expected) -> Option<String> {
    let found = Block::all_of(message);
    let (found, wanted) = (shown(&found), shown(&expected.blocks));
    (found != wanted).then(|| format!("it holds {found}, expected {wanted}"))
}

fn error(events: &[AssistantEvent], expected: &Expected) -> Vec<String> {
    let Some(AssistantEvent::Error {
        error_message,
        error_info,
        ..
    }) = events.last()
    else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    if error_message.trim().is_empty() {
        problems.push("its error has no text".to_owned());
    }
    let Some(info) = error_info else {
        return problems;
    };
    if let ErrorKind::Other(kind) = &info.kind {
        problems.push(format!("its error has the unknown kind {kind}"));
    }
    if expected.status.is_some() && info.status != expected.status {
        let show = |status: Option<u16>| status.map_or("none".to_owned(), |code| code.to_string());
        let (found, wanted) = (show(info.status), show(expected.status));
        problems.push(format!(
            "its error has the status {found}, expected {wanted}"
        ));
    }
    problems
}

fn usage(usage: &Usage, expected: &Expected, model: &Model) -> Vec<String> {
    let mut problems = Vec::new();
    let wanted = expected.usage.as_ref().map(counts);
    if let Some(wanted) = wanted.filter(|wanted| *wanted != counts(usage)) {
        let found = counts(usage);
        problems.push(format!("its usage is {found}, expected {wanted}"));
    }
    let mut priced = usage.clone();
    model.price(&mut priced);
    if usage.cost == Cost::default() && priced.cost != Cost::default() {
        problems.push("its usage has no cost: see Model::price".to_owned());
    }
    problems
}

fn counts(usage: &Usage) -> String {
    let Usage {
        input,
        output,
        cache_read,
        cache_write,
        total_tokens,
        ..
    } = usage;
    format!(
        "{input} in, {output} out, {cache_read} read, {cache_write} written, {total_tokens} in all"
    )
}

fn calls(message: &AssistantMessage) -> Vec<String> {
    let mut problems = Vec::new();
    let mut ids = BTreeSet::new();
    for call in message.tool_calls() {
        if call.name.is_empty() {
            problems.push("a call has no name".to_owned());
        }
        if call.id.is_empty() {
            problems.push(format!("a call of {} has no id", call.name));
        } else if !ids.insert(&call.id) {
            problems.push(format!("two calls have the id {}", call.id));
        }
    }
    problems
}

/// Finds ends that say what the deltas have said already: each is a copy of the block, and larger
/// than all deltas together on a wire.
fn repeated(events: &[AssistantEvent], message: &AssistantMessage, model: &Model) -> Vec<String> {
    let mut without = Assembler::new(AssistantMessage::empty(model, 0));
    let mut ends = Vec::new();
    for event in events {
        let mut event = event.clone();
        let is_full = match &mut event {
            AssistantEvent::TextEnd { content, .. }
            | AssistantEvent::ThinkingEnd { content, .. } => content.take().is_some(),
            AssistantEvent::ToolCallEnd { tool_call, .. } => tool_call.take().is_some(),
            _ => false,
        };
        if is_full {
            ends.extend(event.content_index().map(|index| (index, event.clone())));
        }
        // What does not fit is the grammar's to tell.
        let _ = without.push(&event);
    }
    let told = &without.message().content;
    ends.retain(|(index, _)| {
        told.get(*index)
            .is_some_and(|told| message.content.get(*index) == Some(told))
    });
    ends.iter()
        .map(|(index, end)| {
            format!(
                "the {} of block #{index} repeats its deltas",
                end.type_name()
            )
        })
        .collect()
}

/// Compares the message with what its events build from nothing.
fn fold(events: &[AssistantEvent], message: &AssistantMessage) -> Option<String> {
    let mut seed = message.clone();
    seed.content.clear();
    let mut fold = Assembler::new(seed);
    let fits = events.iter().all(|event| fold.push(event).is_ok());
    (!fits || **fold.message() != *message)
        .then(|| "its message is not what its events build from an empty one".to_owned())
}

fn model_of(message: &AssistantMessage, model: &Model) -> Option<String> {
    let found = [&message.api, &message.provider, &message.model];
    let wanted = [&model.api, &model.provider, &model.id];
    (found != wanted).then(|| format!("its message is of {found:?}, the request was to {wanted:?}"))
}
