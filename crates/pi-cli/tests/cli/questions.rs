//! Questions on a terminal. The program `script` of util-linux makes one.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::runs::{folder, pi};

/// The command on a terminal of its own, or `None` where `script` is not installed.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn on_terminal(dir: &Path, arguments: &str) -> Option<Child> {
    let plain = pi(dir);
    let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_pi"));
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    match script.env("NO_COLOR", "1").spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!("skipped: cannot run script: {error}");
            None
        }
    }
}

/// Reads until a text was shown.
fn wait_for(shown: &mut String, stdout: &mut ChildStdout, text: &str) {
    let mut bytes = [0; 1024];
    while !shown.contains(text) {
        let count = stdout.read(&mut bytes).expect("read the terminal");
        assert!(count > 0, "{text}: {shown:?}");
        shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

/// Asks for a change of a file and answers each question in turn. Returns the status, and what the
/// terminal has shown.
fn answer(dir: &Path, answers: &[&str]) -> Option<(Option<i32>, String)> {
    let arguments = "--tools coding --sandbox off 'write apple.txt: A pear.'";
    let mut child = on_terminal(dir, arguments)?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut all = String::new();
    for answer in answers {
        let mut shown = String::new();
        wait_for(&mut shown, &mut stdout, "what to do instead: ");
        stdin.write_all(answer.as_bytes()).expect("type");
        all.push_str(&shown);
    }
    wait_for(&mut all, &mut stdout, "← write");
    stdout.read_to_string(&mut all).expect("text");
    let status = child.wait().expect("wait for script");
    Some((status.code(), all))
}

#[test]
fn the_answer_decides_about_a_change() {
    for (answers, expected_status, is_written, said) in [
        (&["y\n"][..], 0, true, "  +1 A pear."),
        (&["\n", "a\n"], 0, true, "Successfully wrote 8 bytes"),
        (&["n\n"], 0, false, "The user said no"),
        (
            &["use plum.txt\n"],
            0,
            false,
            "The user's words: use plum.txt",
        ),
        (&["\x04"], 0, false, "The user said no"),
        (&["\x03"], 130, false, "aborted\r\n"),
    ] {
        let dir = folder();
        let Some((status, shown)) = answer(dir.path(), answers) else {
            return;
        };
        assert_eq!(status, Some(expected_status), "{answers:?}: {shown}");
        assert!(
            shown.contains("pi wants to write apple.txt, 1 line:\r\n  +A pear.\r\n"),
            "{answers:?}: {shown}"
        );
        assert!(shown.contains(said), "{answers:?}: {shown}");
        let text = std::fs::read_to_string(dir.path().join("apple.txt")).unwrap();
        assert_eq!(text == "A pear.\n", is_written, "{answers:?}: {shown}");
    }
}
