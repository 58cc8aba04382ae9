//! What the server can do to a client, and what must come of it.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};

use crate::drive::Outcome;

/// How long the client waits for the head of a response, and for the next byte of its body.
pub(crate) const SILENCE: Duration = Duration::from_millis(1_500);

/// A wait that is within this limit, in seconds.
const WITHIN: f64 = 0.7;

/// A wait that is beyond it, in seconds.
const BEYOND: f64 = 4.0;

/// One fault, and what must come of it.
pub(crate) struct Fault {
    pub(crate) name: String,
    /// What the server does, in the words of its control interface.
    pub(crate) behaviors: Vec<Value>,
    /// What it is asked.
    pub(crate) prompt: Prompt,
    /// How it may end: `reply`, or kinds of failures.
    pub(crate) ends: &'static [&'static str],
    /// The failures that are reported, of the last reply and of those before it; any if `None`.
    pub(crate) reported: Option<&'static [&'static str]>,
    /// How many requests it may take.
    pub(crate) requests: RangeInclusive<usize>,
    /// Findings that are no fault of the client, with the reason at the place where they are set.
    pub(crate) accepted: &'static [&'static str],
}

/// What the server is asked.
#[derive(Clone, Copy)]
pub(crate) enum Prompt {
    Short,
    /// Longer than the window of the server's models.
    Long,
    /// With a tool that the server calls.
    WithTool,
}

impl Fault {
    /// A fault after which the whole reply comes, in at least this many requests.
    fn overcome(name: impl Into<String>, at_least: usize, behavior: Value) -> Self {
        Self {
            name: name.into(),
            behaviors: vec![behavior],
            prompt: Prompt::Short,
            ends: &["reply"],
            reported: None,
            requests: at_least..=at_least + 1,
            accepted: &[],
        }
    }

    /// A fault that the caller is told of, after one request.
    fn told(name: impl Into<String>, ends: &'static [&'static str], behavior: Value) -> Self {
        Self {
            ends,
            reported: Some(ends),
            requests: 1..=1,
            ..Self::overcome(name, 1, behavior)
        }
    }

    /// A fault of a tool call, which the model is told of.
    fn of_call(name: &str, reported: &'static [&'static str], behaviors: Vec<Value>) -> Self {
        Self {
            name: name.to_owned(),
            behaviors,
            prompt: Prompt::WithTool,
            ends: &["reply"],
            reported: Some(reported),
            requests: 2..=2,
            accepted: &[],
        }
    }

    fn reporting(mut self, reported: &'static [&'static str]) -> Self {
        self.reported = Some(reported);
        self
    }

    /// Returns true if it may end so.
    pub(crate) fn allows(&self, outcome: &Outcome) -> bool {
        let is_known = |kind: &String| {
            self.reported
                .is_none_or(|kinds| kinds.contains(&kind.as_str()))
        };
        let is_reported = match (self.reported, self.ends) {
            (Some([_, ..]), _) => !outcome.failures.is_empty(),
            _ => true,
        };
        self.ends.contains(&outcome.end.as_str())
            && is_reported
            && outcome.failures.iter().all(is_known)
    }
}

/// Returns all faults.
pub(crate) fn all() -> Vec<Fault> {
    let mut faults = vec![Fault {
        behaviors: Vec::new(),
        requests: 1..=1,
        ..Fault::overcome("none", 1, Value::Null).reporting(&[])
    }];
    faults.extend(statuses());
    faults.extend(waits());
    faults.extend(streams());
    faults.extend(calls());
    faults
}

