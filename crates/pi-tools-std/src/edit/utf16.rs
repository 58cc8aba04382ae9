//! Text in UTF-16.

use std::borrow::Cow;

use crate::read::Encoding;

const CR: u32 = '\r' as u32;
const LF: u32 = '\n' as u32;

/// The characters of a text, line breaks folded to LF, and how many bytes each takes.
pub(super) struct Characters<'a> {
    rest: &'a [u8],
    encoding: Encoding,
}

impl<'a> Characters<'a> {
    /// Begins at the start of a text without its mark. A half unit at its end is left out.
    pub(super) fn new(text: &'a [u8], encoding: Encoding) -> Self {
        Self {
            rest: text,
            encoding,
        }
    }

    fn unit(&self, number: usize) -> Option<u32> {
        unit(self.rest.get(number * 2..)?, self.encoding)
    }
}

impl Iterator for Characters<'_> {
    /// The bytes that a character takes, and its code point; half a surrogate pair counts as one.
    type Item = (usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.unit(0)?;
        let second = self.unit(1);
        let character = match (first, second) {
            (CR, Some(LF)) => (4, LF),
            (CR, _) => (2, LF),
            (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                (4, 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00))
            }
            (first, _) => (2, first),
        };
        self.rest = self.rest.get(character.0..).unwrap_or_default();
        Some(character)
    }
}

fn unit(bytes: &[u8], encoding: Encoding) -> Option<u32> {
    let bytes = *bytes.first_chunk::<2>()?;
    Some(u32::from(if encoding == Encoding::Utf16Be {
        u16::from_be_bytes(bytes)
    } else {
        u16::from_le_bytes(bytes)
    }))
}

/// Adds a code point in the form of UTF-8. Half a surrogate pair gets three bytes, which no valid
/// text holds.
pub(super) fn push_utf8(text: &mut Vec<u8>, code_point: u32) {
    match char::from_u32(code_point) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.extend_from_slice(&[
            0xe0 | (code_point >> 12 & 0x0f) as u8,
            0x80 | (code_point >> 6 & 0x3f) as u8,
            0x80 | (code_point & 0x3f) as u8,
        ]),
    }
}

/// Counts the bytes that [`push_utf8`] adds.
pub(super) fn utf8_len(code_point: u32) -> usize {
    char::from_u32(code_point).map_or(3, char::len_utf8)
}

/// Writes a text.
pub(super) fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    let bytes = |unit: u16| match encoding {
        Encoding::Utf16Be => unit.to_be_bytes(),
        _ => unit.to_le_bytes(),
    };
    text.encode_utf16().flat_map(bytes).collect()
}

/// Reads a text for people, with U+FFFD for what is no text.
pub(super) fn decode(bytes: &[u8], encoding: Encoding) -> Cow<'_, str> {
    let coder = match encoding {
        Encoding::Utf16Be => encoding_rs::UTF_16BE,
        _ => encoding_rs::UTF_16LE,
    };
    coder.decode_without_bom_handling(bytes).0
}
