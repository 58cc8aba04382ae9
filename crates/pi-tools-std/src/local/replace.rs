//! Replaces a file as a whole.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use cap_tempfile::TempFile;

use super::{never_wait, stamp_of};
use crate::ops::{FileError, Replace, Replaced, Sync};

/// Content is written in pieces of this size, so that an abort is seen between them.
const PIECE: usize = 1 << 20;

/// Replaces the file at a path without links, below a root, or creates it.
pub(super) fn replace(
    root: &Dir,
    path: &Path,
    content: &[u8],
    how: &Replace<'_>,
) -> Result<Replaced, FileError> {
    let name = path.file_name().ok_or(FileError::IsFolder)?;
    let folder = parent(root, path)?;
    let old = match folder.symlink_metadata(name) {
        Ok(old) if old.is_dir() => return Err(FileError::IsFolder),
        Ok(old) if !old.is_file() => return Err(FileError::NotRegular),
        // Moving a new file over it would not ask for this.
        Ok(_) if !may_write(&folder, name) => return Err(FileError::PermissionDenied),
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let target = Target {
        folder: &folder,
        name,
        old,
        how,
    };
    target.put(content)
}

/// Opens the folder of a file, made if it is missing.
fn parent(root: &Dir, path: &Path) -> Result<Dir, FileError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match root.open_dir(parent) {
        Ok(dir) => return Ok(dir),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(not_folder(root, parent));
        }
        Err(error) => return Err(error.into()),
    }
    match root.create_dir_all(parent) {
        Ok(()) => {}
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists
            ) =>
        {
            return Err(not_folder(root, parent));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(root.open_dir(parent)?)
}

/// Names the first part of a path that is no folder.
fn not_folder(root: &Dir, path: &Path) -> FileError {
    let mut part = PathBuf::new();
    for component in path.components() {
        if let Component::Normal(name) = component {
            part.push(name);
            if !root.is_dir(&part) {
                break;
            }
        }
    }
    FileError::NotFolder { part }
}

struct Target<'a> {
    folder: &'a Dir,
    name: &'a OsStr,
    old: Option<Metadata>,
    how: &'a Replace<'a>,
}

impl Target<'_> {
    fn put(&self, content: &[u8]) -> Result<Replaced, FileError> {
        // The other names of a file would keep the old content.
        let has_other_names = self.old.as_ref().is_some_and(|old| old.nlink() > 1);
        if has_other_names {
            return self.put_in_place(content);
        }
        match self.put_beside(content) {
            // The folder cannot be written, or the file is a mount of its own.
            Err(error) if self.old.is_some() && is_refused(&error) => self.put_in_place(content),
            result => result,
        }
    }

    /// Writes a file beside the old one and moves it over that.
    fn put_beside(&self, content: &[u8]) -> Result<Replaced, FileError> {
        let mut new = TempFile::new(self.folder)?;
        if let Some(old) = &self.old {
            take_over(new.as_file(), old)?;
        }
        self.write(new.as_file_mut(), content)?;
        self.check()?;
        let file = new.as_file().try_clone()?;
        new.replace(self.name)?;
        self.replaced(&file, true)
    }

    /// Writes into the old file.
    fn put_in_place(&self, content: &[u8]) -> Result<Replaced, FileError> {
        let mut options = OpenOptions::new();
        options.write(true);
        never_wait(&mut options);
        self.check()?;
        let mut file = self.folder.open_with(self.name, &options)?;
        reserve(&file, content.len() as u64)?;
        // From here on an abort would leave a part, so it is not looked at.
        file.write_all(content)
            .and_then(|()| file.set_len(content.len() as u64))
            .map_err(|error| {
                io::Error::other(format!("{error}; it may have been written in part"))
            })?;
        self.sync(&file)?;
        self.replaced(&file, false)
    }

    fn write(&self, file: &mut File, content: &[u8]) -> Result<(), FileError> {
        for piece in content.chunks(PIECE) {
            self.check_abort()?;
            file.write_all(piece)?;
        }
        self.sync(file)
    }

    fn sync(&self, file: &File) -> Result<(), FileError> {
        if self.how.sync == Sync::Data {
            file.sync_data()?;
        }
        Ok(())
    }

    /// Makes sure that the file may be replaced now.
    fn check(&self) -> Result<(), FileError> {
        self.check_abort()?;
        let now = match self.folder.symlink_metadata(self.name) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        // A link or a folder that took the name meanwhile is not what was asked for.
        if now.as_ref().is_some_and(|now| !now.is_file()) {
            return Err(FileError::Changed);
        }
        match (self.how.expected, now) {
            (Some(expected), Some(now)) if stamp_of(&now) != expected => Err(FileError::Changed),
            (Some(_), None) => Err(FileError::Changed),
            _ => Ok(()),
        }
    }

    fn check_abort(&self) -> Result<(), FileError> {
        match self.how.abort {
            Some(abort) if abort.is_cancelled() => Err(FileError::Aborted),
            _ => Ok(()),
        }
    }

    fn replaced(&self, file: &File, atomic: bool) -> Result<Replaced, FileError> {
        Ok(Replaced {
            created: self.old.is_none(),
            atomic,
            stamp: stamp_of(&file.metadata()?),
        })
    }
}

/// Returns false if the mode of a file keeps this process from writing it.
fn may_write(folder: &Dir, name: &OsStr) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, AtFlags, accessat};
        use rustix::io::Errno;
        let allowed = accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS);
        !matches!(allowed, Err(Errno::ACCESS | Errno::PERM))
    }
    #[cfg(not(unix))]
    {
        let _ = (folder, name);
        true
    }
}

/// Returns true if a file cannot be put beside another one and moved over it.
fn is_refused(error: &FileError) -> bool {
    match error {
        FileError::PermissionDenied | FileError::ReadOnly => true,
        FileError::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
        ),
        _ => false,
    }
}

/// Makes sure that content fits on the disk before the old content is written over, where the file
/// system can tell.
fn reserve(file: &File, len: u64) -> Result<(), FileError> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        let reserved = fallocate(file, FallocateFlags::KEEP_SIZE, 0, len.max(1));
        if let Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) = reserved {
            return Err(io::Error::from(error).into());
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, len);
    Ok(())
}

/// Gives a new file the owner and the mode of the old one.
fn take_over(new: &File, old: &Metadata) -> Result<(), FileError> {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        use rustix::fs::{Gid, Uid};
        let mine = new.metadata()?;
        if (mine.uid(), mine.gid()) != (old.uid(), old.gid()) {
            let (owner, group) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
            rustix::fs::fchown(new, Some(owner), Some(group)).map_err(io::Error::from)?;
        }
    }
    new.set_permissions(old.permissions())?;
    Ok(())
}
