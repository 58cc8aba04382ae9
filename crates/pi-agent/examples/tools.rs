//! A tool from a struct, with progress and details for user interfaces.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::{Agent, AgentError};
use pi_core::{AgentEvent, Tool, ToolContext, ToolError, ToolOutput};
use pi_testkit::{ScriptedProvider, block_on, model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the model may ask for.
#[derive(Deserialize, JsonSchema)]
struct CountArgs {
    /// The text whose words are counted.
    text: String,
}

/// What user interfaces get beside the text for the model.
#[derive(Serialize)]
struct CountDetails {
    words: usize,
}

struct CountWords;

impl Tool for CountWords {
    const NAME: &'static str = "count_words";
    const LABEL: &'static str = "Count words";
    const DESCRIPTION: &'static str = "Counts the words of a text.";
    type Args = CountArgs;
    type Details = CountDetails;

    async fn run(
        &self,
        args: CountArgs,
        cx: ToolContext,
    ) -> Result<ToolOutput<CountDetails>, ToolError> {
        cx.update(ToolOutput::<()>::text("counting"));
        let words = args.text.split_whitespace().count();
        Ok(ToolOutput::text(format!("{words} words")).with_details(CountDetails { words }))
    }
}

/// Runs the example.
pub fn main() -> Result<(), AgentError> {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "count_words", json!({ "text": "to be or not to be" })))
        .turn(|t| t.text("Six."));
    let agent = Agent::builder(provider, model()).tool(CountWords).build();
    let _watching = agent.subscribe(|event| {
        if let AgentEvent::ToolExecutionEnd { call, result, .. } = event {
            println!("{}: {:?}", call.name, result.details);
        }
    });
    assert_eq!(block_on(agent.prompt("How many words?"))?.text(), "Six.");
    Ok(())
}
