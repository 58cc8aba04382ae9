use proptest::prelude::*;

use super::{TruncatedBy, truncate_head, truncate_tail};

#[test]
fn the_head_keeps_whole_lines() {
    use TruncatedBy::{Bytes, Lines};
    for (text, max_lines, max_bytes, left, by, total) in [
        ("", 2, 10, "", None, 0),
        ("a\nb\n", 2, 10, "a\nb\n", None, 2),
        ("a\nb", 2, 10, "a\nb", None, 2),
        ("a\nb\nc", 2, 10, "a\nb", Some(Lines), 3),
        ("ab\ncd\nef", 9, 5, "ab\ncd", Some(Bytes), 3),
        ("ab\ncd\n", 9, 5, "ab\ncd\n", None, 2),
        ("ab\ncd\n", 9, 4, "ab", Some(Bytes), 2),
        ("\n\n", 1, 9, "", Some(Lines), 2),
    ] {
        let kept = truncate_head(text, max_lines, max_bytes);
        assert_eq!(
            (kept.text, kept.truncation.truncated_by),
            (left, by),
            "{text:?}"
        );
        assert_eq!(kept.truncation.total_lines, total, "{text:?}");
        assert!(!kept.truncation.first_line_exceeds_limit);
    }
}

#[test]
fn a_first_line_over_the_limit_leaves_nothing() {
    let kept = truncate_head("abcdef\nx", 9, 5);
    assert_eq!(kept.text, "");
    assert!(kept.truncation.first_line_exceeds_limit);
}

#[test]
fn the_tail_keeps_whole_lines() {
    use TruncatedBy::{Bytes, Lines};
    for (text, max_lines, max_bytes, left, by, lines) in [
        ("", 2, 10, "", None, 0),
        ("a\nb\n", 2, 10, "a\nb\n", None, 2),
        ("a\nb\nc\n", 2, 10, "b\nc", Some(Lines), 2),
        ("ab\ncd\nef", 9, 5, "cd\nef", Some(Bytes), 2),
        ("ab\ncd\nef", 9, 4, "ef", Some(Bytes), 1),
        ("\n\n\n", 2, 9, "\n", Some(Lines), 2),
        ("x\n", 1, 9, "x\n", None, 1),
    ] {
        let kept = truncate_tail(text, max_lines, max_bytes);
        assert_eq!(
            (kept.text, kept.truncation.truncated_by),
            (left, by),
            "{text:?}"
        );
        assert_eq!(kept.truncation.output_lines, lines, "{text:?}");
        assert!(!kept.truncation.last_line_partial, "{text:?}");
    }
}

#[test]
fn a_last_line_over_the_limit_keeps_its_end_and_no_half_character() {
    let kept = truncate_tail("first\nxx\u{1f3af}\u{1f3af}", 9, 6);
    assert_eq!(kept.text, "\u{1f3af}");
    assert!(kept.truncation.last_line_partial);
    assert_eq!(kept.truncation.output_lines, 1);
}

proptest! {
    #[test]
    fn the_head_is_a_prefix_within_its_limits(
        text in "([a-c\u{e4}\u{1f3af}]{0,6}\n?){0,12}",
        max_lines in 0usize..8,
        max_bytes in 0usize..40,
    ) {
        let kept = truncate_head(&text, max_lines, max_bytes);
        prop_assert!(text.starts_with(kept.text));
        prop_assert!(kept.text.lines().count() <= max_lines);
        prop_assert!(kept.text.strip_suffix('\n').unwrap_or(kept.text).len() <= max_bytes);
        prop_assert_eq!(kept.truncation.truncated, kept.text != text);
    }

    #[test]
    fn the_tail_is_a_suffix_within_its_limits(
        text in "([a-c\u{e4}\u{1f3af}]{0,6}\n?){0,12}",
        max_lines in 1usize..8,
        max_bytes in 0usize..40,
    ) {
        let kept = truncate_tail(&text, max_lines, max_bytes);
        let body = text.strip_suffix('\n').unwrap_or(&text);
        prop_assert!(text.ends_with(kept.text) || body.ends_with(kept.text));
        prop_assert!(kept.text.lines().count() <= max_lines);
        prop_assert!(kept.text.strip_suffix('\n').unwrap_or(kept.text).len() <= max_bytes);
        prop_assert_eq!(kept.truncation.truncated, kept.text != text);
    }
}
