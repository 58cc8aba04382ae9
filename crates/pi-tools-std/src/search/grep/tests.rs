use std::time::Duration;

use pi_core::ToolContext;
use serde_json::json;

use crate::Limits;
use crate::testing::Place;

#[tokio::test]
async fn matches_are_shown_with_path_and_line() {
    let place = Place::new();
    place.file("src/b.rs", "one\ntwo needle\nthree\n");
    place.file("src/a.rs", "needle\r\nlast needle");
    place.file("top.txt", "no\n");
    assert_eq!(
        place.ok("grep", json!({ "pattern": "needle" })).await,
        "src/a.rs:1: needle\nsrc/a.rs:2: last needle\nsrc/b.rs:2: two needle"
    );
    assert_eq!(
        place
            .ok("grep", json!({ "pattern": "needle", "path": "src" }))
            .await,
        "a.rs:1: needle\na.rs:2: last needle\nb.rs:2: two needle"
    );
    assert_eq!(
        place
            .ok("grep", json!({ "pattern": "needle", "path": "src/b.rs" }))
            .await,
        "b.rs:2: two needle"
    );
    let answered = place.call("grep", json!({ "pattern": "nothing" })).await;
    assert_eq!(answered.text, "No matches found");
    assert_eq!(answered.details, json!({ "filesSearched": 3 }));
}

#[tokio::test]
async fn patterns_are_regular_expressions_unless_literal() {
    let place = Place::new();
    place.file("f", "foo(1)\nFOO\nend\r\n--x\na\u{e9}b\n");
    for (arguments, expected) in [
        (json!({ "pattern": "fo+\\(" }), "f:1: foo(1)"),
        (json!({ "pattern": "foo(", "literal": true }), "f:1: foo(1)"),
        (
            json!({ "pattern": "^foo$", "ignoreCase": true }),
            "f:2: FOO",
        ),
        (json!({ "pattern": "^end$" }), "f:3: end"),
        (json!({ "pattern": "end\\r" }), "f:3: end"),
        (json!({ "pattern": "--x" }), "f:4: --x"),
        (json!({ "pattern": "a.b" }), "f:5: a\u{e9}b"),
        (json!({ "pattern": "a\\Sb" }), "f:5: a\u{e9}b"),
        (json!({ "pattern": "\\d\\)\\n?" }), "f:1: foo(1)"),
    ] {
        let answered = place.call("grep", arguments.clone()).await;
        if arguments["pattern"] == "\\d\\)\\n?" {
            assert!(
                answered.text.starts_with("Invalid regex: "),
                "{}",
                answered.text
            );
        } else {
            assert_eq!(answered.text, expected, "{arguments}");
        }
    }
}

#[tokio::test]
async fn context_is_shown_with_dashes_and_not_twice() {
    let place = Place::new();
    place.file("f", "1\n2\nx3\n4\nx5\n6\n7\nx8\n9\n");
    assert_eq!(
        place
            .ok("grep", json!({ "pattern": "x", "context": 1 }))
            .await,
        "f-2- 2\nf:3: x3\nf-4- 4\nf:5: x5\nf-6- 6\nf-7- 7\nf:8: x8\nf-9- 9"
    );
    assert_eq!(
        place
            .ok("grep", json!({ "pattern": "x", "context": 2, "limit": 1 }))
            .await,
        "f-1- 1\nf-2- 2\nf:3: x3\nf-4- 4\nf-5- x5\n\n[1 matches limit reached. Use limit=2 for more, \
         or refine pattern]"
    );
}

#[tokio::test]
async fn the_limit_is_told_only_if_there_is_one_match_more() {
    let place = Place::new();
    place.file("a", "x\nx\n");
    place.file("b", "x\n");
    place.file("c", "y\n");
    let three = place
        .ok("grep", json!({ "pattern": "x", "limit": 3 }))
        .await;
    assert_eq!(three, "a:1: x\na:2: x\nb:1: x");
    let answered = place
        .call("grep", json!({ "pattern": "x", "limit": 2 }))
        .await;
    assert_eq!(
        answered.text,
        "a:1: x\na:2: x\n\n[2 matches limit reached. Use limit=4 for more, or refine pattern]"
    );
    assert_eq!(answered.details["matchLimitReached"], 2);
    let one = place
        .ok("grep", json!({ "pattern": "x", "limit": -7 }))
        .await;
    assert!(one.starts_with("a:1: x\n\n[1 matches"), "{one}");
}

#[tokio::test]
async fn long_lines_and_long_answers_are_cut() {
    let limits = Limits {
        output_bytes: 2048,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    place.file("f", format!("x{}\n", "\u{fc}".repeat(600)));
    place.file("g", format!("{}\n", "x".repeat(500)).repeat(9));
    let answered = place.call("grep", json!({ "pattern": "x" })).await;
    let (body, notice) = answered.text.rsplit_once("\n\n").unwrap();
    assert_eq!(
        notice,
        "[2.0KB limit reached. Some lines truncated to 500 chars. Use read tool to see full lines]"
    );
    let first = format!("f:1: x{}... [truncated]", "\u{fc}".repeat(499));
    assert_eq!(body.lines().next().unwrap(), first);
    assert_eq!(body.lines().count(), 3);
    assert!(body.len() <= 2048);
}

#[tokio::test]
async fn globs_choose_the_files() {
    let place = Place::new();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/d.ts",
        "x.test/e.rs",
    ] {
        place.file(path, "x\n");
    }
    for (glob, expected) in [
        ("*.rs", "a.rs src/b.rs src/deep/c.rs x.test/e.rs"),
        ("src/*.rs", "src/b.rs"),
        ("./src/**/*.rs", "src/b.rs src/deep/c.rs"),
        ("!src", "a.rs x.test/e.rs"),
        ("!*.rs", "src/d.ts"),
        ("!src/deep/**", "a.rs src/b.rs src/d.ts x.test/e.rs"),
    ] {
        let text = place
            .ok("grep", json!({ "pattern": "x", "glob": glob }))
            .await;
        let files: Vec<_> = text
            .lines()
            .filter_map(|line| line.split(':').next())
            .collect();
        assert_eq!(files.join(" "), expected, "{glob}");
    }
}

