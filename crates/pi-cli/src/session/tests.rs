use std::fs;
use std::path::Path;

use pi_core::{AgentMessage, AssistantMessage, Model};
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn user(text: &str) -> AgentMessage {
    AgentMessage::user(text, 7)
}

fn reply() -> AgentMessage {
    let model = Model::new("m", "api", "lab", "");
    let mut reply = AssistantMessage::empty(&model, 8);
    reply.content =
        vec![serde_json::from_value(json!({ "type": "text", "text": "ä\n\u{2028}" })).unwrap()];
    AgentMessage::from(reply)
}

/// Keeps three messages and returns where.
fn kept(dir: &TempDir) -> PathBuf {
    let mut session = Session::new(dir.path(), 1);
    for message in [user("one"), reply(), user("two")] {
        session.append(&message).unwrap();
    }
    session.path().to_owned()
}

fn resumed(dir: &Path) -> Resumed {
    Session::resume(dir, 99).unwrap().expect("a conversation")
}

#[test]
fn what_was_kept_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = kept(&dir);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    let mut talk = resumed(dir.path());
    assert_eq!(talk.messages, [user("one"), reply(), user("two")]);
    assert_eq!(talk.reports, [""; 0]);
    talk.session.append(&user("three")).unwrap();
    drop(talk);
    assert_eq!(resumed(dir.path()).messages.len(), 4);
}

#[test]
fn nothing_is_made_before_the_first_message() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state/deep");
    let mut session = Session::new(&folder, 1);
    assert!(Session::resume(&folder, 2).unwrap().is_none());
    assert!(!folder.exists());
    session.append(&user("one")).unwrap();
    #[cfg(unix)]
    for (path, mode) in [(session.path(), 0o600), (&*folder, 0o700)] {
        use std::os::unix::fs::PermissionsExt as _;
        let found = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn a_torn_last_line_is_cut_off_and_kept_beside() {
    let dir = tempfile::tempdir().unwrap();
    let path = kept(&dir);
    let whole = fs::read(&path).unwrap();
    let last = whole.len() - br#"{"role":"user","content":"two","timestamp":7}"#.len() - 1;
    // Every length that a crash can leave of the last line.
    for length in last + 1..whole.len() - 1 {
        fs::write(&path, &whole[..length]).unwrap();
        let talk = resumed(dir.path());
        assert_eq!(talk.messages.len(), 2, "{length}");
        assert_eq!(talk.reports.len(), 1, "{length}: {:?}", talk.reports);
        assert_eq!(fs::read(&path).unwrap(), whole[..last], "{length}");
        let torn = path.with_extension("jsonl.torn-99");
        assert_eq!(fs::read(&torn).unwrap(), whole[last..length], "{length}");
        fs::remove_file(torn).unwrap();
    }
}

#[test]
fn a_last_line_that_lacks_only_its_end_gets_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = kept(&dir);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let mut talk = resumed(dir.path());
    assert_eq!((talk.messages.len(), talk.reports.len()), (3, 0));
    talk.session.append(&user("three")).unwrap();
    drop(talk);
    assert_eq!(resumed(dir.path()).messages.len(), 4);
}

#[test]
fn lines_that_cannot_be_read_are_reported_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = kept(&dir);
    let mut text = fs::read_to_string(&path).unwrap();
    text.insert_str(
        text.find('\n').unwrap() + 1,
        "{\"role\":\"user\"\n\n\u{0}\n",
    );
    fs::write(&path, &text).unwrap();

    let talk = resumed(dir.path());
    assert_eq!(talk.messages, [user("one"), reply(), user("two")]);
    assert_eq!(talk.reports.len(), 3, "{:?}", talk.reports);
    assert!(
        talk.reports[0].starts_with("line 2 of "),
        "{:?}",
        talk.reports
    );
    assert!(
        talk.reports[1].starts_with("line 4 of "),
        "{:?}",
        talk.reports
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_ne!(talk.session.path(), path);
    drop(talk);
    // The copy is what is gone on with from now on.
    assert_eq!(resumed(dir.path()).reports, [""; 0]);
}

#[cfg(unix)]
#[test]
fn only_one_process_writes_to_a_conversation() {
    let dir = tempfile::tempdir().unwrap();
    kept(&dir);
    let first = resumed(dir.path());
    let error = Session::resume(dir.path(), 3).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(first);
    resumed(dir.path());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_once() {
    let mut session = Session::new(Path::new("/dev"), 1);
    session.file = Some(OpenOptions::new().append(true).open("/dev/full").unwrap());
    assert!(session.append(&user("one")).is_err());
    assert!(session.append(&user("two")).is_ok());
}

#[test]
fn the_state_is_where_the_user_wants_it() {
    for (env, expected) in [
        (
            &[("PI_STATE_DIR", "mine"), ("HOME", "/h")][..],
            Some("mine"),
        ),
        (&[("XDG_STATE_HOME", "/x"), ("HOME", "/h")], Some("/x/pi")),
        (
            &[("XDG_STATE_HOME", "x"), ("HOME", "/h")],
            Some("/h/.local/state/pi"),
        ),
        (
            &[("PI_STATE_DIR", ""), ("HOME", "/h")],
            Some("/h/.local/state/pi"),
        ),
        (&[("USERPROFILE", "/u")], Some("/u/.local/state/pi")),
        (&[], None),
    ] {
        let found = state_dir(|name| {
            let found = env.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).into())
        });
        assert_eq!(found.as_deref(), expected.map(Path::new), "{env:?}");
    }
}

#[test]
fn folders_of_one_name_are_kept_apart() {
    let state = Path::new("/s");
    let one = folder_of(state, Path::new("/a/my work"));
    let other = folder_of(state, Path::new("/b/my work"));
    assert_ne!(one, other);
    assert_eq!(one, Path::new("/s/sessions/my_work-42e963861264d2d5"));
    assert!(folder_of(state, Path::new("/")).starts_with("/s/sessions"));
}
