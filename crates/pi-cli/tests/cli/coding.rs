//! Runs in which the model changes files and runs commands.

use serde_json::Value;

use crate::runs::{Run, folder, run};
use crate::server::{Answer, Server};

/// Asks with the coding tools, without questions and without a sandbox, which not every kernel has.
fn code(dir: &std::path::Path, prompt: &str) -> Run {
    let args = ["--tools", "coding", "--yes", "--sandbox", "off", prompt];
    run(dir, &args)
}

#[test]
fn each_set_offers_its_tools() {
    let dir = folder();
    for (options, expected) in [
        (&[][..], &["read", "grep", "find", "ls"][..]),
        (
            &["--tools", "read-only", "--yes"],
            &["read", "grep", "find", "ls"],
        ),
        (
            &["--tools", "coding", "--sandbox", "off"],
            &["read", "bash", "edit", "write"],
        ),
        (&["--tools", "none"], &[]),
    ] {
        let server = Server::start(vec![Answer::text(&["Hi."])]);
        let args = [options, &["--base-url", server.url(), "-m", "m", "hi"]].concat();
        let run = run(dir.path(), &args);
        assert_eq!(run.status, Some(0), "{run:?}");
        let request = server.requests().remove(0);
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let offered: Vec<&str> = body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect();
        assert_eq!(offered, expected, "{options:?}");
    }
}

#[test]
fn a_change_is_made_and_its_diff_is_shown() {
    let dir = folder();
    let changed = code(dir.path(), "Replace An apple by A pear in apple.txt");
    assert_eq!(changed.status, Some(0), "{changed:?}");
    assert!(
        changed.stderr.contains(
            "→ edit apple.txt\n← edit: Successfully replaced 1 block(s) in apple.txt.\n  -1 An \
             apple.\n  +1 A pear.\n   2 A second line.\n"
        ),
        "{changed:?}"
    );
    let written = code(dir.path(), "write apple.txt: A plum.");
    assert!(
        written
            .stderr
            .contains("  -1 A pear.\n  -2 A second line.\n  +1 A plum.\n"),
        "{written:?}"
    );
    let text = std::fs::read_to_string(dir.path().join("apple.txt")).unwrap();
    assert_eq!(text, "A plum.\n");
}

#[test]
fn nothing_is_changed_where_nobody_can_be_asked() {
    let dir = folder();
    for prompt in [
        "write apple.txt: gone",
        "replace apple by pear in apple.txt",
        "run `rm apple.txt`",
    ] {
        let refused = run(
            dir.path(),
            &["--tools", "coding", "--sandbox", "off", prompt],
        );
        assert_eq!(refused.status, Some(0), "{refused:?}");
        assert!(refused.stderr.contains("hint: "), "{refused:?}");
        assert!(refused.stderr.contains("--yes"), "{refused:?}");
        assert!(
            refused.stdout.contains("This call was not run"),
            "{refused:?}"
        );
        let text = std::fs::read_to_string(dir.path().join("apple.txt")).unwrap();
        assert_eq!(text, "An apple.\nA second line.\n");
    }
    let read = run(
        dir.path(),
        &["--tools", "coding", "--sandbox", "off", "read", "apple.txt"],
    );
    assert!(read.stdout.contains("An apple."), "{read:?}");
}

#[test]
fn the_output_of_a_command_is_folded() {
    let dir = folder();
    let run = code(dir.path(), "run `seq 100`");
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        run.stderr.contains(
            "→ bash seq 100\n← bash: 1\n  2\n  3\n  4\n  5\n  … 90 lines\n  96\n  97\n  98\n  \
             99\n  100\n"
        ),
        "{run:?}"
    );
    assert!(run.stdout.contains("… and 88 more lines"), "{run:?}");
}

#[test]
fn a_failed_command_is_told() {
    let dir = folder();
    let run = code(dir.path(), "run `printf 'a\\033[2Jb'; exit 3`");
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        run.stderr
            .contains("← bash: ab\n\n  Command exited with code 3\n"),
        "{run:?}"
    );
    assert!(!run.stderr.contains('\x1b'), "{run:?}");
}

#[test]
fn json_tells_the_output_as_it_comes_and_nothing_else() {
    let dir = folder();
    let args = ["--tools", "coding", "--yes", "--sandbox", "off", "--json"];
    let run = run(dir.path(), &[&args[..], &["run `seq 3`"]].concat());
    assert_eq!(run.status, Some(0), "{run:?}");
    let events: Vec<Value> = run.json_lines();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert!(of("tool_execution_update") > 0, "{run:?}");
    assert_eq!(of("tool_execution_end"), 1);
    assert!(!run.stderr.contains('→'), "{run:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_cannot_leave_its_sandbox() {
    let (dir, outside) = (folder(), folder());
    let file = outside.path().join("apple.txt");
    let prompt = format!("run `echo in > in.txt; echo out > '{}'`", file.display());
    let run = run(dir.path(), &["--tools", "coding", "--yes", &prompt]);
    if run.status == Some(2) {
        assert!(run.stderr.contains("--sandbox off"), "{run:?}");
        eprintln!("skipped: this kernel has no sandbox: {}", run.stderr);
        return;
    }
    assert!(dir.path().join("in.txt").exists(), "{run:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, "An apple.\nA second line.\n", "{run:?}");
    assert!(run.stderr.contains("Permission denied"), "{run:?}");
    let free = code(dir.path(), &prompt);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "out\n", "{free:?}");
}

#[test]
fn files_are_searched_and_found() {
    let dir = folder();
    for (prompt, called, said) in [
        (
            "search for second",
            "→ grep second\n← grep: apple.txt:2: A second line.\n",
            "apple.txt:2: A second line.",
        ),
        ("grep melon", "→ grep melon\n", "There is none."),
        ("find *.toml", "→ find *.toml\n", "Cargo.toml"),
    ] {
        let run = run(dir.path(), &[prompt]);
        assert_eq!(run.status, Some(0), "{run:?}");
        assert!(run.stderr.contains(called), "{run:?}");
        assert!(run.stdout.contains(said), "{run:?}");
    }
}
