//! What the integration tests and the conformance runner share: reading of test data, comparison of
//! JSON with matchers, and a scripted HTTP server.
//!
//! **Who should depend on this:** nobody outside this repository.

pub mod apis;
#[cfg(feature = "bedrock")]
pub mod aws_frames;
pub mod compare;
pub mod delivery;
pub mod fault_server;
pub mod logs;
pub mod matcher;
pub mod normalise;
pub mod observe;
pub mod report;
pub mod server;
pub mod stored;

/// The example of the README, compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The examples of the guide for authors of providers.
#[cfg(doctest)]
#[doc = include_str!("../../docs/writing-a-provider.md")]
pub struct WritingAProvider;

/// The examples of the page about providers.
#[cfg(doctest)]
#[doc = include_str!("../../docs/providers.md")]
pub struct ProvidersPage;

/// The examples of the page about the standard tools.
#[cfg(doctest)]
#[doc = include_str!("../../docs/tools.md")]
pub struct ToolsPage;
