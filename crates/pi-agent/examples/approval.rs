//! A call that waits for a person: the run ends, the transcript is stored, and another process goes
//! on with the decision.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::{Agent, Decision, RunEnd, Verdict};
use pi_core::{AgentTool, ToolDefinition, ToolOutput};
use pi_testkit::{ScriptedProvider, block_on, model};
use serde_json::json;

fn agent(provider: ScriptedProvider) -> Agent {
    let delete = ToolDefinition::new("delete", "Deletes.", json!({ "type": "object" }));
    let delete = AgentTool::from_fn(delete, |_, _| async { Ok(ToolOutput::text("deleted")) });
    Agent::builder(provider, model())
        .tool(delete)
        .before_tool_call(|call| async move {
            if call.name() == "delete" {
                Verdict::Suspend
            } else {
                Verdict::Allow
            }
        })
        .build()
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = ScriptedProvider::new().turn(|t| t.tool_call("c1", "delete", json!({})));
    let first = agent(provider);
    let outcome = block_on(first.prompt("Clean up."))?;
    let RunEnd::Suspended { calls } = &outcome.end else {
        return Err("it did not wait".into());
    };
    println!("waits: {}", calls[0].name);
    let stored = serde_json::to_string(&*first.messages())?;

    // Another process, another day.
    let second = agent(ScriptedProvider::new().turn(|t| t.text("Gone.")));
    second.replace_messages(serde_json::from_str(&stored)?)?;
    let outcome = block_on(second.resume([("c1", Decision::Approve)]))?;
    assert_eq!(outcome.text(), "Gone.");
    Ok(())
}
