//! Ways to cut a body into pieces.

use bytes::Bytes;

/// The largest body that is sent in pieces of one byte over HTTP, in bytes.
const MOST_BYTES_ONE_BY_ONE: usize = 24 * 1024;

/// The largest body that is sent in pieces of seven bytes over HTTP, in bytes.
const MOST_BYTES_BY_SEVEN: usize = 260 * 1024;

/// A way to hand over a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// Line by line, each with its line feed.
    Lines,
    /// In pieces of so many bytes.
    Pieces(usize),
    /// In two pieces, the first of so many bytes.
    Cut(usize),
}

impl Delivery {
    /// The deliveries that every stream must survive when it is fed to a decoder.
    pub const ALL: [Self; 4] = [Self::Whole, Self::Lines, Self::Pieces(1), Self::Pieces(7)];

    /// Cuts a body.
    #[must_use]
    pub fn cut(self, body: &Bytes) -> Vec<Bytes> {
        match self {
            Self::Whole if body.is_empty() => Vec::new(),
            Self::Whole => vec![body.clone()],
            Self::Lines => {
                let mut rest = body.clone();
                let mut pieces = Vec::new();
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    pieces.push(rest.split_to(end + 1));
                }
                if !rest.is_empty() {
                    pieces.push(rest);
                }
                pieces
            }
            Self::Pieces(size) => {
                let size = size.max(1);
                (0..body.len())
                    .step_by(size)
                    .map(|start| body.slice(start..body.len().min(start + size)))
                    .collect()
            }
            Self::Cut(position) => {
                let position = position.min(body.len());
                vec![body.slice(..position), body.slice(position..)]
            }
        }
    }

    /// Returns false where a body is too large to be cut so finely on a socket.
    #[must_use]
    pub fn suits_socket(self, body_bytes: usize) -> bool {
        match self {
            Self::Pieces(1) => body_bytes <= MOST_BYTES_ONE_BY_ONE,
            Self::Pieces(7) => body_bytes <= MOST_BYTES_BY_SEVEN,
            _ => true,
        }
    }
}

impl std::fmt::Display for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Lines => f.write_str("by line"),
            Self::Pieces(1) => f.write_str("in pieces of 1 byte"),
            Self::Pieces(size) => write!(f, "in pieces of {size} bytes"),
            Self::Cut(position) => write!(f, "cut at byte {position}"),
        }
    }
}
