//! `edit` as the agent loop calls it.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use pi_core::{CancellationToken, ToolContext};
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
        json!({ "path": "f", "edits": null, "oldText": "b", "newText": "X" }),
        json!({ "path": "f", "edits": [], "oldText": "b", "newText": "X" }),
        json!({ "path": "f", "edits": [{ "oldText": "b", "newText": "X" }], "replace_all": null }),
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
async fn an_edit_beside_the_list_is_not_lost() {
    let place = Place::new();
    place.file("f", "a\nb\nc\n");
    let list = json!([{ "oldText": "a", "newText": "1" }]);
    let arguments = json!({ "path": "f", "edits": list, "old_string": "c", "new_string": "3" });
    let text = place.ok("edit", arguments).await;
    assert_eq!(text, "Successfully replaced 2 block(s) in f.");
    assert_eq!(place.content("f"), b"1\nb\n3\n");
}

#[tokio::test]
async fn every_place_is_replaced_if_asked() {
    let place = Place::new();
    place.file("f", "a b a");
    let arguments = json!({ "path": "f", "oldText": "a", "newText": "c", "replaceAll": true });
    let text = place.ok("edit", arguments).await;
    assert_eq!(text, "Successfully replaced 2 block(s) in f.");
    assert_eq!(place.content("f"), b"c b c");
}

#[tokio::test]
async fn what_has_changed_in_a_file_in_utf16_can_be_read() {
    let place = Place::new();
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    // The second byte of one character and the first of the next look like a line break.
    place.file("f", utf16("\u{feff}\u{a0a}\r\ntwo\r\n\u{10a}x"));
    let answered = place.call("edit", one("two", "2\n3")).await;
    assert_eq!(
        place.content("f"),
        utf16("\u{feff}\u{a0a}\r\n2\r\n3\r\n\u{10a}x")
    );
    assert_eq!(
        answered.details["diff"],
        " 1 \u{a0a}\n-2 two\n+2 2\n+3 3\n 3 \u{10a}x"
    );
    assert_eq!(answered.details["firstChangedLine"], 2);
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
            json!({ "path": "nope", "edits": [] }),
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
async fn line_ends_in_utf_16_are_those_of_the_place() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = format!("\u{feff}{text}");
        units.encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    let place = Place::new();
    place.file("f", utf16("a\r\nb\nc\r\nd\n"));
    place.ok("edit", one("b", "x\ny")).await;
    assert_eq!(place.content("f"), utf16("a\r\nx\ny\nc\r\nd\n"));
    place.ok("edit", one("c", "v\nw")).await;
    assert_eq!(place.content("f"), utf16("a\r\nx\ny\nv\r\nw\r\nd\n"));
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

/// Does something behind the back of the tool, right before the file is replaced or after it.
struct Meddling {
    files: LocalFiles,
    changes: Mutex<Vec<&'static str>>,
    abort_before: Option<CancellationToken>,
    abort_after: Option<CancellationToken>,
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
        if let Some(abort) = &self.abort_before {
            abort.cancel();
        }
        let replaced = self.files.replace(path, content, how);
        if let Some(abort) = &self.abort_after {
            abort.cancel();
        }
        replaced
    }
}

fn meddled_with(set_up: impl FnOnce(&mut Meddling)) -> Place {
    let place = Place::with(|set| {
        let mut meddling = Meddling {
            files: LocalFiles::confined(set.folder()).unwrap(),
            changes: Mutex::default(),
            abort_before: None,
            abort_after: None,
        };
        set_up(&mut meddling);
        set.edit(EditConfig::default().with_ops(meddling))
    });
    place.file("f", "a\n");
    place
}

fn meddled(changes: &[&'static str]) -> Place {
    let changes = changes.iter().rev().copied().collect();
    meddled_with(|meddling| meddling.changes = Mutex::new(changes))
}

#[tokio::test]
async fn an_abort_before_the_file_is_replaced_leaves_no_trace() {
    let place = Place::new();
    place.file("f", "a\n");
    let cx = ToolContext::detached("c");
    cx.abort_token().cancel();
    let answered = place.call_in("edit", one("a", "b"), cx).await;
    assert_eq!(answered.text, "Operation aborted");

    let cx = ToolContext::detached("c");
    let token = cx.abort_token().clone();
    let place = meddled_with(|meddling| meddling.abort_before = Some(token));
    let answered = place.call_in("edit", one("a", "b"), cx).await;
    assert_eq!(answered.text, "Operation aborted");
    assert!(answered.is_error);
    assert_eq!(place.content("f"), b"a\n");
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 1);
}

#[tokio::test]
async fn an_abort_after_the_file_was_replaced_changes_nothing() {
    let cx = ToolContext::detached("c");
    let token = cx.abort_token().clone();
    let place = meddled_with(|meddling| meddling.abort_after = Some(token));
    let answered = place.call_in("edit", one("a", "b"), cx).await;
    assert_eq!(answered.text, "Successfully replaced 1 block(s) in f.");
    assert_eq!(place.content("f"), b"b\n");
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
