//! A limit on what an agent may use, with an outcome that says which one was reached.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::{Agent, AgentError, Budget, BudgetExhausted, RunEnd};
use pi_core::{AgentTool, ToolDefinition, ToolOutput};
use pi_testkit::{ScriptedProvider, block_on, model};
use serde_json::json;

/// Runs the example.
pub fn main() -> Result<(), AgentError> {
    let look = ToolDefinition::new("look", "Looks around.", json!({ "type": "object" }));
    let look = AgentTool::from_fn(look, |_, _| async { Ok(ToolOutput::text("nothing yet")) });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "look", json!({})))
        .turn(|t| t.tool_call("c2", "look", json!({})))
        .turn(|t| t.text("There it is."));
    let agent = Agent::builder(provider, model())
        .tool(look)
        .budget(Budget::new().with_max_turns(2).with_max_cost_usd(0.10))
        .build();

    let outcome = block_on(agent.prompt("Look until you see it."))?;
    let RunEnd::BudgetExhausted(limit) = outcome.end else {
        panic!("it had enough")
    };
    println!("{limit}; {} tokens used", outcome.spent.usage.total_tokens);
    assert_eq!(limit, BudgetExhausted::Turns { limit: 2 });

    agent.set_budget(Budget::new().with_max_turns(5));
    assert_eq!(block_on(agent.continue_run())?.text(), "There it is.");
    Ok(())
}
