//! Framing of AWS event streams (`application/vnd.amazon.eventstream`) without IO.
//!
//! A frame is its length, the length of its headers, a checksum of both, the headers, the payload,
//! and a checksum of it all. The lengths are believed only with their checksum, so that a broken one
//! is found at once and not after the bytes that it announces. Every byte is copied at most twice.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use aws_smithy_eventstream::frame::read_message_from;
use bytes::{Buf, Bytes, BytesMut};

use crate::sse::{DEFAULT_LIMIT_BYTES, SseFrame};

/// The bytes in front of the headers.
const PRELUDE_BYTES: usize = 12;

/// The bytes of a frame without headers and payload.
const MIN_FRAME_BYTES: usize = PRELUDE_BYTES + 4;

/// What ends the decoding of an event stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AwsError {
    #[error("a frame of the event stream is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("a frame of the event stream is broken: {problem}")]
    Broken { problem: String },
    #[error("the event stream was cut inside a frame")]
    Cut,
}

impl AwsError {
    fn broken(problem: impl ToString) -> Self {
        let problem = problem.to_string();
        Self::Broken { problem }
    }
}

/// Decodes an event stream from pieces of its body.
#[derive(Debug, Clone)]
pub(crate) struct AwsDecoder {
    max_event_bytes: usize,
    /// Pushed and not yet read.
    unread: VecDeque<Bytes>,
    /// The beginning of a frame whose end has not come.
    partial: BytesMut,
    /// The last name, shared by the frames that follow: most streams repeat a few.
    last_name: Arc<str>,
    failure: Option<AwsError>,
}

impl AwsDecoder {
    pub(crate) fn new() -> Self {
        Self {
            max_event_bytes: DEFAULT_LIMIT_BYTES,
            unread: VecDeque::new(),
            partial: BytesMut::new(),
            last_name: Arc::default(),
            failure: None,
        }
    }

    pub(crate) fn with_max_event_bytes(mut self, limit: usize) -> Self {
        self.max_event_bytes = limit;
        self
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        if self.failure.is_none() && !piece.is_empty() {
            self.unread.push_back(piece);
        }
    }

    pub(crate) fn next_frame(&mut self) -> Result<Option<SseFrame>, AwsError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.read_frame().map_err(|error| self.fail(error))
    }

    pub(crate) fn finish(&mut self) -> Result<Option<SseFrame>, AwsError> {
        match self.next_frame()? {
            None if !self.partial.is_empty() => Err(self.fail(AwsError::Cut)),
            frame => Ok(frame),
        }
    }

    /// Lets go of everything held and makes `error` the answer from now on.
    fn fail(&mut self, error: AwsError) -> AwsError {
        self.unread = VecDeque::new();
        self.partial = BytesMut::new();
        self.failure.insert(error).clone()
    }

    fn read_frame(&mut self) -> Result<Option<SseFrame>, AwsError> {
        let Some(bytes) = self.next_bytes()? else {
            return Ok(None);
        };
        let message = read_message_from(bytes).map_err(AwsError::broken)?;
        let header = |name: &str| {
            let mut headers = message.headers().iter();
            let header = headers.find(|header| header.name().as_str() == name)?;
            Some(header.value().as_string().ok()?.as_str())
        };
        let payload = message.payload();
        let (kind, name, data) = match header(":message-type") {
            Some("exception") => ("exception:", ":exception-type", or_object(payload)),
            Some("error") => {
                let text = header(":error-message").unwrap_or_default();
                let data = serde_json::json!({ "message": text }).to_string();
                ("error:", ":error-code", data.into())
            }
            // Messages of kinds that are not known have no name that anybody knows.
            _ => ("", ":event-type", payload.clone()),
        };
        let name = header(name).unwrap_or_default();
        let is_last = self.last_name.strip_prefix(kind) == Some(name);
        if !is_last {
            self.last_name = format!("{kind}{name}").into();
        }
        Ok(Some(SseFrame::new(Arc::clone(&self.last_name), data)))
    }

    /// Returns the bytes of the next frame that has ended.
    fn next_bytes(&mut self) -> Result<Option<Bytes>, AwsError> {
        while let Some(piece) = self.unread.front_mut() {
            let length = frame_length(&self.partial, piece, self.max_event_bytes)?;
            let missing = length.map(|length| length.saturating_sub(self.partial.len()));
            let Some(missing) = missing.filter(|missing| *missing <= piece.len()) else {
                self.partial.extend_from_slice(piece);
                self.unread.pop_front();
                continue;
            };
            let tail = piece.split_to(missing);
            if piece.is_empty() {
                self.unread.pop_front();
            }
            if self.partial.is_empty() {
                return Ok(Some(tail));
            }
            self.partial.extend_from_slice(&tail);
            return Ok(Some(mem::take(&mut self.partial).freeze()));
        }
        Ok(None)
    }
}

/// Returns the length of the frame that begins with `partial` and goes on in `piece`, once it is
/// known.
fn frame_length(partial: &[u8], piece: &[u8], limit: usize) -> Result<Option<usize>, AwsError> {
    let mut bytes = partial.chain(piece);
    if bytes.remaining() < PRELUDE_BYTES {
        return Ok(None);
    }
    let mut prelude = [0; PRELUDE_BYTES];
    bytes.copy_to_slice(&mut prelude);
    let (lengths, mut checksum) = prelude.split_at(PRELUDE_BYTES - 4);
    if crc32fast::hash(lengths) != checksum.get_u32() {
        return Err(AwsError::broken(
            "the checksum of its lengths does not match",
        ));
    }
    let mut lengths = lengths;
    let length = usize::try_from(lengths.get_u32()).unwrap_or(usize::MAX);
    if length > limit {
        return Err(AwsError::TooLong { limit });
    }
    if length < MIN_FRAME_BYTES {
        return Err(AwsError::broken("it is too short"));
    }
    Ok(Some(length))
}

/// An exception without a payload is one all the same.
fn or_object(payload: &Bytes) -> Bytes {
    match payload.is_empty() {
        true => Bytes::from_static(b"{}"),
        false => payload.clone(),
    }
}

#[cfg(test)]
mod tests;
