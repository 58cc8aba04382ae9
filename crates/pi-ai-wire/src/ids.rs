//! Ids of tool calls, which services forget to give or give twice.

use std::collections::HashSet;

use crate::digest::Digest;

/// The ids of the calls of one reply: none is empty, and no two are the same.
#[derive(Debug, Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    /// Returns the id of one more call: the service's, made different where it is empty or taken.
    /// An id that is made up differs between replies too, by the id of the reply (`seed`).
    pub(crate) fn add(&mut self, given: &str, seed: Option<&str>) -> String {
        let number = self.0.len();
        let mut id = match given {
            "" => invented(seed.unwrap_or_default(), number),
            given => given.to_owned(),
        };
        let mut suffix = number;
        while !self.0.insert(id.clone()) {
            id = format!("{given}_{suffix}");
            suffix += 1;
        }
        id
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Makes an id for a call that has none. It differs between the calls of a reply, and between
/// replies by their id, from which `seed` is taken.
pub(crate) fn invented(seed: &str, number: usize) -> String {
    let hash = Digest::of(seed).hash();
    format!("call_{hash:016x}_{number}")
}

/// Returns an id of letters, digits, `_` and `-`, at most `max_chars` long; later attempts differ by
/// their end.
#[cfg(any(feature = "anthropic", feature = "google"))]
pub(crate) fn restricted(id: &str, attempt: u32, max_chars: usize) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let suffix = match attempt {
        0 => String::new(),
        _ => format!("_{attempt}"),
    };
    let head = id
        .chars()
        .map(|c| if is_allowed(c) { c } else { '_' })
        .take(max_chars.saturating_sub(suffix.len()));
    head.collect::<String>() + &suffix
}
