//! The files of this machine, kept to the folders that may be used.

mod replace;
mod resolve;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::MetadataExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use self::resolve::{Found, Roots};
use crate::ops::{
    Entry, FileError, Identity, Kind, Listing, OpenFile, ReadOps, Replace, Replaced, Stamp, Stat,
    WriteOps,
};

/// The files of this machine below some folders, its roots.
///
/// Every access goes through an open handle of a root and is resolved beneath it by the system
/// (`openat2` on Linux) or, where that does not exist, part by part. So a path that leads out fails,
/// also when a part of it is swapped for a link meanwhile. Links that stay inside are followed, also
/// absolute ones, and those from one root into another.
///
/// Cloning shares the handles.
#[derive(Debug, Clone)]
pub struct LocalFiles {
    roots: Roots,
}

impl LocalFiles {
    /// Takes one folder, for reading and writing.
    ///
    /// # Errors
    /// If it does not exist, is no folder, or cannot be opened.
    pub fn confined(root: impl AsRef<Path>) -> io::Result<Self> {
        let mut roots = Roots::default();
        roots.add(root.as_ref(), true)?;
        Ok(Self { roots })
    }

    /// Takes every file that the process may open.
    ///
    /// # Errors
    /// If the root of the file system cannot be opened.
    pub fn unconfined() -> io::Result<Self> {
        let current = std::env::current_dir()?;
        let top = current.ancestors().last().unwrap_or(&current);
        Self::confined(top)
    }

    /// Adds a folder for reading.
    ///
    /// # Errors
    /// As [`confined`](Self::confined).
    pub fn with_read_root(mut self, root: impl AsRef<Path>) -> io::Result<Self> {
        self.roots.add(root.as_ref(), false)?;
        Ok(self)
    }

    /// Adds a folder for reading and writing.
    ///
    /// # Errors
    /// As [`confined`](Self::confined).
    pub fn with_write_root(mut self, root: impl AsRef<Path>) -> io::Result<Self> {
        self.roots.add(root.as_ref(), true)?;
        Ok(self)
    }

    /// Returns the first root, as its real path.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.roots.first()
    }

    /// Does something with a path below a root: as it is if the system can follow it there, else
    /// with its links followed by hand.
    fn with<T>(
        &self,
        path: &Path,
        mut act: impl FnMut(&Dir, &Path) -> io::Result<T>,
    ) -> Result<T, FileError> {
        if let Some(found) = self.roots.below(path) {
            match act(&found.root.dir, &found.path) {
                // An absolute link and one into another root look like ways out, too.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                result => return result.map_err(|error| self.failure(error, path)),
            }
        }
        let Found { root, path: real } = self.roots.follow(path)?;
        act(&root.dir, &real).map_err(|error| self.failure(error, path))
    }

    /// Gives an error of the system its meaning.
    fn failure(&self, error: io::Error, path: &Path) -> FileError {
        match error.kind() {
            io::ErrorKind::NotADirectory => FileError::NotFolder {
                part: self
                    .first_that_is_no_folder(path)
                    .unwrap_or_else(|| path.to_owned()),
            },
            _ if is_no_device(&error) => FileError::NotRegular,
            _ => error.into(),
        }
    }

    fn first_that_is_no_folder(&self, path: &Path) -> Option<PathBuf> {
        let mut parts: Vec<_> = path.ancestors().skip(1).collect();
        parts.reverse();
        parts
            .into_iter()
            .find(|part| self.stat(part).is_ok_and(|stat| stat.kind != Kind::Folder))
            .map(Path::to_owned)
    }
}

impl ReadOps for LocalFiles {
    fn stat(&self, path: &Path) -> Result<Stat, FileError> {
        self.with(path, |dir, path| dir.metadata(path))
            .map(|metadata| stat_of(&metadata))
    }

    fn open(&self, path: &Path) -> Result<OpenFile, FileError> {
        let mut options = OpenOptions::new();
        options.read(true);
        never_wait(&mut options);
        let (file, metadata) = self.with(path, |dir, path| {
            let file = dir.open_with(path, &options)?;
            let metadata = file.metadata()?;
            Ok((file, metadata))
        })?;
        let stat = stat_of(&metadata);
        match stat.kind {
            Kind::File => Ok(OpenFile {
                stat,
                content: Box::new(file.into_std()),
            }),
            Kind::Folder => Err(FileError::IsFolder),
            Kind::Link | Kind::Other => Err(FileError::NotRegular),
        }
    }

    fn list(&self, folder: &Path) -> Result<Listing, FileError> {
        let entries = self.with(folder, |dir, path| dir.read_dir(path))?;
        Ok(Box::new(entries.map(|entry| {
            let entry = entry?;
            Ok(Entry {
                kind: kind_of(entry.file_type()?),
                name: entry.file_name(),
            })
        })))
    }

    fn identity(&self, path: &Path) -> Identity {
        let Ok(found) = self.roots.follow(path) else {
            return Identity::of_path(path);
        };
        let metadata = found.root.dir.symlink_metadata(&found.path);
        let mut real = found.root.real.join(&found.path);
        if cfg!(any(windows, target_os = "macos")) {
            // These volumes do not tell upper from lower case by default.
            real = real.to_string_lossy().to_lowercase().into();
        }
        Identity {
            path: real,
            file: metadata
                .ok()
                .filter(|metadata| metadata.is_file())
                .map(|metadata| (metadata.dev(), metadata.ino())),
        }
    }
}

impl WriteOps for LocalFiles {
    fn replace(
        &self,
        path: &Path,
        content: &[u8],
        how: &Replace<'_>,
    ) -> Result<Replaced, FileError> {
        let Found { root, path: real } = self.roots.follow(path)?;
        if !root.writable {
            return Err(self.roots.outside());
        }
        replace::replace(&root.dir, &real, content, how).map_err(|error| match error {
            FileError::Io(error) => self.failure(error, path),
            FileError::NotFolder { part } => FileError::NotFolder {
                part: root.real.join(part),
            },
            other => other,
        })
    }
}

/// Makes opening a pipe or a device return at once.
fn never_wait(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = options;
}

/// Returns true for what the system says of a socket, and of a pipe that nobody reads.
fn is_no_device(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

fn stat_of(metadata: &Metadata) -> Stat {
    Stat {
        kind: kind_of(metadata.file_type()),
        len: metadata.len(),
        stamp: stamp_of(metadata),
    }
}

fn stamp_of(metadata: &Metadata) -> Stamp {
    Stamp {
        file: Some((metadata.dev(), metadata.ino())),
        modified: metadata
            .modified()
            .ok()
            .map(cap_std::time::SystemTime::into_std),
        len: metadata.len(),
    }
}

fn kind_of(kind: FileType) -> Kind {
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

/// Opens a folder by its real path.
fn open_folder(path: &Path) -> io::Result<(PathBuf, Arc<Dir>)> {
    let real = path.canonicalize()?;
    let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
    Ok((real, Arc::new(dir)))
}
