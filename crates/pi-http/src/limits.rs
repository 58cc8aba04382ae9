//! What a request may take: time and bytes.

use std::time::Duration;

use pi_ai_wire::sse::DEFAULT_LIMIT_BYTES;
use pi_core::Phase;

/// Time limits of a request. `None`, or a duration of zero, means no limit.
///
/// A limit that passes ends the stream in an error of kind `Timeout` whose phase names the limit.
/// Time in which nobody polls the stream does not count, so a slow reader never causes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For a new connection, with name resolution and TLS handshake; 10 s. It is a setting of the
    /// client's connections and is measured by tokio's timer, the others by the client's clock.
    pub connect: Option<Duration>,
    /// From sending to the response's headers; 120 s, since long prompts think before the first
    /// byte.
    pub headers: Option<Duration>,
    /// Between two pieces of the body, comments and pings included; 120 s.
    pub socket: Option<Duration>,
    /// From sending to the first content event; 600 s. Comments and pings do not count, so that a
    /// dead model behind a live proxy is noticed.
    pub first_content: Option<Duration>,
    /// Between two content events; 600 s.
    pub content: Option<Duration>,
    /// For the whole reply; off. It ends healthy long replies too.
    pub whole: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(10)),
            headers: Some(Duration::from_secs(120)),
            socket: Some(Duration::from_secs(120)),
            first_content: Some(Duration::from_secs(600)),
            content: Some(Duration::from_secs(600)),
            whole: None,
        }
    }
}

impl Timeouts {
    /// Returns limits that are all off.
    #[must_use]
    pub fn off() -> Self {
        Self {
            connect: None,
            headers: None,
            socket: None,
            first_content: None,
            content: None,
            whole: None,
        }
    }

    /// Returns the limit that comes first while the head of the response is awaited.
    pub(crate) fn until_head(&self) -> (Phase, Option<Duration>) {
        [
            (Phase::Headers, self.headers),
            (Phase::FirstContent, self.first_content),
            (Phase::Whole, self.whole),
        ]
        .into_iter()
        .filter(|(_, limit)| limit.is_some_and(|limit| !limit.is_zero()))
        .min_by_key(|(_, limit)| *limit)
        .unwrap_or((Phase::Headers, None))
    }
}

/// Size limits of a response, in bytes. Beyond them the stream ends in an error of kind `TooLarge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// One line of the event stream; 16 MiB.
    pub line_bytes: usize,
    /// The data of one event, or a fetched document; 16 MiB.
    pub event_bytes: usize,
    /// The whole body; 512 MiB.
    pub body_bytes: usize,
    /// The body of an error answer; 64 KiB. The rest is not read, which is no error.
    pub error_body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes: DEFAULT_LIMIT_BYTES,
            event_bytes: DEFAULT_LIMIT_BYTES,
            body_bytes: 512 * 1024 * 1024,
            error_body_bytes: 64 * 1024,
        }
    }
}
