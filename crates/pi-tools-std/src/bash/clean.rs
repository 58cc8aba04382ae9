//! Takes out of the output of a command what only a terminal can use.

/// What is left of the output.
pub(super) trait Lines {
    /// Adds text, in which LF ends a line.
    fn text(&mut self, bytes: &[u8]);
    /// Throws away what the line holds so far.
    fn rewrite_line(&mut self);
}

/// What stands for a byte that is no text: U+FFFD.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Removes escape sequences and control characters, and of a line that is written over with CR keeps
/// the last form. What comes out does not depend on the pieces in which the bytes come.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    state: State,
    /// A CR that is not known yet to begin a rewriting: LF may follow.
    after_cr: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// In a sequence that begins with ESC and `[`.
    Csi,
    /// In a string that ends with BEL or with ESC and `\`.
    String,
    /// Behind an ESC in such a string.
    StringEscape,
    /// Behind 0xC2, which begins the control characters beyond ASCII, among others.
    Latin,
    /// Behind 0xEF, which begins U+FFF9 to U+FFFB, among others.
    Ef,
    /// Behind 0xEF and 0xBF.
    EfBf,
}

impl Cleaner {
    pub(super) fn push(&mut self, mut bytes: &[u8], lines: &mut impl Lines) {
        while !bytes.is_empty() {
            if self.state == State::Text {
                let (text, rest) = bytes.split_at(plain_len(bytes));
                if !text.is_empty() {
                    self.text(text, lines);
                }
                bytes = rest;
            }
            if let Some((byte, rest)) = bytes.split_first() {
                self.byte(*byte, lines);
                bytes = rest;
            }
        }
    }

    /// Ends the output: a character that has not ended will not.
    pub(super) fn end(&mut self, lines: &mut impl Lines) {
        let held = match std::mem::take(&mut self.state) {
            State::Latin | State::Ef => 1,
            State::EfBf => 2,
            _ => 0,
        };
        for _ in 0..held {
            self.text(REPLACEMENT, lines);
        }
    }

    fn byte(&mut self, byte: u8, lines: &mut impl Lines) {
        self.state = match (self.state, byte) {
            // A line end shows that a sequence was none.
            (State::Escape | State::Csi | State::String | State::StringEscape, b'\n') => {
                self.plain(byte, lines)
            }
            (State::Text, byte) => self.plain(byte, lines),
            (State::Escape, b'[') => State::Csi,
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::String,
            (State::Escape, 0x1b) => State::Escape,
            // Bytes between ESC and the one that ends the sequence.
            (State::Escape, 0x20..=0x2f) => State::Escape,
            (State::Escape, _) => State::Text,
            (State::Csi, 0x20..=0x3f) => State::Csi,
            (State::Csi, 0x1b) => State::Escape,
            (State::Csi, _) => State::Text,
            (State::String, 0x07) => State::Text,
            (State::String | State::StringEscape, 0x1b) => State::StringEscape,
            (State::StringEscape, b'\\') => State::Text,
            (State::String | State::StringEscape, _) => State::String,
            (State::Latin, 0x80..=0x9f) => State::Text,
            (State::Latin, _) => self.held(&[0xc2], byte, lines),
            (State::Ef, 0xbf) => State::EfBf,
            (State::Ef, _) => self.held(&[0xef], byte, lines),
            (State::EfBf, 0xb9..=0xbb) => State::Text,
            (State::EfBf, _) => self.held(&[0xef, 0xbf], byte, lines),
        };
    }

    /// Adds bytes that were held back, and one more. If that does not go on with their character,
    /// they are no text; as they are, they could make a control character with what comes later.
    fn held(&mut self, held: &[u8], byte: u8, lines: &mut impl Lines) -> State {
        if matches!(byte, 0x80..=0xbf) {
            self.text(held, lines);
        } else {
            for _ in held {
                self.text(REPLACEMENT, lines);
            }
        }
        self.plain(byte, lines)
    }

    fn plain(&mut self, byte: u8, lines: &mut impl Lines) -> State {
        match byte {
            0x1b => return State::Escape,
            0xc2 => return State::Latin,
            0xef => return State::Ef,
            b'\r' => self.after_cr = true,
            byte if is_special(byte) => {}
            byte => self.text(&[byte], lines),
        }
        State::Text
    }

    fn text(&mut self, text: &[u8], lines: &mut impl Lines) {
        if std::mem::take(&mut self.after_cr) && !text.starts_with(b"\n") {
            lines.rewrite_line();
        }
        lines.text(text);
    }
}

/// Returns how many bytes from the start are plain text, eight at a time: most output is nothing else.
fn plain_len(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<8>();
    let plain = blocks
        .iter()
        .take_while(|block| !has_special(**block))
        .count()
        * 8;
    let rest = bytes.get(plain..).unwrap_or_default();
    let special = rest.iter().position(|byte| is_special(*byte));
    plain + special.unwrap_or(rest.len())
}

/// Returns true for what may not be plain text.
fn is_special(byte: u8) -> bool {
    matches!(byte, 0..=0x08 | 0x0b..=0x1f | 0x7f | 0xc2 | 0xef)
}

/// Returns true if [`is_special`] holds for one of the bytes.
fn has_special(block: [u8; 8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let block = u64::from_ne_bytes(block);
    // The highest bit of each byte that is not the given one; no sum reaches the next byte.
    let differs = |block: u64, byte: u64| {
        let block = block ^ (ONES * byte);
        (((block & (ONES * 0x7f)) + ONES * 0x7f) | block) & (ONES * 0x80)
    };
    let is_plain = differs(block, 0x7f) & differs(block, 0xc2) & differs(block, 0xef);
    // Bytes below 0x20 have none of the upper three bits.
    let is_control = !differs(block & (ONES * 0xe0), 0);
    let is_blank = !(differs(block, b'\t'.into()) & differs(block, b'\n'.into()));
    (is_plain & (!is_control | is_blank)) & (ONES * 0x80) != ONES * 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{is_special, plain_len};

    proptest! {
        #[test]
        fn plain_text_ends_at_the_first_byte_that_is_special(
            text in prop::collection::vec(
                prop_oneof![9 => b' '..=b'~', 2 => any::<u8>(), 1 => Just(b'\n')],
                0..40,
            ),
        ) {
            let expected = text.iter().position(|byte| is_special(*byte));
            prop_assert_eq!(plain_len(&text), expected.unwrap_or(text.len()));
        }
    }

    #[test]
    fn every_byte_is_told_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut text = *b"abcdefgh";
                text[place] = byte;
                let expected = if is_special(byte) { place } else { 8 };
                assert_eq!(plain_len(&text), expected, "{byte:#x} at {place}");
            }
        }
    }
}
