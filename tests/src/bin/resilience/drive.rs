//! One fault against one provider: an agent that does what an application does.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use integration_tests::apis::{Access, Api};
use pi_agent::{Agent, RunEnd, RunOutcome};
use pi_ai::{HttpClient, Timeouts};
use pi_core::{
    AgentMessage, AgentTool, Model, ProviderError, StreamOptions, ToolDefinition, ToolOutput,
};
use serde_json::json;

use crate::faults::{Fault, Prompt, SILENCE};

/// How often an application tries a reply again that broke off.
const REPEATS: usize = 2;

/// How long it waits before it does.
const PAUSE: Duration = Duration::from_millis(150);

/// The longest that a row may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The name of the model, which the server repeats.
const MODEL: &str = "m";

/// What the server says where nothing else is scripted.
const GREETING: &str = "Hello! This is a mock response from m.";

/// An API, and where the server speaks it.
pub(crate) struct Target {
    /// The name in [`Model::api`].
    pub(crate) api: &'static str,
    /// The path of its base URL.
    pub(crate) path: &'static str,
}

/// How a row came out.
pub(crate) struct Outcome {
    /// `reply`, or the kind of the failure.
    pub(crate) end: String,
    /// The text of the reply or of the failure.
    pub(crate) detail: String,
    /// The kinds of the failures that were reported on the way.
    pub(crate) failures: Vec<String>,
    pub(crate) elapsed: Duration,
}

/// Runs an agent into a fault. A failed reply that can be retried is tried again.
pub(crate) async fn run(
    target: &Target,
    api: &Api,
    server: &str,
    fault: &Fault,
) -> Result<Outcome> {
    let agent = agent(target, api, server, fault)?;
    let prompt = match fault.prompt {
        Prompt::Short | Prompt::WithTool => "Say hello.".to_owned(),
        Prompt::Long => "Say hello. ".repeat(10_000),
    };
    let started = Instant::now();
    let run = async {
        let mut outcome = agent.prompt(prompt).await?;
        for _ in 0..REPEATS {
            // A wait that was asked for and not made is for the caller to decide about.
            let again =
                |error: &ProviderError| error.is_retryable() && error.retry_after().is_none();
            if !matches!(&outcome.end, RunEnd::Failed(error) if again(error)) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            outcome = agent.continue_run().await?;
        }
        Ok::<_, anyhow::Error>(outcome)
    };
    let outcome = tokio::time::timeout(LIMIT, run)
        .await
        .with_context(|| format!("{} does not end", fault.name))??;
    Ok(told(&agent, &outcome, fault, started.elapsed()))
}

/// Makes an agent whose client has budgets and connections of its own, and short limits.
fn agent(target: &Target, api: &Api, server: &str, fault: &Fault) -> Result<Agent> {
    let mut timeouts = Timeouts::default();
    timeouts.headers = Some(SILENCE);
    timeouts.socket = Some(SILENCE);
    let client = HttpClient::builder().timeouts(timeouts).build();
    let provider = (api.provider)(Access::With(client))?;
    let base_url = format!("{}{}", server.trim_end_matches('/'), target.path);
    let mut model = Model::new(MODEL, target.api, "llmock", base_url);
    model.max_tokens = 1_000;
    let mut options = StreamOptions::default();
    options.api_key = Some("not-a-key".into());
    let mut builder = Agent::builder(provider, model).stream_options(options);
    if matches!(fault.prompt, Prompt::WithTool) {
        builder = builder.tool(weather());
    }
    Ok(builder.build())
}

fn weather() -> AgentTool {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
    });
    let definition = ToolDefinition::new("weather", "Tells the weather.", parameters);
    AgentTool::from_fn(definition, |_, _| async { Ok(ToolOutput::text("sunny")) })
}

fn told(agent: &Agent, outcome: &RunOutcome, fault: &Fault, elapsed: Duration) -> Outcome {
    let messages = agent.messages();
    let kinds = messages.iter().filter_map(|message| match message {
        AgentMessage::Assistant(reply) => reply.error_info.as_ref(),
        _ => None,
    });
    let mut failures: Vec<String> = kinds.map(|info| info.kind.as_str().to_owned()).collect();
    failures.extend(messages.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) if result.is_error => {
            Some(format!("{} refused", result.tool_name))
        }
        _ => None,
    }));
    let results = messages
        .iter()
        .filter(|message| matches!(message, AgentMessage::ToolResult(_)))
        .count();
    let with_tool = matches!(fault.prompt, Prompt::WithTool);
    let (end, detail) = match &outcome.end {
        RunEnd::Failed(error) => (error.kind().as_str().to_owned(), error.to_string()),
        RunEnd::Completed if outcome.text() != GREETING => {
            ("another reply".to_owned(), outcome.text())
        }
        RunEnd::Completed if results != usize::from(with_tool) => {
            let text = format!("{results} results of tools");
            ("another reply".to_owned(), text)
        }
        RunEnd::Completed => ("reply".to_owned(), outcome.text()),
        end => ("another end".to_owned(), format!("{end:?}")),
    };
    Outcome {
        end,
        detail,
        failures,
        elapsed,
    }
}
