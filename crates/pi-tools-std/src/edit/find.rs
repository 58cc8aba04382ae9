//! Where an old text is.

use std::ops::Range;

use memchr::memmem;

use super::fold::{Folded, FoldedOld};

/// The places of an old text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// How many there are.
    pub(super) count: usize,
    /// The first of them, in ascending order; they do not overlap.
    pub(super) ranges: Vec<Range<usize>>,
}

/// Which places of an old text are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Whether all are replaced. Else two that overlap are two: which of them is meant, nobody
    /// knows.
    pub(super) all: bool,
    /// How many are listed.
    pub(super) listed: usize,
}

/// Finds an old text as it is.
pub(super) fn exact(text: &[u8], old: &[u8], wanted: Wanted) -> Places {
    let covered = |start| Some(start..start + old.len());
    let mut places = Places::default();
    for start in memmem::find_iter(text, old) {
        places.add(start..start + old.len(), wanted);
    }
    places.add_overlapping(text, old, wanted, covered);
    places
}

/// Finds an old text in a folded text, on the borders of pieces.
pub(super) fn folded(text: &Folded, old: &FoldedOld, wanted: Wanted) -> Places {
    let covered = |start| text.covered(start, old);
    let mut places = Places::default();
    let mut next = 0;
    for start in memmem::find_iter(&text.text, &old.text) {
        match covered(start) {
            Some(range) if start >= next => {
                next = range.end;
                places.add(range, wanted);
            }
            Some(_) => {}
            // What overlaps a place that does not count may count.
            None => {
                places = one_by_one(&text.text, &old.text, wanted, covered);
                break;
            }
        }
    }
    places.add_overlapping(&text.text, &old.text, wanted, covered);
    places
}

/// Looks at every place of a text, where some of them do not count.
fn one_by_one(
    text: &[u8],
    old: &[u8],
    wanted: Wanted,
    covered: impl Fn(usize) -> Option<Range<usize>>,
) -> Places {
    let mut places = Places::default();
    let mut next = 0;
    for range in occurrences(text, old).filter_map(covered) {
        if range.start >= next {
            next = range.end;
            places.add(range, wanted);
        }
    }
    places
}

impl Places {
    fn add(&mut self, range: Range<usize>, wanted: Wanted) {
        self.count += 1;
        if self.ranges.len() < wanted.listed {
            self.ranges.push(range);
        }
    }

    /// If there is one place, which must be the only one: adds another that overlaps it.
    fn add_overlapping(
        &mut self,
        text: &[u8],
        old: &[u8],
        wanted: Wanted,
        covered: impl Fn(usize) -> Option<Range<usize>>,
    ) {
        let [only] = &*self.ranges else { return };
        if wanted.all || self.count != 1 {
            return;
        }
        let (first, end) = (only.start + 1, only.start + 2 * old.len() - 1);
        let window = text.get(first..end.min(text.len())).unwrap_or_default();
        let second = occurrences(window, old).find_map(|start| covered(first + start));
        if let Some(second) = second {
            self.add(second, wanted);
        }
    }
}

/// Finds every place of a text in another, overlapping ones too, in linear time: the method of
/// Knuth, Morris and Pratt.
fn occurrences<'t>(text: &'t [u8], old: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let borders = if text.len() < old.len() {
        Vec::new()
    } else {
        borders(old)
    };
    let mut matched = 0;
    let mut bytes = text.iter().enumerate();
    std::iter::from_fn(move || {
        for (index, byte) in bytes.by_ref() {
            matched = longer(old, &borders, matched, *byte);
            if matched == old.len() {
                return Some(index + 1 - old.len());
            }
        }
        None
    })
}

/// For each length of a start of a text, how long its longest shorter start is that is its end too.
fn borders(text: &[u8]) -> Vec<usize> {
    let mut borders = vec![0, 0];
    let mut matched = 0;
    for byte in text.iter().skip(1) {
        matched = longer(text, &borders, matched, *byte);
        borders.push(matched);
    }
    borders
}

/// Tells how much of the start of a text matches after one more byte.
fn longer(text: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    loop {
        if text.get(matched) == Some(&byte) {
            return matched + 1;
        }
        if matched == 0 {
            return 0;
        }
        matched = borders.get(matched).copied().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests;
