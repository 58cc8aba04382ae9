//! The loop without the agent: the application keeps the transcript and drives the events itself.
#![expect(clippy::print_stdout, reason = "an example prints")]

use futures_util::StreamExt;
use pi_agent_loop::{AgentContext, LoopConfig, NextAction, agent_loop, next_action};
use pi_core::{AgentEvent, AgentMessage};
use pi_testkit::{ScriptedProvider, block_on, model};

/// Runs the example.
pub fn main() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("One."))
        .turn(|t| t.text("Two."));
    let mut transcript: Vec<AgentMessage> = Vec::new();

    for question in ["First?", "Second?"] {
        let context = AgentContext::new(transcript.clone()).with_system_prompt("Count.");
        let config = LoopConfig::new(provider.clone(), model());
        let prompt = AgentMessage::user(question, 0);
        let mut events = agent_loop(vec![prompt], context, config);
        block_on(async {
            while let Some(event) = events.next().await {
                if let AgentEvent::MessageEnd { message } = event {
                    println!("{}", message.role());
                    transcript.push(message);
                }
            }
        });
    }

    assert_eq!(transcript.len(), 4);
    assert_eq!(next_action(&transcript), NextAction::Rest);
}
