//! What somebody may have meant who wrote a name that is not there.

/// The most suggestions for one name.
const MAX_SUGGESTIONS: usize = 5;

/// Longer names are not compared letter by letter; no model's name comes near it.
const MAX_LENGTH: usize = 128;

/// A name that was looked for in vain.
pub(super) struct Wanted {
    folded: Vec<u8>,
}

impl Wanted {
    pub(super) fn new(name: &str) -> Self {
        Self { folded: fold(name) }
    }

    /// Returns how many letters must change to make `name` of what was wanted, case and punctuation
    /// apart; `None` if the two have little in common.
    pub(super) fn distance(&self, name: &str) -> Option<usize> {
        let (wanted, name) = (&self.folded, fold(name));
        if wanted.is_empty() || wanted.len() > MAX_LENGTH {
            return None;
        }
        let is_part = wanted.len() >= 2 && contains(&name, wanted);
        let is_longer = 2 * name.len() >= wanted.len() && contains(wanted, &name);
        if is_part || is_longer {
            return Some(wanted.len().abs_diff(name.len()));
        }
        let limit = 1 + wanted.len() / 4;
        if wanted.len().abs_diff(name.len()) > limit {
            return None;
        }
        Some(edits(wanted, &name)).filter(|edits| *edits <= limit)
    }
}

/// Returns the nearest names, the nearest first and equally near ones in the order they came in.
pub(super) fn nearest(names: impl Iterator<Item = (usize, String)>) -> Vec<String> {
    let mut names: Vec<_> = names.collect();
    names.sort_by_key(|(distance, _)| *distance);
    names.truncate(MAX_SUGGESTIONS);
    names.into_iter().map(|(_, name)| name).collect()
}

fn fold(name: &str) -> Vec<u8> {
    let bytes = name
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    bytes.map(|byte| byte.to_ascii_lowercase()).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// The Levenshtein distance.
fn edits(a: &[u8], b: &[u8]) -> usize {
    // From the part of `a` that was seen to each beginning of `b`, the empty one apart.
    let mut row: Vec<usize> = (1..=b.len()).collect();
    for (seen, letter) in a.iter().enumerate() {
        let (mut diagonal, mut left) = (seen, seen + 1);
        for (cell, other) in row.iter_mut().zip(b) {
            let replaced = diagonal + usize::from(letter != other);
            left = replaced.min(left + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, left);
        }
    }
    row.last().copied().unwrap_or(a.len())
}
