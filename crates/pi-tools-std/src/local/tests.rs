#![cfg(unix)]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::LocalFiles;
use crate::ops::{FileError, Kind, ReadOps as _, Replace, WriteOps as _};

fn dirs() -> (TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let outer_path = outer.path().canonicalize().unwrap();
    let root = outer_path.join("root");
    fs::create_dir(&root).unwrap();
    fs::write(outer_path.join("secret"), "secret").unwrap();
    (outer, root)
}

fn content(files: &LocalFiles, path: &Path) -> Result<String, FileError> {
    let mut text = String::new();
    files.open(path)?.content.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn links_that_stay_inside_are_followed() {
    let (_outer, root) = dirs();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/f"), "f").unwrap();
    symlink("a/b", root.join("relative")).unwrap();
    symlink(root.join("a"), root.join("absolute")).unwrap();
    symlink("../absolute/b/../b/f", root.join("a/chain")).unwrap();
    symlink("../root/a", root.join("out-and-in")).unwrap();
    let files = LocalFiles::confined(&root).unwrap();
    for path in [
        "a/b/f",
        "relative/f",
        "absolute/b/f",
        "a/chain",
        "out-and-in/b/f",
        "../root/a/b/f",
        "a/../a/b/f",
    ] {
        assert_eq!(content(&files, &root.join(path)).unwrap(), "f", "{path}");
        let identity = files.identity(&root.join(path));
        assert_eq!(identity.path, root.join("a/b/f"), "{path}");
    }
    assert_eq!(
        content(
            &files,
            Path::new("/etc/../").join(root.join("a/b/f")).as_path()
        )
        .unwrap(),
        "f"
    );
}

#[test]
fn what_leads_out_is_refused_without_a_look() {
    let (outer, root) = dirs();
    let outer = outer.path().canonicalize().unwrap();
    symlink(&outer, root.join("up")).unwrap();
    symlink("../secret", root.join("file")).unwrap();
    symlink("file", root.join("second")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    symlink("/proc/self/cwd", root.join("cwd")).unwrap();
    let files = LocalFiles::confined(&root).unwrap();
    let secret = fs::canonicalize(outer.join("secret")).unwrap();
    for path in [
        root.join(".."),
        root.join("../secret"),
        root.join("up/secret"),
        root.join("up/no-such-file"),
        root.join("file"),
        root.join("second"),
        root.join(format!("magic{}", secret.display())),
        root.join("magic/etc/passwd"),
        root.join("cwd/Cargo.toml"),
        PathBuf::from("/etc/passwd"),
        PathBuf::from("/proc/self/root/etc/passwd"),
        secret,
    ] {
        let shown = path.display();
        let refused = |result: Result<(), FileError>| {
            assert!(
                matches!(result, Err(FileError::Outside { .. })),
                "{shown}: {result:?}"
            );
        };
        refused(files.open(&path).map(|_| ()));
        refused(files.stat(&path).map(|_| ()));
        refused(files.list(&path).map(|_| ()));
        refused(files.replace(&path, b"x", &Replace::default()).map(|_| ()));
    }
    assert_eq!(fs::read(outer.join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&outer).unwrap().count(), 2);
}

#[test]
fn further_roots_are_used_as_they_are_given() {
    let (outer, root) = dirs();
    let outer = outer.path().canonicalize().unwrap();
    for name in ["shown", "shared"] {
        fs::create_dir(outer.join(name)).unwrap();
        fs::write(outer.join(name).join("f"), name).unwrap();
        symlink(outer.join(name), root.join(name)).unwrap();
    }
    let files = LocalFiles::confined(&root)
        .unwrap()
        .with_read_root(outer.join("shown"))
        .unwrap()
        .with_write_root(outer.join("shared"))
        .unwrap();
    let put = |path: &Path| files.replace(path, b"new", &Replace::default()).map(|_| ());
    for base in [&outer, &root] {
        assert_eq!(content(&files, &base.join("shown/f")).unwrap(), "shown");
        let refused = put(&base.join("shown/f"));
        assert!(
            matches!(refused, Err(FileError::Outside { .. })),
            "{refused:?}"
        );
    }
    put(&root.join("shared/f")).unwrap();
    assert_eq!(fs::read(outer.join("shared/f")).unwrap(), b"new");
}

#[test]
fn a_root_may_be_named_by_a_link() {
    let (outer, root) = dirs();
    let outer = outer.path().canonicalize().unwrap();
    fs::write(root.join("f"), "f").unwrap();
    symlink(&root, outer.join("alias")).unwrap();
    let files = LocalFiles::confined(outer.join("alias")).unwrap();
    assert_eq!(files.root(), root);
    for base in [&root, &outer.join("alias")] {
        assert_eq!(content(&files, &base.join("f")).unwrap(), "f");
        assert_eq!(files.identity(&base.join("f")).path, root.join("f"));
    }
}

#[test]
fn two_names_of_one_file_are_the_same() {
    let (_outer, root) = dirs();
    fs::write(root.join("a"), "x").unwrap();
    fs::hard_link(root.join("a"), root.join("b")).unwrap();
    symlink("a", root.join("c")).unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    symlink("dir", root.join("link")).unwrap();
    let files = LocalFiles::confined(&root).unwrap();
    let same = |a: &str, b: &str| {
        let (a, b) = (files.identity(&root.join(a)), files.identity(&root.join(b)));
        a.is_same(&b)
    };
    assert!(same("a", "b"));
    assert!(same("a", "c"));
    assert!(same("dir/new", "link/./new"));
    assert!(same("new/deep/x", "new/deep/../deep/x"));
    assert!(!same("dir/new", "dir/other"));
}

#[test]
fn a_round_of_links_ends() {
    let (_outer, root) = dirs();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    symlink(".", root.join("here")).unwrap();
    let files = LocalFiles::confined(&root).unwrap();
    assert!(files.open(&root.join("a")).is_err());
    assert!(
        files
            .replace(&root.join("a"), b"x", &Replace::default())
            .is_err()
    );
    files.identity(&root.join("a"));
    let many = "here/".repeat(100);
    assert!(files.stat(&root.join(many)).is_err());
}

#[test]
fn unconfined_files_are_all_files() {
    let (outer, root) = dirs();
    let outer = outer.path().canonicalize().unwrap();
    symlink(outer.join("secret"), root.join("file")).unwrap();
    let files = LocalFiles::unconfined().unwrap();
    assert_eq!(content(&files, &root.join("file")).unwrap(), "secret");
    assert_eq!(content(&files, &root.join("../secret")).unwrap(), "secret");
    files
        .replace(&outer.join("new"), b"x", &Replace::default())
        .unwrap();
    assert_eq!(files.stat(&outer.join("new")).unwrap().kind, Kind::File);
}

/// A step in making a tree: names and targets come from a small set, so that they meet.
#[derive(Debug, Clone)]
enum Make {
    Folder(Vec<u8>),
    File(Vec<u8>),
    Link(Vec<u8>, Target),
}

#[derive(Debug, Clone)]
enum Target {
    Relative(Vec<u8>),
    /// Below the root, written from the top.
    Absolute(Vec<u8>),
    /// Outside.
    Away(Vec<u8>),
}

fn parts() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0_u8..6, 1..5)
}

