//! Recorders of events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use pi_core::{AgentEvent, AgentMessage, AssistantEvent, AssistantMessage, AssistantStream};

use crate::grammar::{self, GrammarError};
use crate::transcript::{ToTranscript, Transcript, TranscriptOptions};

/// Records the events of an agent. Cloning shares the recording.
///
/// It is a subscriber that does not disturb: the snapshots inside `message_update` events are not
/// kept, so that the agent goes on editing its message in place.
///
/// # Examples
/// ```
/// use pi_core::{AgentEvent, AgentMessage};
/// use pi_testkit::{Recorder, assert_transcript};
///
/// let recorder = Recorder::new();
/// let listener = recorder.listener(); // agent.subscribe(recorder.listener())
/// let message = AgentMessage::user("Hello", 1_700_000_000_000);
/// listener(&AgentEvent::MessageStart { message: message.clone() });
/// listener(&AgentEvent::MessageEnd { message });
///
/// assert_transcript!(recorder, @r#"message        user "Hello""#);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    recording: Arc<Mutex<Recording>>,
    options: TranscriptOptions,
}

#[derive(Debug, Default)]
struct Recording {
    events: Vec<AgentEvent>,
    /// The reply that streams, without its content: what stands for its snapshots.
    hollow: Option<Arc<AssistantMessage>>,
}

impl Recorder {
    /// Creates a recorder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how this handle writes its transcript.
    #[must_use]
    pub fn with_options(mut self, options: TranscriptOptions) -> Self {
        self.options = options;
        self
    }

    /// Returns a subscriber that records what it hears.
    pub fn listener(&self) -> impl Fn(&AgentEvent) + Send + Sync + 'static {
        let recorder = self.clone();
        move |event| recorder.record(event)
    }

    /// Records an event.
    pub fn record(&self, event: &AgentEvent) {
        let mut recording = self.lock();
        let event = recording.lean(event);
        recording.events.push(event);
    }

    /// Returns the events so far. The message in an update is without content.
    #[must_use]
    pub fn events(&self) -> Vec<AgentEvent> {
        self.lock().events.clone()
    }

    /// Returns the events so far, and forgets them.
    #[must_use]
    pub fn take(&self) -> Vec<AgentEvent> {
        std::mem::take(&mut *self.lock()).events
    }

    /// Returns the transcript so far.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        self.transcript_with(&self.options)
    }

    /// Returns the transcript so far, written by other options.
    #[must_use]
    pub fn transcript_with(&self, options: &TranscriptOptions) -> Transcript {
        Transcript::of_agent(&self.lock().events, options)
    }

    /// Checks the order of the events so far.
    ///
    /// # Errors
    /// The first event that does not fit; see [`grammar::check`].
    pub fn check_grammar(&self) -> Result<(), GrammarError> {
        grammar::check(&self.lock().events)
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    /// Copies an event without becoming an owner of a message that still grows.
    fn lean(&mut self, event: &AgentEvent) -> AgentEvent {
        match event {
            AgentEvent::MessageStart {
                message: AgentMessage::Assistant(message),
            } => {
                self.hollow = Some(hollow(message));
                let message = AssistantMessage::clone(message).into();
                AgentEvent::MessageStart { message }
            }
            AgentEvent::MessageUpdate { message, event } => {
                let stand_in = self.hollow.get_or_insert_with(|| hollow(message));
                AgentEvent::MessageUpdate {
                    message: Arc::clone(stand_in),
                    event: event.clone(),
                }
            }
            other => {
                self.hollow = None;
                other.clone()
            }
        }
    }
}

fn hollow(message: &AssistantMessage) -> Arc<AssistantMessage> {
    let mut hollow = message.clone();
    hollow.content = Vec::new();
    Arc::new(hollow)
}

impl ToTranscript for Recorder {
    fn to_transcript(&self) -> Transcript {
        self.transcript()
    }
}

/// Records the events of a provider's reply. Cloning shares the recording.
#[derive(Debug, Clone, Default)]
pub struct StreamRecorder {
    events: Arc<Mutex<Vec<AssistantEvent>>>,
    options: TranscriptOptions,
}

impl StreamRecorder {
    /// Creates a recorder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how this handle writes its transcript.
    #[must_use]
    pub fn with_options(mut self, options: TranscriptOptions) -> Self {
        self.options = options;
        self
    }

    /// Records an event.
    pub fn record(&self, event: &AssistantEvent) {
        self.lock().push(event.clone());
    }

    /// Reads a reply to its end and records its events.
    ///
    /// # Cancel safety
    /// Cancel safe: what was read is recorded, and calling it again goes on from there.
    pub async fn read_to_end(&self, reply: &mut AssistantStream) {
        while let Some(event) = reply.next().await {
            self.lock().push(event);
        }
    }

    /// Returns the events so far.
    #[must_use]
    pub fn events(&self) -> Vec<AssistantEvent> {
        self.lock().clone()
    }

    /// Returns the transcript so far.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        Transcript::of_reply(&self.lock(), &self.options)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<AssistantEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToTranscript for StreamRecorder {
    fn to_transcript(&self) -> Transcript {
        self.transcript()
    }
}

#[cfg(test)]
mod tests;
