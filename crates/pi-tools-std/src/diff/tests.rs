use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Diff, MAX_BYTES, Region};

#[track_caller]
fn check(old: &str, new: &str, numbered: &str, patch: &str) {
    let diff = Diff::of_texts("f", old.as_bytes(), new.as_bytes());
    assert_eq!(diff.numbered, numbered);
    assert_eq!(diff.patch, patch);
}

fn numbers(range: std::ops::Range<usize>) -> String {
    range.map(|line| format!("l{line}\n")).collect()
}

#[test]
fn changes_are_shown_with_four_lines_around() {
    let old = numbers(1..21);
    let new = old.replace("l10\n", "ten\nten b\n");
    check(
        &old,
        &new,
        "    ...\n  6 l6\n  7 l7\n  8 l8\n  9 l9\n-10 l10\n+10 ten\n+11 ten b\n 11 l11\n 12 l12\n \
         13 l13\n 14 l14\n    ...",
        "--- f\n+++ f\n@@ -6,9 +6,10 @@\n l6\n l7\n l8\n l9\n-l10\n+ten\n+ten b\n l11\n l12\n l13\n \
         l14\n",
    );
}

#[test]
fn the_start_and_the_end_of_a_text_are_shown_as_they_are() {
    check(
        "a\nb\n",
        "x\nb\n",
        "-1 a\n+1 x\n 2 b",
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n",
    );
    check("", "a\n", "+1 a", "--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n");
    check("a\n", "", "-1 a", "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
    check("a\n", "a\n", "", "");
    check(
        "a\nb",
        "a\nb\n",
        " 1 a\n-2 b\n+2 b",
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
    );
    check(
        "\u{feff}a\r\nb\r\n",
        "\u{feff}a\r\nc\r\n",
        " 1 a\n-2 b\n+2 c",
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n \u{feff}a\r\n-b\r\n+c\r\n",
    );
}

#[test]
fn changes_far_from_each_other_are_apart() {
    let old = numbers(1..31);
    let far = old.replace("l2\n", "").replace("l29\n", "x\n");
    check(
        &old,
        &far,
        "  1 l1\n- 2 l2\n  3 l3\n  4 l4\n  5 l5\n  6 l6\n    ...\n 25 l25\n 26 l26\n 27 l27\n 28 \
         l28\n-29 l29\n+28 x\n 30 l30",
        "--- f\n+++ f\n@@ -1,6 +1,5 @@\n l1\n-l2\n l3\n l4\n l5\n l6\n@@ -25,6 +24,6 @@\n l25\n l26\n \
         l27\n l28\n-l29\n+x\n l30\n",
    );
    let diff = Diff::of_texts("f", old.as_bytes(), far.as_bytes());
    assert_eq!(diff.first_changed_line, Some(2));
}

#[test]
fn only_the_regions_count() {
    let old = "a b\nc\nd e\n";
    let new = "A b\nc\nd E\n";
    let regions = [
        Region {
            old: 0..1,
            new: 0..1,
        },
        Region {
            old: 8..9,
            new: 8..9,
        },
    ];
    let diff = Diff::of_regions("f", old.as_bytes(), new.as_bytes(), &regions);
    assert_eq!(diff.numbered, "-1 a b\n+1 A b\n 2 c\n-3 d e\n+3 d E");
}

#[test]
fn a_large_diff_is_bounded() {
    let old = "a\n".repeat(400_000);
    let new = "b\n".repeat(400_000);
    let diff = Diff::of_texts("f", old.as_bytes(), new.as_bytes());
    assert!(diff.numbered.len() <= MAX_BYTES);
    assert!(diff.numbered.ends_with("\n        ..."));
    assert_eq!(diff.patch, "");

    let line = "x".repeat(2 * MAX_BYTES);
    let diff = Diff::of_texts(
        "f",
        format!("{line}\na").as_bytes(),
        format!("{line}\nb").as_bytes(),
    );
    assert!(diff.numbered.ends_with("x... [truncated]\n-2 a\n+2 b"));
    assert_eq!(diff.patch, "");
}

/// So many different lines in another order that comparing them would take far too long.
#[test]
fn texts_that_are_hard_to_compare_count_as_removed_and_added() {
    let line = |number: usize| format!("{}\n", number * 7_919 % 60_013);
    let old: String = (0..60_000).map(line).collect();
    let new: String = (0..60_000).rev().map(line).collect();
    let diff = Diff::of_texts("f", old.as_bytes(), new.as_bytes());
    assert_eq!(applied(old.as_bytes(), &diff.patch), new.as_bytes());
}

/// Applies a patch, to see whether it says what has changed.
fn applied(old: &[u8], patch: &str) -> Vec<u8> {
    let old: Vec<&[u8]> = super::lines(old).collect();
    let mut new = Vec::new();
    let mut line = 0;
    let body = patch.replace("\n\\ No newline at end of file\n", "");
    for text in body.split_inclusive('\n').skip(2) {
        if let Some(header) = text.strip_prefix("@@ -") {
            let (start, rest) = header.split_once([',', ' ']).unwrap();
            let start: usize = start.parse().unwrap();
            let start = if rest.starts_with("0 ") {
                start
            } else {
                start - 1
            };
            new.extend(old[line..start].concat());
            line = start;
            continue;
        }
        // A line without a break at its end was joined to the next one above.
        let (sign, content) = text.split_at(1);
        if sign != "-" {
            new.extend(content.as_bytes());
        }
        if sign != "+" {
            assert_eq!(String::from_utf8_lossy(old[line]), content);
            line += 1;
        }
    }
    new.extend(old[line..].concat());
    new
}

proptest! {
    #[test]
    fn a_patch_makes_the_new_text_of_the_old_one(
        parts in vec((vec(select(vec!["a\n", "b\n", "c\r\n", "\n"]), 0..12), ".{0,3}", ".{0,3}"), 1..5)
    ) {
        let (mut old, mut new, mut regions) = (String::new(), String::new(), Vec::new());
        for (kept, before, after) in parts {
            old.push_str(&kept.concat());
            new.push_str(&kept.concat());
            let (old_start, new_start) = (old.len(), new.len());
            old.push_str(&before);
            new.push_str(&after);
            regions.push(Region { old: old_start..old.len(), new: new_start..new.len() });
        }
        old.push('\n');
        new.push('\n');
        let diff = Diff::of_regions("f", old.as_bytes(), new.as_bytes(), &regions);
        prop_assert_eq!(diff.patch.is_empty(), old == new);
        let new_again = applied(old.as_bytes(), &diff.patch);
        prop_assert_eq!(String::from_utf8(new_again).unwrap(), new);
    }
}
