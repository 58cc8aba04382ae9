//! Conversations that are gone on with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runs::{Run, folder, pi, wait};
use crate::server::{Answer, Server};

/// The command with a state of its own.
fn pi_in(dir: &Path, state: &Path, server: &Server) -> Command {
    let mut command = pi(dir);
    command.env("PI_STATE_DIR", state).args([
        "--base-url",
        server.url(),
        "-m",
        "m",
        "--tools",
        "none",
    ]);
    command
}

fn said(command: &mut Command, args: &[&str]) -> Run {
    Run::from(command.args(args).output().expect("start pi"))
}

/// The files of all conversations.
fn files(state: &Path) -> Vec<PathBuf> {
    let Ok(folders) = fs::read_dir(state.join("sessions")) else {
        return Vec::new();
    };
    let files = folders.flat_map(|folder| {
        let folder = folder.expect("a folder").path();
        fs::read_dir(folder).expect("a readable folder")
    });
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn the_last_conversation_of_the_folder_goes_on() {
    let (dir, other, state) = (folder(), folder(), tempfile::tempdir().unwrap());
    let server = Server::start(vec![Answer::text(&["A ", "pear."])]);
    let first = said(
        &mut pi_in(dir.path(), state.path(), &server),
        &["What am I?"],
    );
    assert_eq!(
        (first.status, first.stderr.as_str()),
        (Some(0), ""),
        "{first:?}"
    );
    let again = said(
        &mut pi_in(dir.path(), state.path(), &server),
        &["--continue", "Sure?"],
    );
    assert_eq!(
        (again.status, again.stderr.as_str()),
        (Some(0), ""),
        "{again:?}"
    );
    let elsewhere = said(
        &mut pi_in(other.path(), state.path(), &server),
        &["-c", "Sure?"],
    );
    assert!(
        elsewhere.stderr.contains("no conversation yet"),
        "{elsewhere:?}"
    );
    let new = said(&mut pi_in(dir.path(), state.path(), &server), &["New."]);
    assert_eq!(new.status, Some(0), "{new:?}");

    let requests = server.requests();
    for (request, parts) in requests.iter().zip([
        &["What am I?"][..],
        &["What am I?", "A pear.", "Sure?"],
        &["Sure?"],
        &["New."],
    ]) {
        for part in ["What am I?", "A pear.", "Sure?", "New."] {
            assert_eq!(
                request.contains(part),
                parts.contains(&part),
                "{part}: {request}"
            );
        }
    }
    let files = files(state.path());
    let mut lines: Vec<usize> = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap().lines().count())
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [2, 2, 4], "{files:?}");
}

#[test]
fn a_conversation_need_not_be_kept() {
    let (dir, state) = (folder(), tempfile::tempdir().unwrap());
    let server = Server::start(vec![Answer::text(&["Hi."])]);
    let run = said(
        &mut pi_in(dir.path(), state.path(), &server),
        &["--no-session", "hi"],
    );
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(files(state.path()), [""; 0].map(PathBuf::from));
}

#[test]
fn an_answer_that_cannot_be_kept_is_still_given() {
    let dir = folder();
    let server = Server::start(vec![Answer::text(&["Hi."])]);
    let state = dir.path().join("apple.txt");
    let run = said(&mut pi_in(dir.path(), &state, &server), &["hi"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "Hi.\n"),
        "{run:?}"
    );
    assert_eq!(run.stderr.matches("is not kept").count(), 1, "{run:?}");
}

#[test]
fn broken_files_are_reported_and_nothing_is_lost() {
    let (dir, state) = (folder(), tempfile::tempdir().unwrap());
    let server = Server::start(vec![Answer::text(&["A pear."])]);
    said(
        &mut pi_in(dir.path(), state.path(), &server),
        &["What am I?"],
    );
    let file = files(state.path()).remove(0);
    let whole = fs::read_to_string(&file).unwrap();

    // A crash has cut the last line.
    fs::write(&file, &whole[..whole.len() - 9]).unwrap();
    let run = said(
        &mut pi_in(dir.path(), state.path(), &server),
        &["-c", "Sure?"],
    );
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        run.stderr.contains("was cut") && run.stderr.contains(".torn-"),
        "{run:?}"
    );

    // Somebody has edited the file.
    let broken = format!("gibberish\n{whole}");
    fs::write(&file, &broken).unwrap();
    let run = said(
        &mut pi_in(dir.path(), state.path(), &server),
        &["-c", "Sure?"],
    );
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(run.stderr.contains("line 1 of "), "{run:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    let request = server.requests().pop().unwrap();
    assert!(request.contains("What am I?"), "{request}");
}

#[test]
fn a_reply_that_fails_is_kept_and_not_sent_again() {
    let (dir, state) = (folder(), tempfile::tempdir().unwrap());
    let server = Server::start(vec![Answer::cut(&["Half"]), Answer::text(&["Whole."])]);
    let run = said(&mut pi_in(dir.path(), state.path(), &server), &["hi"]);
    assert_eq!(run.status, Some(1), "{run:?}");
    let file = files(state.path()).remove(0);
    let text = fs::read_to_string(file).unwrap();
    assert!(
        text.contains("Half") && text.contains(r#""stopReason":"error""#),
        "{text}"
    );
    let child = pi_in(dir.path(), state.path(), &server)
        .args(["-c", "Again."])
        .spawn();
    let run = wait(child.unwrap());
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "Whole.\n"),
        "{run:?}"
    );
    let request = server.requests().pop().unwrap();
    assert!(
        !request.contains("Half") && request.contains("Again."),
        "{request}"
    );
}
