//! The folder that tools work in.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::SetupError;
use crate::local::LocalFiles;
use crate::ops::WriteOps;
use crate::order::Order;
use crate::path::Base;

/// The folder that tools work in, and what they may touch.
///
/// Cloning shares the queue of calls: two sets on clones of one workspace keep the order of their
/// calls as one set does. Sets on workspaces made apart share nothing.
#[derive(Clone)]
pub struct Workspace {
    pub(crate) base: Base,
    pub(crate) files: Files,
    pub(crate) order: Order,
    pub(crate) protected: Protected,
}

#[derive(Clone)]
pub(crate) enum Files {
    Local(LocalFiles),
    Other(Arc<dyn WriteOps>),
}

impl Workspace {
    /// Takes a folder of this machine. Nothing outside of it can be read or written by the tools on
    /// files; `bash` has walls of its own.
    ///
    /// # Errors
    /// If it does not exist, is no folder, or cannot be opened.
    ///
    /// # Examples
    /// ```
    /// let workspace = pi_tools_std::Workspace::confined(".")?;
    /// # Ok::<(), pi_tools_std::SetupError>(())
    /// ```
    pub fn confined(root: impl AsRef<Path>) -> Result<Self, SetupError> {
        let root = root.as_ref();
        let files = LocalFiles::confined(root).map_err(|error| folder_error(root, error))?;
        let folder = files.root().to_owned();
        Ok(Self::new(folder, Files::Local(files)))
    }

    /// Takes a folder of this machine as the place where paths start. The tools can read and write
    /// every file that the process may open.
    ///
    /// # Errors
    /// If the folder does not exist, or the root of the file system cannot be opened.
    pub fn unconfined(folder: impl AsRef<Path>) -> Result<Self, SetupError> {
        let folder = folder.as_ref();
        let real = LocalFiles::confined(folder)
            .map(|files| files.root().to_owned())
            .map_err(|error| folder_error(folder, error))?;
        let files =
            LocalFiles::unconfined().map_err(|error| folder_error(Path::new("/"), error))?;
        Ok(Self::new(real, Files::Local(files)))
    }

    /// Takes a folder of another machine, or of a fake one. `folder` is absolute there.
    pub fn on(folder: impl Into<PathBuf>, files: impl WriteOps + 'static) -> Self {
        let mut workspace = Self::new(folder.into(), Files::Other(Arc::new(files)));
        workspace.base.home = None;
        workspace
    }

    fn new(folder: PathBuf, files: Files) -> Self {
        Self {
            base: Base {
                folder,
                home: std::env::home_dir(),
            },
            files,
            order: Order::default(),
            protected: Protected {
                git: true,
                paths: Vec::new(),
            },
        }
    }

    /// Adds a folder that the tools may read.
    ///
    /// # Errors
    /// If it cannot be opened, or the files are not those of this machine.
    pub fn read_root(self, root: impl AsRef<Path>) -> Result<Self, SetupError> {
        self.with_root(root.as_ref(), LocalFiles::with_read_root)
    }

    /// Adds a folder that the tools may read and write.
    ///
    /// # Errors
    /// As [`read_root`](Self::read_root).
    pub fn write_root(self, root: impl AsRef<Path>) -> Result<Self, SetupError> {
        self.with_root(root.as_ref(), LocalFiles::with_write_root)
    }

    /// Lets the tools read the output of commands, if they run on the machine with the files.
    pub(crate) fn with_spill(self, spill: &Path) -> Result<Self, SetupError> {
        match self.files {
            Files::Local(_) => self.read_root(spill),
            Files::Other(_) => Ok(self),
        }
    }

    fn with_root(
        mut self,
        root: &Path,
        add: impl FnOnce(LocalFiles, PathBuf) -> io::Result<LocalFiles>,
    ) -> Result<Self, SetupError> {
        let Files::Local(files) = self.files else {
            return Err(SetupError::NotLocal);
        };
        let files = add(files, root.to_owned()).map_err(|error| folder_error(root, error))?;
        self.files = Files::Local(files);
        Ok(self)
    }

    /// Sets what `~` stands for: the home folder of the user by default, and nothing on another
    /// machine.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.base.home = Some(home.into());
        self
    }

    /// Keeps `write` and `edit` from a path and from what is below it, besides `.git`. A relative
    /// path starts in the workspace folder.
    #[must_use]
    pub fn protect(mut self, path: impl AsRef<Path>) -> Self {
        let path = self.base.folder.join(path);
        let real = self.ops().identity(&path).path;
        self.protected.paths.push(real);
        self
    }

    /// Sets whether `write` and `edit` may change what is in a `.git` folder: no by default, since
    /// hooks and configuration there run as programs.
    #[must_use]
    pub fn allow_git(mut self, allow: bool) -> Self {
        self.protected.git = !allow;
        self
    }

    /// Returns the folder where the paths of calls start.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.base.folder
    }

    pub(crate) fn ops(&self) -> Arc<dyn WriteOps> {
        match &self.files {
            Files::Local(files) => Arc::new(files.clone()),
            Files::Other(files) => Arc::clone(files),
        }
    }
}

fn folder_error(path: &Path, source: io::Error) -> SetupError {
    SetupError::Folder {
        path: path.to_owned(),
        source,
    }
}

/// What `write` and `edit` leave alone.
#[derive(Debug, Clone)]
pub(crate) struct Protected {
    git: bool,
    paths: Vec<PathBuf>,
}

impl Protected {
    /// Returns true if a path without links must not be changed.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let in_git = |part: Component<'_>| matches!(part, Component::Normal(name) if name.eq_ignore_ascii_case(".git"));
        (self.git && path.components().any(in_git))
            || self
                .paths
                .iter()
                .any(|protected| path.starts_with(protected))
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}
