use serde_json::Map;

use super::*;

fn call() -> ToolCall {
    ToolCall::new("c1", "bash", Map::new())
}

#[test]
fn a_row_holds_the_last_line_and_fits_the_terminal() {
    let mut progress = Progress::new(Live::Row(|| 8));
    for (snapshot, expected) in [
        ("", Shown::Nothing),
        ("\n \n", Shown::Nothing),
        ("one\ntwo\n", Shown::Row("  two".to_owned())),
        ("one\ntwo\nthree and four", Shown::Row("  three".to_owned())),
        ("日本語", Shown::Row("  日本".to_owned())),
        ("\x1b[2J", Shown::Row("   [2J".to_owned())),
    ] {
        let shown = progress.update(&call(), &ToolOutput::text(snapshot), Instant::now());
        assert_eq!(shown, expected, "{snapshot:?}");
    }
    assert_eq!(progress.clear(), None);
    progress.row_is_shown();
    assert_eq!(progress.clear(), Some("\r\x1b[K"));
    assert_eq!(progress.clear(), None);
}

#[test]
fn lines_are_shown_when_they_are_whole_and_not_too_often() {
    let mut progress = Progress::new(Live::Lines);
    let begin = Instant::now();
    let lines = |lines: &[&str]| Shown::Lines(lines.iter().map(|l| (*l).to_owned()).collect());
    for (at, snapshot, expected) in [
        (0, "", Shown::Nothing),
        (100, "early\n", Shown::Nothing),
        (500, "early\nhal", lines(&["early"])),
        (600, "early\nhalf\n", Shown::Nothing),
        (1_500, "early\nhalf\nthe", lines(&["half"])),
        (2_600, "early\nhalf\nthe", Shown::Nothing),
        (
            2_700,
            "early\nhalf\n1\n2\n3\n4\n5\n",
            lines(&["… 2 lines", "3", "4", "5"]),
        ),
        (3_700, "rolled\non\n", lines(&["rolled", "on"])),
    ] {
        let now = begin + Duration::from_millis(at);
        let shown = progress.update(&call(), &ToolOutput::text(snapshot), now);
        assert_eq!(shown, expected, "at {at}: {snapshot:?}");
    }
    assert!(progress.end(&call()));
    assert!(!progress.end(&call()));
}
