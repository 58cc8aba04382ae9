//! The files that keep the whole output of commands.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

/// The private folder of a set: only its owner can look into it. It is removed with the last handle.
#[derive(Debug, Clone)]
pub(crate) struct SpillFolder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: TempDir,
    next: AtomicU64,
}

impl SpillFolder {
    /// # Errors
    /// If the folder cannot be made.
    pub(crate) fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("pi-tools-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700));
        }
        let dir = builder.tempdir()?;
        std::fs::create_dir(dir.path().join("tmp"))?;
        Ok(Self(Arc::new(Inner {
            dir,
            next: AtomicU64::new(1),
        })))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.dir.path()
    }

    /// Removes the folder before the last handle goes.
    pub(crate) fn remove(&self) {
        // It may be gone already, and what cannot be removed now is tried again with the last handle.
        let _ = std::fs::remove_dir_all(self.path());
    }

    /// Returns the folder for temporary files of sandboxed commands.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// Names a file that does not exist yet.
    fn next(&self) -> PathBuf {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.path().join(format!("bash-{number}.log"))
    }
}

/// The file of one command. It is made with the first byte.
#[derive(Debug)]
pub(super) struct Spill {
    folder: SpillFolder,
    max_bytes: u64,
    written: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Empty,
    Open(PathBuf, File),
    Full(PathBuf),
    Failed(String),
}

impl Spill {
    pub(super) fn new(folder: SpillFolder, max_bytes: u64) -> Self {
        Self {
            folder,
            max_bytes,
            written: 0,
            state: State::Empty,
        }
    }

    /// Adds bytes, as far as they fit. A failure is kept and told later: the command goes on.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Empty) {
            self.state = match self.open() {
                Ok((path, file)) => State::Open(path, file),
                Err(error) => State::Failed(error.to_string()),
            };
        }
        let State::Open(path, file) = &mut self.state else {
            return;
        };
        let room = usize::try_from(self.max_bytes - self.written).unwrap_or(usize::MAX);
        let fits = bytes.get(..room).unwrap_or(bytes);
        match file.write_all(fits) {
            Ok(()) => {
                self.written += fits.len() as u64;
                if fits.len() < bytes.len() {
                    self.state = State::Full(std::mem::take(path));
                }
            }
            Err(error) => self.state = State::Failed(error.to_string()),
        }
    }

    fn open(&self) -> io::Result<(PathBuf, File)> {
        let path = self.folder.next();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = options.open(&path)?;
        Ok((path, file))
    }

    pub(super) fn kept(&self) -> Kept {
        let mut kept = Kept::default();
        match &self.state {
            State::Empty => {}
            State::Open(path, _) => kept.file = Some(path.clone()),
            State::Full(path) => {
                kept.file = Some(path.clone());
                kept.stopped_at = Some(self.max_bytes);
            }
            State::Failed(reason) => kept.failure = Some(reason.clone()),
        }
        kept
    }
}

/// What is known about the file of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The file with the whole output, if there is one.
    pub(super) file: Option<PathBuf>,
    /// The size at which it stopped, if it does not hold all.
    pub(super) stopped_at: Option<u64>,
    /// Why there is none although there should be one.
    pub(super) failure: Option<String>,
}
