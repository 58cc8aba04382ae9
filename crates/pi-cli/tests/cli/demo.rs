//! Runs on the embedded demo model.

use serde_json::Value;

use crate::runs::{folder, pi, run, run_with_input, wait};

#[test]
fn a_folder_is_listed_by_a_tool() {
    let dir = folder();
    let run = run(dir.path(), &["What is in this folder?"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(
        run.stdout,
        "Let me look at the folder.\nThis folder has 1 directory (orchard/) and 2 files \
         (apple.txt, Cargo.toml). It looks like a Rust project.\n"
    );
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines[0].starts_with("demo model in use"), "{run:?}");
    assert_eq!(lines[1..3], ["→ ls .", "← ls: apple.txt (+2 lines)"]);
    assert!(lines[3].contains("tokens in"), "{run:?}");
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_named_file_is_read() {
    let dir = folder();
    let run = run(dir.path(), &["Read", "apple.txt", "please."]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        run.stdout
            .ends_with("apple.txt has 2 lines:\n\nAn apple.\nA second line.\n"),
        "{run:?}"
    );
    assert!(
        run.stderr
            .contains("→ read apple.txt\n← read: An apple. (+1 line)\n"),
        "{run:?}"
    );
}

#[test]
fn the_tools_stay_in_the_folder() {
    let dir = folder();
    std::fs::write(dir.path().join("secret.txt"), "s3cret").unwrap();
    let orchard = dir.path().join("orchard");
    for path in [
        "../secret.txt".to_owned(),
        dir.path().join("secret.txt").display().to_string(),
    ] {
        let run = run(
            dir.path(),
            &["--cwd", orchard.to_str().unwrap(), "read", &path],
        );
        assert_eq!(run.status, Some(0), "{run:?}");
        assert!(run.stdout.contains("is outside the workspace"), "{run:?}");
        assert!(!run.stdout.contains("s3cret"), "{run:?}");
    }
}

#[test]
fn print_gives_the_text_of_the_final_reply() {
    let dir = folder();
    let run = run(dir.path(), &["--print", "list the files in orchard/"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "orchard/ is empty.\n"),
        "{run:?}"
    );
}

#[test]
fn without_tools_none_is_called() {
    let dir = folder();
    let run = run(dir.path(), &["--tools", "none", "What is in this folder?"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(run.stdout.contains("not offered"), "{run:?}");
    assert!(!run.stderr.contains('→'), "{run:?}");
}

#[test]
fn json_is_one_event_a_line() {
    let dir = folder();
    for (option, has_snapshot) in [
        ("--json", true),
        ("--json=full", true),
        ("--json=deltas", false),
    ] {
        let run = run(dir.path(), &[option, "What is in this folder?"]);
        assert_eq!(run.status, Some(0), "{run:?}");
        let events: Vec<Value> = run.json_lines();
        assert_eq!(events[0]["type"], "agent_start");
        let end = events.last().unwrap();
        assert_eq!(end["type"], "agent_end");
        assert_eq!(end["messages"].as_array().unwrap().len(), 4);
        let updates: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "message_update")
            .collect();
        assert!(updates.len() > 10, "{}", updates.len());
        for update in updates {
            assert_eq!(update.get("message").is_some(), has_snapshot, "{update}");
            assert!(
                update["assistantMessageEvent"]["type"].is_string(),
                "{update}"
            );
        }
        // The core reads what it has written.
        if has_snapshot {
            for line in run.stdout.lines() {
                let event: pi_core::AgentEvent = serde_json::from_str(line).expect(line);
                assert!(!matches!(event, pi_core::AgentEvent::Other(_)), "{line}");
            }
        }
    }
}

#[test]
fn the_prompt_may_come_from_standard_input() {
    let dir = folder();
    for args in [&[][..], &["-"], &["Read", "-"]] {
        let run = run_with_input(dir.path(), args, b"apple.txt\n");
        assert_eq!(run.status, Some(0), "{run:?}");
    }
    let run = run_with_input(dir.path(), &[], b"Read apple.txt\n");
    assert!(run.stdout.contains("An apple."), "{run:?}");
}

#[test]
fn a_pipe_gets_no_escape_sequence() {
    let dir = folder();
    for args in [
        &["What is in this folder?"][..],
        &["read missing.txt"],
        &["--help"],
    ] {
        let run = run(dir.path(), args);
        assert!(
            !run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'),
            "{run:?}"
        );
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let dir = folder();
    let mut child = pi(dir.path())
        .args(["--json", "What is in this folder?"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let run = wait(child);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        !run.stderr.contains("panic") && !run.stderr.contains("error"),
        "{run:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = folder();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let run = wait(pi(dir.path()).arg("hello").stdout(full).spawn().unwrap());
    assert_eq!(run.status, Some(1), "{run:?}");
    assert!(
        run.stderr
            .contains("error: cannot write to standard output"),
        "{run:?}"
    );
}
