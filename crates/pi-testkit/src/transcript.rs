//! Events as text, one line each.

mod agent;
mod message;
mod reply;
mod words;

use std::fmt;

use pi_core::{AgentEvent, AssistantEvent};

use self::agent::AgentLines;
use self::reply::ReplyLines;
use self::words::Words;

/// A sequence of events as text, for people to read and for snapshots to compare.
///
/// The format is a contract of its own and not `Debug`: a field that is added to an event does not
/// touch it. Times, durations and token counts are never part of it (counts are with
/// [`TranscriptOptions::with_details`]).
///
/// # Format
/// Words in capitals stand for values, `[ ]` for what may be missing, `*` for repetition.
/// ```text
/// agent_start
/// agent_end      messages=COUNT
/// turn_start
/// turn_end       results=COUNT
/// message        MESSAGE                 its start and its end, where nothing is between them
/// message_start  MESSAGE | assistant
/// message_update REPLY
/// message_end    MESSAGE | assistant STOP [KIND] ["ERROR"] [BLOCK*]
/// tool_start     ID TOOL
/// tool_update    ID CONTENT*
/// tool_end       ID ok | error | suspended
///
/// MESSAGE = user CONTENT* | system CONTENT* | tool_result ID [error] CONTENT* | custom ROLE JSON
/// CONTENT = "TEXT" | [image TYPE SIZE bytes] | [TYPE]
/// BLOCK   = text "TEXT" | thinking "TEXT" | toolcall ID TOOL JSON | [TYPE]
/// ```
/// The blocks of a reply follow its `message_end` only where no update showed them. STOP is the
/// stop reason and KIND the kind of error, both in snake case.
///
/// REPLY is one event of a provider, and the whole line where a provider's stream is recorded. The
/// events of a block that stand side by side are joined:
/// ```text
/// start
/// #INDEX text [...] +"TEXT" [="TEXT"] [...]
/// #INDEX thinking [...] +"TEXT" [="TEXT"] [...]
/// #INDEX thinking redacted
/// #INDEX toolcall ID TOOL JSON [=JSON]
/// #INDEX toolcall ID TOOL +"TEXT" [...]
/// done STOP
/// error STOP [KIND] "ERROR"
/// ```
/// `+` is what the deltas add up to. `=` is what the end says where that is something else; an end
/// that carries the content of a block without deltas looks like one delta. `...` before the
/// content says that the block began on an earlier line, behind it that it does not end on this
/// line. Arguments are compact JSON, or their raw text where they are no JSON.
///
/// Without joining ([`TranscriptOptions::with_join_deltas`]) every event is a line, by the name that
/// it has in JSON: `#0 text_start`, `#0 text_delta +"Hi"`, `#1 toolcall_start c1 ls`,
/// `#0 text_end`.
///
/// Text is quoted as JSON. A text longer than [`TranscriptOptions::with_max_text`] is shortened in
/// its middle, and its length follows: `"Once … after." (5210 chars)`. Ids are masked as [`Ids`]
/// says. An event or a block of a type that this version does not know is its type.
///
/// # Examples
/// ```text
/// agent_start
/// turn_start
/// message        user "What is in a.txt?"
/// message_start  assistant
/// message_update #0 text +"Looking."
/// message_update #1 toolcall c1 read_file {"path":"a.txt"}
/// message_end    assistant tool_use
/// tool_start     c1 read_file
/// tool_end       c1 ok
/// message        tool_result c1 "hi"
/// turn_end       results=1
/// turn_start
/// message_start  assistant
/// message_update #0 text +"It says hi."
/// message_end    assistant stop
/// turn_end       results=0
/// agent_end      messages=4
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript(Vec<String>);

impl Transcript {
    /// Writes the events of an agent.
    #[must_use]
    pub fn of_agent(events: &[AgentEvent], options: &TranscriptOptions) -> Self {
        let mut lines = AgentLines::new(options);
        for event in events {
            lines.push(event);
        }
        Self(lines.finish())
    }

