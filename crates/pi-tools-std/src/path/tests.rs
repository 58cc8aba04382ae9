use std::fs;
use std::path::{Path, PathBuf};

use super::Base;
use crate::local::LocalFiles;

fn base(folder: &Path) -> Base {
    Base {
        folder: folder.to_owned(),
        home: Some(PathBuf::from("/me")),
    }
}

#[test]
fn paths_become_absolute() {
    let base = base(Path::new("/w"));
    for (raw, expected) in [
        ("a.txt", "/w/a.txt"),
        ("./a/../b", "/w/./a/../b"),
        ("/etc/x", "/etc/x"),
        ("@a.txt", "/w/a.txt"),
        ("@@a.txt", "/w/@a.txt"),
        ("a\u{a0}b\u{3000}c.txt", "/w/a b c.txt"),
        ("~", "/me"),
        ("~/x", "/me/x"),
        ("~user/x", "/w/~user/x"),
        ("@~/x", "/me/x"),
        ("file:///a%20b/c", "/a b/c"),
        ("file://localhost/c", "/c"),
        ("file://other/c", "/w/file://other/c"),
        ("-n", "/w/-n"),
    ] {
        assert_eq!(base.new_file(raw).unwrap(), Path::new(expected), "{raw}");
    }
}

#[test]
fn paths_that_can_be_none_are_refused() {
    let base = base(Path::new("/w"));
    for (raw, expected) in [
        ("", "path must not be empty."),
        ("@", "path must not be empty."),
        ("a\0b", "path must not contain a NUL byte."),
        ("file:///a%00b", "path must not contain a NUL byte."),
    ] {
        assert_eq!(base.new_file(raw).unwrap_err().to_string(), expected);
    }
}

#[track_caller]
fn check_variant(on_disk: &str, given: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ops = LocalFiles::confined(dir.path()).unwrap();
    fs::write(dir.path().join(on_disk), "x").unwrap();
    let resolved = base(ops.root()).existing(&ops, given).unwrap();
    assert_eq!(resolved.path, ops.root().join(on_disk), "{given}");
    assert_eq!(resolved.is_variant, on_disk != given, "{given}");
}

#[test]
fn a_file_is_found_by_other_spellings_of_its_name() {
    check_variant("plain.txt", "plain.txt");
    check_variant("@a.txt", "@a.txt");
    check_variant("Shot at 1.05\u{202f}PM.png", "Shot at 1.05 PM.png");
    check_variant("Shot at 1.05\u{202f}pm.png", "Shot at 1.05 pm.png");
    check_variant("e\u{301}te\u{301}.txt", "\u{e9}t\u{e9}.txt");
    check_variant("\u{e9}t\u{e9}.txt", "e\u{301}te\u{301}.txt");
    check_variant("it\u{2019}s.txt", "it's.txt");
    check_variant("l\u{2019}e\u{301}te\u{301}.txt", "l'\u{e9}t\u{e9}.txt");
}

#[test]
fn the_name_without_the_at_sign_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let ops = LocalFiles::confined(dir.path()).unwrap();
    fs::write(dir.path().join("@a"), "x").unwrap();
    fs::write(dir.path().join("a"), "x").unwrap();
    let resolved = base(ops.root()).existing(&ops, "@a").unwrap();
    assert_eq!(resolved.path, ops.root().join("a"));
    assert!(!resolved.is_variant);
}

#[test]
fn a_missing_file_keeps_the_name_that_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let ops = LocalFiles::confined(dir.path()).unwrap();
    let resolved = base(ops.root()).existing(&ops, "@it's \u{e9}").unwrap();
    assert_eq!(resolved.path, ops.root().join("it's \u{e9}"));
}
