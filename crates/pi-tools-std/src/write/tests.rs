use std::fs;

use pi_core::ToolContext;
use serde_json::json;

use crate::testing::Place;
use crate::{Limits, Overwrite, Workspace, WriteConfig};

#[tokio::test]
async fn content_arrives_byte_for_byte_and_folders_are_made() {
    let place = Place::new();
    let content = "\u{feff}a\r\nb\n\u{1f3af}";
    let answered = place
        .call("write", json!({ "path": "a/b/c.txt", "content": content }))
        .await;
    assert_eq!(answered.text, "Successfully wrote 12 bytes to a/b/c.txt");
    assert_eq!(
        answered.details,
        json!({ "created": true, "bytes": 12, "atomic": true })
    );
    assert_eq!(place.content("a/b/c.txt"), content.as_bytes());
}

#[tokio::test]
async fn details_show_what_has_changed_in_a_text() {
    let place = Place::new();
    place.file("a", "one\ntwo\n");
    place.file("bin", b"a\0b");
    let answered = place
        .call("write", json!({ "path": "a", "content": "one\n2\n" }))
        .await;
    assert_eq!(answered.details["previousBytes"], 8);
    assert_eq!(answered.details["diff"], " 1 one\n-2 two\n+2 2");
    let answered = place
        .call("write", json!({ "path": "bin", "content": "x" }))
        .await;
    assert_eq!(answered.details["diff"], json!(null));
}

#[tokio::test]
async fn a_name_with_an_at_sign_is_kept_if_only_that_is_there() {
    let place = Place::new();
    place.file("@a", "old");
    place
        .ok("write", json!({ "path": "@a", "content": "new" }))
        .await;
    assert_eq!(place.content("@a"), b"new");
    place
        .ok("write", json!({ "path": "@b", "content": "new" }))
        .await;
    assert_eq!(place.content("b"), b"new");
}

#[tokio::test]
async fn one_name_in_two_spellings_keeps_its_order() {
    let place = Place::new();
    let write = place.call("write", json!({ "path": "caf\u{e9}", "content": "new" }));
    let read = place.call("read", json!({ "path": "cafe\u{301}" }));
    let (_, read) = futures_util::future::join(write, read).await;
    assert_eq!(read.text, "new");
}

#[tokio::test]
async fn an_empty_file_can_be_written() {
    let place = Place::new();
    let text = place
        .ok("write", json!({ "path": "a", "content": "" }))
        .await;
    assert_eq!(text, "Successfully wrote 0 bytes to a");
    assert_eq!(place.content("a"), b"");
}

