//! Messages of the application in the transcript: the model sees them only as it is told.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pi_agent::Agent;
use pi_core::{AgentMessage, CustomMessage, UserMessage};
use pi_testkit::{ScriptedProvider, block_on, model};
use serde::{Deserialize, Serialize};

/// A message that the user interface shows in a bar of its own.
#[derive(Serialize, Deserialize)]
struct Notification {
    text: String,
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = ScriptedProvider::new().turn(|t| t.text("Then let us hurry."));
    let agent = Agent::builder(provider.clone(), model())
        .convert_to_llm(|messages| async move {
            let convert = |message: &AgentMessage| match message {
                AgentMessage::Custom(custom) if custom.role() == "notification" => {
                    let notification: Notification = custom.body().ok()?;
                    Some(UserMessage::new(format!("[{}]", notification.text), 0).into())
                }
                other => other.to_message(),
            };
            messages.iter().filter_map(convert).collect::<Vec<_>>()
        })
        .build();
    let low = Notification {
        text: "battery at 5 %".to_owned(),
    };
    agent.append_message(CustomMessage::new("notification", low)?)?;

    block_on(agent.prompt("What now?"))?;
    for message in agent.messages().iter() {
        println!("{}", message.role());
    }
    assert_eq!(provider.requests()[0].roles(), ["user", "user"]);
    Ok(())
}
