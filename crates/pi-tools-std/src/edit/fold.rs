//! A text in which spellings that look alike are one.
//!
//! Each combining sequence is put into NFKC; then quotes, dashes and spaces become the plain ones,
//! and blanks at the end of a line are dropped. The folded text remembers where its pieces come
//! from, so that a place in it is a place in the text.

use std::ops::Range;

use bstr::{decode_last_utf8, decode_utf8};
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::cuts::Cuts;

/// The most characters of a combining sequence. No script needs as many; without a bound, one
/// piece could be as large as the file.
const MAX_SEQUENCE: usize = 32;

/// A folded text.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) text: Vec<u8>,
    /// Where the pieces begin in the folded text, its end included.
    cuts: Cuts,
    /// Where they begin in the text before. Blanks that were dropped belong to the piece before
    /// them.
    source_cuts: Cuts,
}

impl Folded {
    pub(super) fn new(source: &[u8]) -> Self {
        let mut folded = Self::default();
        // Blanks are held back until it is clear that the line goes on behind them.
        let mut held = 0..0;
        while let Some(rest) = source.get(held.end..).filter(|rest| !rest.is_empty()) {
            let len = sequence_len(rest);
            let piece = rest.get(..len).unwrap_or(rest);
            let end = held.end + piece.len();
            if is_blank(piece) {
                held.end = end;
                continue;
            }
            if piece == b"\n" {
                folded.source_cuts.grow(held.len());
            } else {
                folded.push_blanks(source.get(held).unwrap_or_default());
            }
            folded.push(piece);
            held = end..end;
        }
        folded.source_cuts.grow(held.len());
        folded.begin();
        folded
    }

    fn push_blanks(&mut self, mut blanks: &[u8]) {
        while !blanks.is_empty() {
            let (_, len) = decode_utf8(blanks);
            let (blank, rest) = blanks.split_at(len);
            self.push(blank);
            blanks = rest;
        }
    }

    fn push(&mut self, piece: &[u8]) {
        self.begin();
        self.source_cuts.grow(piece.len());
        let before = self.text.len();
        match std::str::from_utf8(piece) {
            Ok(piece) if !piece.is_ascii() => {
                let plain = piece.nfkc().map(plain_char);
                let mut buffer = [0; 4];
                for c in plain {
                    self.text
                        .extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                }
            }
            _ => self.text.extend_from_slice(piece),
        }
        self.cuts.grow(self.text.len() - before);
    }

    fn begin(&mut self) {
        self.cuts.begin();
        self.source_cuts.begin();
    }

    /// Returns what of the folded text a found old text covers, or `None` if it begins or ends
    /// inside of a piece, or lacks the blanks at its end.
    pub(super) fn covered(&self, start: usize, old: &FoldedOld) -> Option<Range<usize>> {
        let mut end = start + old.text.len();
        let rest = self.text.get(end..)?;
        if !old.blanks_after.is_empty() && !is_line_end(rest) {
            if !rest.starts_with(&old.blanks_after) {
                return None;
            }
            end += old.blanks_after.len();
        }
        (self.cuts.has(start) && self.cuts.has(end)).then_some(start..end)
    }

    /// Finds where ranges of the folded text are in the text before. Blanks that were dropped at
    /// the borders of a range are part of it only if the old text has some there too.
    pub(super) fn in_source(
        &self,
        source: &[u8],
        ascending: &[Range<usize>],
        old: &FoldedOld,
    ) -> Vec<Range<usize>> {
        let places: Vec<usize> = ascending
            .iter()
            .flat_map(|range| [range.start, range.end])
            .collect();
        let places = self.cuts.in_other(&self.source_cuts, &places);
        let ranges = places.chunks_exact(2).zip(ascending);
        ranges
            .map(|(places, folded)| {
                let (mut start, mut end) = match places {
                    [start, end] => (*start, *end),
                    _ => (0, 0),
                };
                let rest = self.text.get(folded.end..).unwrap_or_default();
                if old.blanks_after.is_empty() && is_line_end(rest) {
                    end = before_blanks(source, end);
                }
                if old.has_blanks_before {
                    start = before_blanks(source, start);
                }
                start..end
            })
            .collect()
    }
}

/// An old text, folded.
#[derive(Debug)]
pub(super) struct FoldedOld {
    /// Without blanks at its end.
    pub(super) text: Vec<u8>,
    /// Whether its first line is blank but not empty.
    has_blanks_before: bool,
    /// The blanks at its end. They stand for those at the end of a line, or for themselves.
    blanks_after: Vec<u8>,
}

impl FoldedOld {
    /// Folds an old text; `None` if it is nothing but white space, which would match anywhere.
    pub(super) fn new(old: &str) -> Option<Self> {
        if old.trim().is_empty() {
            return None;
        }
        let end = before_blanks(old.as_bytes(), old.len());
        let mut blanks_after = Folded::default();
        blanks_after.push_blanks(old.as_bytes().get(end..).unwrap_or_default());
        let after_blanks = old.trim_start_matches(is_blank_char);
        Some(Self {
            text: Folded::new(old.as_bytes()).text,
            has_blanks_before: after_blanks.len() < old.len() && after_blanks.starts_with('\n'),
            blanks_after: blanks_after.text,
        })
    }
}

fn is_line_end(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b'\n'))
}

/// Goes back over the blanks before an index.
fn before_blanks(text: &[u8], mut index: usize) -> usize {
    loop {
        let (last, len) = decode_last_utf8(text.get(..index).unwrap_or_default());
        if !last.is_some_and(is_blank_char) {
            return index;
        }
        index -= len;
    }
}

/// Counts the bytes of the combining sequence at the start of a text, or of what is no text there.
fn sequence_len(text: &[u8]) -> usize {
    if let [first, second, ..] = text
        && first.is_ascii()
        && second.is_ascii()
    {
        return 1;
    }
    let (first, mut len) = decode_utf8(text);
    // A mark behind a line break or a tab belongs to nothing.
    if first.is_none_or(char::is_control) {
        return len;
    }
    for _ in 1..MAX_SEQUENCE {
        let rest = text.get(len..).unwrap_or_default();
        match decode_utf8(rest) {
            (Some(c), more) if goes_on(c) => len += more,
            _ => break,
        }
    }
    len
}

/// Returns true if a character may change together with the one before it.
fn goes_on(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let mut first = None;
    decompose_compatible(c, |part| {
        first.get_or_insert(part);
    });
    first.is_some_and(|first| {
        canonical_combining_class(first) != 0
            || is_nfkc_quick(std::iter::once(first)) == IsNormalized::Maybe
    })
}

fn is_blank(piece: &[u8]) -> bool {
    match decode_utf8(piece) {
        (Some(c), len) => len == piece.len() && is_blank_char(c),
        (None, _) => false,
    }
}

fn is_blank_char(c: char) -> bool {
    c == '\t' || plain_char(c) == ' '
}

/// Turns the quotes, dashes and spaces of typography into those of a keyboard.
fn plain_char(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests;
