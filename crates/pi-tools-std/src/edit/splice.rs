//! Puts new texts in the place of ranges of a file.

use std::borrow::Cow;
use std::ops::Range;

use super::view::Source;
use crate::diff::Region;

/// A range of a file and what takes its place.
#[derive(Debug, Clone)]
pub(super) struct Replacement<'a> {
    /// Bytes of the file.
    pub(super) range: Range<usize>,
    /// The new text, all line breaks LF.
    pub(super) text: &'a str,
}

/// Replaces ranges, which ascend and do not overlap. Every byte between them stays.
///
/// # Errors
/// The length that the file would have at least, once that is over the limit.
pub(super) fn splice(
    source: &Source<'_>,
    replacements: &[Replacement<'_>],
    max_bytes: u64,
) -> Result<(Vec<u8>, Vec<Region>), u64> {
    let mut joined = Joined::new(source, max_bytes);
    let mut breaks = Breaks::new(source);
    let mut regions = Vec::with_capacity(replacements.len());
    let kept_from = |start, next: Option<&Replacement<'_>>| {
        let end = next.map_or(source.bytes.len(), |next| next.range.start);
        source.bytes.get(start..end).unwrap_or_default()
    };
    joined.push(kept_from(0, replacements.first()))?;
    for (index, Replacement { range, text }) in replacements.iter().enumerate() {
        let text = match text.contains('\n') {
            true => Cow::Owned(text.replace('\n', breaks.of_line_at(range.start))),
            false => Cow::Borrowed(*text),
        };
        let text = source.encoded(&text);
        let kept = kept_from(range.end, replacements.get(index + 1));
        let start = joined.bytes.len();
        joined.keep_apart(if text.is_empty() { kept } else { &text });
        joined.push(&text)?;
        regions.push(Region {
            old: range.clone(),
            new: start..joined.bytes.len(),
        });
        joined.push(kept)?;
    }
    Ok((joined.bytes, regions))
}

/// The new file, as far as it is.
struct Joined {
    bytes: Vec<u8>,
    max_bytes: u64,
    cr: Vec<u8>,
    lf: Vec<u8>,
}

impl Joined {
    fn new(source: &Source<'_>, max_bytes: u64) -> Self {
        Self {
            bytes: Vec::with_capacity(source.bytes.len()),
            max_bytes,
            cr: source.encoded("\r").into_owned(),
            lf: source.encoded("\n").into_owned(),
        }
    }

    /// Sees to it that a CR at the end and an LF at the start of what comes stay two line breaks.
    fn keep_apart(&mut self, coming: &[u8]) {
        if self.bytes.ends_with(&self.cr) && coming.starts_with(&self.lf) {
            // The CR takes this one.
            self.bytes.extend_from_slice(&self.lf);
        }
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), u64> {
        let len = (self.bytes.len() + piece.len()) as u64;
        if len > self.max_bytes {
            return Err(len);
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }
}

/// Finds how the lines of a file end, from its start to its end.
struct Breaks<'a> {
    source: &'a Source<'a>,
    /// The break before the next one.
    last: Option<&'static str>,
    /// Where the next LF is that no line asked for is behind.
    next: Option<usize>,
    /// The only kind of break there can be in a file without any LF.
    without_lf: Option<&'static str>,
}

impl<'a> Breaks<'a> {
    fn new(source: &'a Source<'a>) -> Self {
        let next = source.next_lf(0);
        let other = || if source.has_cr() { "\r" } else { "\n" };
        Self {
            source,
            last: None,
            next,
            without_lf: next.is_none().then(other),
        }
    }

    /// Returns the break at the end of the line at an index; if there is none, of the line before.
    fn of_line_at(&mut self, index: usize) -> &'static str {
        if let Some(only) = self.without_lf {
            return only;
        }
        while let Some(next) = self.next.filter(|next| *next < index) {
            self.last = Some(self.break_at(next));
            self.next = self.source.next_lf(next + self.source.encoded("\n").len());
        }
        match self.next {
            Some(next) => self.break_at(next),
            None => self.last.unwrap_or("\n"),
        }
    }

    fn break_at(&self, lf: usize) -> &'static str {
        let before = self.source.bytes.get(..lf).unwrap_or_default();
        if before.ends_with(&self.source.encoded("\r")) {
            "\r\n"
        } else {
            "\n"
        }
    }
}
