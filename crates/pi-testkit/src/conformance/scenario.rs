//! What a provider is put through.

use std::fmt;

use pi_core::{ErrorKind, StopReason, Usage};
use serde_json::json;

use super::Expected;

/// Declares the enum and the list of all its variants, so that neither lacks one.
macro_rules! scenarios {
    ($($(#[$meta:meta])* $variant:ident = $name:literal,)+) => {
        /// What the other side of a provider does, in a situation that every application meets.
        ///
        /// The other side is whatever the provider talks to: a server, a process, a model in memory.
        /// The documentation of each scenario says what it does; [`expected`](Self::expected) says
        /// what the provider then makes of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Scenario {
            $($(#[$meta])* $variant,)+
        }

        impl Scenario {
            /// All scenarios, in the order of a report.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name in a report.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

scenarios! {
    /// The text `Hello, world` in two or more pieces.
    Text = "text",
    /// A reply that is complete and says nothing: no block, or an empty one.
    EmptyText = "empty text",
    /// The reasoning `Let me think.`, then the text `Hello`.
    Thinking = "thinking",
    /// One call of `weather` with `{"city":"Graz"}`.
    OneToolCall = "one tool call",
    /// The text `Looking.`, then two calls of `weather` with `{"city":"Graz"}` and
    /// `{"city":"Linz"}`.
    SeveralToolCalls = "several tool calls",
    /// One call of `weather` with `{"city":"Graz","note":"a \"quoted\" ü"}`, whose JSON comes in as
    /// many pieces as the wire allows, cut inside strings and escapes too.
    SplitArguments = "split arguments",
    /// One call of `weather` without arguments, as the wire spells that: nothing, `null` or `{}`.
    NoArguments = "no arguments",
    /// The text `Hello, world`, with an event between its pieces whose type nobody knows.
    UnknownEvent = "unknown event",
    /// The text `Hel`, then something that cannot be read.
    MalformedFrame = "malformed frame",
    /// The text `Hel`, then an event by which the other side reports that it is overloaded.
    ErrorInStream = "error in mid-stream",
    /// In place of a reply the answer that there were too many requests. Turn retries off.
    ErrorStatus = "error before the stream",
    /// The text `Hel`, then the end, without the event or the mark that closes a reply.
    Truncation = "truncation",
    /// The end, without anything before it. Turn retries off.
    EmptyBody = "empty body",
    /// A call of `weather` whose arguments stop after `{"city":"Gr`, since the limit of tokens was
    /// reached.
    LengthInToolCall = "length stop in a tool call",
    /// A refusal to answer, as the wire spells that.
    Refusal = "refusal",
    /// The text `Hello`, and 20 tokens of input and 5 of output.
    Usage = "usage",
    /// A text as in [`Text`](Self::Text), which nobody will ask for. Count the requests with
    /// [`Case::with_requests`](super::Case::with_requests) where there are any.
    AbortBeforeStart = "abort before the start",
    /// The text `Hel`, then silence for ever.
    AbortInMidStream = "abort in mid-stream",
    /// The text `Hel`, then silence until the stream is dropped. Needs
    /// [`Case::with_open_replies`](super::Case::with_open_replies).
    DropInMidStream = "drop in mid-stream",
    /// A text as in [`Text`](Self::Text), for two requests. Needs
    /// [`Case::with_requests`](super::Case::with_requests).
    NothingBeforePoll = "nothing before the first poll",
    /// A text as in [`Text`](Self::Text), for two requests at once.
    TwoStreams = "two streams at once",
}

impl Scenario {
    /// Returns what the provider makes of it, where the case does not say otherwise.
    pub fn expected(self) -> Expected {
        let graz = || json!({ "city": "Graz" });
        match self {
            Self::Text | Self::UnknownEvent | Self::NothingBeforePoll | Self::TwoStreams => {
                Expected::done(StopReason::Stop).text("Hello, world")
            }
            Self::EmptyText => Expected::done(StopReason::Stop),
            Self::Thinking => Expected::done(StopReason::Stop)
                .thinking("Let me think.")
                .text("Hello"),
            Self::OneToolCall => Expected::done(StopReason::ToolUse).tool_call("weather", graz()),
            Self::SeveralToolCalls => Expected::done(StopReason::ToolUse)
                .text("Looking.")
                .tool_call("weather", graz())
                .tool_call("weather", json!({ "city": "Linz" })),
            Self::SplitArguments => Expected::done(StopReason::ToolUse).tool_call(
                "weather",
                json!({ "city": "Graz", "note": "a \"quoted\" ü" }),
            ),
            Self::NoArguments => {
                Expected::done(StopReason::ToolUse).tool_call("weather", json!({}))
            }
            Self::MalformedFrame | Self::Truncation => {
                Expected::error(ErrorKind::Protocol).text("Hel")
            }
            Self::ErrorInStream => Expected::error(ErrorKind::Overloaded).text("Hel"),
            Self::ErrorStatus => Expected::error(ErrorKind::RateLimited),
            Self::EmptyBody => Expected::error(ErrorKind::Protocol),
            Self::LengthInToolCall => Expected::done(StopReason::Length).cut_tool_call("weather"),
            Self::Refusal => Expected::error(ErrorKind::Refused),
            Self::Usage => Expected::done(StopReason::Stop)
                .text("Hello")
                .usage(Usage::new(20, 5, 0, 0)),
            Self::AbortBeforeStart => Expected::error(ErrorKind::Aborted),
            Self::AbortInMidStream | Self::DropInMidStream => {
                Expected::error(ErrorKind::Aborted).text("Hel")
            }
        }
    }

    /// Returns true if every provider owes it, whatever its wire: it cannot be skipped.
    #[must_use]
    pub fn is_required(self) -> bool {
        matches!(
            self,
            Self::Text | Self::AbortBeforeStart | Self::AbortInMidStream | Self::TwoStreams
        )
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
