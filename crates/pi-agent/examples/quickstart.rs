//! The smallest agent: one prompt, printed as it arrives.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::{Agent, AgentError};
use pi_testkit::{ScriptedProvider, block_on, model};

/// Runs the example.
pub fn main() -> Result<(), AgentError> {
    // With a real model: `pi_ai::OpenAiCompletions::from_env()` and a model of its catalogue.
    let provider =
        ScriptedProvider::new().turn(|t| t.text_deltas(["Hello ", "from ", "an agent."]));

    let agent = Agent::builder(provider, model())
        .system_prompt("Be brief.")
        .build();
    let _printing = agent.subscribe(|event| {
        if let Some(delta) = event.text_delta() {
            print!("{delta}");
        }
    });

    let outcome = block_on(agent.prompt("Say hello."))?;
    println!();
    assert_eq!(outcome.text(), "Hello from an agent.");
    Ok(())
}
