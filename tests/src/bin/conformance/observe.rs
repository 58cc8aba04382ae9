//! What can be seen of one reply.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use futures_util::StreamExt;
use integration_tests::normalise;
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::sse::{SseDecoder, SseError};
use pi_core::{
    Assembler, AssistantEvent, AssistantMessage, AssistantStream, ErrorKind, InProcess, Model,
    ProviderError,
};
use serde_json::{Value, json};

/// One reply, in the shapes of the stored cases.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    /// The events in their in-process form.
    pub(crate) events: Vec<Value>,
    /// The final message; its timestamp is 0.
    pub(crate) message: Value,
    /// Kind and retryability of the failure, if the reply failed.
    pub(crate) failure: Option<Failure>,
    /// The final message, typed.
    pub(crate) reply: AssistantMessage,
}

/// The typed part of a failure.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// The kind in the words of the cases; none for kinds that they have no word for.
    pub(crate) kind: Option<&'static str>,
    /// Whether the same request may succeed later.
    pub(crate) retryable: bool,
}

impl Failure {
    pub(crate) fn to_value(&self) -> Value {
        json!({ "errorKind": self.kind, "retryable": self.retryable })
    }
}

impl Observation {
    /// Reads a stream to its end.
    pub(crate) async fn of_stream(mut stream: AssistantStream) -> Self {
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(in_process(&event, &stream.partial()));
        }
        Self::new(events, (*stream.partial()).clone())
    }

    /// Feeds pieces of a body to a decoder, without any socket.
    pub(crate) fn of_decoder(decoder: Box<dyn Decoder>, model: &Model, pieces: &[Bytes]) -> Self {
        let mut fold = Fold {
            decoder,
            assembler: Assembler::new(AssistantMessage::empty(model, 0)),
            queue: VecDeque::new(),
            events: Vec::new(),
        };
        if let Err(error) = fold.feed(pieces) {
            fold.take_events();
            let progress = fold.decoder.progress();
            let event = AssistantEvent::from_error(&error, progress.usage, progress.response_id);
            fold.queue.push_back(event);
        }
        fold.take_events();
        Self::new(fold.events, (*fold.assembler.into_message()).clone())
    }

    fn new(mut events: Vec<Value>, reply: AssistantMessage) -> Self {
        let failure = reply.stop_reason.is_failure().then(|| Failure {
            kind: reply
                .error_info
                .as_ref()
                .and_then(|info| kind_in_cases(&info.kind)),
            retryable: reply.error_info.as_ref().is_some_and(|info| info.retryable),
        });
        events.iter_mut().for_each(normalise::strip_own_fields);
        let mut message = to_value(&reply);
        normalise::strip_own_fields(&mut message);
        normalise::clear_timestamp(&mut message);
        Self {
            events,
            message,
            failure,
            reply,
        }
    }

    /// Says what is wrong with the ids of the calls: they must be there, and be different.
    pub(crate) fn check_ids(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for call in self.reply.tool_calls() {
            if call.id.is_empty() {
                return Err(format!("the call of {} has no id", call.name));
            }
            if !seen.insert(call.id.as_str()) {
                return Err(format!("two calls have the id {}", call.id));
            }
        }
        Ok(())
    }

    /// Returns true if an event showed something of the reply.
    pub(crate) fn has_content(&self) -> bool {
        self.events
            .iter()
            .any(|event| event.get("contentIndex").is_some())
    }
}

struct Fold {
    decoder: Box<dyn Decoder>,
    assembler: Assembler,
    queue: VecDeque<AssistantEvent>,
    events: Vec<Value>,
}

impl Fold {
    fn feed(&mut self, pieces: &[Bytes]) -> Result<(), ProviderError> {
        let mut frames = SseDecoder::new();
        for piece in pieces {
            frames.push(piece.clone());
            while let Some(frame) = frames.next_frame().map_err(broken)? {
                self.decoder.frame(&frame, &mut self.queue)?;
                self.take_events();
                if self.decoder.is_ended() {
                    return Ok(());
                }
            }
        }
        if let Some(frame) = frames.finish().map_err(broken)? {
            self.decoder.frame(&frame, &mut self.queue)?;
        }
        if !self.decoder.is_ended() {
            self.decoder.finish(&mut self.queue)?;
        }
        Ok(())
    }

    fn take_events(&mut self) {
        while let Some(event) = self.queue.pop_front() {
            if let Err(error) = self.assembler.push(&event) {
                self.events.push(json!({ "misplaced": error.to_string() }));
            }
            self.events
                .push(in_process(&event, self.assembler.message()));
        }
    }
}

fn broken(error: SseError) -> ProviderError {
    ProviderError::new(ErrorKind::Protocol, error.to_string()).with_source(error)
}

fn in_process(event: &AssistantEvent, message: &AssistantMessage) -> Value {
    to_value(&InProcess::new(event, message))
}

/// Turns a value of this workspace into JSON.
pub(crate) fn to_value(value: &(impl serde::Serialize + ?Sized)) -> Value {
    serde_json::to_value(value)
        .unwrap_or_else(|error| json!({ "unserializable": error.to_string() }))
}

/// Returns the word that the stored cases have for a kind of failure.
fn kind_in_cases(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Auth => "auth",
        ErrorKind::Quota | ErrorKind::RateLimited => "rateLimit",
        ErrorKind::Overloaded => "overloaded",
        ErrorKind::Server => "server",
        ErrorKind::ContextOverflow => "contextOverflow",
        ErrorKind::InvalidRequest => "badRequest",
        ErrorKind::Connect | ErrorKind::Transport | ErrorKind::Tls | ErrorKind::Proxy => "network",
        ErrorKind::Timeout => "stall",
        ErrorKind::Protocol | ErrorKind::TooLarge => "protocol",
        _ => return None,
    })
}