fn make() -> impl Strategy<Value = Make> {
    let target = prop_oneof![
        parts().prop_map(Target::Relative),
        parts().prop_map(Target::Absolute),
        parts().prop_map(Target::Away),
    ];
    prop_oneof![
        parts().prop_map(Make::Folder),
        parts().prop_map(Make::File),
        (parts(), target).prop_map(|(path, target)| Make::Link(path, target)),
    ]
}

fn path_of(parts: &[u8]) -> PathBuf {
    parts
        .iter()
        .map(|part| ["a", "b", "c", "..", ".", "d"][usize::from(*part)])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_path_through_any_tree_of_links_leads_out(
        tree in prop::collection::vec(make(), 0..16),
        paths in prop::collection::vec(parts(), 1..12),
    ) {
        let (outer, root) = dirs();
        let outer = outer.path().canonicalize().unwrap();
        fs::create_dir_all(outer.join("a/b/c")).unwrap();
        for name in ["b", "a/d", "a/b/d"] {
            fs::write(outer.join(name), "secret").unwrap();
        }
        let before = listing(&outer, &root);
        for step in &tree {
            // What does not fit into the tree as it is, is left out; so is what would leave it.
            let inside = |parts: &[u8]| {
                let path = path_of(parts);
                let leaves = path.components().any(|part| part.as_os_str() == "..");
                (!leaves).then(|| root.join(path))
            };
            let _ = match step {
                Make::Folder(path) => inside(path).map(|path| fs::create_dir_all(real(&root, &path)?)),
                Make::File(path) => inside(path).map(|path| fs::write(real(&root, &path)?, "inside")),
                Make::Link(path, target) => inside(path).map(|path| {
                    let target = match target {
                        Target::Relative(parts) => path_of(parts),
                        Target::Absolute(parts) => root.join(path_of(parts)),
                        Target::Away(parts) => outer.join(path_of(parts)),
                    };
                    symlink(target, real(&root, &path)?)
                }),
            };
        }
        let files = LocalFiles::confined(&root).unwrap();
        for parts in &paths {
            let path = root.join(path_of(parts));
            if let Ok(text) = content(&files, &path) {
                prop_assert_eq!(text, "inside");
            }
            if let Ok(real) = path.canonicalize() {
                prop_assert!(files.stat(&path).is_err() || real.starts_with(&root));
                // What the system finds inside is found here, too.
                prop_assert!(files.stat(&path).is_ok() || !real.starts_with(&root));
            }
            let _ = files.replace(&path, b"inside", &Replace::default());
        }
        prop_assert_eq!(listing(&outer, &root), before);
    }
}

/// Refuses to make anything outside of the root.
fn real(root: &Path, path: &Path) -> std::io::Result<PathBuf> {
    let parent = path.parent().unwrap().canonicalize()?;
    if parent.starts_with(root) && !path.is_symlink() {
        Ok(path.to_owned())
    } else {
        Err(std::io::ErrorKind::PermissionDenied.into())
    }
}

/// Lists everything below a folder but one, with its content.
fn listing(folder: &Path, but: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path == but {
            continue;
        }
        if path.is_dir() {
            all.extend(listing(&path, but));
            all.push((path, Vec::new()));
        } else {
            let content = fs::read(&path).unwrap();
            all.push((path, content));
        }
    }
    all.sort();
    all
}
