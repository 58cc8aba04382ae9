//! What a file of a conversation holds.

use std::fs::File;
use std::io::{self, Read as _};

use pi_core::AgentMessage;

/// The most bytes of a file. A larger one does not fit into any context window.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) messages: Vec<AgentMessage>,
    /// The lines that are no messages, counted from 1, and why.
    pub(super) bad: Vec<(usize, String)>,
    /// The length without a torn line.
    pub(super) length: u64,
    /// A last line that is neither whole nor a message.
    pub(super) torn: Option<Vec<u8>>,
    /// The last line is a message without a line feed.
    pub(super) lacks_line_feed: bool,
}

/// Reads a file; its lines cannot make it fail.
///
/// # Errors
/// If the file cannot be read, or is too large.
pub(super) fn read(file: &mut File) -> io::Result<Contents> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES / (1024 * 1024);
        return Err(io::Error::other(format!("it is larger than {limit} MiB")));
    }
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Contents {
    let mut contents = Contents::default();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let is_whole = line.ends_with(b"\n");
        match serde_json::from_slice(line) {
            Ok(message) => {
                contents.messages.push(message);
                contents.lacks_line_feed = !is_whole;
            }
            Err(_) if line.trim_ascii().is_empty() && is_whole => {}
            Err(_) if !is_whole => {
                contents.torn = Some(line.to_owned());
                break;
            }
            Err(error) => contents.bad.push((index + 1, error.to_string())),
        }
        contents.length += line.len() as u64;
    }
    contents
}
