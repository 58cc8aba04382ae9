//! The walk through a folder: sorted, without `.git`, without what the rules hide, links not
//! followed.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::budget::Budget;
use super::ignored::{Entered, Ignored};
use crate::ops::{Entry, FileError, Kind, ReadOps};

/// What the walk comes by.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Absolute.
    pub(super) path: PathBuf,
    /// Relative to the folder that is searched.
    pub(super) shown: PathBuf,
    pub(super) kind: Kind,
}

/// A walk through a folder and all below it.
pub(super) struct Walk {
    ops: Arc<dyn ReadOps>,
    budget: Budget,
    skip_folder: Box<dyn Fn(&Path) -> bool + Send>,
    ignored: Ignored,
    open: Vec<Folder>,
    /// Folders that could not be listed.
    pub(super) unreadable: u64,
    pub(super) timed_out: bool,
}

/// A folder that the walk is in.
struct Folder {
    path: PathBuf,
    shown: PathBuf,
    /// Sorted.
    entries: std::vec::IntoIter<Entry>,
    rules: Entered,
}

impl Walk {
    /// Begins a walk through `folder`, which lies below `top`: the rules of the folders between
    /// hold, too, unless they hide the folder itself, since it was named by the caller.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub(super) fn new(
        ops: Arc<dyn ReadOps>,
        top: &Path,
        folder: &Path,
        budget: Budget,
    ) -> Result<Self, FileError> {
        let entries = sorted(&*ops, folder, &budget)?;
        let mut walk = Self {
            ignored: rules_above(&*ops, top, folder),
            ops,
            budget,
            skip_folder: Box::new(|_| false),
            open: Vec::new(),
            unreadable: 0,
            timed_out: false,
        };
        walk.enter(folder.to_owned(), PathBuf::new(), entries);
        Ok(walk)
    }

    /// Sets which folders are left out with all below them, by their relative path.
    pub(super) fn skip_folders(mut self, skip: impl Fn(&Path) -> bool + Send + 'static) -> Self {
        self.skip_folder = Box::new(skip);
        self
    }

    fn enter(&mut self, path: PathBuf, shown: PathBuf, entries: Vec<Entry>) {
        let has = |name: &str| entries.iter().any(|entry| entry.name == *name);
        let rules = self.ignored.enter(&*self.ops, &path, has);
        self.open.push(Folder {
            path,
            shown,
            entries: entries.into_iter(),
            rules,
        });
    }

    fn enter_below(&mut self, step: &Step) {
        match sorted(&*self.ops, &step.path, &self.budget) {
            Ok(entries) => self.enter(step.path.clone(), step.shown.clone(), entries),
            // It was there a moment ago.
            Err(FileError::NotFound) => {}
            Err(_) => self.unreadable += 1,
        }
    }

    fn is_left_out(&self, step: &Step, name: &std::ffi::OsStr) -> bool {
        let is_folder = step.kind == Kind::Folder;
        name == ".git"
            || (is_folder && (self.skip_folder)(&step.shown))
            || self.ignored.hides(&step.path, is_folder)
    }
}

impl Iterator for Walk {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            if self.budget.is_spent() {
                self.timed_out = !self.open.is_empty();
                return None;
            }
            let folder = self.open.last_mut()?;
            let Some(entry) = folder.entries.next() else {
                let rules = folder.rules;
                self.ignored.leave(rules);
                self.open.pop();
                continue;
            };
            let step = Step {
                path: folder.path.join(&entry.name),
                shown: folder.shown.join(&entry.name),
                kind: entry.kind,
            };
            if self.is_left_out(&step, &entry.name) {
                continue;
            }
            if step.kind == Kind::Folder {
                self.enter_below(&step);
            }
            return Some(step);
        }
    }
}

/// Lists a folder, sorted by name, as far as there is time.
fn sorted(ops: &dyn ReadOps, folder: &Path, budget: &Budget) -> Result<Vec<Entry>, FileError> {
    let mut entries = Vec::new();
    for entry in ops.list(folder)? {
        if budget.is_spent() {
            break;
        }
        entries.push(entry?);
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Reads the rules of the folders from `top` down to the one above `folder`.
fn rules_above(ops: &dyn ReadOps, top: &Path, folder: &Path) -> Ignored {
    let mut ignored = Ignored::default();
    let Ok(below) = folder.strip_prefix(top) else {
        return ignored;
    };
    let mut at = top.to_owned();
    for part in below.components() {
        ignored.enter(ops, &at, |name| ops.stat(&at.join(name)).is_ok());
        at.push(part);
        if ignored.hides(&at, true) {
            return Ignored::default();
        }
    }
    ignored
}
