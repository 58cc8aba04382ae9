//! Another provider: one line of code, and one in `Cargo.toml`. Nothing else knows who answers.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::{Agent, AgentError};
use pi_core::{
    AssistantEvent, AssistantMessage, AssistantStream, Provider, Request, StopReason, Usage,
};
use pi_testkit::{ScriptedProvider, block_on, model};

/// A provider of your own: it says what it was asked.
struct Echo;

impl Provider for Echo {
    fn stream(&self, request: Request) -> AssistantStream {
        let seed = AssistantMessage::empty(&request.model, 0);
        let words = format!("You sent {} messages.", request.context.messages.len());
        let events = [
            AssistantEvent::Start,
            AssistantEvent::TextStart { content_index: 0 },
            AssistantEvent::TextDelta {
                content_index: 0,
                delta: words,
            },
            AssistantEvent::TextEnd {
                content_index: 0,
                content: None,
                content_signature: None,
            },
            AssistantEvent::Done {
                reason: StopReason::Stop,
                usage: Usage::default(),
                response_id: None,
            },
        ];
        AssistantStream::new(seed, futures_util::stream::iter(events))
    }
}

fn ask(provider: impl Provider + 'static) -> Result<String, AgentError> {
    let agent = Agent::builder(provider, model()).build();
    Ok(block_on(agent.prompt("Who are you?"))?.text())
}

/// Runs the example.
pub fn main() -> Result<(), AgentError> {
    println!(
        "{}",
        ask(ScriptedProvider::new().turn(|t| t.text("A script.")))?
    );
    println!("{}", ask(Echo)?);
    Ok(())
}
