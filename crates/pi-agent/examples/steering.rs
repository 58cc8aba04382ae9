//! Messages to an agent that works: steering goes in before the next request, a follow-up when the
//! agent would be done.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::{Agent, AgentError};
use pi_core::{AgentEvent, AgentMessage, AgentTool, ToolDefinition, ToolOutput};
use pi_testkit::{ScriptedProvider, block_on, model};
use serde_json::json;

/// Runs the example.
pub fn main() -> Result<(), AgentError> {
    let search = ToolDefinition::new("search", "Searches.", json!({ "type": "object" }));
    let search = AgentTool::from_fn(search, |_, _| async { Ok(ToolOutput::text("3 hits")) });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "search", json!({})))
        .turn(|t| t.text("Three hits, in French as you said."))
        .turn(|t| t.text("Here is the summary."));
    let agent = Agent::builder(provider, model()).tool(search).build();

    // What a user types while the agent works comes from anywhere; here from a subscriber.
    let typing = agent.clone();
    let _typing = agent.subscribe(move |event| {
        if matches!(event, AgentEvent::ToolExecutionStart { .. }) {
            typing
                .steer(AgentMessage::user("Only French ones.", 0))
                .ok();
            typing
                .follow_up(AgentMessage::user("Summarise them.", 0))
                .ok();
        }
    });

    let outcome = block_on(agent.prompt("Find articles."))?;
    for message in outcome.messages.iter() {
        println!("{}", message.role());
    }
    assert_eq!(outcome.text(), "Here is the summary.");
    Ok(())
}
