//! Why edits are refused, in words for the model.

use std::fmt::Write as _;

use crate::size;

/// Why edits are refused. The file stays as it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no edit.
    NoEdits,
    /// An old text is empty.
    Empty(Which),
    /// An old text is not in the file.
    NotFound { which: Which, hint: Option<Hint> },
    /// An old text is there more than once.
    Several {
        which: Which,
        count: usize,
        /// The lines of the first places.
        lines: Vec<usize>,
    },
    /// An old text that is replaced everywhere is in too many places.
    TooMany { which: Which, limit: usize },
    /// Two edits change the same text.
    Overlap(usize, usize),
    /// The file would stay as it is.
    NoChange { edits: usize },
    /// The file would be too large.
    TooLarge { bytes: u64, limit: u64 },
    /// Nobody waits for the edits any more.
    Aborted,
}

/// Which edit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The only one.
    Only,
    /// One of several, counted from 0.
    Of(usize),
}

/// What may help to find the right old text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The new text is there.
    AlreadyThere,
    /// A text much like the old one is there.
    Closest {
        first_line: usize,
        last_line: usize,
        text: String,
    },
}

impl Refusal {
    /// Says it to the model. `path` is what the model called the file.
    pub(crate) fn text(&self, path: &str) -> String {
        match self {
            Self::NoEdits => {
                "Edit tool input is invalid. edits must contain at least one replacement."
                    .to_owned()
            }
            Self::Empty(Which::Only) => format!("oldText must not be empty in {path}."),
            Self::Empty(Which::Of(edit)) => {
                format!("edits[{edit}].oldText must not be empty in {path}.")
            }
            Self::NotFound { which, hint } => not_found(path, *which, hint.as_ref()),
            Self::Several {
                which,
                count,
                lines,
            } => several(path, *which, *count, lines),
            Self::TooMany { which, limit } => format!(
                "{} is in more than {limit} places of {path}, which is too many for replaceAll.",
                match which {
                    Which::Only => "The oldText".to_owned(),
                    Which::Of(edit) => format!("The oldText of edits[{edit}]"),
                }
            ),
            Self::Overlap(first, second) => format!(
                "edits[{first}] and edits[{second}] overlap in {path}. Merge them into one edit or \
                 target disjoint regions."
            ),
            Self::NoChange { edits: 1 } => format!(
                "No changes made to {path}. The replacement produced identical content. This might \
                 indicate an issue with special characters or the text not existing as expected."
            ),
            Self::NoChange { .. } => {
                format!("No changes made to {path}. The replacements produced identical content.")
            }
            Self::TooLarge { bytes, limit } => format!(
                "The edited file would be {} or more, the limit is {}; {path} was not changed.",
                size::shown(*bytes),
                size::shown(*limit)
            ),
            Self::Aborted => "Operation aborted".to_owned(),
        }
    }
}

fn not_found(path: &str, which: Which, hint: Option<&Hint>) -> String {
    let mut text = match which {
        Which::Only => format!(
            "Could not find the exact text in {path}. The old text must match exactly including \
             all whitespace and newlines."
        ),
        Which::Of(edit) => format!(
            "Could not find edits[{edit}] in {path}. The oldText must match exactly including all \
             whitespace and newlines."
        ),
    };
    match hint {
        None => {}
        Some(Hint::AlreadyThere) => text.push_str(
            "\nThe newText is already in the file; this edit may have been applied before.",
        ),
        Some(Hint::Closest {
            first_line,
            last_line,
            text: closest,
        }) => {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\nClosest text (lines {first_line}-{last_line}):\n{closest}"
            );
        }
    }
    text
}

fn several(path: &str, which: Which, count: usize, lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    let lines = lines.join(", ");
    match which {
        Which::Only => format!(
            "Found {count} occurrences of the text in {path}. The text must be unique. Please \
             provide more context to make it unique.\nLines: {lines}"
        ),
        Which::Of(edit) => format!(
            "Found {count} occurrences of edits[{edit}] in {path}. Each oldText must be unique. \
             Please provide more context to make it unique.\nLines: {lines}"
        ),
    }
}
