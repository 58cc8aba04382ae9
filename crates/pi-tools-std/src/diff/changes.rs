//! Which lines have changed.

use std::ops::Range;
use std::time::{Duration, Instant};

use memchr::{memchr, memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::{Change, Region, Span, Texts, lines};

/// How long lines are compared. What is left then counts as removed and added.
const MAX_TIME: Duration = Duration::from_millis(250);

/// The most lines of a region that are compared: more would not be done in time.
const MAX_LINES: usize = 200_000;

/// Finds the lines that have changed in regions.
pub(super) fn changes(texts: Texts<'_>, regions: &[Region]) -> Vec<Change> {
    let deadline = Instant::now() + MAX_TIME;
    let mut changes = Vec::new();
    let mut old = Counter::new(texts.old);
    let mut new = Counter::new(texts.new);
    for Region {
        old: old_bytes,
        new: new_bytes,
    } in whole_lines(texts, regions)
    {
        let whole = Change {
            old: old.span(old_bytes),
            new: new.span(new_bytes),
        };
        compare(texts, whole, deadline, &mut changes);
    }
    changes
}

/// Counts the lines of a text from its start to its end.
struct Counter<'a> {
    text: &'a [u8],
    counted: usize,
    line: usize,
}

impl<'a> Counter<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            counted: 0,
            line: 0,
        }
    }

    fn span(&mut self, bytes: Range<usize>) -> Span {
        self.line += count_breaks(self.text, self.counted..bytes.start);
        let line = self.line;
        self.line += count_breaks(self.text, bytes.clone());
        self.counted = bytes.end;
        let has_open_line = !bytes.is_empty() && !at_line_start(self.text, bytes.end);
        Span {
            bytes,
            line,
            lines: self.line - line + usize::from(has_open_line),
        }
    }
}

fn count_breaks(text: &[u8], bytes: Range<usize>) -> usize {
    memchr_iter(b'\n', text.get(bytes).unwrap_or_default()).count()
}

fn at_line_start(text: &[u8], index: usize) -> bool {
    text.get(..index)
        .is_none_or(|before| before.is_empty() || before.ends_with(b"\n"))
}

/// Widens regions to whole lines and joins those that then touch in the middle of a line.
fn whole_lines(texts: Texts<'_>, regions: &[Region]) -> Vec<Region> {
    let old = |range: Range<usize>| texts.old.get(range).unwrap_or_default();
    let mut done: Vec<Region> = Vec::new();
    let mut open: Option<Region> = None;
    for region in regions {
        if let Some(mut last) = open.take() {
            match rest_of_line(texts, &last, old(last.old.end..region.old.start)) {
                Some(rest) => {
                    last.old.end += rest;
                    last.new.end += rest;
                    done.push(last);
                }
                None => {
                    open = Some(Region {
                        old: last.old.start..region.old.end,
                        new: last.new.start..region.new.end,
                    });
                    continue;
                }
            }
        }
        let floor = done.last().map_or(0, |last| last.old.end);
        let kept = old(floor..region.old.start);
        let back = kept.len() - memrchr(b'\n', kept).map_or(0, |end| end + 1);
        open = Some(Region {
            old: region.old.start - back..region.old.end,
            new: region.new.start - back..region.new.end,
        });
    }
    if let Some(mut last) = open {
        let kept = old(last.old.end..texts.old.len());
        let rest = rest_of_line(texts, &last, kept).unwrap_or(kept.len());
        last.old.end += rest;
        last.new.end += rest;
        done.push(last);
    }
    done
}

/// Counts the bytes behind a region up to the end of its line.
fn rest_of_line(texts: Texts<'_>, region: &Region, kept: &[u8]) -> Option<usize> {
    if at_line_start(texts.old, region.old.end) && at_line_start(texts.new, region.new.end) {
        return Some(0);
    }
    memchr(b'\n', kept).map(|end| end + 1)
}

/// Adds what has changed in some lines.
fn compare(texts: Texts<'_>, whole: Change, deadline: Instant, changes: &mut Vec<Change>) {
    if whole.old.lines + whole.new.lines > MAX_LINES || Instant::now() > deadline {
        changes.push(whole);
        return;
    }
    let old: Vec<&[u8]> = lines_of(texts.old, &whole.old).collect();
    let new: Vec<&[u8]> = lines_of(texts.new, &whole.new).collect();
    let (mut old_rest, mut new_rest) = (Rest::new(&whole.old), Rest::new(&whole.new));
    for op in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline)) {
        let change = Change {
            old: old_rest.take(&old, op.old_range()),
            new: new_rest.take(&new, op.new_range()),
        };
        if !matches!(op, DiffOp::Equal { .. }) {
            changes.push(change);
        }
    }
}

fn lines_of<'a>(text: &'a [u8], span: &Span) -> impl Iterator<Item = &'a [u8]> {
    lines(text.get(span.bytes.clone()).unwrap_or_default())
}

/// What is left of some lines, from which parts are taken front to back.
struct Rest {
    byte: usize,
    line: usize,
}

impl Rest {
    fn new(whole: &Span) -> Self {
        Self {
            byte: whole.bytes.start,
            line: whole.line,
        }
    }

    fn take(&mut self, lines: &[&[u8]], part: Range<usize>) -> Span {
        let taken = lines.get(part).unwrap_or_default();
        let bytes: usize = taken.iter().map(|line| line.len()).sum();
        let span = Span {
            bytes: self.byte..self.byte + bytes,
            line: self.line,
            lines: taken.len(),
        };
        self.byte = span.bytes.end;
        self.line = span.end_line();
        span
    }
}