    /// Writes the events of one reply of a provider.
    #[must_use]
    pub fn of_reply(events: &[AssistantEvent], options: &TranscriptOptions) -> Self {
        let mut words = Words::new(options);
        let mut reply = ReplyLines::new();
        let mut lines = Vec::new();
        for event in events {
            reply.push(event, &mut words, &mut lines);
        }
        reply.flush(&words, &mut lines);
        Self(lines)
    }

    /// Returns the lines.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            f.write_str(line)?;
        }
        Ok(())
    }
}

/// What [`assert_transcript!`](crate::assert_transcript) takes: a recorder, events, or a transcript.
pub trait ToTranscript {
    /// Writes the transcript.
    fn to_transcript(&self) -> Transcript;
}

impl<T: ToTranscript + ?Sized> ToTranscript for &T {
    fn to_transcript(&self) -> Transcript {
        (**self).to_transcript()
    }
}

impl ToTranscript for Transcript {
    fn to_transcript(&self) -> Transcript {
        self.clone()
    }
}

impl ToTranscript for [AgentEvent] {
    fn to_transcript(&self) -> Transcript {
        Transcript::of_agent(self, &TranscriptOptions::default())
    }
}

impl ToTranscript for Vec<AgentEvent> {
    fn to_transcript(&self) -> Transcript {
        self.as_slice().to_transcript()
    }
}

impl ToTranscript for [AssistantEvent] {
    fn to_transcript(&self) -> Transcript {
        Transcript::of_reply(self, &TranscriptOptions::default())
    }
}

impl ToTranscript for Vec<AssistantEvent> {
    fn to_transcript(&self) -> Transcript {
        self.as_slice().to_transcript()
    }
}

/// Which ids a transcript replaces by `id#1`, `id#2` and so on, in the order in which they
/// first appear.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ids {
    /// Those that look generated: a run of eight or more letters and digits with a digit in it, as
    /// in `toolu_01A09q90qw90` or a UUID. Short ids that a script made, such as `c1` or `call_2`,
    /// stay.
    #[default]
    MaskGenerated,
    /// All.
    MaskAll,
    /// None.
    Keep,
}

/// How a [`Transcript`] is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptOptions {
    /// True if the events of a block that stand side by side are one line. The default.
    pub join_deltas: bool,
    /// Which ids are masked; by default those that look generated.
    pub ids: Ids,
    /// True if lines also tell signatures, models, usage, details of tools and the like. Off by
    /// default.
    pub details: bool,
    /// The most characters of a text that are shown; 120 by default, 0 for all.
    pub max_text: usize,
}

impl Default for TranscriptOptions {
    fn default() -> Self {
        Self {
            join_deltas: true,
            ids: Ids::default(),
            details: false,
            max_text: 120,
        }
    }
}

impl TranscriptOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the events of a block that stand side by side are one line.
    #[must_use]
    pub fn with_join_deltas(mut self, join_deltas: bool) -> Self {
        self.join_deltas = join_deltas;
        self
    }

    /// Sets which ids are masked.
    #[must_use]
    pub fn with_ids(mut self, ids: Ids) -> Self {
        self.ids = ids;
        self
    }

    /// Sets whether lines tell more, as `NAME=VALUE` at their end: `signature` of a block; `args`
    /// of a call; `details` and `terminate` of what a tool gives back; `model`, `usage` (input,
    /// output, cache read, cache write) and `response_id` of a reply; the JSON of unknown events.
    #[must_use]
    pub fn with_details(mut self, details: bool) -> Self {
        self.details = details;
        self
    }

    /// Sets the most characters of a text that are shown; 0 for all.
    #[must_use]
    pub fn with_max_text(mut self, max_text: usize) -> Self {
        self.max_text = max_text;
        self
    }
}

#[cfg(test)]
mod tests;
