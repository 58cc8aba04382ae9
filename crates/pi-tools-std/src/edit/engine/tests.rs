mod properties;

use super::{Edit, Edited, Task, apply};
use crate::edit::refusal::Refusal;
use crate::read::Encoding;

pub(super) fn edit(old: &str, new: &str) -> Edit {
    Edit {
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        replace_all: false,
    }
}

fn everywhere(old: &str, new: &str) -> Edit {
    Edit {
        replace_all: true,
        ..edit(old, new)
    }
}

pub(super) fn run(file: &[u8], encoding: Encoding, edits: &[Edit]) -> Result<Edited, Refusal> {
    apply(&Task {
        file,
        encoding,
        edits,
        max_bytes: 64 << 20,
        is_aborted: &|| false,
    })
}

/// Edits must turn a file into another; `fuzzy` are those that match in another spelling.
#[track_caller]
fn check_fuzzy(
    file: impl AsRef<[u8]>,
    edits: &[Edit],
    expected: impl AsRef<[u8]>,
    fuzzy: &[usize],
) {
    let edited = run(file.as_ref(), Encoding::Utf8, edits).expect("edits are applied");
    assert_eq!(
        edited.bytes.escape_ascii().to_string(),
        expected.as_ref().escape_ascii().to_string()
    );
    assert_eq!(edited.fuzzy, fuzzy);
}

#[track_caller]
fn check(file: impl AsRef<[u8]>, edits: &[Edit], expected: impl AsRef<[u8]>) {
    check_fuzzy(file, edits, expected, &[]);
}

/// Edits must be refused with a text about the file `f`.
#[track_caller]
fn refused(file: impl AsRef<[u8]>, edits: &[Edit], expected: &str) {
    let refusal = run(file.as_ref(), Encoding::Utf8, edits).expect_err("edits are refused");
    assert_eq!(refusal.text("f"), expected);
}

#[test]
fn exact_text_is_replaced() {
    check("a b c\n", &[edit("b", "x")], "a x c\n");
    check("a b c\n", &[edit(" b", "")], "a c\n");
    check(
        "one\ntwo\nthree\n",
        &[edit("one\ntwo\n", "1\n")],
        "1\nthree\n",
    );
    check("x", &[edit("x", "y")], "y");
}

#[test]
fn texts_are_no_patterns() {
    let signs = r"$& $1 $$ ${name} $` $' \1 \0 \n %s &";
    check(
        "price: OLD\n",
        &[edit("OLD", signs)],
        format!("price: {signs}\n"),
    );
    check_fuzzy("“OLD”", &[edit("\"OLD\"", signs)], signs, &[0]);
    check("a.c a+c abc", &[edit("a.c", "X")], "X a+c abc");
    check("a.c a+c abc", &[edit("a+c", "$0")], "a.c $0 abc");
}

#[test]
fn edits_are_matched_against_the_file_as_it_was() {
    check("a b", &[edit("a", "b"), edit("b", "a")], "b a");
    check(
        "abc",
        &[edit("b", "x"), edit("c", "y"), edit("a", "z")],
        "zxy",
    );
    refused(
        "a b",
        &[edit("a", "new"), edit("new", "x")],
        "Could not find edits[1] in f. The oldText must match exactly including all whitespace and \
         newlines.",
    );
}

#[test]
fn every_place_is_replaced_if_asked() {
    check("a-a-a", &[everywhere("a", "bb")], "bb-bb-bb");
    check("aaaaa", &[everywhere("aa", "b")], "bba");
    check_fuzzy("‘a’ “b” ’", &[everywhere("'", "\"")], "\"a\" “b” \"", &[0]);
    check("a b a", &[everywhere("a", "x"), edit("b", "y")], "x y x");
}

#[test]
fn a_file_keeps_the_bytes_that_are_no_text() {
    check(
        b"\xff\xfe\x80 a \xc3",
        &[edit("a", "b")],
        b"\xff\xfe\x80 b \xc3",
    );
    check_fuzzy(
        b"\xe2\x80 \xe2\x80\x9ca\xe2\x80\x9d \xed\xa0\x80",
        &[edit("\"a\"", "b")],
        b"\xe2\x80 b \xed\xa0\x80",
        &[0],
    );
    // What is shown for a broken byte is not the byte.
    let shown = [edit("\u{fffd}", "x")];
    assert!(run(b"a\xffb", Encoding::Utf8, &shown).is_err());
}

