//! The embedded demo model: no language model, but a provider like any other.
//!
//! It lets the whole program run on a machine without a key or a server. What it says follows from a
//! handful of rules; how it says it is what a real model does: text in small deltas, calls whose
//! arguments arrive piece by piece, usage at the end.

mod rules;
mod wish;
mod words;

use std::time::Duration;

use futures_util::{StreamExt, stream};
use pi_agent::SystemClock;
use pi_core::{
    AssistantEvent, AssistantMessage, AssistantStream, Clock as _, Context, Message, Model,
    Provider, Request, StopReason, Usage,
};

use self::rules::Reply;

/// The id by which the command line knows the model.
pub(crate) const ID: &str = "demo";

/// The pause between two deltas for somebody who watches.
const PACE: Duration = Duration::from_millis(12);

/// Returns the description of the demo model.
pub(crate) fn model() -> Model {
    Model::new(ID, ID, ID, "")
}

/// A rule-based stand-in for a model.
pub(crate) struct DemoModel {
    pace: Option<Duration>,
}

impl DemoModel {
    /// Creates the model; `watched` makes it speak at a pace that a person can follow.
    pub(crate) fn new(watched: bool) -> Self {
        Self {
            pace: watched.then_some(PACE),
        }
    }
}

impl Provider for DemoModel {
    fn stream(&self, request: Request) -> AssistantStream {
        let pace = self.pace;
        let seed = AssistantMessage::empty(&request.model, SystemClock.now());
        let context = request.context;
        let call_id = format!("demo-{}", context.messages.len());
        let events = stream::once(async move {
            let reply = rules::reply(&context);
            let usage = usage(&context, &reply);
            stream::iter(events(&reply, &call_id, usage))
        });
        let events = events.flatten().then(move |event| async move {
            if let Some(pace) = pace.filter(|_| event.is_content()) {
                tokio::time::sleep(pace).await;
            }
            event
        });
        let stream = AssistantStream::new(seed, events);
        match request.abort {
            Some(abort) => stream.abort_on(abort),
            None => stream,
        }
    }
}

fn events(reply: &Reply, call_id: &str, usage: Usage) -> Vec<AssistantEvent> {
    let mut events = vec![
        AssistantEvent::Start,
        AssistantEvent::TextStart { content_index: 0 },
    ];
    events.extend(
        words::split(&reply.text).map(|word| AssistantEvent::TextDelta {
            content_index: 0,
            delta: word.to_owned(),
        }),
    );
    events.push(AssistantEvent::TextEnd {
        content_index: 0,
        content: None,
        content_signature: None,
    });
    if let Some(call) = &reply.call {
        events.push(AssistantEvent::ToolCallStart {
            content_index: 1,
            id: call_id.to_owned(),
            tool_name: call.tool.to_owned(),
        });
        let arguments = call.arguments.to_string();
        events.extend(
            words::pieces(&arguments, 6).map(|piece| AssistantEvent::ToolCallDelta {
                content_index: 1,
                delta: piece.to_owned(),
            }),
        );
        events.push(AssistantEvent::ToolCallEnd {
            content_index: 1,
            thought_signature: None,
            tool_call: None,
        });
    }
    let reason = if reply.call.is_some() {
        StopReason::ToolUse
    } else {
        StopReason::Stop
    };
    events.push(AssistantEvent::Done {
        reason,
        usage,
        response_id: None,
    });
    events
}

/// Counts four bytes as a token.
fn usage(context: &Context, reply: &Reply) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    let input: usize = context.messages.iter().map(size).sum();
    let system = context.system_prompt.as_ref().map_or(0, String::len);
    let call = reply
        .call
        .as_ref()
        .map_or(0, |call| call.arguments.to_string().len());
    Usage::new(
        tokens(input + system),
        tokens(reply.text.len() + call),
        0,
        0,
    )
}

fn size(message: &Message) -> usize {
    match message {
        Message::System(message) => message.content.text().len(),
        Message::User(message) => message.content.text().len(),
        Message::Assistant(message) => message.text().len(),
        Message::ToolResult(message) => pi_core::joined_text(&message.content).len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