#[tokio::test]
async fn hidden_files_are_searched_and_ignored_ones_are_not() {
    let place = Place::new();
    place.file(".gitignore", "ignored/\n*.log\n!keep.log\n");
    place.file(".ignore", "private\n");
    for path in [
        ".hidden/f",
        "ignored/f",
        "a.log",
        "keep.log",
        "private/f",
        ".git/f",
        "sub/x.log",
        "vendor/.git/HEAD",
        "vendor/a.log",
    ] {
        place.file(path, "needle\n");
    }
    let files = |text: String| -> Vec<String> {
        text.lines()
            .filter_map(|line| Some(line.split(':').next()?.to_owned()))
            .collect()
    };
    let all = place.ok("grep", json!({ "pattern": "needle" })).await;
    // A repository inside does not obey the rules around it.
    assert_eq!(files(all), [".hidden/f", "keep.log", "vendor/a.log"]);
    let named = place
        .ok("grep", json!({ "pattern": "needle", "path": "ignored" }))
        .await;
    assert_eq!(files(named), ["f"]);
    let below = place
        .ok("grep", json!({ "pattern": "needle", "path": "sub" }))
        .await;
    assert_eq!(below, "No matches found");
    let file = place
        .ok("grep", json!({ "pattern": "needle", "path": "a.log" }))
        .await;
    assert_eq!(files(file), ["a.log"]);
}

#[tokio::test]
async fn binary_files_are_skipped_and_utf_16_is_searched() {
    let place = Place::new();
    place.file("bin", b"needle\0\n");
    // The zero byte comes long after the match, in what is read in pieces.
    let mut large = b"needle\n".to_vec();
    large.resize(400_000, b'x');
    large.extend_from_slice(b"\n\0\n");
    place.file("large-bin", large);
    let utf16: Vec<u8> = "\u{feff}a needle\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    place.file("utf16", utf16);
    place.file("latin1", b"caf\xe9 needle\n");
    let answered = place.call("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(
        answered.text,
        "latin1:1: caf\u{fffd} needle\nutf16:1: a needle"
    );
    assert_eq!(answered.details["filesSearched"], 2);
}

#[tokio::test]
async fn what_cannot_be_searched_gets_a_clear_error() {
    let place = Place::new();
    place.file("f", "x");
    for (arguments, expected) in [
        (json!({ "pattern": "" }), "pattern must not be empty."),
        (
            json!({ "pattern": "x", "path": "scr" }),
            "Path not found: scr",
        ),
        (json!({ "pattern": "x", "glob": "a[" }), "Invalid glob 'a['"),
        (json!({ "pattern": "foo(" }), "Invalid regex: "),
        (json!({ "pattern": "(a{1000}){1000}" }), "Invalid regex: "),
        (
            json!({ "pattern": "x", "limit": 0.5 }),
            "limit must be a whole number.",
        ),
    ] {
        let text = place.fails("grep", arguments.clone()).await;
        assert!(text.starts_with(expected), "{arguments}: {text}");
    }
    let text = place.fails("grep", json!({ "pattern": "foo(" })).await;
    assert!(
        text.ends_with(". Set literal=true to search for the text as it is."),
        "{text}"
    );
}

#[tokio::test]
async fn a_search_whose_time_is_up_says_so() {
    let limits = Limits {
        search_time: Duration::ZERO,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    place.file("f", "x\n");
    let answered = place.call("grep", json!({ "pattern": "x" })).await;
    assert_eq!(
        answered.text,
        "No matches found\n\n[Search stopped after 0s; results are partial]"
    );
    assert_eq!(answered.details["timedOut"], true);
}

#[tokio::test]
async fn an_abort_ends_the_search() {
    let place = Place::new();
    place.file("f", "x\n");
    let cx = ToolContext::detached("c");
    cx.abort_token().cancel();
    let answered = place.call_in("grep", json!({ "pattern": "x" }), cx).await;
    assert_eq!(answered.text, "Operation aborted");
}

#[tokio::test]
async fn the_answer_is_the_same_every_time() {
    let place = Place::new();
    for n in 0..500 {
        place.file(
            &format!("d{}/f{n}", n % 7),
            format!("{}needle {n}\n", "x\n".repeat(n % 50)),
        );
    }
    let first = place.ok("grep", json!({ "pattern": "needle" })).await;
    for _ in 0..10 {
        assert_eq!(
            place.ok("grep", json!({ "pattern": "needle" })).await,
            first
        );
    }
}
