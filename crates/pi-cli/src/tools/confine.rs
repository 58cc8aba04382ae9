//! Keeps paths inside of a folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use pi_core::ToolError;

/// A folder, and the promise that no path leads out of it.
///
/// A path is followed one part at a time, links included, and refused at the first part that leaves,
/// so that nothing can be learned about what lies outside. Somebody who swaps a part for a link
/// between the check and the use can still get out: this keeps a model in, not a local attacker.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    /// Canonical.
    root: PathBuf,
}

impl Folder {
    /// Takes a folder.
    ///
    /// # Errors
    /// If it does not exist or is no folder.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if root.is_dir() {
            Ok(Self { root })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Finds what a path of the model means: a canonical path inside of the folder.
    ///
    /// # Errors
    /// If the path is broken, leads out, or to nothing.
    pub(crate) fn find(&self, path: &str) -> Result<PathBuf, ToolError> {
        if path.is_empty() {
            return Err("path must not be empty.".into());
        }
        if path.contains('\0') {
            return Err("path must not contain a NUL byte.".into());
        }
        let outside = || self.outside(path);
        let mut relative = Path::new(path);
        if relative.has_root() || relative.is_absolute() {
            relative = relative.strip_prefix(&self.root).map_err(|_| outside())?;
        }
        let mut found = self.root.clone();
        for part in relative.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => {
                    found = self.step(&found, name, path)?.ok_or_else(outside)?;
                }
                Component::ParentDir if found != self.root => {
                    found.pop();
                }
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(outside());
                }
            }
        }
        Ok(found)
    }

    /// Returns true if a canonical path is inside.
    pub(crate) fn contains(&self, canonical: &Path) -> bool {
        canonical.starts_with(&self.root)
    }

    /// Goes on by one part; `None` if that leads out.
    fn step(&self, from: &Path, name: &OsStr, path: &str) -> Result<Option<PathBuf>, ToolError> {
        match from.join(name).canonicalize() {
            Ok(next) => Ok(self.contains(&next).then_some(next)),
            Err(error) => Err(failure(&error, path)),
        }
    }

    fn outside(&self, path: &str) -> ToolError {
        let root = self.root.display();
        ToolError::new(format!(
            "{path} is outside the folder {root}. Only paths inside it can be used."
        ))
    }
}

/// Says to the model why a path cannot be used.
pub(super) fn failure(error: &io::Error, path: &str) -> ToolError {
    ToolError::new(match error.kind() {
        io::ErrorKind::NotFound => format!("File not found: {path}"),
        io::ErrorKind::PermissionDenied => format!("Permission denied: {path}"),
        io::ErrorKind::NotADirectory => {
            format!("File not found: {path} (a part of it is not a directory)")
        }
        _ => format!("Cannot open {path}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn paths_inside_are_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/c.txt"), "c").unwrap();
        let folder = Folder::new(dir.path()).unwrap();
        let absolute = folder.root().join("a/b/c.txt");
        for path in [
            "a/b/c.txt",
            "./a/./b/c.txt",
            "a/../a/b/c.txt",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(folder.find(path).unwrap(), absolute, "{path}");
        }
        assert_eq!(folder.find(".").unwrap(), folder.root());
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(outer.path().join("root-2")).unwrap();
        fs::write(outer.path().join("secret"), "s").unwrap();
        let folder = Folder::new(&root).unwrap();
        let sibling = outer.path().join("root-2");
        let mut paths = vec![
            "..",
            "../secret",
            "../missing",
            "sub/../../secret",
            "/",
            "/etc/passwd",
            sibling.to_str().unwrap(),
        ];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outer.path(), root.join("out")).unwrap();
            std::os::unix::fs::symlink("../secret", root.join("file")).unwrap();
            paths.extend(["out", "out/secret", "out/missing", "out/root/sub", "file"]);
        }
        for path in paths {
            let error = folder.find(path).unwrap_err().to_string();
            assert!(error.contains("is outside the folder"), "{path}: {error}");
        }
    }

    #[test]
    fn broken_and_missing_paths_are_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let folder = Folder::new(dir.path()).unwrap();
        for (path, expected) in [
            ("", "path must not be empty."),
            ("a\0b", "path must not contain a NUL byte."),
            ("nope.txt", "File not found: nope.txt"),
            (
                "file/x",
                "File not found: file/x (a part of it is not a directory)",
            ),
        ] {
            assert_eq!(
                folder.find(path).unwrap_err().to_string(),
                expected,
                "{path:?}"
            );
        }
        assert!(Folder::new(&dir.path().join("file")).is_err());
    }
}