/// Answers that are refusals.
fn statuses() -> Vec<Fault> {
    let status = |status: u16| json!({ "type": "fail", "status": status });
    let waiting = |seconds: f64| json!({ "type": "fail", "status": 429, "retry_after": seconds });
    let overcome = |name: &str, behavior| Fault::overcome(name, 2, behavior).reporting(&[]);
    let mut faults = vec![
        overcome("429, Retry-After 1.2 s", waiting(1.2)),
        // The server has no 429 without the header; zero seconds are no wait that one could obey.
        overcome("429, Retry-After 0 s", waiting(0.0)),
        Fault {
            // Nobody waits ten minutes unasked: the caller is told the figure.
            accepted: &["gave_up"],
            ..Fault::told("429, Retry-After 600 s", &["rateLimited"], waiting(600.0))
        },
    ];
    for code in [408, 409, 500, 502, 503, 504, 529] {
        faults.push(overcome(&format!("{code}, once"), status(code)));
    }
    faults.push(Fault {
        requests: 9..=9,
        ..Fault::told(
            "outage",
            &["server", "overloaded"],
            json!({ "type": "fail", "status": 500, "times": null }),
        )
    });
    for (code, kind) in [
        (400, &["invalidRequest"] as &[&str]),
        (401, &["auth"]),
        (403, &["auth"]),
        (404, &["invalidRequest"]),
        (422, &["invalidRequest"]),
    ] {
        faults.push(Fault::told(code.to_string(), kind, status(code)));
    }
    faults.push(Fault {
        behaviors: Vec::new(),
        prompt: Prompt::Long,
        ..Fault::told("context overflow", &["contextOverflow"], Value::Null)
    });
    faults
}

/// Waits within the limits, which change nothing, and beyond them.
fn waits() -> Vec<Fault> {
    let slow = |kind: &str, seconds: f64| json!({ "type": kind, "seconds": seconds });
    let within = |name: &str, behavior| Fault {
        requests: 1..=1,
        ..Fault::overcome(name, 1, behavior).reporting(&[])
    };
    // The server counts a request that was given up in a delay when the delay is over.
    let beyond = |name: &str, behavior| Fault::overcome(name, 1, behavior);
    vec![
        within("delay within the limit", slow("delay", WITHIN)),
        beyond("delay beyond the limit", slow("delay", BEYOND)).reporting(&[]),
        within(
            "slow first token within the limit",
            slow("slow_first_token", WITHIN),
        ),
        beyond(
            "slow first token beyond the limit",
            slow("slow_first_token", BEYOND),
        )
        .reporting(&["timeout"]),
    ]
}

/// Streams that break, before anything came, before content and inside it.
fn streams() -> Vec<Fault> {
    let fault = |kind: &str, after: usize, stall: f64| {
        json!({
            "type": "stream_fault",
            "kind": kind,
            "after_chunks": after,
            "stall_seconds": stall,
        })
    };
    let mut faults = Vec::new();
    for (kind, kinds) in [
        ("disconnect", &["transport"] as &[&str]),
        ("truncate", &["protocol"]),
        ("malformed", &["protocol"]),
        ("stall", &["timeout"]),
    ] {
        // What breaks before content is asked for again without a word, so nothing is reported.
        let before = Fault::overcome(format!("{kind} at the start"), 2, fault(kind, 0, BEYOND));
        faults.push(before);
        let early = Fault::overcome(format!("{kind} after a chunk"), 2, fault(kind, 1, BEYOND));
        faults.push(early);
        let inside = Fault::overcome(format!("{kind} in content"), 2, fault(kind, 6, BEYOND));
        faults.push(inside.reporting(kinds));
    }
    faults.push(Fault {
        requests: 1..=1,
        ..Fault::overcome("stall within the limit", 1, fault("stall", 6, WITHIN)).reporting(&[])
    });
    faults
}

/// Tool calls, good and broken.
fn calls() -> Vec<Fault> {
    let fault = |kind: &str| vec![json!({ "type": "tool_fault", "kind": kind })];
    vec![
        Fault::of_call("tool call", &[], Vec::new()),
        Fault::of_call(
            "malformed tool call",
            &["weather refused"],
            fault("malformed_arguments"),
        ),
        Fault::of_call(
            "unknown tool",
            &["llmock_unknown_tool refused"],
            fault("unknown_tool"),
        ),
    ]
}
