use proptest::prelude::*;

use super::{Accumulator, Raw, Snapshot};
use crate::bash::spill::{Spill, SpillFolder};
use crate::truncate::TruncatedBy;

fn finished(bytes: &[u8], max_lines: usize, max_bytes: usize) -> Snapshot {
    let mut accumulator = Accumulator::new(max_lines, max_bytes);
    accumulator.push(bytes);
    accumulator.finish()
}

#[test]
fn what_only_a_terminal_can_use_is_taken_out() {
    for (raw, expected) in [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\u{1b}[1;31mred\u{1b}[0m\n", "red\n"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}(Btext\u{1b}7\u{1b}=", "text"),
        ("\u{1b}Pq#0~-\u{1b}\\after", "after"),
        ("\u{1b}]never ended\nnext", "\nnext"),
        ("a\u{8}b\u{0}c\u{7f}", "abc"),
        ("10%\r20%\r100%\n", "100%\n"),
        ("10%\r20%", "20%"),
        ("crlf\r\nlines\r\n", "crlf\nlines\n"),
        ("kept\r", "kept"),
        ("a\r\r\nb", "a\nb"),
        (
            "\u{fff9}a\u{fffa}b\u{fffb}\u{fffd}\u{ffff}",
            "ab\u{fffd}\u{ffff}",
        ),
        ("\u{9b}31mc1 \u{e9} \u{c2}\u{85}", "31mc1 \u{e9} \u{c2}"),
    ] {
        assert_eq!(
            finished(raw.as_bytes(), 100, 1000).text,
            expected,
            "{raw:?}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_one_by_one() {
    for (raw, expected) in [
        (&b"caf\xe9 ok"[..], "caf\u{fffd} ok"),
        (b"\xf0\x9f\x8e", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xc2", "\u{fffd}"),
        (b"\xef\xbf", "\u{fffd}\u{fffd}"),
        (b"\xc2\xc2\xa9", "\u{fffd}\u{a9}"),
        // What stood between them is taken out, and must not leave a control character.
        (b"\xc2\x07\x85", "\u{fffd}\u{fffd}"),
        (b"\xef\xbf\x1b[m\xb9", "\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(finished(raw, 100, 1000).text, expected, "{raw:?}");
    }
}

#[test]
fn the_end_is_kept_and_the_rest_is_counted() {
    let lines: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    let snapshot = finished(lines.as_bytes(), 3, 1000);
    assert_eq!(snapshot.text, "line 98\nline 99\nline 100");
    assert_eq!(snapshot.truncation.total_lines, 100);
    assert_eq!(snapshot.truncation.truncated_by, Some(TruncatedBy::Lines));

    let snapshot = finished(lines.as_bytes(), 1000, 20);
    assert_eq!(snapshot.text, "line 99\nline 100");
    assert_eq!(snapshot.truncation.total_bytes, lines.len() as u64);
    assert_eq!(snapshot.truncation.truncated_by, Some(TruncatedBy::Bytes));

    let snapshot = finished("x".repeat(5000).as_bytes(), 10, 100);
    assert_eq!(snapshot.text, "x".repeat(100));
    assert!(snapshot.truncation.last_line_partial);
    assert_eq!(snapshot.last_line_bytes, 5000);
}

#[test]
fn what_fits_exactly_is_not_cut() {
    let text = "0123456789\n".repeat(10);
    let snapshot = finished(text.as_bytes(), 10, text.len() - 1);
    assert_eq!(snapshot.text, text);
    assert!(!snapshot.truncation.truncated);
}

/// What a command with room for 10 bytes has written to its file.
fn raw(folder: SpillFolder, max_file: u64) -> Raw {
    Raw::new(10, Spill::new(folder, max_file))
}

#[test]
fn the_file_has_every_byte_as_it_came() {
    let mut raw = raw(SpillFolder::new().unwrap(), 1 << 20);
    let bytes = b"one\x1b[31m\ntwo\r\n\xff\nthree\n";
    for byte in bytes {
        raw.push(&[*byte], false);
    }
    assert_eq!(std::fs::read(raw.kept().file.unwrap()).unwrap(), bytes);
}

#[test]
fn there_is_no_file_for_little_output_unless_it_is_wanted() {
    let mut raw = raw(SpillFolder::new().unwrap(), 1 << 20);
    raw.push(b"12345", false);
    assert_eq!(raw.kept().file, None);
    raw.keep();
    raw.push(b"6", false);
    assert_eq!(std::fs::read(raw.kept().file.unwrap()).unwrap(), b"123456");
}

#[test]
fn f61_a_file_that_cannot_be_written_is_told() {
    let folder = SpillFolder::new().unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    let mut raw = raw(folder, 1 << 20);
    raw.push(b"1\n2\n3\n", true);
    assert_eq!(raw.kept().file, None);
    assert!(raw.kept().failure.unwrap().contains("No such file"));
}

#[test]
fn f61_a_file_stops_at_its_limit() {
    let mut raw = raw(SpillFolder::new().unwrap(), 5);
    raw.push(b"123\n456\n", true);
    raw.push(b"789\n", true);
    assert_eq!(raw.kept().stopped_at, Some(5));
    assert_eq!(std::fs::read(raw.kept().file.unwrap()).unwrap(), b"123\n4");
}

#[test]
fn f60_memory_does_not_grow_with_the_output() {
    let mut accumulator = Accumulator::new(2000, 51_200);
    for _ in 0..300 {
        accumulator.push(&[b'x'; 100_000]);
    }
    accumulator.push(b"\n");
    for _ in 0..300 {
        accumulator.push(&b"short line\n".repeat(1000));
    }
    let held = accumulator.tail.ended.capacity() + accumulator.tail.open.capacity();
    assert!(held < 8 * 51_200, "{held} bytes are held");
    let snapshot = accumulator.finish();
    assert_eq!(snapshot.truncation.total_lines, 300_001);
    assert_eq!(snapshot.truncation.output_lines, 2000);
}

proptest! {
    #[test]
    fn the_pieces_do_not_matter(
        bytes in prop::collection::vec(
            prop_oneof![
                4 => prop::sample::select(&b"ab\n\r\x1b[]0;m\\\x07\x9b"[..]),
                2 => prop::sample::select(&b"\xc2\xef\xbf\xb9\x85\xf0\x9f\x8e\xaf"[..]),
                1 => any::<u8>(),
            ],
            0..200,
        ),
        cuts in prop::collection::vec(0_usize..200, 0..10),
        max_lines in 1_usize..8,
        max_bytes in 1_usize..64,
    ) {
        let whole = finished(&bytes, max_lines, max_bytes);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut pieces = Accumulator::new(max_lines, max_bytes);
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        prop_assert_eq!(pieces.finish(), whole);
    }
}
