//! Tests that cross crates.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod agent_aborts;
mod agent_events;
mod agent_faults;
mod agent_limits;
mod agent_properties;
mod agent_resume;
mod agent_tools;
#[cfg(feature = "bedrock")]
mod bedrock;
mod conformance_selftest;
mod events_doc;
mod examples;
mod fixtures;
mod http;
mod http_faults;
mod otel;
mod provider_suite;
mod roundtrip;
mod secrets;
mod tools;
mod wire;
