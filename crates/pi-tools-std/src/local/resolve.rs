//! Where a path leads, links followed by hand and never out of the roots.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::open_folder;
use crate::ops::FileError;

/// The most links in one path, as on Linux.
const MAX_LINKS: usize = 40;

/// The folders that may be used.
#[derive(Debug, Clone, Default)]
pub(super) struct Roots(Vec<Root>);

/// One folder that may be used.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// The path by which it was named; models may use that one.
    named: PathBuf,
    /// Its real path, without links.
    pub(super) real: PathBuf,
    pub(super) dir: Arc<Dir>,
    pub(super) writable: bool,
}

/// A path below a root.
pub(super) struct Found<'a> {
    pub(super) root: &'a Root,
    /// Relative; `.` for the root itself.
    pub(super) path: PathBuf,
}

impl Roots {
    pub(super) fn add(&mut self, path: &Path, writable: bool) -> io::Result<()> {
        let (real, dir) = open_folder(path)?;
        self.0.push(Root {
            named: path.to_owned(),
            real,
            dir,
            writable,
        });
        Ok(())
    }

    pub(super) fn first(&self) -> &Path {
        self.0.first().map_or(Path::new("/"), |root| &root.real)
    }

    pub(super) fn outside(&self) -> FileError {
        FileError::Outside {
            root: self.first().to_owned(),
        }
    }

    /// Finds the root that a path lies below by its words alone; the innermost if there are several.
    pub(super) fn below(&self, path: &Path) -> Option<Found<'_>> {
        let mut found: Option<Found<'_>> = None;
        for root in &self.0 {
            let rest = path
                .strip_prefix(&root.real)
                .or_else(|_| path.strip_prefix(&root.named));
            let Ok(rest) = rest else { continue };
            // Of equal ones the writable root counts.
            let better = found.as_ref().is_none_or(|found| {
                let (old, new) = (found.path.as_os_str().len(), rest.as_os_str().len());
                new < old || (new == old && root.writable)
            });
            if better {
                found = Some(Found {
                    root,
                    path: rest.to_owned(),
                });
            }
        }
        let mut found = found?;
        if found.path.as_os_str().is_empty() {
            found.path.push(".");
        }
        Some(found)
    }

    /// Follows every link of a path. What does not exist yet is taken as it is.
    ///
    /// # Errors
    /// [`FileError::Outside`] at the first part outside of all roots, without a look at it.
    pub(super) fn follow(&self, path: &Path) -> Result<Found<'_>, FileError> {
        let mut parts = self.parts(path);
        let mut at = PathBuf::new();
        let mut links = 0;
        while let Some(part) = parts.pop_front() {
            let name = match part {
                Part::Top(top) => {
                    at = top;
                    continue;
                }
                Part::Up => {
                    at.pop();
                    continue;
                }
                Part::Down(name) => name,
            };
            let next = at.join(name);
            let Some(found) = self.below(&next) else {
                // Above a root nothing is a link: its path is the real one.
                if self.0.iter().any(|root| root.real.starts_with(&next)) {
                    at = next;
                    continue;
                }
                return Err(self.outside());
            };
            match found.root.dir.read_link_contents(&found.path) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(FileError::Io(io::Error::other("too many links")));
                    }
                    let mut rest = self.parts(&target);
                    rest.append(&mut parts);
                    parts = rest;
                }
                // No link, or nothing there yet.
                Err(_) => at = next,
            }
        }
        self.below(&at).ok_or_else(|| self.outside())
    }

    /// Cuts a path into steps, a root's given name replaced by its real one.
    fn parts(&self, path: &Path) -> VecDeque<Part> {
        let named = self.0.iter().find_map(|root| {
            let rest = path.strip_prefix(&root.named).ok()?;
            root.named.is_absolute().then(|| root.real.join(rest))
        });
        let path = named.as_deref().unwrap_or(path);
        let mut parts = VecDeque::new();
        let mut top = PathBuf::new();
        for part in path.components() {
            match part {
                Component::Prefix(_) | Component::RootDir => top.push(part),
                Component::CurDir => {}
                Component::ParentDir => parts.push_back(Part::Up),
                Component::Normal(name) => parts.push_back(Part::Down(name.to_owned())),
            }
        }
        if !top.as_os_str().is_empty() {
            parts.push_front(Part::Top(top));
        }
        parts
    }
}

/// One step of a path.
enum Part {
    Top(PathBuf),
    Up,
    Down(OsString),
}
