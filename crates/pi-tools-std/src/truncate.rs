//! Cuts text to the size of one result.

use serde::Serialize;

/// Which limit cut a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TruncatedBy {
    /// The limit on lines.
    Lines,
    /// The limit on bytes.
    Bytes,
}

/// What was cut off a text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    /// True if something was cut off.
    pub truncated: bool,
    /// Which limit cut it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_by: Option<TruncatedBy>,
    /// Lines of the whole text.
    pub total_lines: u64,
    /// Bytes of the whole text.
    pub total_bytes: u64,
    /// Lines of what is left, a cut one included.
    pub output_lines: u64,
    /// Bytes of what is left.
    pub output_bytes: u64,
    /// True if the first line alone is over the limit on bytes, so that nothing is left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first_line_exceeds_limit: bool,
    /// True if the one line that is left lacks its start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub last_line_partial: bool,
}

/// A text cut to size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<'a> {
    /// What is left, without the newline at its end if something was cut off.
    pub text: &'a str,
    /// What was cut off.
    pub truncation: Truncation,
}

/// Keeps whole lines from the start of a text, at most `max_lines` and `max_bytes`.
///
/// A newline at the end makes no further line.
#[must_use]
pub fn truncate_head(text: &str, max_lines: usize, max_bytes: usize) -> Kept<'_> {
    let mut end = 0;
    let mut lines = 0;
    let mut by = None;
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        if lines == max_lines {
            by = Some(TruncatedBy::Lines);
            break;
        }
        if end + bare.len() > max_bytes {
            by = Some(TruncatedBy::Bytes);
            break;
        }
        end += line.len();
        lines += 1;
    }
    kept(
        text,
        0..end,
        lines,
        by,
        lines == 0 && by == Some(TruncatedBy::Bytes),
        false,
    )
}

/// Keeps whole lines from the end of a text, at most `max_lines` and `max_bytes`; of a last line
/// that is over `max_bytes` alone, its end.
///
/// A newline at the end makes no further line.
#[must_use]
pub fn truncate_tail(text: &str, max_lines: usize, max_bytes: usize) -> Kept<'_> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut start = text.len();
    let mut lines = 0;
    let mut by = None;
    let mut partial = false;
    if !text.is_empty() {
        for line in body.rsplit('\n') {
            // The first round is the last line, which has no newline behind it in `body`.
            let from = if lines == 0 { body.len() } else { start - 1 } - line.len();
            if lines == max_lines {
                by = Some(TruncatedBy::Lines);
                break;
            }
            if body.len() - from > max_bytes {
                by = Some(TruncatedBy::Bytes);
                if lines == 0 {
                    partial = true;
                    lines = 1;
                    start = ceil_char_boundary(body, body.len() - max_bytes);
                }
                break;
            }
            start = from;
            lines += 1;
        }
    }
    kept(text, start..text.len(), lines, by, false, partial)
}

fn kept(
    text: &str,
    range: std::ops::Range<usize>,
    lines: usize,
    by: Option<TruncatedBy>,
    first_line_exceeds_limit: bool,
    last_line_partial: bool,
) -> Kept<'_> {
    let mut left = &text[range];
    if by.is_some() {
        left = left.strip_suffix('\n').unwrap_or(left);
    }
    Kept {
        text: left,
        truncation: Truncation {
            truncated: by.is_some(),
            truncated_by: by,
            total_lines: count_lines(text),
            total_bytes: text.len() as u64,
            output_lines: lines as u64,
            output_bytes: left.len() as u64,
            first_line_exceeds_limit,
            last_line_partial,
        },
    }
}

/// Returns the first border of a character at or behind an index.
pub(crate) fn ceil_char_boundary(text: &str, index: usize) -> usize {
    (index..text.len())
        .find(|&index| text.is_char_boundary(index))
        .unwrap_or(text.len())
}

/// Counts lines as an editor shows them: a newline at the end makes no further one.
pub(crate) fn count_lines(text: &str) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let open = !text.is_empty() && !text.ends_with('\n');
    (newlines + usize::from(open)) as u64
}

#[cfg(test)]
mod tests;
