//! Mistakes in the usage, and what needs no run.

use crate::runs::{folder, run, run_with_input};

#[test]
fn mistakes_end_with_status_2_and_say_why() {
    let dir = folder();
    for (args, expected) in [
        (&["--nope", "x"][..], "--nope"),
        (&["--json=yaml", "x"], "yaml"),
        (&["--json", "--print", "x"], "cannot be used with"),
        (&[], "the prompt is empty"),
        (&["-"], "the prompt is empty"),
        (&["  "], "the prompt is empty"),
        (
            &["--cwd", "missing", "x"],
            "cannot work in the folder missing",
        ),
        (
            &["--cwd", "apple.txt", "x"],
            "cannot work in the folder apple.txt",
        ),
    ] {
        let run = run(dir.path(), args);
        assert_eq!(run.status, Some(2), "{args:?}: {run:?}");
        assert!(run.stderr.contains(expected), "{args:?}: {run:?}");
        assert_eq!(run.stdout, "", "{args:?}");
    }
    let run = run_with_input(dir.path(), &[], b"\xff\xfe");
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stderr.contains("not UTF-8"), "{run:?}");
}

#[test]
fn help_and_version_are_no_mistakes() {
    let dir = folder();
    let version = run(dir.path(), &["--version"]);
    assert_eq!(version.status, Some(0));
    assert_eq!(
        version.stdout,
        format!("pi {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = run(dir.path(), &["--help"]);
    assert_eq!(help.status, Some(0));
    for word in ["Examples:", "--base-url", "--json", "Exit status:"] {
        assert!(help.stdout.contains(word), "{word}");
    }
}
