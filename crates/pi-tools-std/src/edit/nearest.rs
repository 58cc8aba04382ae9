//! The text of a file that is most like one that is not there.
//!
//! Likeness is counted in short runs of bytes that two texts have in common (Dice's coefficient).
//! A window of as many lines as the old text has slides over the file and takes up and gives off a
//! line at a time, so the time is linear in the file however long the old text is.

use bstr::ByteSlice as _;

/// How alike a block must be, in percent.
const MIN_PERCENT: usize = 60;

/// Old texts from this length on are compared by longer runs: any two pages of code have most
/// pairs of letters in common.
const LONG: usize = 100;

/// The most of a block that is shown.
const MAX_LINES: usize = 20;
const MAX_BYTES: usize = 2 * 1024;

/// The block of lines that is most like a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nearest {
    /// Where its first and its last shown line begin.
    pub(super) lines: [usize; 2],
    /// The shown part of it, without the line break at its end.
    pub(super) text: String,
}

/// Finds the block of lines that is most like a text, if one is at least 60 % alike. All line
/// breaks are LF.
pub(super) fn nearest(text: &[u8], old: &str) -> Option<Nearest> {
    let mut window = Window::new(old.as_bytes());
    if window.wanted == 0 {
        return None;
    }
    let height = old.as_bytes().lines_with_terminator().count();
    let mut entering = text.lines_with_terminator();
    let mut start = 0;
    let mut best = (0, 0);
    for _ in 0..height {
        if let Some(line) = entering.next() {
            window.enter(line);
        }
    }
    for first in text.lines_with_terminator() {
        let percent = window.percent();
        if percent > best.0 {
            best = (percent, start);
        }
        window.leave(first);
        start += first.len();
        match entering.next() {
            Some(line) => window.enter(line),
            None => break,
        }
    }
    let (percent, start) = best;
    (percent >= MIN_PERCENT).then(|| shown(text, start, height))
}

/// Cuts a block to what is shown of it.
fn shown(text: &[u8], start: usize, height: usize) -> Nearest {
    let mut last = start;
    let mut end = start;
    let block = text.get(start..).unwrap_or_default();
    for line in block.lines_with_terminator().take(height.min(MAX_LINES)) {
        if end + line.len() > start + MAX_BYTES && end > start {
            break;
        }
        last = end;
        end += line.len();
    }
    end = end.min(start + MAX_BYTES);
    // A character that the limit cuts is left out.
    while text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) && end > start {
        end -= 1;
    }
    let block = text.get(start..end).unwrap_or_default();
    let block = block.strip_suffix(b"\n").unwrap_or(block);
    Nearest {
        lines: [start, last],
        text: String::from_utf8_lossy(block).into_owned(),
    }
}

/// Counts how many runs of bytes a block has in common with the old text.
struct Window {
    run: usize,
    /// For each kind of run: how many the old text has, and the block.
    kinds: Vec<(u32, u32)>,
    wanted: usize,
    present: usize,
    common: usize,
}

const KINDS: usize = 1 << 14;

impl Window {
    fn new(old: &[u8]) -> Self {
        let mut window = Self {
            run: if old.len() < LONG { 2 } else { 4 },
            kinds: vec![(0, 0); KINDS],
            wanted: 0,
            present: 0,
            common: 0,
        };
        for line in old.lines_with_terminator() {
            window.wanted += runs(line, window.run, |kind| {
                if let Some((wanted, _)) = window.kinds.get_mut(kind) {
                    *wanted += 1;
                }
            });
        }
        window
    }

    fn enter(&mut self, line: &[u8]) {
        let (kinds, common) = (&mut self.kinds, &mut self.common);
        self.present += runs(line, self.run, |kind| {
            if let Some((wanted, present)) = kinds.get_mut(kind) {
                *common += usize::from(*present < *wanted);
                *present += 1;
            }
        });
    }

    fn leave(&mut self, line: &[u8]) {
        let (kinds, common) = (&mut self.kinds, &mut self.common);
        self.present -= runs(line, self.run, |kind| {
            if let Some((wanted, present)) = kinds.get_mut(kind) {
                *present -= 1;
                *common -= usize::from(*present < *wanted);
            }
        });
    }

    fn percent(&self) -> usize {
        200 * self.common / (self.wanted + self.present)
    }
}

/// Visits the runs of a line, indent and trailing blanks left out, and counts them.
fn runs(line: &[u8], len: usize, mut visit: impl FnMut(usize)) -> usize {
    let line = line.trim_ascii();
    if line.is_empty() {
        return 0;
    }
    // Short lines count as a whole.
    let windows = line.windows(len.min(line.len()));
    let count = windows.len();
    for run in windows {
        let hash = run.iter().fold(0_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x9e37_79b1)
        });
        visit((hash >> 18) as usize);
    }
    count
}

#[cfg(test)]
mod tests;
