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
#[cfg(feature = "openai")]
pub mod azure_openai_responses;
pub mod codec;
#[cfg(feature = "__codec")]
mod digest;
pub mod errors;
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
#[cfg(feature = "openai")]
pub mod openai_completions;
#[cfg(feature = "openai")]
pub mod openai_responses;
#[cfg(feature = "__codec")]
mod read;
#[cfg(feature = "openai")]
mod sampling;
pub mod sse;
#[cfg(all(test, feature = "__codec"))]
mod testing;
