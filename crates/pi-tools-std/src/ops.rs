//! The seam between the tools and the machine whose files they work on.
//!
//! Limits, notices, order and texts stand above it and are the same for every machine.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use pi_core::CancellationToken;

/// What `read`, `grep`, `find` and `ls` need of a machine.
///
/// The methods block; the tools call them on the blocking pool of tokio, except
/// [`identity`](Self::identity), which they call where they are. A machine that is reached by async
/// code enters its own runtime there.
///
/// Paths are absolute. They may hold `..` and links: what they mean is for the machine to say.
pub trait ReadOps: Send + std::marker::Sync {
    /// Tells what is at a path, links followed.
    ///
    /// # Errors
    /// If nothing is there, or it may not be looked at.
    fn stat(&self, path: &Path) -> Result<Stat, FileError>;

    /// Opens a regular file for reading from its start.
    ///
    /// It never waits for a writer: what is no regular file is refused.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file.
    fn open(&self, path: &Path) -> Result<OpenFile, FileError>;

    /// Lists a folder, in any order, without `.` and `..`.
    ///
    /// # Errors
    /// If it is no folder, or cannot be read.
    fn list(&self, folder: &Path) -> Result<Listing, FileError>;

    /// Tells which file a path means, so that two calls on one file keep their order. Unlike the
    /// other methods it must not take long, and it works for files that do not exist yet.
    ///
    /// By default the path itself, with `.` and `..` taken out.
    fn identity(&self, path: &Path) -> Identity {
        Identity::of_path(path)
    }
}

/// Opens a file after a look at its kind: opening a device may already do something.
///
/// # Errors
/// If it cannot be opened, or is no regular file.
pub(crate) fn open_regular(ops: &dyn ReadOps, path: &Path) -> Result<OpenFile, FileError> {
    match ops.stat(path)?.kind {
        Kind::Other => Err(FileError::NotRegular),
        Kind::File | Kind::Folder | Kind::Link => ops.open(path),
    }
}

/// What `write` and `edit` need of a machine, besides reading.
pub trait WriteOps: ReadOps {
    /// Replaces a file as a whole, or creates it and the folders above it. Whoever reads it
    /// meanwhile sees the old content or the new one.
    ///
    /// # Errors
    /// If the file could not be replaced; it is then as before. [`FileError::Changed`] if it is not
    /// the one that [`Replace::expected`] names.
    fn replace(
        &self,
        path: &Path,
        content: &[u8],
        how: &Replace<'_>,
    ) -> Result<Replaced, FileError>;
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Its kind.
    pub kind: Kind,
    /// Its length in bytes.
    pub len: u64,
    /// Tells one state of a file from another.
    pub stamp: Stamp,
}

/// The kind of what is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link; only entries of a [`Listing`] are.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// Tells one state of a file from another. Two equal stamps mean that nothing has changed, but for a
/// change to the same length within one tick of the clock of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamp {
    /// The device and number of the file, where the system has them.
    pub file: Option<(u64, u64)>,
    /// The time of the last change of the content.
    pub modified: Option<SystemTime>,
    /// The length in bytes.
    pub len: u64,
}

/// An open regular file.
pub struct OpenFile {
    /// What it was at opening.
    pub stat: Stat,
    /// Its content, from the start. A read that would have to wait fails with
    /// [`io::ErrorKind::WouldBlock`].
    pub content: Box<dyn Read + Send>,
}

/// The entries of a folder.
pub type Listing = Box<dyn Iterator<Item = io::Result<Entry>> + Send>;

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: std::ffi::OsString,
    /// Its own kind: links are not followed.
    pub kind: Kind,
}

/// Which file a path means.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The path, links followed as far as it exists.
    pub path: PathBuf,
    /// The device and number of the file, where it exists and the system has them.
    pub file: Option<(u64, u64)>,
}

impl Identity {
    /// Takes the path itself, with `.` and `..` taken out.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        Self {
            path: lexical(path),
            file: None,
        }
    }

    /// Returns true if both mean the same file.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.path == other.path || (self.file.is_some() && self.file == other.file)
    }
}

/// Takes `.` and `..` out of a path without asking the file system.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(part),
        }
    }
    clean
}

/// How a file is replaced.
#[derive(Debug, Default)]
pub struct Replace<'a> {
    /// What the file must be right before it is replaced; `None` for anything, and for a new file.
    pub expected: Option<Stamp>,
    /// Whether the content must have reached the disk.
    pub sync: Sync,
    /// Looked at right before the file is replaced: if it is cancelled, the file stays as it was and
    /// the call fails with [`FileError::Aborted`].
    pub abort: Option<&'a CancellationToken>,
}

/// Whether content must have reached the disk before a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// The system writes it when it likes. The default.
    #[default]
    None,
    /// The content has reached the disk.
    Data,
}

/// What replacing a file did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replaced {
    /// True if the file is new.
    pub created: bool,
    /// True if the new file took the place of the old one in one step.
    pub atomic: bool,
    /// What the file is now.
    pub stamp: Stamp,
}

/// Why the machine refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Nothing is there.
    #[error("not found")]
    NotFound,
    /// The process may not do that.
    #[error("permission denied")]
    PermissionDenied,
    /// The path leads out of every root that may be used this way.
    #[error("outside the workspace {}", root.display())]
    Outside {
        /// The root of the workspace.
        root: PathBuf,
    },
    /// It is a pipe, a socket, a device, or a file that would make the reader wait.
    #[error("not a regular file")]
    NotRegular,
    /// It is a folder.
    #[error("is a directory")]
    IsFolder,
    /// A part of the path, or what should be listed, is no folder.
    #[error("{} is not a directory", part.display())]
    NotFolder {
        /// The part.
        part: PathBuf,
    },
    /// The disk is full, or a quota is used up.
    #[error("no space left on device")]
    NoSpace,
    /// The file system is read-only.
    #[error("read-only")]
    ReadOnly,
    /// The file is not the one that was expected.
    #[error("changed by another program")]
    Changed,
    /// The call was aborted before it had an effect.
    #[error("aborted")]
    Aborted,
    /// Anything else.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::PermissionDenied => Self::PermissionDenied,
            io::ErrorKind::IsADirectory => Self::IsFolder,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            // A file that would make the reader wait, as some in /proc do.
            io::ErrorKind::WouldBlock => Self::NotRegular,
            _ => Self::Io(error),
        }
    }
}
