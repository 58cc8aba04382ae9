//! `edit` as the agent loop calls it.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::ops::{
    FileError, Identity, Listing, OpenFile, ReadOps, Replace, Replaced, Stat, WriteOps,
};
use crate::testing::Place;
use crate::{EditConfig, Limits, LocalFiles};

fn one(old: &str, new: &str) -> Value {
    json!({ "path": "f", "edits": [{ "oldText": old, "newText": new }] })
}

#[tokio::test]
async fn every_form_of_the_arguments_is_understood() {
    for arguments in [
        one("b", "X"),
        json!({ "path": "f", "oldText": "b", "newText": "X" }),
        json!({ "file_path": "f", "old_string": "b", "new_string": "X", "replace_all": false }),
        json!({ "path": "f", "edits": { "old_str": "b", "new_str": "X" } }),
        json!({ "path": "f", "edits": "[{\"oldText\": \"b\", \"newText\": \"X\"}]" }),
        json!({ "path": "f", "edits": "{\"oldText\": \"b\", \"newText\": \"X\"}" }),
        json!({ "path": "f", "edits": [{ "oldText": "b", "newText": "X", "replaceAll": null }] }),
    ] {
        let place = Place::new();
        place.file("f", "a\nb\nc\n");
        let text = place.ok("edit", arguments.clone()).await;
        assert_eq!(
            text, "Successfully replaced 1 block(s) in f.",
            "{arguments}"
        );
        assert_eq!(place.content("f"), b"a\nX\nc\n", "{arguments}");
    }
}

#[tokio::test]
async fn details_show_what_has_changed() {
    let place = Place::new();
    place.file("f", "one\n\u{201c}two\u{201d}  \nthree\n");
    let edits = json!([
        { "oldText": "one", "newText": "1" },
        { "oldText": "\"two\"\nthree", "newText": "2\n3" },
    ]);
    let answered = place
        .call("edit", json!({ "path": "f", "edits": edits }))
        .await;
    assert_eq!(
        answered.text,
        "Successfully replaced 2 block(s) in f. Matched after ignoring differences in whitespace, \
         quotes or dashes in edits[1]."
    );
    assert_eq!(place.content("f"), b"1\n2\n3\n");
    let details = &answered.details;
    assert_eq!(details["fuzzy"], json!([1]));
    assert_eq!(details["replaced"], 2);
    assert_eq!(details["firstChangedLine"], 1);
    assert_eq!(details["atomic"], true);
    let diff = details["diff"].as_str().unwrap();
    assert!(
        diff.contains("-1 one\n") && diff.contains("+1 1\n"),
        "{diff}"
    );
    let patch = details["patch"].as_str().unwrap();
    assert!(patch.contains("@@ -1,3 +1,3 @@"), "{patch}");
}

