//! Tests for agents and providers without network, clock or runtime: a provider that follows a
//! script, a recorder of what happens, and snapshots that read like a conversation.
//!
//! **Who should depend on this:** the tests of applications, tools and providers built on
//! `pi-core`; as a dev-dependency. It knows only `pi-core`, so it fits the agent loop, the stateful
//! agent and any agent that emits the same events.
//!
//! ```text
//! ScriptedProvider -> (the agent under test) -> Recorder -> assert_transcript!
//!                                                        -> grammar::check
//!
//! conformance::Subject (a provider of one's own) -> conformance::run -> Report
//! ```
//!
//! It does not talk to a model, and it is no mock of HTTP: a test of a provider's own wire needs a
//! server.
//!
//! # Examples
//! ```
//! use pi_core::{Context, Provider, Request};
//! use pi_testkit::{ScriptedProvider, StreamRecorder, assert_transcript, block_on, grammar, model};
//! use serde_json::json;
//!
//! let provider = ScriptedProvider::new()
//!     .turn(|t| t.text("Looking.").tool_call("c1", "read_file", json!({ "path": "a.txt" })));
//!
//! let mut reply = provider.stream(Request::new(model(), Context::default()));
//! let recorder = StreamRecorder::new();
//! block_on(recorder.read_to_end(&mut reply));
//!
//! grammar::check_stream(&recorder.events())?;
//! assert_transcript!(recorder, @r##"
//!     start
//!     #0 text +"Looking."
//!     #1 toolcall c1 read_file {"path":"a.txt"}
//!     done tool_use
//! "##);
//! # Ok::<(), grammar::GrammarError>(())
//! ```
//! With an agent the recorder is a subscriber: `agent.subscribe(recorder.listener())`, see
//! [`Recorder`].
//!
//! Whoever writes a provider runs the suite of [`conformance`] on it.
//!
//! # Features
//! - `insta`: [`assert_transcript!`] goes through insta, so that `cargo insta review` works, and
//!   without an expected text it compares with a snapshot file.

mod assert;
mod clock;
pub mod conformance;
mod difference;
mod executor;
mod gate;
pub mod grammar;
mod model;
mod recorder;
mod scripted;
mod transcript;

pub use crate::clock::ManualClock;
pub use crate::executor::{Stepper, block_on};
pub use crate::gate::Gates;
pub use crate::model::model;
pub use crate::recorder::{Recorder, StreamRecorder};
pub use crate::scripted::{RecordedRequest, ScriptedProvider, Turn};
pub use crate::transcript::{Ids, ToTranscript, Transcript, TranscriptOptions};

#[doc(hidden)]
pub mod __private {
    //! What the macros expand to. No part of the interface.
    pub use crate::assert::*;
}
