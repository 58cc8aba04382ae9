//! What a set knows about the files it read or wrote.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ops::Stamp;

/// The most files that are remembered; of more, the oldest are forgotten.
const MAX_FILES: usize = 65_536;

/// The state in which the set last saw each file.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Files>);

#[derive(Debug, Default)]
struct Files {
    stamps: HashMap<PathBuf, Stamp>,
    oldest_first: VecDeque<PathBuf>,
}

impl Seen {
    /// Remembers a file by its path without links.
    pub(crate) fn note(&self, path: PathBuf, stamp: Stamp) {
        let mut files = self.lock();
        if files.stamps.insert(path.clone(), stamp).is_some() {
            return;
        }
        files.oldest_first.push_back(path);
        if files.oldest_first.len() > MAX_FILES
            && let Some(oldest) = files.oldest_first.pop_front()
        {
            files.stamps.remove(&oldest);
        }
    }

    /// Returns the state in which a file was last seen.
    pub(crate) fn stamp(&self, path: &Path) -> Option<Stamp> {
        self.lock().stamps.get(path).copied()
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
