//! The vocabulary of the pi workspace: messages, models and events, the two seams ([`Provider`] and
//! [`Tool`]), and the one fold from events to a message ([`Assembler`]).
//!
//! **Who should depend on this:** authors of provider crates, tool crates, user interfaces that
//! render events, and test helpers. Applications get it with `pi-agent` or `pi-ai`, which build on
//! it. It is not the npm package `pi-agent-core`.
//!
//! It does no I/O, reads no environment and no clock, and needs no async runtime.
//!
//! ```text
//! Provider::stream(Request) -> AssistantStream --events--> Assembler --> AssistantMessage
//! ```
//!
//! # Examples
//! A provider of your own: it answers every request with the same words.
//! ```
//! use futures_util::stream;
//! use pi_core::{
//!     AssistantEvent, AssistantMessage, AssistantStream, Context, Model, Provider, Request,
//!     StopReason, Usage,
//! };
//!
//! struct Parrot;
//!
//! impl Provider for Parrot {
//!     fn stream(&self, request: Request) -> AssistantStream {
//!         let events = [
//!             AssistantEvent::Start,
//!             AssistantEvent::TextStart { content_index: 0 },
//!             AssistantEvent::TextDelta { content_index: 0, delta: "Pretty bird!".into() },
//!             AssistantEvent::TextEnd { content_index: 0, content: None, content_signature: None },
//!             AssistantEvent::Done {
//!                 reason: StopReason::Stop,
//!                 usage: Usage::new(3, 2, 0, 0),
//!                 response_id: None,
//!             },
//!         ];
//!         AssistantStream::new(AssistantMessage::empty(&request.model, 0), stream::iter(events))
//!     }
//! }
//!
//! let model = Model::new("parrot-1", "parrot", "zoo", "");
//! let mut reply = Parrot.stream(Request::new(model, Context::default()));
//! let message = futures_util::FutureExt::now_or_never(reply.finish()).expect("it never waits")?;
//! assert_eq!(message.text(), "Pretty bird!");
//! # Ok::<(), pi_core::ProviderError>(())
//! ```
//!
//! # Features
//! - `schemars` (default): [`Tool`], whose parameter schema is derived from its argument type, and
//!   [`ProviderExt::complete_as`], which asks for a value of a type.
//! - `validation`: [`AgentTool::prepare`], validation and coercion of arguments by their schema. The
//!   agent loop turns it on.

mod agent_event;
mod agent_message;
mod assembler;
mod clock;
mod complete;
mod content;
mod context;
mod error;
mod event;
pub mod handoff;
mod message;
mod model;
mod options;
pub mod partial_json;
mod progress;
mod provider;
mod sampling;
mod shown;
mod stream;
#[cfg(feature = "schemars")]
mod structured;
mod tagged;
mod tool;
#[cfg(feature = "schemars")]
mod typed_tool;
mod usage;
#[cfg(feature = "validation")]
pub mod validation;

pub use secrecy::{ExposeSecret, SecretString};
pub use tokio_util::sync::CancellationToken;

pub use crate::agent_event::{AgentEvent, WithoutSnapshot};
pub use crate::agent_message::{AgentMessage, CustomMessage, CustomMessageError};
pub use crate::assembler::{Assembler, AssemblyError};
pub use crate::clock::Clock;
pub use crate::complete::ProviderExt;
pub use crate::content::{
    AssistantContent, ImageContent, MessageContent, TextContent, ThinkingContent, ToolCall,
    UserContent, joined_text,
};
pub use crate::context::{Context, Request, ToolDefinition};
pub use crate::error::{ErrorInfo, ErrorKind, HookError, Phase, ProviderError};
pub use crate::event::{AssistantEvent, InProcess};
pub use crate::message::{
    AssistantMessage, Message, StopReason, SystemMessage, ToolResultMessage, UserMessage,
};
pub use crate::model::{CostTier, InputKind, Model, ModelCompat, ModelCost, ThinkingLevel};
pub use crate::options::{
    BoxFuture, CacheRetention, OutputSchema, PayloadHook, ResponseHead, ResponseHook,
    StreamOptions, ThinkingBudgets, Transport,
};
pub use crate::progress::{ProgressReceiver, ProgressSender, progress_channel};
pub use crate::provider::{Provider, Router};
pub use crate::sampling::{
    ConstrainedSampling, Grammar, GrammarVariants, StrictSchema, Strictness,
};
pub use crate::stream::{AssistantStream, EventSource, Progress};
#[cfg(feature = "schemars")]
pub use crate::structured::{Structured, StructuredError};
pub use crate::tagged::Extra;
pub use crate::tool::{
    AgentTool, DynTool, PreparedCall, Replay, ToolContext, ToolError, ToolExecutionMode, ToolOutput,
};
#[cfg(feature = "schemars")]
pub use crate::typed_tool::Tool;
pub use crate::usage::{Cost, Usage};