#[tokio::test]
async fn what_cannot_be_written_gets_a_clear_error() {
    let limits = Limits {
        write_bytes: 10,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    place.file("file", "x");
    place.file("dir/x", "x");
    place.file(".git/config", "x");
    place.file("sub/.git/hooks/pre-commit", "x");
    let root = place.root().canonicalize().unwrap();
    for (path, expected) in [
        ("", "path must not be empty.".to_owned()),
        (
            "dir",
            "dir is a directory. Only files can be written.".to_owned(),
        ),
        (
            "file/x/y",
            "Cannot create file/x/y: file is not a directory.".to_owned(),
        ),
        (
            ".git/config",
            ".git/config is protected and cannot be changed.".to_owned(),
        ),
        (
            ".git/new",
            ".git/new is protected and cannot be changed.".to_owned(),
        ),
        (
            "sub/.git/hooks/pre-commit",
            "sub/.git/hooks/pre-commit is protected and cannot be changed.".to_owned(),
        ),
        (
            "../x",
            format!(
                "../x is outside the workspace {}. Only paths inside it can be used.",
                root.display()
            ),
        ),
    ] {
        let arguments = json!({ "path": path, "content": "new" });
        assert_eq!(place.fails("write", arguments).await, expected);
    }
    assert_eq!(
        place
            .fails("write", json!({ "path": "file", "content": "01234567890" }))
            .await,
        "The content is 11B, the limit is 10B; file was not changed."
    );
    assert_eq!(place.content("file"), b"x");
    assert_eq!(place.content(".git/config"), b"x");
}

#[tokio::test]
async fn a_file_that_somebody_else_changed_is_not_overwritten() {
    let place = Place::new();
    let path = place.file("a", "old");
    place.ok("read", json!({ "path": "a" })).await;
    fs::write(&path, "changed").unwrap();
    assert_eq!(
        place
            .fails("write", json!({ "path": "a", "content": "new" }))
            .await,
        "a changed on disk after you read it. Read it again before overwriting."
    );
    place.ok("read", json!({ "path": "a" })).await;
    place
        .ok("write", json!({ "path": "a", "content": "new" }))
        .await;
    place
        .ok("write", json!({ "path": "a", "content": "newer" }))
        .await;
    assert_eq!(place.content("a"), b"newer");
}

#[tokio::test]
async fn strict_overwriting_needs_a_read_first() {
    let config = WriteConfig::default().with_overwrite(Overwrite::Strict);
    let place = Place::with(|set| set.write(config));
    place.file("a", "old");
    assert_eq!(
        place
            .fails("write", json!({ "path": "a", "content": "new" }))
            .await,
        "a exists but was not read yet. Read it first, or use edit."
    );
    place
        .ok("write", json!({ "path": "b", "content": "new" }))
        .await;
    place.ok("read", json!({ "path": "a" })).await;
    place
        .ok("write", json!({ "path": "a", "content": "new" }))
        .await;
}

#[tokio::test]
async fn allowed_overwriting_asks_nothing() {
    let config = WriteConfig::default().with_overwrite(Overwrite::Allow);
    let place = Place::with(|set| set.write(config));
    let path = place.file("a", "old");
    place.ok("read", json!({ "path": "a" })).await;
    fs::write(&path, "changed").unwrap();
    place
        .ok("write", json!({ "path": "a", "content": "new" }))
        .await;
}

#[tokio::test]
async fn protected_paths_are_those_that_the_embedder_names() {
    let place = Place::on(
        |root| {
            let workspace = Workspace::confined(root).unwrap();
            workspace.protect("conf").allow_git(true)
        },
        |set| set,
    );
    for (path, allowed) in [
        ("conf/x", false),
        ("conf", false),
        (".git/x", true),
        ("config", true),
    ] {
        let answered = place
            .call("write", json!({ "path": path, "content": "x" }))
            .await;
        assert_eq!(!answered.is_error, allowed, "{path}: {}", answered.text);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn mode_links_and_other_names_survive() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let place = Place::new();
    let path = place.file("script", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    place.link("link", "script");
    place
        .ok("write", json!({ "path": "link", "content": "new" }))
        .await;
    assert!(
        fs::symlink_metadata(place.root().join("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(place.content("script"), b"new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o754);

    fs::hard_link(&path, place.root().join("second")).unwrap();
    let answered = place
        .call("write", json!({ "path": "script", "content": "n" }))
        .await;
    assert_eq!(answered.details["atomic"], false);
    assert_eq!(place.content("second"), b"n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_written_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let path = place.file("a", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let written = place
        .call("write", json!({ "path": "a", "content": "new" }))
        .await;
    // The mode binds everybody but the superuser.
    if fs::OpenOptions::new().append(true).open(&path).is_err() {
        assert_eq!(written.text, "Permission denied: a");
        assert_eq!(place.content("a"), b"old");
    } else {
        assert_eq!(place.content("a"), b"new");
    }
}

#[tokio::test]
async fn an_abort_before_the_start_touches_nothing() {
    let place = Place::new();
    let cx = ToolContext::detached("c");
    cx.abort_token().cancel();
    let answered = place
        .call_in("write", json!({ "path": "d/a", "content": "new" }), cx)
        .await;
    assert_eq!(answered.text, "Operation aborted");
    assert!(!place.root().join("d").exists());
}
