//! Framing of event streams (`text/event-stream`) without IO.
//!
//! [`SseDecoder`] takes the body of a response in pieces of any size and gives back its events. It
//! follows the WHATWG HTML standard, section 9.2.6 ("Interpreting an event stream"): CR, LF and
//! CRLF end a line, one leading byte-order mark is dropped, lines that begin with a colon are
//! comments, the `data` lines of one event are joined with line feeds, unknown fields are skipped,
//! and an event without `data` is not dispatched.
//!
//! It leaves the standard in two points, both of which matter to a paid request that is sent once.
//! Nothing here connects again. And where the standard drops an event that the end of the body cut
//! off, [`SseDecoder::finish`] hands it out if its data is whole, or says that it was cut.
//!
//! Where the body is cut into pieces never shows in the result. Every byte is looked at once and
//! copied at most once; a data line that lies in one piece is not copied at all.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr2};
use serde::de::IgnoredAny;

/// The largest line, and the largest event, that is accepted by default: 16 MiB.
pub const DEFAULT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What ends the decoding of an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// A line is longer than the limit; the stream cannot be read further.
    #[error("a line of the event stream is longer than {limit} bytes")]
    LineTooLong {
        /// The limit in bytes, line end not counted.
        limit: usize,
    },
    /// The data of one event is longer than the limit; the stream cannot be read further.
    #[error("an event of the event stream is longer than {limit} bytes")]
    EventTooLong {
        /// The limit in bytes of the joined data.
        limit: usize,
    },
    /// The body ended inside an event, so the peer or the network cut the stream.
    #[error("the event stream was cut inside an event")]
    Cut,
}

/// One event of an event stream. Other framings give the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseFrame {
    event: Option<Arc<str>>,
    data: Bytes,
    id: Option<Arc<str>>,
}

impl SseFrame {
    /// Creates a frame of another framing.
    #[cfg(feature = "bedrock")]
    pub(crate) fn new(event: Arc<str>, data: Bytes) -> Self {
        Self {
            event: Some(event),
            data,
            id: None,
        }
    }

    /// Returns the name of the event: `message` when the stream gave none.
    pub fn event(&self) -> &str {
        self.event.as_deref().unwrap_or("message")
    }

    /// Returns the data, its lines joined with line feeds; invalid UTF-8 becomes U+FFFD.
    ///
    /// This checks the bytes once per call and copies only invalid data. Take it once and parse
    /// that: `serde_json::from_str` need not check the text again.
    pub fn data(&self) -> Cow<'_, str> {
        // Not `from_utf8_lossy` alone: it walks valid text byte by byte, `from_utf8` by words.
        match std::str::from_utf8(&self.data) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(&self.data),
        }
    }

    /// Returns the data as it came, which may be invalid UTF-8.
    pub fn data_bytes(&self) -> &Bytes {
        &self.data
    }

    /// Returns the last event id as of this event: empty when the stream has given none.
    ///
    /// An id holds for the events after it too, until another one replaces it.
    pub fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }
}

/// Decodes an event stream from pieces of its body.
///
/// Push a piece, take frames until there are none, push the next; call
/// [`finish`](Self::finish) when the body has ended. Memory is bounded by the two limits and the
/// pieces that were pushed but not read yet.
///
/// # Examples
///
/// ```
/// # use pi_ai_wire::sse::{SseDecoder, SseError};
/// let mut decoder = SseDecoder::new();
/// decoder.push("event: greeting\ndata: hel".into());
/// assert_eq!(decoder.next_frame()?, None);
/// decoder.push("lo\n\n".into());
/// let frame = decoder.next_frame()?.expect("the event is complete");
/// assert_eq!((frame.event(), &*frame.data()), ("greeting", "hello"));
/// assert_eq!(decoder.finish()?, None);
/// # Ok::<(), SseError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SseDecoder {
    max_line_bytes: usize,
    max_event_bytes: usize,
    /// Pushed and not yet read, the piece at the front being read.
    unread: VecDeque<Bytes>,
    /// The beginning of a line whose end has not come; searched for a line end already.
    line: BytesMut,
    /// A CR ended the last line, so a LF right behind it belongs to it.
    after_cr: bool,
    /// No line has ended yet, so a byte-order mark may lead the next one.
    at_start: bool,
    /// The name of the event being read, if it has one.
    event: Option<Arc<str>>,
    data: Data,
    /// The id that the next blank line makes the last event id.
    id: Option<Arc<str>>,
    last_event_id: Option<Arc<str>>,
    /// The last event name, shared by the events that follow: most streams repeat a few names.
    last_name: Arc<str>,
    retry: Option<Duration>,
    comments: u64,
    failure: Option<SseError>,
}