#[test]
fn a_mark_at_the_start_stays() {
    check("\u{feff}a\r\nb", &[edit("a\nb", "c\nd")], "\u{feff}c\r\nd");
    check("\u{feff}“a”", &[edit("\u{201c}a”", "b")], "\u{feff}b");
}

#[test]
fn line_breaks_of_the_old_text_may_be_any() {
    for old in ["a\nb", "a\r\nb", "a\rb"] {
        for file in ["a\nb.", "a\r\nb.", "a\rb."] {
            check(file, &[edit(old, "x")], "x.");
        }
    }
}

#[test]
fn line_breaks_of_the_new_text_become_those_of_the_place() {
    for (file, old, new, expected) in [
        ("a\r\nb\nc\r\n", "b", "1\n2", "a\r\n1\n2\nc\r\n"),
        ("a\r\nb\nc\r\n", "a", "1\n2", "1\r\n2\r\nb\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb", "1\n2", "1\r\n2\nc\r\n"),
        ("a\nb\nc\r\nd", "d", "1\n2", "a\nb\nc\r\n1\r\n2"),
        ("a\rb\rc", "b", "1\n2", "a\r1\r2\rc"),
        ("a\rb\nc", "a", "1\n2", "1\n2\rb\nc"),
        ("a", "a", "1\n2\n", "1\n2\n"),
        ("a\r\n", "a", "1\r\n2\r3", "1\r\n2\r\n3\r\n"),
        ("a\r\nb", "\n", "\n\n", "a\r\n\r\nb"),
    ] {
        check(file, &[edit(old, new)], expected);
    }
}

#[test]
fn breaks_that_come_to_stand_next_to_each_other_stay_two() {
    // The kept CR is a line break of its own, and so is the kept LF.
    check("a\rX\nb", &[edit("X", "")], "a\r\n\nb");
    check("a\rXb\n", &[edit("X", "\nc")], "a\r\n\ncb\n");
    check("a\rXY\nb", &[edit("X", ""), edit("Y", "")], "a\r\n\nb");
    check("a\rX\nb", &[edit("X\n", "")], "a\rb");
    check("a\rXY\nb", &[edit("X", ""), edit("Y\n", "")], "a\rb");
    check("a\r\nX\nb", &[edit("X", "")], "a\r\n\nb");
}

#[test]
fn other_spellings_match_and_nothing_else_changes() {
    for (file, old, new, expected) in [
        ("say “hi” – ‘x’", "\"hi\" - 'x'", "y", "say y"),
        ("\"hi\" - 'x'", "“hi” — ‘x’", "y", "y"),
        ("a\u{a0}b\u{3000}c  .", "a b c", "x", "x  ."),
        ("ＡＢＣ１２３ !", "ABC123", "x", "x !"),
        ("ﬁn ½ ﬁ", "fin", "x", "x ½ ﬁ"),
        ("e\u{301}a", "\u{e9}a", "x", "x"),
        ("\u{e9}a", "e\u{301}a", "x", "x"),
        ("\u{1112}\u{1161}\u{11ab}.", "\u{d55c}", "x", "x."),
        ("ｶﾞ.", "ガ", "x", "x."),
        (
            "/* ﬁrst ½ */ log(“a – b”); call(“x”); // ﬁn  \nnext\n",
            "call(\"x\");",
            "call(\"y\");",
            "/* ﬁrst ½ */ log(“a – b”); call(\"y\"); // ﬁn  \nnext\n",
        ),
    ] {
        check_fuzzy(file, &[edit(old, new)], expected, &[0]);
    }
}

#[test]
fn blanks_at_the_end_of_a_line_do_not_count() {
    for (file, old, new, expected) in [
        ("a   \nb\t\nc  \n", "a\nb", "x", "x\t\nc  \n"),
        ("a\nb\n", "a  \nb\t", "x", "x\n"),
        ("a\u{a0}\nb", "a\nb", "x", "x"),
        ("  \n‘a’", "\n'a'", "x", "  x"),
        ("a\n  \nb", "a\n\nb", "x", "x"),
        ("‘a’  \nb", "'a'", "x", "x  \nb"),
        ("‘a’  \nb", "'a' ", "x ", "x \nb"),
        ("‘a’  b", "'a' ", "x ", "x  b"),
        ("(\t \n‘a’", "  \n'a'", " \nx", "( \nx"),
        ("‘a’ \r\n \r\nb", "'a'\n\n", "x\n", "x\r\nb"),
    ] {
        check_fuzzy(file, &[edit(old, new)], expected, &[0]);
    }
}

