//! What has changed in a text, line by line: for people and for `patch`.
//!
//! Only the regions that were changed are compared, so a large file costs no more than a small one.

mod changes;
mod numbered;
mod patch;

#[cfg(test)]
mod tests;

use std::ops::Range;

use bstr::ByteSlice as _;

/// Lines around a change that are shown.
const CONTEXT: usize = 4;

/// The most bytes of a shown diff and of a patch.
const MAX_BYTES: usize = 1 << 20;

/// A range of an old text and the range of the new text that took its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// What has changed in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diff {
    /// One line for each line: a sign (`-` removed, `+` added, a space for neither), its number,
    /// padded to the width of the largest, a space, and the line. Removed lines and those around
    /// a change have the number of the old text, added ones that of the new. `...` stands for lines
    /// that are left out. Long lines are cut, and of a diff over 1 MiB the end.
    pub(crate) numbered: String,
    /// The same as a unified diff. A change that would make it larger than 1 MiB is left out with
    /// all that follow, so that the rest can still be applied.
    pub(crate) patch: String,
    /// The number of the first changed line in the new text, counted from 1.
    pub(crate) first_changed_line: Option<usize>,
}

impl Diff {
    /// Compares the regions of two texts; what is between the regions is the same in both, and they
    /// ascend. `path` is the name in the patch.
    pub(crate) fn of_regions(path: &str, old: &[u8], new: &[u8], regions: &[Region]) -> Self {
        let texts = Texts { old, new };
        let changes = changes::changes(texts, regions);
        Self {
            numbered: numbered::numbered(texts, &changes),
            patch: patch::patch(path, texts, &changes),
            first_changed_line: changes.first().map(|change| change.new.line + 1),
        }
    }

    /// Compares two texts.
    pub(crate) fn of_texts(path: &str, old: &[u8], new: &[u8]) -> Self {
        let shorter = old.len().min(new.len());
        let pairs = old.iter().zip(new);
        let start = pairs.take_while(|(old, new)| old == new).count();
        let pairs = old.iter().rev().zip(new.iter().rev());
        let end = pairs
            .take(shorter - start)
            .take_while(|(old, new)| old == new)
            .count();
        let region = Region {
            old: start..old.len() - end,
            new: start..new.len() - end,
        };
        Self::of_regions(path, old, new, &[region])
    }
}

/// An old and a new text.
#[derive(Debug, Clone, Copy)]
struct Texts<'a> {
    old: &'a [u8],
    new: &'a [u8],
}

/// Some lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    bytes: Range<usize>,
    /// The first of them, counted from 0.
    line: usize,
    lines: usize,
}

impl Span {
    fn end_line(&self) -> usize {
        self.line + self.lines
    }
}

/// Lines of the old text and those of the new text that took their place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Span,
    new: Span,
}

/// Cuts a text into its lines, each with its break.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.lines_with_terminator()
}

/// Takes the last lines of a text that ends with a line.
fn last_lines(text: &[u8], count: usize) -> &[u8] {
    let mut start = text.len();
    for _ in 0..count {
        let before = text.get(..start.saturating_sub(1)).unwrap_or_default();
        start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    }
    text.get(start..).unwrap_or_default()
}
