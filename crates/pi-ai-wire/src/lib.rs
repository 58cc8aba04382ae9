//! Sans-IO wire formats of model providers: server-sent events framing and protocol codecs.
//!
//! **Who should depend on this:** authors of provider crates, on any transport. Applications use
//! `pi-ai`.
//!
//! Bytes go in, [`pi_core::AssistantEvent`]s come out; requests go in, JSON bodies come out. There is
//! no socket, no clock, no retry and no async code here.

pub mod codec;
pub mod errors;
#[cfg(feature = "openai")]
mod headers;
#[cfg(feature = "openai")]
mod joined;
#[cfg(feature = "openai")]
mod json;
#[cfg(feature = "openai")]
mod levels;
#[cfg(feature = "openai")]
pub mod openai_completions;
#[cfg(feature = "openai")]
mod read;
pub mod sse;