/// The data of the event being read.
#[derive(Debug, Clone, Default)]
enum Data {
    /// No `data` line yet, which is not the same as an empty one.
    #[default]
    None,
    /// One line, shared with the piece or the line it came in.
    Line(Bytes),
    /// Several lines, joined.
    Joined(BytesMut),
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Blank,
    Comment,
    Data,
    Event,
    Id,
    Retry,
    Unknown,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl SseDecoder {
    /// Creates a decoder with both limits at [`DEFAULT_LIMIT_BYTES`].
    pub fn new() -> Self {
        Self {
            max_line_bytes: DEFAULT_LIMIT_BYTES,
            max_event_bytes: DEFAULT_LIMIT_BYTES,
            unread: VecDeque::new(),
            line: BytesMut::new(),
            after_cr: false,
            at_start: true,
            event: None,
            data: Data::None,
            id: None,
            last_event_id: None,
            last_name: Arc::default(),
            retry: None,
            comments: 0,
            failure: None,
        }
    }

    /// Sets the largest line in bytes, line end not counted.
    #[must_use]
    pub fn with_max_line_bytes(mut self, limit: usize) -> Self {
        self.max_line_bytes = limit;
        self
    }

    /// Sets the largest event in bytes of its joined data.
    #[must_use]
    pub fn with_max_event_bytes(mut self, limit: usize) -> Self {
        self.max_event_bytes = limit;
        self
    }

    /// Takes the next piece of the body; after an error it is dropped.
    ///
    /// Pieces wait, uncopied, until [`next_frame`](Self::next_frame) reads them: who takes all
    /// frames before the next push holds one piece at most.
    pub fn push(&mut self, piece: Bytes) {
        if self.failure.is_none() && !piece.is_empty() {
            self.unread.push_back(piece);
        }
    }

    /// Returns the next complete event, or `None` when more of the body is needed.
    ///
    /// # Errors
    ///
    /// When a line or an event passes its limit. Events before it have been returned by then;
    /// every later call returns the same error.
    pub fn next_frame(&mut self) -> Result<Option<SseFrame>, SseError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.read_frame().map_err(|error| self.fail(error))
    }

    /// Returns what is left at the end of the body; call it until it gives `None`.
    ///
    /// A last event without its blank line is handed out when its data is complete JSON or
    /// `[DONE]`: some gateways close the connection right behind the last data line. What is left
    /// of comments, `id` and `retry` fields is no loss and gives `None`.
    ///
    /// # Errors
    ///
    /// [`SseError::Cut`] when the body ended inside an event, and the errors of
    /// [`next_frame`](Self::next_frame).
    pub fn finish(&mut self) -> Result<Option<SseFrame>, SseError> {
        if let Some(frame) = self.next_frame()? {
            return Ok(Some(frame));
        }
        self.read_rest().map_err(|error| self.fail(error))
    }

    /// Returns the number of comment lines so far.
    ///
    /// Services send comments to keep a silent connection open. A piece after which this has grown,
    /// with no frame and no [partial event](Self::has_partial_event), held nothing else.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// Returns whether an event, or a line of any kind, has begun and not ended.
    pub fn has_partial_event(&self) -> bool {
        self.event.is_some() || !matches!(self.data, Data::None) || !self.line.is_empty()
    }

    /// Returns the id to send as `Last-Event-ID` when the stream is taken up again, if one came.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns the time to wait before connecting again that the stream asked for, if it did.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Lets go of everything held and makes `error` the answer from now on.
    fn fail(&mut self, error: SseError) -> SseError {
        self.unread = VecDeque::new();
        self.line = BytesMut::new();
        self.event = None;
        self.data = Data::None;
        *self.failure.insert(error)
    }

