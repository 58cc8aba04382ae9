//! The text of a file: decoded, and cut to a window of lines. Memory is bounded by the window.

use std::io::{self, Read};

use encoding_rs::{CoderResult, Decoder, UTF_16BE, UTF_16LE};
use pi_core::CancellationToken;

use super::lines::Lines;
use super::{Encoding, LineEnding};
use crate::ops::OpenFile;
use crate::truncate::TruncatedBy;

/// Bytes at the start of a file that tell its kind.
pub(crate) const HEAD: usize = 8 * 1024;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// The most bytes of a file that does not know its length, as those in `/proc`.
const UNKNOWN_LENGTH: u64 = 16 << 20;

/// Tells the encoding of a text by its start; `None` if it is no text.
pub(crate) fn encoding(head: &[u8]) -> Option<Encoding> {
    // The mark of UTF-32 begins as that of UTF-16 does.
    if head.starts_with(&[0xff, 0xfe, 0, 0]) {
        return None;
    }
    if head.starts_with(&[0xff, 0xfe]) {
        return Some(Encoding::Utf16Le);
    }
    if head.starts_with(&[0xfe, 0xff]) {
        return Some(Encoding::Utf16Be);
    }
    memchr::memchr(0, head).is_none().then_some(Encoding::Utf8)
}

/// Which lines are wanted.
#[derive(Debug, Clone)]
pub(super) struct Window {
    /// The first line, counted from 1.
    pub(super) first: u64,
    /// How many the call asks for.
    pub(super) limit: Option<u64>,
    /// How many are given at most.
    pub(super) max_lines: u64,
    pub(super) max_bytes: usize,
    pub(super) line_numbers: bool,
}

/// The lines of a window, and what is known about the file.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The text, with the newline at its end if it is the end of the file.
    pub(super) text: String,
    /// How many lines the text has.
    pub(super) shown_lines: u64,
    /// Which limit ended the text before the end of the file.
    pub(super) stopped: Option<Stopped>,
    /// Bytes of the first line, if it alone is over the limit.
    pub(super) first_line_too_long: Option<u64>,
    pub(super) invalid_bytes: u64,
    pub(super) total_lines: u64,
    pub(super) total_bytes: u64,
    pub(super) encoding: Option<Encoding>,
    pub(super) line_ending: Option<LineEnding>,
}

/// Which limit ended a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The call's own.
    Asked,
    /// That of the tool.
    By(TruncatedBy),
}

/// Reads a text to its end and keeps the lines of a window.
///
/// # Errors
/// If reading fails, or once the token is cancelled.
pub(super) fn read(
    mut content: impl Read,
    encoding: Encoding,
    window: &Window,
    abort: &CancellationToken,
) -> io::Result<Answer> {
    let mut lines = Lines::new(window);
    let mut decoder = match encoding {
        Encoding::Utf8 => None,
        Encoding::Utf16Le => Some(Utf16::new(UTF_16LE.new_decoder_with_bom_removal())),
        Encoding::Utf16Be => Some(Utf16::new(UTF_16BE.new_decoder_with_bom_removal())),
    };
    let mut piece = vec![0; PIECE];
    let mut at_start = true;
    loop {
        if abort.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = fill(&mut content, &mut piece)?;
        let bytes = piece.get(..len).unwrap_or_default();
        match &mut decoder {
            None => {
                let text = match bytes.strip_prefix("\u{feff}".as_bytes()) {
                    Some(rest) if at_start => rest,
                    _ => bytes,
                };
                lines.push(text);
            }
            Some(decoder) => decoder.push(bytes, &mut lines),
        }
        at_start = false;
        if len == 0 {
            break;
        }
    }
    let mut answer = lines.end();
    answer.encoding = Some(encoding);
    Ok(answer)
}

/// Reads until a piece is full or the content ends: only then is its length 0 at the end alone.
fn fill(content: &mut impl Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while let Some(rest) = piece.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match content.read(rest) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Turns UTF-16 into UTF-8, piece by piece.
struct Utf16 {
    decoder: Decoder,
    text: Vec<u8>,
}

impl Utf16 {
    fn new(decoder: Decoder) -> Self {
        Self {
            decoder,
            text: vec![0; PIECE],
        }
    }

    fn push(&mut self, mut bytes: &[u8], lines: &mut Lines<'_>) {
        let last = bytes.is_empty();
        loop {
            let (result, read, written, _) =
                self.decoder.decode_to_utf8(bytes, &mut self.text, last);
            lines.push(self.text.get(..written).unwrap_or_default());
            bytes = bytes.get(read..).unwrap_or_default();
            if result == CoderResult::InputEmpty {
                break;
            }
        }
    }
}

/// The rest of an open file, up to the length that it had at opening: a log that grows has an end.
pub(super) struct Bounded(io::Take<Box<dyn Read + Send>>);

impl Bounded {
    /// `head` bytes have been read before.
    pub(super) fn new(file: OpenFile, head: usize) -> Self {
        let len = match file.stat.len {
            0 => UNKNOWN_LENGTH,
            len => len,
        };
        Self(file.content.take(len.saturating_sub(head as u64)))
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}