#[test]
fn a_match_begins_and_ends_on_the_border_of_a_character() {
    for (file, old) in [
        ("ﬁ", "f"),
        ("ﬁ", "i"),
        ("…", ".."),
        ("\u{e9}", "e"),
        ("‘e\u{301}’", "'e"),
        ("‘a’b", "'a' "),
        ("a\tb", "    a"),
        ("\u{a0}", " "),
        ("“\n\n”", " \n"),
    ] {
        let result = run(file.as_bytes(), Encoding::Utf8, &[edit(old, "x")]);
        assert!(
            matches!(result, Err(Refusal::NotFound { .. })),
            "{file:?} {old:?}: {result:?}"
        );
    }
    // The first dots that count are those behind the character.
    check_fuzzy("…..‘", &[edit("..'", "x")], "…x", &[0]);
}

#[test]
fn exact_text_is_preferred_to_another_spelling() {
    check("“a” \"a\"", &[edit("\"a\"", "x")], "“a” x");
    check("“a” \"a\"", &[edit("“a”", "x")], "x \"a\"");
}

#[test]
fn utf16_stays_utf16() {
    let text = |text: &str, encoding| {
        let mut bytes = crate::edit::utf16::encode("\u{feff}", encoding);
        bytes.extend(crate::edit::utf16::encode(text, encoding));
        bytes
    };
    for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
        for (file, old, new, expected) in [
            ("a😀\r\nb\r\n", "b", "1\n😀", "a😀\r\n1\r\n😀\r\n"),
            ("a\nb", "a\r\nb", "c", "c"),
            ("“\u{10a}”\r\nb", "\"\u{10a}\"", "\u{a0a}", "\u{a0a}\r\nb"),
            ("a\rX\nb", "X", "", "a\r\n\nb"),
        ] {
            let mut bytes = text(file, encoding);
            bytes.extend([0xd8, 0xd8, 1]);
            let edited = run(&bytes, encoding, &[edit(old, new)]).expect("edits are applied");
            let mut expected = text(expected, encoding);
            expected.extend([0xd8, 0xd8, 1]);
            assert_eq!(edited.bytes, expected, "{file:?} {encoding:?}");
        }
    }
}

#[test]
fn edits_that_say_nothing_are_refused() {
    refused(
        "a",
        &[],
        "Edit tool input is invalid. edits must contain at least one replacement.",
    );
    refused("a", &[edit("", "x")], "oldText must not be empty in f.");
    refused(
        "a",
        &[edit("b", "x"), edit("", "x")],
        "edits[1].oldText must not be empty in f.",
    );
    refused(
        "a b",
        &[edit("a", "a")],
        "No changes made to f. The replacement produced identical content. This might indicate an \
         issue with special characters or the text not existing as expected.",
    );
    refused(
        "a b",
        &[edit("a", "a"), edit("b", "b")],
        "No changes made to f. The replacements produced identical content.",
    );
}

#[test]
fn text_that_is_there_several_times_is_refused() {
    refused(
        "a\nb a\n",
        &[edit("a", "x")],
        "Found 2 occurrences of the text in f. The text must be unique. Please provide more context \
         to make it unique.\nLines: 1, 2",
    );
    refused(
        "a\r\n\r\nb a\r\n".repeat(6),
        &[edit("\r\nb a", "x"), edit("zz", "x")],
        "Could not find edits[1] in f. The oldText must match exactly including all whitespace and \
         newlines.",
    );
    refused(
        "a\r\nb a\r\n".repeat(6),
        &[everywhere("b", "x"), edit("a", "x")],
        "Found 12 occurrences of edits[1] in f. Each oldText must be unique. Please provide more \
         context to make it unique.\nLines: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
    );
    refused(
        "‘\n‛",
        &[edit("'", "x")],
        "Found 2 occurrences of the text in f. The text must be unique. Please provide more context \
         to make it unique.\nLines: 1, 2",
    );
    // Which of two places that overlap is meant, nobody knows.
    for file in ["a\n\n\nb", "“a”\n\n\n"] {
        let result = run(file.as_bytes(), Encoding::Utf8, &[edit("\n\n", "x")]);
        assert!(
            matches!(result, Err(Refusal::Several { count: 2, .. })),
            "{result:?}"
        );
    }
    let result = run("‘’‘".as_bytes(), Encoding::Utf8, &[edit("''", "x")]);
    assert!(
        matches!(result, Err(Refusal::Several { count: 2, .. })),
        "{result:?}"
    );
}