#[tokio::test]
async fn what_cannot_be_edited_gets_a_clear_error() {
    let limits = Limits {
        edit_bytes: 100,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    place.file("f", "a\nb\na\n");
    place.file("bin", b"a\0b");
    place.file("big", "x".repeat(200));
    place.file("dir/x", "x");
    place.file(".git/config", "x");
    let root = place.root().canonicalize().unwrap();
    let path = |path: &str| json!({ "path": path, "edits": [{ "oldText": "x", "newText": "y" }] });
    for (arguments, expected) in [
        (
            json!({ "path": "f", "edits": [] }),
            "Edit tool input is invalid. edits must contain at least one replacement.".to_owned(),
        ),
        (
            json!({ "path": "f" }),
            "Edit tool input is invalid. edits must contain at least one replacement.".to_owned(),
        ),
        (
            path("nope"),
            "Could not edit file: nope. File not found. Use write to create it.".to_owned(),
        ),
        (path("dir"), "dir is a directory. Use ls to list it.".to_owned()),
        (
            path("bin"),
            "bin is a binary file (3B). Use bash (for example file, xxd or strings) to inspect it."
                .to_owned(),
        ),
        (path("big"), "big is 200B, edit takes files up to 100B.".to_owned()),
        (path(".git/config"), ".git/config is protected and cannot be changed.".to_owned()),
        (
            path("../x"),
            format!(
                "../x is outside the workspace {}. Only paths inside it can be used.",
                root.display()
            ),
        ),
        (one("", "x"), "oldText must not be empty in f.".to_owned()),
        (
            one("a", "x"),
            "Found 2 occurrences of the text in f. The text must be unique. Please provide more \
             context to make it unique.\nLines: 1, 3"
                .to_owned(),
        ),
        (
            json!({ "path": "f", "edits": [
                { "oldText": "a\nb", "newText": "x" }, { "oldText": "b\na", "newText": "y" },
            ] }),
            "edits[0] and edits[1] overlap in f. Merge them into one edit or target disjoint regions."
                .to_owned(),
        ),
    ] {
        assert_eq!(place.fails("edit", arguments.clone()).await, expected, "{arguments}");
    }
    assert_eq!(place.content("f"), b"a\nb\na\n");
}

#[tokio::test]
async fn one_edit_that_fails_leaves_the_file_alone() {
    let place = Place::new();
    place.file("f", "a\nb\n");
    let edits = json!([{ "oldText": "a", "newText": "x" }, { "oldText": "zzz", "newText": "y" }]);
    let text = place
        .fails("edit", json!({ "path": "f", "edits": edits }))
        .await;
    assert!(text.starts_with("Could not find edits[1] in f. "), "{text}");
    assert_eq!(place.content("f"), b"a\nb\n");
}

#[tokio::test]
async fn a_file_that_was_edited_can_be_written_and_edited_again() {
    let place = Place::new();
    place.file("f", "a\n");
    place.ok("read", json!({ "path": "f" })).await;
    place.ok("edit", one("a", "b")).await;
    place.ok("edit", one("b", "c")).await;
    place
        .ok("write", json!({ "path": "f", "content": "d" }))
        .await;
}

#[cfg(unix)]
#[tokio::test]
async fn mode_and_links_survive_an_edit() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let path = place.file("real", "a\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    place.link("f", "real");
    place.ok("edit", one("a", "b")).await;
    assert!(place.root().join("f").is_symlink());
    assert_eq!(place.content("real"), b"b\n");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o751
    );
}

/// Changes the file behind the back of the tool, as often as it is told, right before it is
/// replaced.
struct Meddling {
    files: LocalFiles,
    changes: Mutex<Vec<&'static str>>,
}

impl ReadOps for Meddling {
    fn stat(&self, path: &Path) -> Result<Stat, FileError> {
        self.files.stat(path)
    }

    fn open(&self, path: &Path) -> Result<OpenFile, FileError> {
        self.files.open(path)
    }

    fn list(&self, folder: &Path) -> Result<Listing, FileError> {
        self.files.list(folder)
    }

    fn identity(&self, path: &Path) -> Identity {
        self.files.identity(path)
    }
}

impl WriteOps for Meddling {
    fn replace(
        &self,
        path: &Path,
        content: &[u8],
        how: &Replace<'_>,
    ) -> Result<Replaced, FileError> {
        if let Some(change) = self.changes.lock().unwrap().pop() {
            fs::write(path, change)?;
        }
        self.files.replace(path, content, how)
    }
}

fn meddled(changes: &[&'static str]) -> Place {
    let changes = Mutex::new(changes.iter().rev().copied().collect());
    let place = Place::with(|set| {
        let files = LocalFiles::confined(set.folder()).unwrap();
        set.edit(EditConfig::default().with_ops(Meddling { files, changes }))
    });
    place.file("f", "a\n");
    place
}

#[tokio::test]
async fn f64_a_file_that_changed_meanwhile_is_matched_anew() {
    let place = meddled(&["new line\na\n"]);
    place.ok("edit", one("a\n", "b\n")).await;
    assert_eq!(place.content("f"), b"new line\nb\n");
}

#[tokio::test]
async fn f64_a_file_that_changes_all_the_time_is_left_alone() {
    let place = meddled(&["1\na\n", "12\na\n"]);
    assert_eq!(
        place.fails("edit", one("a\n", "b\n")).await,
        "f is being changed by another program. Read it again."
    );
    assert_eq!(place.content("f"), b"12\na\n");
}

#[tokio::test]
async fn f64_a_file_without_the_text_after_its_change_is_left_alone() {
    let place = meddled(&["something else\n"]);
    let text = place.fails("edit", one("a\n", "b\n")).await;
    assert!(
        text.starts_with("Could not find the exact text in f."),
        "{text}"
    );
    assert_eq!(place.content("f"), b"something else\n");
}
