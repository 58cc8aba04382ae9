//! A unified diff.

use super::{CONTEXT, Change, MAX_BYTES, Span, Texts, last_lines, lines};

/// Writes changes as a unified diff; empty if there are none, or the first one is too large.
pub(super) fn patch(path: &str, texts: Texts<'_>, changes: &[Change]) -> String {
    let mut patch = String::new();
    for hunk in changes.chunk_by(are_close) {
        let Some(hunk) = hunk_text(texts, hunk) else {
            break;
        };
        if patch.len() + hunk.len() > MAX_BYTES {
            break;
        }
        if patch.is_empty() {
            patch = format!("--- {path}\n+++ {path}\n");
        }
        patch.push_str(&hunk);
    }
    patch
}

/// Returns true if the lines shown around two changes touch.
fn are_close(first: &Change, second: &Change) -> bool {
    second.old.line - first.old.end_line() <= 2 * CONTEXT
}

/// Writes changes that are close to each other; `None` if they are too large.
fn hunk_text(texts: Texts<'_>, changes: &[Change]) -> Option<String> {
    let (first, last) = (changes.first()?, changes.last()?);
    let before = texts.old.get(..first.old.bytes.start).unwrap_or_default();
    let before = last_lines(before, CONTEXT);
    let mut hunk = Hunk {
        text: String::new(),
    };
    hunk.lines(' ', before)?;
    let mut kept_from = first.old.bytes.start;
    for Change { old, new } in changes {
        hunk.lines(' ', texts.old.get(kept_from..old.bytes.start)?)?;
        hunk.lines('-', texts.old.get(old.bytes.clone())?)?;
        hunk.lines('+', texts.new.get(new.bytes.clone())?)?;
        kept_from = old.bytes.end;
    }
    let mut after = 0;
    for line in lines(texts.old.get(kept_from..)?).take(CONTEXT) {
        hunk.line(' ', line)?;
        after += 1;
    }
    let before = lines(before).count();
    let range = |first: &Span, last: &Span| {
        let start = first.line - before;
        let count = last.end_line() + after - start;
        match count {
            // A range without lines is named by the line before it.
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            count => format!("{},{count}", start + 1),
        }
    };
    Some(format!(
        "@@ -{} +{} @@\n{}",
        range(&first.old, &last.old),
        range(&first.new, &last.new),
        hunk.text
    ))
}

struct Hunk {
    text: String,
}

impl Hunk {
    fn lines(&mut self, sign: char, text: &[u8]) -> Option<()> {
        lines(text).try_for_each(|line| self.line(sign, line))
    }

    fn line(&mut self, sign: char, line: &[u8]) -> Option<()> {
        if self.text.len() + line.len() > MAX_BYTES {
            return None;
        }
        self.text.push(sign);
        self.text.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            self.text.push_str("\n\\ No newline at end of file\n");
        }
        Some(())
    }
}
