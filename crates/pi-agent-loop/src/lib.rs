//! The agent loop: asks a model, runs the tools that it calls, and asks again, as a stream of
//! events over any [`Provider`](pi_core::Provider).
//!
//! **Who should depend on this:** applications that keep their own state and queues, and durable
//! drivers that need only [`next_action`]. Most applications use `pi-agent`, which keeps the state.
//!
//! The stream is pull-based: the loop advances when it is polled, spawns nothing and needs no
//! runtime. The consumer has handled an event before the loop takes its next step. Dropping the
//! stream is a hard stop.
//!
//! # Examples
//! ```
//! use futures_util::StreamExt;
//! use pi_agent_loop::{AgentContext, LoopConfig, agent_loop};
//! use pi_core::{AgentMessage, AssistantStream, Model, Provider, Request};
//! # use pi_core::{AssistantEvent, AssistantMessage, StopReason, Usage};
//! # struct Parrot;
//! # impl Provider for Parrot {
//! #     fn stream(&self, request: Request) -> AssistantStream {
//! #         let events = [
//! #             AssistantEvent::Start,
//! #             AssistantEvent::TextStart { content_index: 0 },
//! #             AssistantEvent::TextDelta { content_index: 0, delta: "Hello!".into() },
//! #             AssistantEvent::TextEnd { content_index: 0, content: None, content_signature: None },
//! #             AssistantEvent::Done { reason: StopReason::Stop, usage: Usage::default(), response_id: None },
//! #         ];
//! #         AssistantStream::new(AssistantMessage::empty(&request.model, 0), futures_util::stream::iter(events))
//! #     }
//! # }
//!
//! let model = Model::new("parrot-1", "parrot", "zoo", "");
//! let config = LoopConfig::new(Parrot, model);
//! let prompt = AgentMessage::user("Say hello.", 0);
//!
//! let mut events = agent_loop(vec![prompt], AgentContext::default(), config);
//! # futures_util::FutureExt::now_or_never(async {
//! while let Some(event) = events.next().await {
//!     if let Some(delta) = event.text_delta() {
//!         assert_eq!(delta, "Hello!");
//!     }
//! }
//! # }).expect("the provider never waits");
//! let outcome = events.outcome().expect("the run is over");
//! assert_eq!(outcome.messages.len(), 2);
//! ```

mod answer;
mod batch;
mod budget;
mod clock;
mod config;
mod emit;
mod hooks;
mod next;
mod outcome;
mod run;
mod running;
mod spans;
mod tools;
mod turn;
mod verdict;

pub use crate::budget::{Budget, BudgetExhausted, Spent};
pub use crate::clock::SystemClock;
pub use crate::config::{AgentContext, LoopConfig, SteeringPoint, ToolEndOrder};
pub use crate::emit::AgentStream;
pub use crate::hooks::{FnHooks, Hooks, IntoHookResult, default_convert};
pub use crate::next::{NextAction, OpenCalls, next_action};
pub use crate::outcome::{ContinueError, RunEnd, RunOutcome};
pub use crate::run::{agent_loop, agent_loop_continue, agent_loop_resume};
pub use crate::verdict::{
    AfterToolCall, AfterTurn, BeforeToolCall, Decision, FinishTurn, PrepareRequest,
    RequestOverride, ResultOverride, Verdict,
};
