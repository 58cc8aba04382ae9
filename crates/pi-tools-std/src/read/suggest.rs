//! The name that was probably meant.

use std::path::Path;

use crate::ops::ReadOps;

/// The most names that are looked at.
const MAX_NAMES: usize = 10_000;

/// Longer names are not compared: it would take long in a folder full of them.
const MAX_LETTERS: usize = 64;

/// The most letters that may differ.
const MAX_DISTANCE: usize = 2;

/// Finds the name in the folder of a path that is most like its own.
pub(super) fn similar(ops: &dyn ReadOps, path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let lower = wanted.to_lowercase();
    let entries = ops.list(path.parent()?).ok()?;
    entries
        .take(MAX_NAMES)
        .filter_map(|entry| entry.ok()?.name.into_string().ok())
        .filter_map(|name| Some((distance(wanted, &lower, &name)?, name)))
        .min()
        .map(|(_, name)| name)
}

fn distance(wanted: &str, lower: &str, name: &str) -> Option<usize> {
    if name.to_lowercase() == lower {
        return Some(0);
    }
    let (a, b) = (wanted.chars().count(), name.chars().count());
    // Short names are all alike.
    if a.abs_diff(b) > MAX_DISTANCE || a.min(b) <= MAX_DISTANCE || a > MAX_LETTERS {
        return None;
    }
    let distance = strsim::damerau_levenshtein(wanted, name);
    (distance <= MAX_DISTANCE).then_some(distance)
}
