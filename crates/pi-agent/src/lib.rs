//! A stateful agent: a transcript, tools, hooks, queues and subscribers over any model provider.
//!
//! **Who should depend on this:** most applications, together with a provider crate such as `pi-ai`.
//! Applications that keep their own state use `pi-agent-loop`.
//!
//! It knows no vendor and no transport, spawns nothing and needs no particular runtime.
//!
//! # Examples
//! The provider is scripted here; a real one is one line in `Cargo.toml` and one line below.
//! ```
//! use pi_agent::Agent;
//! use pi_core::{Tool, ToolContext, ToolError, ToolOutput};
//! use pi_testkit::{ScriptedProvider, block_on, model};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct WeatherArgs {
//!     /// The city to look up.
//!     city: String,
//! }
//!
//! struct Weather;
//!
//! impl Tool for Weather {
//!     const NAME: &'static str = "weather";
//!     const LABEL: &'static str = "Weather";
//!     const DESCRIPTION: &'static str = "Tells the weather in a city.";
//!     type Args = WeatherArgs;
//!     type Details = ();
//!
//!     async fn run(&self, args: WeatherArgs, _cx: ToolContext) -> Result<ToolOutput<()>, ToolError> {
//!         Ok(ToolOutput::text(format!("It is sunny in {}.", args.city)))
//!     }
//! }
//!
//! let provider = ScriptedProvider::new()
//!     .turn(|t| t.tool_call("c1", "weather", json!({ "city": "Graz" })))
//!     .turn(|t| t.text("Take your sunglasses."));
//! let agent = Agent::builder(provider, model()).tool(Weather).build();
//! let _printing = agent.subscribe(|event| {
//!     if let Some(delta) = event.text_delta() {
//!         print!("{delta}");
//!     }
//! });
//! let outcome = block_on(agent.prompt("What should I pack for Graz?"))?;
//! assert_eq!(outcome.text(), "Take your sunglasses.");
//! # Ok::<(), pi_agent::AgentError>(())
//! ```

mod agent;
mod builder;
mod drive;
mod error;
mod events;
mod inside;
mod prompt;
mod queue;
mod state;
mod subscribe;

pub use pi_agent_loop::{
    AfterToolCall, AfterTurn, BeforeToolCall, Budget, BudgetExhausted, Decision, FinishTurn,
    FnHooks, Hooks, IntoHookResult, NextAction, PrepareRequest, RequestOverride, ResultOverride,
    RunEnd, RunOutcome, Spent, SteeringPoint, SystemClock, ToolEndOrder, Verdict, next_action,
};

pub use crate::agent::Agent;
pub use crate::builder::AgentBuilder;
pub use crate::drive::Running;
pub use crate::error::AgentError;
pub use crate::events::{AgentEvents, Lagged};
pub use crate::prompt::Prompt;
pub use crate::queue::QueueMode;
pub use crate::state::AgentState;
pub use crate::subscribe::Subscription;