    fn read_frame(&mut self) -> Result<Option<SseFrame>, SseError> {
        while let Some(line) = self.next_line()? {
            if self.read_line(line)? == Field::Blank
                && let Some(frame) = self.dispatch()
            {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Returns the next line that has ended, without its end.
    fn next_line(&mut self) -> Result<Option<Bytes>, SseError> {
        while let Some(piece) = self.unread.front_mut() {
            if mem::take(&mut self.after_cr) && piece.first() == Some(&b'\n') {
                piece.advance(1);
            }
            let end = memchr2(b'\r', b'\n', piece);
            let length = self.line.len() + end.unwrap_or(piece.len());
            if length > self.max_line_bytes {
                return Err(SseError::LineTooLong {
                    limit: self.max_line_bytes,
                });
            }
            let Some(end) = end else {
                self.line.extend_from_slice(piece);
                self.unread.pop_front();
                continue;
            };
            let tail = piece.split_to(end);
            self.after_cr = piece.first() == Some(&b'\r');
            piece.advance(1);
            if piece.is_empty() {
                self.unread.pop_front();
            }
            if self.line.is_empty() {
                return Ok(Some(tail));
            }
            self.line.extend_from_slice(&tail);
            return Ok(Some(mem::take(&mut self.line).freeze()));
        }
        Ok(None)
    }

    /// Takes one line into the event being read.
    fn read_line(&mut self, line: Bytes) -> Result<Field, SseError> {
        let mut line = self.without_mark(line);
        let (field, value_at) = split_field(&line);
        line.advance(value_at);
        match field {
            Field::Data => self.append_data(line)?,
            Field::Event => self.event = self.event_name(&line),
            Field::Id if memchr(0, &line).is_none() => {
                self.id = (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into());
            }
            Field::Retry => self.retry = milliseconds(&line).or(self.retry),
            Field::Comment => self.comments += 1,
            Field::Id | Field::Blank | Field::Unknown => {}
        }
        Ok(field)
    }

    /// Drops the byte-order mark that may lead the first line.
    fn without_mark(&mut self, mut line: Bytes) -> Bytes {
        if mem::take(&mut self.at_start) && line.starts_with(b"\xEF\xBB\xBF") {
            line.advance(3);
        }
        line
    }

    fn append_data(&mut self, line: Bytes) -> Result<(), SseError> {
        let length = match &self.data {
            Data::None => line.len(),
            Data::Line(first) => first.len() + 1 + line.len(),
            Data::Joined(lines) => lines.len() + 1 + line.len(),
        };
        if length > self.max_event_bytes {
            return Err(SseError::EventTooLong {
                limit: self.max_event_bytes,
            });
        }
        let mut joined = match mem::take(&mut self.data) {
            Data::None => {
                self.data = Data::Line(line);
                return Ok(());
            }
            Data::Line(first) => BytesMut::from(&*first),
            Data::Joined(lines) => lines,
        };
        joined.extend_from_slice(b"\n");
        joined.extend_from_slice(&line);
        self.data = Data::Joined(joined);
        Ok(())
    }

    /// Returns the name as shared text; an empty one is none.
    fn event_name(&mut self, name: &[u8]) -> Option<Arc<str>> {
        if name.is_empty() {
            return None;
        }
        if self.last_name.as_bytes() != name {
            self.last_name = String::from_utf8_lossy(name).into();
        }
        Some(Arc::clone(&self.last_name))
    }

    /// Ends the event being read, at its blank line.
    fn dispatch(&mut self) -> Option<SseFrame> {
        self.last_event_id.clone_from(&self.id);
        self.take_event()
    }

    fn take_event(&mut self) -> Option<SseFrame> {
        let event = self.event.take();
        let data = match mem::take(&mut self.data) {
            Data::None => return None,
            Data::Line(line) => line,
            Data::Joined(lines) => lines.freeze(),
        };
        Some(SseFrame {
            event,
            data,
            id: self.id.clone(),
        })
    }

    /// Takes what is left when no further byte can come.
    fn read_rest(&mut self) -> Result<Option<SseFrame>, SseError> {
        let line = mem::take(&mut self.line).freeze();
        let line = self.without_mark(line);
        // The name of an event or of a field may lack its end. Whether a data line does, its JSON
        // tells. The other fields are no part of the event and are not taken unless whole.
        let cut = match split_field(&line).0 {
            Field::Event | Field::Unknown => true,
            Field::Data => {
                self.read_line(line)?;
                false
            }
            Field::Blank | Field::Comment | Field::Id | Field::Retry => false,
        };
        let has_name = self.event.is_some();
        match self.take_event() {
            Some(frame) if !cut && is_complete(&frame.data) => {
                self.last_event_id.clone_from(&frame.id);
                Ok(Some(frame))
            }
            None if !cut && !has_name => Ok(None),
            // The last event id stays that of the event before: who takes the stream up again
            // must be sent this one once more.
            _ => Err(SseError::Cut),
        }
    }
}

/// Returns what the line is and where its value begins.
fn split_field(line: &[u8]) -> (Field, usize) {
    let colon = memchr(b':', line);
    let (name, value) = line.split_at(colon.unwrap_or(line.len()));
    let field = match name {
        b"" if colon.is_none() => Field::Blank,
        b"" => Field::Comment,
        b"data" => Field::Data,
        b"event" => Field::Event,
        b"id" => Field::Id,
        b"retry" => Field::Retry,
        _ => Field::Unknown,
    };
    let separator = match value {
        [b':', b' ', ..] => 2,
        [b':', ..] => 1,
        _ => 0,
    };
    (field, name.len() + separator)
}

/// Reads a `retry` value, which counts only when it is made of digits.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = std::str::from_utf8(value).ok()?;
    digits.parse().ok().map(Duration::from_millis)
}

/// Returns whether the data is all that its sender meant to send.
fn is_complete(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(data).is_ok()
}

#[cfg(test)]
mod tests;
