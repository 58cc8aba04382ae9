//! Cuts text into the pieces in which it is streamed.

/// Splits a text behind its white space; nothing is lost.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// Cuts a text into pieces of at most `size` characters; nothing is lost.
pub(super) fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        for text in ["", "one", "two words\n", "ä ö ü, schön"] {
            assert_eq!(split(text).collect::<String>(), text);
            for size in 1..5 {
                assert_eq!(pieces(text, size).collect::<String>(), text, "{size}");
            }
        }
    }
}
