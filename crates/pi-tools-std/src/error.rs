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
    /// A root was added to a workspace whose files are not those of this machine.
    #[error("roots can only be added to files of this machine")]
    NotLocal,
}
