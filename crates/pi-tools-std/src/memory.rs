//! Files in memory, for tests of agents without a disk.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ops::{
    Entry, FileError, Identity, Kind, Listing, OpenFile, ReadOps, Replace, Replaced, Stamp, Stat,
    WriteOps, lexical,
};

/// Files in memory. Cloning shares them, so a test can look at them after a run.
///
/// There are no links and no modes; `..` is taken out by its words. Folders exist as long as a file
/// is in them, and the folder of the workspace always.
///
/// # Examples
/// ```
/// use pi_tools_std::{MemoryFiles, ToolSet, Workspace};
///
/// let files = MemoryFiles::new("/project").with("src/main.rs", "fn main() {}\n");
/// let workspace = Workspace::on("/project", files.clone());
/// let tools = ToolSet::builder(workspace).read_only().build()?.tools();
/// assert_eq!(files.text("src/main.rs").as_deref(), Some("fn main() {}\n"));
/// # Ok::<(), pi_tools_std::SetupError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryFiles(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    files: Mutex<BTreeMap<PathBuf, File>>,
    /// Numbers every content, so that each has a stamp of its own.
    next: AtomicU64,
}

#[derive(Debug, Clone)]
struct File {
    content: Arc<[u8]>,
    number: u64,
}

impl MemoryFiles {
    /// Creates an empty folder. `root` is absolute; relative paths of the other functions start
    /// there.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Shared {
            root: lexical(&root.into()),
            files: Mutex::default(),
            next: AtomicU64::new(0),
        }))
    }

    /// Adds a file, or replaces it.
    #[must_use]
    pub fn with(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.put(path, content);
        self
    }

    /// Adds a file, or replaces it.
    pub fn put(&self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        let path = self.absolute(path.as_ref());
        let file = self.file(content.into());
        self.lock().insert(path, file);
    }

    /// Returns the content of a file.
    #[must_use]
    pub fn content(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let path = self.absolute(path.as_ref());
        Some(self.lock().get(&path)?.content.to_vec())
    }

    /// Returns the content of a file as text; `None` also if it is not UTF-8.
    #[must_use]
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        String::from_utf8(self.content(path)?).ok()
    }

    /// Returns the paths of all files, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.lock().keys().cloned().collect()
    }

    fn file(&self, content: Vec<u8>) -> File {
        File {
            content: content.into(),
            number: self.0.next.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        lexical(&self.0.root.join(path))
    }

    /// Finds a path below the root.
    fn inside(&self, path: &Path) -> Result<PathBuf, FileError> {
        let path = self.absolute(path);
        if path.starts_with(&self.0.root) {
            Ok(path)
        } else {
            Err(FileError::Outside {
                root: self.0.root.clone(),
            })
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, File>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, path: &Path) -> Result<Found, FileError> {
        let path = self.inside(path)?;
        let files = self.lock();
        if let Some(file) = files.get(&path) {
            return Ok(Found::File(file.clone()));
        }
        if let Some(part) = first_file(&files, &path) {
            return Err(FileError::NotFolder { part });
        }
        if path == self.0.root || below(&files, &path).next().is_some() {
            return Ok(Found::Folder(path));
        }
        Err(FileError::NotFound)
    }
}

enum Found {
    File(File),
    Folder(PathBuf),
}

impl File {
    fn stat(&self) -> Stat {
        let len = self.content.len() as u64;
        Stat {
            kind: Kind::File,
            len,
            stamp: Stamp {
                file: Some((0, self.number)),
                modified: None,
                len,
            },
        }
    }
}

impl ReadOps for MemoryFiles {
    fn stat(&self, path: &Path) -> Result<Stat, FileError> {
        Ok(match self.find(path)? {
            Found::File(file) => file.stat(),
            Found::Folder(_) => Stat {
                kind: Kind::Folder,
                len: 0,
                stamp: Stamp::default(),
            },
        })
    }

    fn open(&self, path: &Path) -> Result<OpenFile, FileError> {
        match self.find(path)? {
            Found::File(file) => Ok(OpenFile {
                stat: file.stat(),
                content: Box::new(Cursor::new(file.content)),
            }),
            Found::Folder(_) => Err(FileError::IsFolder),
        }
    }

    fn list(&self, folder: &Path) -> Result<Listing, FileError> {
        let folder = match self.find(folder)? {
            Found::Folder(folder) => folder,
            Found::File(_) => {
                return Err(FileError::NotFolder {
                    part: folder.to_owned(),
                });
            }
        };
        let files = self.lock();
        let mut entries: Vec<Entry> = Vec::new();
        for rest in below(&files, &folder) {
            let mut parts = rest.components();
            let Some(first) = parts.next() else { continue };
            let kind = match parts.next() {
                Some(_) => Kind::Folder,
                None => Kind::File,
            };
            let name = first.as_os_str().to_owned();
            // What is in one folder stands together.
            if entries.last().is_none_or(|last| last.name != name) {
                entries.push(Entry { name, kind });
            }
        }
        Ok(Box::new(entries.into_iter().map(Ok)))
    }

    fn identity(&self, path: &Path) -> Identity {
        Identity::of_path(&self.absolute(path))
    }
}

impl WriteOps for MemoryFiles {
    fn replace(
        &self,
        path: &Path,
        content: &[u8],
        how: &Replace<'_>,
    ) -> Result<Replaced, FileError> {
        if how
            .abort
            .is_some_and(pi_core::CancellationToken::is_cancelled)
        {
            return Err(FileError::Aborted);
        }
        let path = self.inside(path)?;
        let new = self.file(content.to_vec());
        let stamp = new.stat().stamp;
        let mut files = self.lock();
        if let Some(part) = first_file(&files, &path) {
            return Err(FileError::NotFolder { part });
        }
        if path == self.0.root || below(&files, &path).next().is_some() {
            return Err(FileError::IsFolder);
        }
        let old = files.get(&path).map(|file| file.stat().stamp);
        if how.expected.is_some() && how.expected != old {
            return Err(FileError::Changed);
        }
        files.insert(path, new);
        Ok(Replaced {
            created: old.is_none(),
            atomic: true,
            stamp,
        })
    }
}

/// Lists the files below a folder, relative to it.
fn below<'a>(
    files: &'a BTreeMap<PathBuf, File>,
    folder: &'a Path,
) -> impl Iterator<Item = &'a Path> {
    files
        .range(folder.to_owned()..)
        .map_while(move |(path, _)| path.strip_prefix(folder).ok())
        .filter(|rest| !rest.as_os_str().is_empty())
}

/// Finds the file that stands where a path needs a folder.
fn first_file(files: &BTreeMap<PathBuf, File>, path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .skip(1)
        .find(|part| files.contains_key(*part))
        .map(Path::to_owned)
}
