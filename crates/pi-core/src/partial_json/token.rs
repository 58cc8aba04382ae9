//! The parts of JSON that can be cut anywhere inside: strings and numbers.

use memchr::memchr2;

use super::ArgumentsError;

/// A piece of the text and how far it has been read.
#[derive(Debug)]
pub(super) struct Input<'a> {
    text: &'a str,
    at: usize,
    /// Where the piece begins in the whole text.
    begin: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(text: &'a str, begin: usize) -> Self {
        Self { text, at: 0, begin }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// Returns where the next byte is in the whole text.
    pub(super) fn offset(&self) -> usize {
        self.begin + self.at
    }

    /// Returns the error for a next byte that must not be there.
    pub(super) fn syntax_error(&self) -> ArgumentsError {
        ArgumentsError::Syntax {
            offset: self.offset(),
        }
    }

    pub(super) fn skip_whitespace(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Takes what continues a number whose last byte was of kind `part`.
    pub(super) fn take_number(&mut self, part: &mut NumberPart) -> &'a str {
        self.take_while(|byte| match part.after(byte) {
            Some(next) => {
                *part = next;
                true
            }
            None => false,
        })
    }

    /// Takes the text of a string up to its next quote or backslash.
    fn take_plain(&mut self) -> &'a str {
        let rest = self.rest();
        self.take(memchr2(b'"', b'\\', rest.as_bytes()).unwrap_or(rest.len()))
    }

    /// Takes ASCII characters for as long as they fit.
    fn take_while(&mut self, mut fits: impl FnMut(u8) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(
            rest.bytes()
                .position(|byte| !fits(byte))
                .unwrap_or(rest.len()),
        )
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.at += length;
        taken
    }
}

/// Decodes the text of a string that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Unescape {
    escape: Escape,
    /// The first half of a surrogate pair whose second half may follow.
    high: Option<u16>,
}

/// How much of an escape sequence has been read.
#[derive(Debug, Clone, Copy, Default)]
enum Escape {
    #[default]
    None,
    Backslash,
    Hex {
        unit: u16,
        digits: u8,
    },
}

impl Unescape {
    /// Appends what the piece has of the string to `out`; returns whether the string has ended.
    pub(super) fn read(
        &mut self,
        input: &mut Input<'_>,
        out: &mut String,
    ) -> Result<bool, ArgumentsError> {
        loop {
            if let Escape::None = self.escape {
                let run = input.take_plain();
                if !run.is_empty() {
                    self.end_pair(out);
                    out.push_str(run);
                }
            }
            let Some(byte) = input.peek() else {
                return Ok(false);
            };
            let escape = match self.escape {
                Escape::None if byte == b'"' => {
                    self.end_pair(out);
                    input.bump();
                    return Ok(true);
                }
                Escape::None => Escape::Backslash,
                Escape::Backslash if byte == b'u' => Escape::Hex { unit: 0, digits: 0 },
                Escape::Backslash => {
                    let character = short_escape(byte).ok_or_else(|| input.syntax_error())?;
                    self.end_pair(out);
                    out.push(character);
                    Escape::None
                }
                Escape::Hex { unit, digits } => {
                    let digit = hex_digit(byte).ok_or_else(|| input.syntax_error())?;
                    let unit = unit << 4 | digit;
                    if digits == 3 {
                        self.code_unit(unit, out);
                        Escape::None
                    } else {
                        Escape::Hex {
                            unit,
                            digits: digits + 1,
                        }
                    }
                }
            };
            self.escape = escape;
            input.bump();
        }
    }

    /// Replaces the first half of a surrogate pair whose second half did not follow.
    pub(super) fn end_pair(&mut self, out: &mut String) {
        if self.high.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Appends the UTF-16 code unit of a `\u` escape.
    fn code_unit(&mut self, unit: u16, out: &mut String) {
        let pair = self
            .high
            .map(|high| char::decode_utf16([high, unit]).next());
        if let Some(Some(Ok(character))) = pair {
            self.high = None;
            out.push(character);
            return;
        }
        self.end_pair(out);
        if matches!(unit, 0xD800..=0xDBFF) {
            self.high = Some(unit);
        } else {
            out.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
}

/// Returns what a backslash and this byte stand for.
fn short_escape(byte: u8) -> Option<char> {
    match byte {
        b'"' | b'\\' | b'/' => Some(char::from(byte)),
        b'b' => Some('\u{8}'),
        b'f' => Some('\u{c}'),
        b'n' => Some('\n'),
        b'r' => Some('\r'),
        b't' => Some('\t'),
        _ => None,
    }
}

fn hex_digit(byte: u8) -> Option<u16> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| digit.try_into().ok())
}

/// What the last byte of a number was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberPart {
    /// None yet.
    Start,
    Minus,
    /// A leading zero, which no digit may follow.
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigit,
}

impl NumberPart {
    /// Returns what `byte` is when it follows, or `None` when it is no more part of the number.
    pub(super) fn after(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Start, b'-') => Some(Self::Minus),
            (Self::Start | Self::Minus, b'0') => Some(Self::Zero),
            (Self::Start | Self::Minus, b'1'..=b'9') => Some(Self::Integer),
            (Self::Integer, b'0'..=b'9') => Some(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Some(Self::Exponent),
            (Self::Exponent, b'+' | b'-') => Some(Self::ExponentSign),
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigit, b'0'..=b'9') => {
                Some(Self::ExponentDigit)
            }
            _ => None,
        }
    }

    /// Returns whether a number may end with it.
    pub(super) fn may_be_last(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigit
        )
    }
}
