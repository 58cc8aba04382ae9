//! A provider that follows a script.

mod player;
mod request;
mod turn;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_core::{
    AssistantMessage, AssistantStream, Clock, ErrorKind, Provider, ProviderError, Request,
};

use self::player::Player;
pub use self::request::RecordedRequest;
pub use self::turn::Turn;
use crate::gate::Gates;

type Respond = dyn Fn(&RecordedRequest, Turn) -> Turn + Send + Sync;

/// A provider whose replies are written down in advance, one turn for each request.
///
/// Cloning shares the script and what was recorded, so a test keeps a clone of what it hands to
/// the agent. A request without a turn left is answered with an error that says so. Timestamps are
/// zero unless there is a clock.
///
/// # Examples
/// ```
/// use pi_core::ErrorKind;
/// use pi_testkit::ScriptedProvider;
/// use serde_json::json;
///
/// let provider = ScriptedProvider::new()
///     .turn(|t| {
///         t.thinking("The user wants the file.")
///             .text("Looking.")
///             .tool_call("c1", "read_file", json!({ "path": "a.txt" }))
///     })
///     .turn(|t| t.text_deltas(["It says ", "hi"]).error(ErrorKind::Overloaded, "try later"))
///     .turn(|t| t.gate("before the answer").text("It says hi."));
/// assert_eq!(provider.remaining(), 3);
/// ```
#[derive(Clone, Default)]
pub struct ScriptedProvider {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    script: Mutex<Script>,
    gates: Gates,
    active: AtomicUsize,
}

#[derive(Default)]
struct Script {
    entries: VecDeque<Entry>,
    otherwise: Option<Arc<Respond>>,
    clock: Option<Arc<dyn Clock>>,
    requests: Vec<RecordedRequest>,
}

enum Entry {
    Turn(Turn),
    Respond(Arc<Respond>),
}

impl ScriptedProvider {
    /// Creates a provider with an empty script.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a turn. It may be added while the agent runs.
    #[must_use]
    pub fn turn(self, build: impl FnOnce(Turn) -> Turn) -> Self {
        let turn = build(Turn::new());
        self.shared.lock().entries.push_back(Entry::Turn(turn));
        self
    }

    /// Adds a turn that depends on the request it answers.
    #[must_use]
    pub fn respond<F>(self, respond: F) -> Self
    where
        F: Fn(&RecordedRequest, Turn) -> Turn + Send + Sync + 'static,
    {
        self.shared
            .lock()
            .entries
            .push_back(Entry::Respond(Arc::new(respond)));
        self
    }

    /// Sets what answers every request after the last turn.
    #[must_use]
    pub fn otherwise<F>(self, respond: F) -> Self
    where
        F: Fn(&RecordedRequest, Turn) -> Turn + Send + Sync + 'static,
    {
        self.shared.lock().otherwise = Some(Arc::new(respond));
        self
    }

    /// Adds a turn that fails before it begins.
    #[must_use]
    pub fn error(self, kind: ErrorKind, text: impl Into<String>) -> Self {
        self.turn(|t| t.error(kind, text))
    }

    /// Sets the clock that pauses wait for and that replies take their timestamps from.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        self.shared.lock().clock = Some(Arc::new(clock));
        self
    }

    /// Returns the gates of this provider's turns.
    #[must_use]
    pub fn gates(&self) -> Gates {
        self.shared.gates.clone()
    }

    /// Returns the requests so far, in the order in which their streams were first polled.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.clone()
    }

    /// Returns how many turns no request has asked for yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.shared.lock().entries.len()
    }

    /// Returns how many replies have begun and are neither over nor dropped.
    #[must_use]
    pub fn active_streams(&self) -> usize {
        self.shared.active.load(Ordering::Acquire)
    }
}

impl Provider for ScriptedProvider {
    fn stream(&self, request: Request) -> AssistantStream {
        let clock = self.shared.lock().clock.clone();
        let timestamp = clock.map_or(0, |clock| clock.now());
        let seed = AssistantMessage::empty(&request.model, timestamp);
        let abort = request.abort.clone();
        let stream = AssistantStream::new(seed, Player::play(Arc::clone(&self.shared), request));
        match abort {
            Some(abort) => stream.abort_on(abort),
            None => stream,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and takes its turn. Code of the test runs outside the lock.
    fn answer(&self, request: &Request) -> Turn {
        let recorded = RecordedRequest::new(request);
        let (entry, number) = {
            let mut script = self.lock();
            script.requests.push(recorded.clone());
            let entry = script.entries.pop_front();
            let otherwise = || script.otherwise.clone().map(Entry::Respond);
            (entry.or_else(otherwise), script.requests.len())
        };
        match entry {
            Some(Entry::Turn(turn)) => turn,
            Some(Entry::Respond(respond)) => respond(&recorded, Turn::new()),
            None => Turn::new().fail(exhausted(number)),
        }
    }
}

fn exhausted(number: usize) -> ProviderError {
    let turns = number - 1;
    let text = format!("the script has no turn for request {number}: it ended after {turns}");
    ProviderError::new(ErrorKind::InvalidRequest, text)
}

impl fmt::Debug for ScriptedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.shared.lock();
        f.debug_struct("ScriptedProvider")
            .field("remaining", &script.entries.len())
            .field("requests", &script.requests.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
