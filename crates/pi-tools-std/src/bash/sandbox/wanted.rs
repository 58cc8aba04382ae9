//! What an application wants of a sandbox.

use std::path::PathBuf;

/// What a sandboxed command may do.
///
/// By default it may read everything, write in the workspace folder and in a folder for temporary
/// files, and has no network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPolicy {
    pub(super) write_roots: Vec<PathBuf>,
    pub(super) read: ReadAccess,
    pub(super) network: bool,
    pub(super) best_effort: bool,
    pub(super) backend: Backend,
}

/// What a sandboxed command may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadAccess {
    /// Everything. The default.
    #[default]
    All,
    /// What it may write, the folders of the system, and these.
    Only(Vec<PathBuf>),
}

/// What enforces a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Landlock and seccomp. The default. Protected paths in a folder that may be written are
    /// reported when a command has changed them.
    #[default]
    Landlock,
    /// The program `bwrap`: mounts and namespaces. Protected paths cannot be changed.
    Bubblewrap,
}

impl SandboxPolicy {
    /// The default policy.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets commands write in one more folder, which must exist.
    #[must_use]
    pub fn with_write_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.write_roots.push(root.into());
        self
    }

    /// Sets what commands may read.
    #[must_use]
    pub fn with_read(mut self, read: ReadAccess) -> Self {
        self.read = read;
        self
    }

    /// Sets whether commands have the network.
    #[must_use]
    pub fn with_network(mut self, network: bool) -> Self {
        self.network = network;
        self
    }

    /// Sets whether a kernel that cannot enforce everything will do; no by default. The details of
    /// a result then say `partial`.
    #[must_use]
    pub fn with_best_effort(mut self, best_effort: bool) -> Self {
        self.best_effort = best_effort;
        self
    }

    /// Sets what enforces it.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }
}
