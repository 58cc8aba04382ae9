//! Ids of tool calls, which are nine letters and digits here.

use pi_core::Model;

/// The number of characters of an id.
const LENGTH: usize = 9;

/// Returns a call's id as the API takes it, a different one for each attempt: the id itself if it
/// fits, else its hash.
pub(crate) fn call_id(_: &Model, id: &str, attempt: u32) -> String {
    fitting(id, attempt)
}

fn fitting(id: &str, attempt: u32) -> String {
    let plain: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    if attempt == 0 && plain.len() == LENGTH {
        return plain;
    }
    let seed = if plain.is_empty() { id } else { &plain };
    match attempt {
        0 => hash(seed),
        _ => hash(&format!("{seed}:{attempt}")),
    }
}

/// Makes the id of a call that came without one, or with one that is taken.
pub(super) fn new_id(given: &str, _: &str, number: usize) -> String {
    match given {
        "" => fitting(&format!("toolcall:{number}"), 0),
        given => fitting(given, u32::try_from(number).unwrap_or(u32::MAX)),
    }
}

/// Hashes a text into an id. The function is upstream's, so that a stored conversation is sent with
/// the same ids, and its prompt stays in the cache.
fn hash(text: &str) -> String {
    let (mut high, mut low) = (0x41c6_ce57_u32, 0xdead_beef_u32);
    for unit in text.encode_utf16() {
        low = (low ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        high = (high ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    let mixed = |by: u32, with: u32| {
        (by ^ (by >> 16)).wrapping_mul(2_246_822_507)
            ^ (with ^ (with >> 13)).wrapping_mul(3_266_489_909)
    };
    low = mixed(low, high);
    high = mixed(high, low);
    let digits = base36(high)
        .chain(base36(low))
        .chain(std::iter::repeat('0'));
    digits.take(LENGTH).collect()
}

/// Returns the digits of a number, the highest first.
fn base36(number: u32) -> impl Iterator<Item = char> {
    // The highest power of 36 that an `u32` can hold.
    let mut power = 36_u32.pow(6);
    while power > 1 && power > number {
        power /= 36;
    }
    std::iter::successors(Some(power), |power| (*power > 1).then(|| power / 36))
        .filter_map(move |power| char::from_digit(number / power % 36, 36))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_those_of_upstream() {
        for (id, attempt, expected) in [
            ("gSIMJiOkT", 0, "gSIMJiOkT"),
            ("call_gSIMJ", 0, "callgSIMJ"),
            ("toolu_01 x:y/z", 0, "3417rb1t4"),
            ("read_1700000000000_1", 0, "6cwo7reu2"),
        ] {
            assert_eq!(fitting(id, attempt), expected);
        }
    }

    #[test]
    fn digits_are_written_without_leading_zeros() {
        for (number, expected) in [(0, "0"), (35, "z"), (36, "10"), (u32::MAX, "1z141z3")] {
            assert_eq!(base36(number).collect::<String>(), expected);
        }
    }

    proptest! {
        #[test]
        fn ids_are_nine_letters_and_digits(id in any::<String>(), attempt in 0_u32..3) {
            let made = fitting(&id, attempt);
            prop_assert_eq!(made.len(), LENGTH);
            prop_assert!(made.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            prop_assert_eq!(fitting(&made, 0), made);
        }
    }
}
