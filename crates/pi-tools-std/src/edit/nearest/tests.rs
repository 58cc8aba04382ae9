use proptest::prelude::*;

use super::{MAX_BYTES, MAX_LINES, Nearest, nearest};

#[track_caller]
fn check(text: &str, old: &str, expected: Option<&str>) {
    let found = nearest(text.as_bytes(), old).map(|nearest| nearest.text);
    assert_eq!(found.as_deref(), expected);
}

#[test]
fn the_most_alike_block_is_found() {
    let text = "fn one() {\n    call(1);\n}\n\nfn two() {\n\tcall(2);\n}\n";
    check(
        text,
        "fn two() {\n    call(2);\n}",
        Some("fn two() {\n\tcall(2);\n}"),
    );
    check(text, "call(1)", Some("    call(1);"));
    check(text, "something else entirely", None);
    check(text, "  \n", None);
    check("", "a", None);
    check("a", "a\nb\nc\nd\ne", None);
    check(
        "x = compute(first, second)",
        "x = compute(first, secnd)\n",
        Some("x = compute(first, second)"),
    );
}

#[test]
fn pages_of_other_code_are_not_alike() {
    let text = "use std::fs;\n\nfn load(path: &str) -> String {\n    fs::read_to_string(path).unwrap()\n}\n\
                \nfn main() {\n    let text = load(\"a.txt\");\n    println!(\"{}\", text.len());\n}\n";
    let old = "impl Iterator for Counter {\n    type Item = u32;\n\n    fn next(&mut self) -> Option<u32> {\n        \
               self.count += 1;\n        Some(self.count)\n    }\n}\n";
    check(text, old, None);
}

#[test]
fn what_is_shown_is_bounded() {
    let many = "same line\n".repeat(50);
    let found = nearest(many.as_bytes(), &many).unwrap();
    assert_eq!(found.text, many[..10 * MAX_LINES - 1]);
    assert_eq!(found.lines, [0, 10 * (MAX_LINES - 1)]);

    let wide = format!("{}é", "x".repeat(MAX_BYTES - 1));
    let found = nearest(wide.as_bytes(), &wide).unwrap();
    assert_eq!(found.text, wide[..MAX_BYTES - 1]);

    let lines = format!("{}\n", "y".repeat(999)).repeat(5);
    let found = nearest(lines.as_bytes(), &lines).unwrap();
    assert_eq!(found.lines, [0, 1000]);
    assert_eq!(found.text, lines[..1999]);
}

proptest! {
    #[test]
    fn a_text_that_is_there_is_nearest_to_itself(lines in proptest::collection::vec("[a-d]{1,6}", 1..20), from in 0..20_usize, len in 1..5_usize) {
        let from = from.min(lines.len() - 1);
        let old = lines[from..lines.len().min(from + len)].join("\n");
        let text = lines.join("\n");
        let Nearest { text, .. } = nearest(text.as_bytes(), &old).unwrap();
        let sorted = |text: &str| {
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        // Lines in another order are as alike.
        prop_assert_eq!(sorted(&text).len(), sorted(&old).len());
    }
}
