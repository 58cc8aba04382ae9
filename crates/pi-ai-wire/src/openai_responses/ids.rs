//! Ids of items and calls, as the API takes them back.

use std::borrow::Cow;
use std::collections::HashSet;

use pi_core::Model;

/// The most characters of an id.
const MAX_CHARS: usize = 64;

/// The services whose calls have two ids, that of the call and that of its item, joined by a bar.
const WITH_ITEM_IDS: [&str; 5] = [
    "azure",
    "azure-openai-responses",
    "openai",
    "openai-codex",
    "opencode",
];

/// Returns the id of another model's call as `model` takes it; later attempts differ by their end.
pub(crate) fn call_id(model: &Model, id: &str, attempt: u32) -> String {
    let id = match id.split_once('|') {
        Some((call_id, _)) if WITH_ITEM_IDS.contains(&model.provider.as_str()) => call_id,
        _ => id,
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let clean = id.chars().map(|c| if is_allowed(c) { c } else { '_' });
    let suffix = match attempt {
        0 => String::new(),
        attempt => format!("_{attempt}"),
    };
    let head: String = clean.take(MAX_CHARS.saturating_sub(suffix.len())).collect();
    match attempt {
        0 => head.trim_end_matches('_').to_owned(),
        _ => head + &suffix,
    }
}

/// Splits the id of a call into that of the call itself and that of its item.
pub(super) fn split(id: &str) -> (&str, Option<&str>) {
    match id.split_once('|') {
        Some((call_id, item_id)) => (call_id, Some(item_id).filter(|id| !id.is_empty())),
        None => (id, None),
    }
}

/// Ids that are sent, all of them different.
#[derive(Debug, Default)]
pub(super) struct Unique(HashSet<String>);

impl Unique {
    /// Takes an id; returns false if it is taken or empty.
    pub(super) fn take(&mut self, id: &str) -> bool {
        !id.is_empty() && self.0.insert(id.to_owned())
    }

    /// Takes an id, or the first free one of `id_1`, `id_2` and so on.
    pub(super) fn take_like<'a>(&mut self, id: &'a str) -> Cow<'a, str> {
        if self.take(id) {
            return Cow::Borrowed(id);
        }
        let mut number = 1_usize;
        loop {
            let suffix = format!("_{number}");
            let head: String = id.chars().take(MAX_CHARS - suffix.len()).collect();
            let other = head + &suffix;
            if self.take(&other) {
                return Cow::Owned(other);
            }
            number += 1;
        }
    }
}

/// Returns the id of a message; one that is too long becomes its hash.
pub(super) fn message_id(id: &str) -> Cow<'_, str> {
    match id.chars().nth(MAX_CHARS) {
        Some(_) => Cow::Owned(format!("msg_{}", short_hash(id))),
        None => Cow::Borrowed(id),
    }
}

/// Returns a name of the conversation that the API takes.
pub(super) fn cache_key(session: &str) -> Cow<'_, str> {
    match session.chars().nth(MAX_CHARS) {
        Some(_) => Cow::Owned(short_hash(session)),
        None => Cow::Borrowed(session),
    }
}

/// Returns a short text that stands for a long one. It is the one that other programs with these
/// conversations use, so that a prompt which was sent by them is found in the cache.
fn short_hash(text: &str) -> String {
    let (mut high, mut low) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in text.encode_utf16() {
        high = (high ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        low = (low ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    let mix = |a: u32, b: u32| {
        (a ^ (a >> 16)).wrapping_mul(2_246_822_507) ^ (b ^ (b >> 13)).wrapping_mul(3_266_489_909)
    };
    high = mix(high, low);
    low = mix(low, high);
    base36(low) + &base36(high)
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_other_models_fit_and_differ() {
        let long = "x".repeat(70);
        for (provider, id, attempt, expected) in [
            ("openai", "call_1|fc_1", 0, "call_1".to_owned()),
            ("openai", "toolu:1__", 0, "toolu_1".to_owned()),
            ("openai", long.as_str(), 0, "x".repeat(64)),
            ("openai", long.as_str(), 12, "x".repeat(61) + "_12"),
            ("xai", "call_1|fc_1", 0, "call_1_fc_1".to_owned()),
            ("xai", "", 1, "_1".to_owned()),
        ] {
            let model = Model::new("m", "openai-responses", provider, "");
            assert_eq!(call_id(&model, id, attempt), expected);
            assert_eq!(call_id(&model, &expected, 0), expected);
        }
    }

    #[test]
    fn a_taken_id_gets_a_number() {
        let mut ids = Unique::default();
        let taken = ["a", "a", "a_1", "a"].map(|id| ids.take_like(id).into_owned());
        assert_eq!(taken, ["a", "a_1", "a_1_1", "a_2"]);
    }

    #[test]
    fn long_ids_become_hashes() {
        assert_eq!(message_id("msg_1"), "msg_1");
        // As other programs have it.
        assert_eq!(short_hash("fc_2"), "x08lfqt1kfj7");
        let long = "é🙂".repeat(33);
        assert_eq!(message_id(&long), format!("msg_{}", cache_key(&long)));
    }
}
