//! What can be seen of one reply.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use futures_util::StreamExt;
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::framing::{FrameReader, Framing};
use pi_core::{
    Assembler, AssistantEvent, AssistantMessage, AssistantStream, ErrorKind, InProcess, Model,
    ProviderError,
};
use serde_json::{Value, json};

use crate::{apis, normalise};

/// One reply, in the shapes of the stored cases.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The events in their in-process form.
    pub events: Vec<Value>,
    /// The final message; its timestamp is 0.
    pub message: Value,
    /// Kind and retryability of the failure, if the reply failed.
    pub failure: Option<Failure>,
    /// The final message, typed.
    pub reply: AssistantMessage,
}

/// The typed part of a failure.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The kind in the words of the cases; none for kinds that they have no word for.
    pub kind: Option<&'static str>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl Failure {
    /// Returns the failure as a dump spells it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({ "errorKind": self.kind, "retryable": self.retryable })
    }
}

impl Observation {
    /// Reads a stream to its end.
    ///
    /// # Cancel safety
    /// Not cancel safe: what was read is lost.
    pub async fn of_stream(mut stream: AssistantStream) -> Self {
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(in_process(&event, &stream.partial()));
        }
        Self::new(events, (*stream.partial()).clone())
    }

    /// Feeds pieces of a body to a decoder, without any socket.
    #[must_use]
    pub fn of_decoder(decoder: Box<dyn Decoder>, model: &Model, pieces: &[Bytes]) -> Self {
        let mut assembler = Assembler::new(AssistantMessage::empty(model, 0));
        let mut events = Vec::new();
        Feed {
            framing: apis::framing(&model.api),
            decoder,
            queue: VecDeque::new(),
        }
        .run(pieces, |event| {
            if let Err(error) = assembler.push(&event) {
                events.push(json!({ "misplaced": error.to_string() }));
            }
            events.push(in_process(&event, assembler.message()));
        });
        Self::new(events, (*assembler.into_message()).clone())
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

    /// Checks that the calls have ids, and different ones.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check_ids(&self) -> Result<(), String> {
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
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.events
            .iter()
            .any(|event| event.get("contentIndex").is_some())
    }
}

/// Feeds pieces of a body to a decoder, and returns the events as they are.
#[must_use]
pub fn fold(framing: Framing, decoder: Box<dyn Decoder>, pieces: &[Bytes]) -> Vec<AssistantEvent> {
    let feed = Feed {
        framing,
        decoder,
        queue: VecDeque::new(),
    };
    let mut events = Vec::new();
    feed.run(pieces, |event| events.push(event));
    events
}

struct Feed {
    framing: Framing,
    decoder: Box<dyn Decoder>,
    queue: VecDeque<AssistantEvent>,
}

impl Feed {
    /// Hands each event to `see`, the closing one of a failure too.
    fn run(mut self, pieces: &[Bytes], mut see: impl FnMut(AssistantEvent)) {
        if let Err(error) = self.feed(pieces, &mut see) {
            self.queue.drain(..).for_each(&mut see);
            let progress = self.decoder.progress();
            see(AssistantEvent::from_error(
                &error,
                progress.usage,
                progress.response_id,
            ));
        }
        self.queue.drain(..).for_each(see);
    }

    fn feed(
        &mut self,
        pieces: &[Bytes],
        see: &mut impl FnMut(AssistantEvent),
    ) -> Result<(), ProviderError> {
        let mut frames = FrameReader::new(self.framing);
        for piece in pieces {
            frames.push(piece.clone());
            while let Some(frame) = frames.next_frame()? {
                self.decoder.frame(&frame, &mut self.queue)?;
                self.queue.drain(..).for_each(&mut *see);
                if self.decoder.is_ended() {
                    return Ok(());
                }
            }
        }
        if let Some(frame) = frames.finish()? {
            self.decoder.frame(&frame, &mut self.queue)?;
        }
        if !self.decoder.is_ended() {
            self.decoder.finish(&mut self.queue)?;
        }
        Ok(())
    }
}

fn in_process(event: &AssistantEvent, message: &AssistantMessage) -> Value {
    to_value(&InProcess::new(event, message))
}

/// Turns a value of this workspace into JSON; what cannot be turned says so.
pub fn to_value(value: &(impl serde::Serialize + ?Sized)) -> Value {
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