#[test]
fn edits_that_overlap_are_refused() {
    refused(
        "one two three",
        &[edit("two three", "x"), edit("one two", "y")],
        "edits[1] and edits[0] overlap in f. Merge them into one edit or target disjoint regions.",
    );
    refused(
        "a b a",
        &[everywhere("a", "x"), edit("b a", "y")],
        "edits[1] and edits[0] overlap in f. Merge them into one edit or target disjoint regions.",
    );
    refused(
        "a",
        &[edit("a", "x"), edit("a", "y")],
        "edits[0] and edits[1] overlap in f. Merge them into one edit or target disjoint regions.",
    );
    check("ab", &[edit("a", "x"), edit("b", "y")], "xy");
}

#[test]
fn text_that_is_not_there_comes_with_a_hint() {
    const MISSING: &str = "Could not find the exact text in f. The old text must match exactly \
                           including all whitespace and newlines.";
    refused("nothing alike\n", &[edit("zzz", "yyy")], MISSING);
    refused("", &[edit("zzz", "")], MISSING);
    refused(
        "let b = 2;\n",
        &[edit("let a = 1;", "let b = 2;")],
        &format!(
            "{MISSING}\nThe newText is already in the file; this edit may have been applied before."
        ),
    );
    refused(
        "fn main() {\r\n    let total = count + 1;\r\n    print(total);\r\n}\r\n",
        &[edit("  let total = count + 2;\n  print(total);", "x")],
        &format!(
            "{MISSING}\nClosest text (lines 2-3):\n    let total = count + 1;\n    print(total);"
        ),
    );
    refused(
        "fn main() {}\nfn other() {}\n",
        &[edit("fn main() {}", "x"), edit("fn othr() {}", "y")],
        "Could not find edits[1] in f. The oldText must match exactly including all whitespace and \
         newlines.\nClosest text (lines 2-2):\nfn other() {}",
    );
}

#[test]
fn a_file_that_would_be_too_large_is_refused() {
    let result = apply(&Task {
        file: b"aaaa",
        encoding: Encoding::Utf8,
        edits: &[everywhere("a", &"x".repeat(1000))],
        max_bytes: 2048,
        is_aborted: &|| false,
    });
    let refusal = result.expect_err("the file would be too large");
    assert_eq!(
        refusal.text("f"),
        "The edited file would be 2.9KB or more, the limit is 2.0KB; f was not changed."
    );
}

#[test]
fn aborted_work_ends() {
    let result = apply(&Task {
        file: b"a",
        encoding: Encoding::Utf8,
        edits: &[edit("a", "b")],
        max_bytes: 100,
        is_aborted: &|| true,
    });
    assert_eq!(result, Err(Refusal::Aborted));
}

/// Sizes at which anything worse than linear would not end.
#[test]
fn adverse_input_takes_linear_time() {
    let line = "ab".repeat(500_000);
    // Each place is a candidate that fails late.
    let old = format!("{}c", "ab".repeat(100_000));
    assert!(run(line.as_bytes(), Encoding::Utf8, &[edit(&old, "x")]).is_err());
    let dots = "…".repeat(200_000);
    let old = ".".repeat(300_001);
    assert!(run(dots.as_bytes(), Encoding::Utf8, &[edit(&old, "x")]).is_err());
    // One line, many replacements, each with a line break.
    let edited = run(line.as_bytes(), Encoding::Utf8, &[everywhere("a", "\n")]);
    assert_eq!(edited.expect("edits are applied").regions.len(), 500_000);
    // Many edits.
    let file: String = (0..2_000).map(|n| format!("<{n}>\n")).collect();
    let edits: Vec<Edit> = (0..2_000).map(|n| edit(&format!("<{n}>"), "x")).collect();
    let edited = run(file.as_bytes(), Encoding::Utf8, &edits).expect("edits are applied");
    assert_eq!(edited.bytes, "x\n".repeat(2_000).as_bytes());
    // One base with no end of marks, and no end of blanks.
    let marks = format!("e{}", "\u{301}\u{327}".repeat(200_000));
    assert!(run(marks.as_bytes(), Encoding::Utf8, &[edit("‘", "x")]).is_err());
    let blanks = format!("{}x", " \t".repeat(500_000));
    assert!(run(blanks.as_bytes(), Encoding::Utf8, &[edit("‘", "x")]).is_err());
}
