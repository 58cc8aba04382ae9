//! How the events of a response are told apart.
//!
//! A transport need not know: it makes a [`FrameReader`] for the [`Framing`] of its protocol, pushes
//! the pieces of the body and takes frames until there are none.

use bytes::Bytes;
use pi_core::{ErrorKind, ProviderError};

#[cfg(feature = "bedrock")]
use crate::aws_event_stream::{AwsDecoder, AwsError};
use crate::sse::{SseDecoder, SseError, SseFrame};

/// How the events of a response are told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events, which are lines of text; see [`sse`](crate::sse).
    #[default]
    Sse,
    /// The event streams of AWS: binary frames with checksums. The name of an event is its
    /// `:event-type`; that of an exception is its `:exception-type` behind `exception:`, that of any
    /// other error its `:error-code` behind `error:`.
    #[cfg(feature = "bedrock")]
    AwsEventStream,
}

impl Framing {
    /// Returns the media type, as a request names it in `accept`.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            #[cfg(feature = "bedrock")]
            Self::AwsEventStream => "application/vnd.amazon.eventstream",
        }
    }
}

/// Reads frames from pieces of a body.
///
/// Push a piece, take frames until there are none, push the next; call [`finish`](Self::finish) when
/// the body has ended. Where the body is cut into pieces never shows in the frames.
///
/// # Examples
/// ```
/// # use pi_ai_wire::framing::{FrameReader, Framing};
/// let mut frames = FrameReader::new(Framing::Sse);
/// frames.push("data: hel".into());
/// assert_eq!(frames.next_frame()?, None);
/// frames.push("lo\n\n".into());
/// let frame = frames.next_frame()?.expect("the event is complete");
/// assert_eq!(&*frame.data(), "hello");
/// assert_eq!(frames.finish()?, None);
/// # Ok::<(), pi_core::ProviderError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FrameReader(Reader);

#[derive(Debug, Clone)]
enum Reader {
    Sse(SseDecoder),
    #[cfg(feature = "bedrock")]
    Aws(AwsDecoder),
}

impl FrameReader {
    /// Creates a reader with limits of [`DEFAULT_LIMIT_BYTES`](crate::sse::DEFAULT_LIMIT_BYTES).
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Sse => Reader::Sse(SseDecoder::new()),
            #[cfg(feature = "bedrock")]
            Framing::AwsEventStream => Reader::Aws(AwsDecoder::new()),
        })
    }

    /// Sets the largest line in bytes, where the framing has lines.
    #[must_use]
    pub fn with_max_line_bytes(self, limit: usize) -> Self {
        Self(match self.0 {
            Reader::Sse(sse) => Reader::Sse(sse.with_max_line_bytes(limit)),
            #[cfg(feature = "bedrock")]
            Reader::Aws(aws) => Reader::Aws(aws),
        })
    }

    /// Sets the largest event in bytes: of its data, or of its whole frame where that is binary.
    #[must_use]
    pub fn with_max_event_bytes(self, limit: usize) -> Self {
        Self(match self.0 {
            Reader::Sse(sse) => Reader::Sse(sse.with_max_event_bytes(limit)),
            #[cfg(feature = "bedrock")]
            Reader::Aws(aws) => Reader::Aws(aws.with_max_event_bytes(limit)),
        })
    }

    /// Takes the next piece of the body; after an error it is dropped.
    pub fn push(&mut self, piece: Bytes) {
        match &mut self.0 {
            Reader::Sse(sse) => sse.push(piece),
            #[cfg(feature = "bedrock")]
            Reader::Aws(aws) => aws.push(piece),
        }
    }

    /// Returns the next complete frame, or `None` when more of the body is needed.
    ///
    /// # Errors
    /// Of kind `TooLarge` when a limit is passed, of kind `Protocol` when a frame is broken. Frames
    /// before it have been returned by then; every later call returns the same error.
    pub fn next_frame(&mut self) -> Result<Option<SseFrame>, ProviderError> {
        match &mut self.0 {
            Reader::Sse(sse) => Ok(sse.next_frame()?),
            #[cfg(feature = "bedrock")]
            Reader::Aws(aws) => Ok(aws.next_frame()?),
        }
    }

    /// Returns what is left at the end of the body; call it until it gives `None`.
    ///
    /// # Errors
    /// Of kind `Protocol` when the body ended inside a frame, and those of
    /// [`next_frame`](Self::next_frame).
    pub fn finish(&mut self) -> Result<Option<SseFrame>, ProviderError> {
        match &mut self.0 {
            Reader::Sse(sse) => Ok(sse.finish()?),
            #[cfg(feature = "bedrock")]
            Reader::Aws(aws) => Ok(aws.finish()?),
        }
    }
}

impl From<SseError> for ProviderError {
    fn from(error: SseError) -> Self {
        let kind = match error {
            SseError::LineTooLong { .. } | SseError::EventTooLong { .. } => ErrorKind::TooLarge,
            SseError::Cut => ErrorKind::Protocol,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}

#[cfg(feature = "bedrock")]
impl From<AwsError> for ProviderError {
    fn from(error: AwsError) -> Self {
        let kind = match error {
            AwsError::TooLong { .. } => ErrorKind::TooLarge,
            AwsError::Broken { .. } | AwsError::Cut => ErrorKind::Protocol,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}
