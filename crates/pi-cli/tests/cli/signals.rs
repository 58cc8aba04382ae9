//! Ctrl-C and termination, as the shell sends them.

use std::io::{BufRead, BufReader, Read as _};
use std::process::{Child, Command};

use crate::runs::{folder, pi, wait};
use crate::server::{Answer, Server};

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(status.expect("run kill").success());
}

#[test]
fn the_first_signal_keeps_the_partial_answer() {
    let dir = folder();
    for signal in ["-INT", "-TERM"] {
        let server = Server::start(vec![Answer::hanging(&["Hello\nwor"])]);
        let mut child = pi(dir.path())
            .args(["--base-url", server.url(), "-m", "m", "Say hello"])
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        stdout.read_line(&mut text).unwrap();
        send(signal, &child);
        stdout.read_to_string(&mut text).unwrap();
        let run = wait(child);
        assert_eq!(
            (run.status, text.as_str()),
            (Some(130), "Hello\nwor\n"),
            "{run:?}"
        );
        assert!(run.stderr.contains("aborted"), "{run:?}");
    }
}

#[test]
fn a_signal_before_the_answer_ends_the_question_for_models() {
    let dir = folder();
    let server = Server::start(vec![Answer::hanging(&[])]);
    let child = pi(dir.path())
        .args(["--base-url", server.url(), "hi"])
        .spawn()
        .unwrap();
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    send("-INT", &child);
    let run = wait(child);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(130), ""),
        "{run:?}"
    );
}

#[test]
fn a_second_signal_ends_a_process_whose_reader_does_not_read() {
    let dir = folder();
    let long = "x".repeat(1024 * 1024);
    let server = Server::start(vec![Answer::text(&[&long])]);
    let mut child = pi(dir.path())
        .args(["--base-url", server.url(), "-m", "m", "hi"])
        .spawn()
        .unwrap();
    // The pipe is full as soon as something is in it: nobody reads on.
    let mut first = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => send("-INT", &child),
        }
    };
    assert_eq!(status.code(), Some(130));
}

/// Reads the number of the process that a command has written, and forgets it.
fn process_in(file: &std::path::Path) -> String {
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(id) = text.strip_suffix('\n') {
            return id.to_owned();
        }
        std::thread::yield_now();
    }
}

/// Returns true if a process runs; one that has ended may still wait for its parent to notice.
fn is_alive(process: &str) -> bool {
    let state = match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => stat.rsplit(") ").next().unwrap_or_default().to_owned(),
        Err(_) if cfg!(target_os = "linux") => return false,
        Err(_) => {
            let mut ps = Command::new("ps");
            let output = ps.args(["-o", "stat=", "-p", process]).output();
            String::from_utf8_lossy(&output.expect("run ps").stdout).into_owned()
        }
    };
    let state = state.trim();
    !state.is_empty() && !state.starts_with('Z')
}

const CODING: [&str; 5] = ["--tools", "coding", "--yes", "--sandbox", "off"];

#[test]
fn a_signal_ends_a_command_in_its_middle() {
    let dir = folder();
    let child = pi(dir.path())
        .args(CODING)
        .arg("run `echo begun; echo $$ > new; mv new id; exec sleep 600`")
        .spawn()
        .unwrap();
    let process = process_in(&dir.path().join("id"));
    send("-INT", &child);
    let run = wait(child);
    assert_eq!(run.status, Some(130), "{run:?}");
    assert!(run.stderr.contains("← bash: begun"), "{run:?}");
    assert!(run.stderr.contains("Command aborted"), "{run:?}");
    assert!(run.stderr.ends_with("aborted\n"), "{run:?}");
    assert!(!is_alive(&process), "{run:?}");
}

#[test]
fn a_second_signal_ends_a_command_by_force() {
    let dir = folder();
    let mut child = pi(dir.path())
        .args(CODING)
        .arg("run `trap '' TERM; echo $$ > new; mv new id; while :; do sleep 0.1; done`")
        .spawn()
        .unwrap();
    let process = process_in(&dir.path().join("id"));
    send("-INT", &child);
    while child.try_wait().unwrap().is_none() {
        send("-INT", &child);
        std::thread::yield_now();
    }
    let run = wait(child);
    assert_eq!(run.status, Some(130), "{run:?}");
    // It was sent a signal that nothing can ignore, and may still be on its way out.
    while is_alive(&process) {
        std::thread::yield_now();
    }
}

#[test]
fn what_a_command_left_running_ends_with_the_talk() {
    let dir = folder();
    let child = pi(dir.path())
        .args(CODING)
        .arg("run `sleep 600 & echo $! > new; mv new id`")
        .spawn()
        .unwrap();
    let run = wait(child);
    assert_eq!(run.status, Some(0), "{run:?}");
    let process = process_in(&dir.path().join("id"));
    assert!(run.stderr.contains("still running"), "{run:?}");
    assert!(!is_alive(&process), "{run:?}");
}
