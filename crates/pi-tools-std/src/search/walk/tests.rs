use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_core::CancellationToken;

use super::{Budget, Walk};
use crate::LocalFiles;

fn walked(root: &Path, folder: &str) -> (String, u64) {
    let ops = LocalFiles::confined(root).unwrap();
    let top = ops.root().to_owned();
    let budget = Budget::new(&CancellationToken::new(), Duration::from_secs(60));
    let mut walk = Walk::new(Arc::new(ops), &top, &top.join(folder), budget).unwrap();
    let steps: Vec<_> = walk
        .by_ref()
        .map(|step| step.shown.to_string_lossy().into_owned())
        .collect();
    (steps.join(" "), walk.unreadable)
}

#[test]
fn the_walk_is_sorted_and_leaves_git_out() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["b/y", "b/x", "a", "b.txt", ".git/x", "c/.git/x", ".z"] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    assert_eq!(walked(dir.path(), "").0, ".z a b b/x b/y b.txt c");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    std::os::unix::fs::symlink("..", dir.path().join("a/up")).unwrap();
    std::os::unix::fs::symlink("/", dir.path().join("out")).unwrap();
    assert_eq!(walked(dir.path(), "").0, "a a/up out");
}

#[test]
fn rules_hold_below_their_folder_and_the_inner_ones_win() {
    let dir = tempfile::tempdir().unwrap();
    let file = |path: &str, content: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    file(".gitignore", "*.o\n/only-top\nbuild/\nbroken[\n");
    file("a/.gitignore", "!keep.o\nlocal\n");
    for path in [
        "x.o",
        "only-top",
        "a/only-top",
        "a/x.o",
        "a/keep.o",
        "a/local",
        "local",
        "a/b/build/x",
    ] {
        file(path, "");
    }
    assert_eq!(
        walked(dir.path(), "").0,
        ".gitignore a a/.gitignore a/b a/keep.o a/only-top local"
    );
    assert_eq!(walked(dir.path(), "a").0, ".gitignore b keep.o only-top");
    assert_eq!(walked(dir.path(), "a/b/build").0, "x");
}

#[test]
fn a_broken_off_repository_has_its_own_rules() {
    let dir = tempfile::tempdir().unwrap();
    let file = |path: &str, content: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    file(".git/info/exclude", "secret\n");
    file(".gitignore", "*.o\n");
    file("inner/.git/HEAD", "");
    for path in ["secret", "x.o", "inner/secret", "inner/x.o"] {
        file(path, "");
    }
    assert_eq!(
        walked(dir.path(), "").0,
        ".gitignore inner inner/secret inner/x.o"
    );
}
