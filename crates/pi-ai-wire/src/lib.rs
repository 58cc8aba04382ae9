//! Sans-IO wire formats of model providers: server-sent events framing and protocol codecs.
//!
//! **Who should depend on this:** authors of provider crates, on any transport. Applications use
//! `pi-ai`.
//!
//! Bytes go in, [`pi_core::AssistantEvent`]s come out; requests go in, JSON bodies come out. There is
//! no socket, no clock, no retry and no async code here.

#[cfg(feature = "openai")]
mod affinity;
#[cfg(feature = "anthropic")]
pub mod anthropic_messages;
#[cfg(feature = "bedrock")]
mod aws_event_stream;
#[cfg(feature = "openai")]
pub mod azure_openai_responses;
#[cfg(feature = "bedrock")]
pub mod bedrock_converse_stream;
#[cfg(any(feature = "mistral", feature = "openai"))]
mod chat;
pub mod codec;
#[cfg(feature = "__codec")]
mod digest;
pub mod errors;
pub mod framing;
#[cfg(feature = "google")]
pub mod google_generative_ai;
mod handoff;
#[cfg(feature = "__codec")]
mod headers;
#[cfg(feature = "__codec")]
mod ids;
#[cfg(feature = "__codec")]
mod joined;
#[cfg(feature = "__codec")]
mod json;
#[cfg(feature = "__codec")]
mod levels;
#[cfg(feature = "__codec")]
mod limit;
#[cfg(feature = "mistral")]
pub mod mistral_conversations;
#[cfg(feature = "openai")]
pub mod openai_completions;
#[cfg(feature = "openai")]
pub mod openai_responses;
#[cfg(feature = "__codec")]
mod output;
#[cfg(feature = "__codec")]
mod read;
#[cfg(any(feature = "mistral", feature = "openai"))]
mod sampling;
#[cfg(feature = "openai")]
mod service_tier;
pub mod sse;
#[cfg(all(test, feature = "__codec"))]
mod testing;

pub use crate::handoff::handoff_report;
