//! Why a set of tools cannot be built.

use std::io;
use std::path::PathBuf;

/// Why a set of tools cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A folder cannot be used.
    #[error("cannot open the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The private folder for the output of commands cannot be made.
    #[error("cannot make a folder for the output of commands")]
    Spill(#[source] io::Error),
    /// There is no shell: neither `/bin/bash`, nor a `bash` or `sh` in the `PATH`.
    #[error("no shell was found for the tool bash")]
    NoShell,
    /// Commands cannot be run on this system.
    #[error("the tool bash runs on Unix only")]
    ShellUnsupported,
    /// This system has no sandbox for commands; only Linux has.
    #[error("commands can be run in a sandbox on Linux only")]
    SandboxUnsupported,
    /// The sandbox that was asked for cannot be had.
    #[error("the sandbox for commands cannot be enforced: {missing}")]
    Sandbox {
        /// What is missing.
        missing: String,
    },
    /// A root was added to a workspace whose files are not those of this machine.
    #[error("roots can only be added to files of this machine")]
    NotLocal,
}
