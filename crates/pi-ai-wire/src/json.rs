//! Reading JSON that is not quite JSON.

use serde::Deserialize;

/// Parses a text that is borrowed where it has no escapes. `repaired` holds the text instead where
/// it was written by a client that cuts inside of surrogate pairs.
///
/// # Errors
/// If the text is no JSON, or not of the type.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    text: &'a str,
    repaired: &'a mut String,
) -> serde_json::Result<T> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) => match replace_lone_surrogates(text) {
            Some(text) => {
                *repaired = text;
                serde_json::from_str(repaired)
            }
            None => Err(error),
        },
    }
}

/// Writes a JSON text without white space and needless escapes; a text that cannot be read stays.
#[cfg(any(feature = "google", feature = "openai"))]
pub(crate) fn compact(text: &str) -> String {
    let mut repaired = String::new();
    match parse::<serde_json::Value>(text, &mut repaired) {
        Ok(value) => value.to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Replaces the escapes of unpaired surrogate halves by U+FFFD; `None` if there are none.
///
/// JavaScript writes such halves when it cuts a text inside an emoji, and `serde_json` refuses them.
/// Nobody pays for this but who meets an error first.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut done = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(offset) = memchr::memchr(b'\\', bytes.get(at..)?) {
        at += offset;
        at += match (half(bytes, at), half(bytes, at + 6)) {
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                repaired.push_str(text.get(done..at)?);
                repaired.push('\u{FFFD}');
                done = at + 6;
                6
            }
            // A backslash escapes the byte behind it, which may be another backslash.
            (None, _) => 2,
        };
        if at >= bytes.len() {
            break;
        }
    }
    if done == 0 {
        return None;
    }
    repaired.push_str(text.get(done..)?);
    Some(repaired)
}

#[derive(Clone, Copy)]
enum Half {
    High,
    Low,
}

/// Returns which half of a surrogate pair the escape at `at` is, if it is one.
fn half(bytes: &[u8], at: usize) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', second, third, fourth] = bytes.get(at..at + 6)? else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second.to_ascii_lowercase() {
        b'8' | b'9' | b'a' | b'b' => Some(Half::High),
        b'c'..=b'f' => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unpaired_halves_are_replaced() {
        let cases = [
            (r#""\ud83d""#, Some("\"\u{FFFD}\"")),
            (r#""\uDE00x""#, Some("\"\u{FFFD}x\"")),
            (
                r#""\ud83d\ud83d\ude00""#,
                Some("\"\u{FFFD}\\ud83d\\ude00\""),
            ),
            (r#""\ude00\ud83d""#, Some("\"\u{FFFD}\u{FFFD}\"")),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\u0041 \n \ud7ff""#, None),
            (r#""\ud83"#, None),
            (r#""\"#, None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(replace_lone_surrogates(text).as_deref(), expected, "{text}");
        }
    }
}
