//! The standard tools of an agent: `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls`.
//!
//! **Who should depend on this:** applications that let a model work on files. The crate knows
//! `pi-core` only: no agent, no provider.

mod abort;
mod args;
mod bash;
#[cfg(all(test, feature = "memory"))]
mod batch;
mod call;
mod diff;
mod edit;
mod error;
mod failure;
#[cfg(test)]
mod faults;
mod image;
mod limits;
mod local;
mod ls;
#[cfg(feature = "memory")]
mod memory;
mod ops;
mod order;
mod path;
mod read;
mod search;
mod seen;
mod set;
mod shared;
mod size;
#[cfg(test)]
mod testing;
mod truncate;
mod workspace;
mod write;

#[cfg(all(feature = "sandbox", target_os = "linux"))]
pub use self::bash::{Backend, ReadAccess, SandboxPolicy};
pub use self::bash::{
    BashConfig, BashDetails, BashOps, CommandPolicy, CommandRequest, Decision, Environment,
    Inherit, LeftBehind, OutputSink, ShellCommand, ShellExit, ShellProcess,
};
#[cfg(feature = "memory")]
pub use self::bash::{MemoryShell, Scripted};
#[cfg(feature = "policy")]
pub use self::bash::{PolicyError, PrefixPolicy, PrefixRule};
pub use self::edit::{EditConfig, EditDetails};
pub use self::error::SetupError;
pub use self::limits::Limits;
pub use self::local::LocalFiles;
pub use self::ls::{LsConfig, LsDetails};
#[cfg(feature = "memory")]
pub use self::memory::MemoryFiles;
pub use self::ops::{
    Entry, FileError, Identity, Kind, Listing, OpenFile, ReadOps, Replace, Replaced, Stamp, Stat,
    Sync, WriteOps,
};
pub use self::order::Ordering;
pub use self::read::{Encoding, LineEnding, ReadConfig, ReadDetails};
pub use self::search::{FindConfig, FindDetails, GrepConfig, GrepDetails};
pub use self::set::{ToolSet, ToolSetBuilder};
pub use self::truncate::{Kept, TruncatedBy, Truncation, truncate_head, truncate_tail};
pub use self::workspace::Workspace;
pub use self::write::{Overwrite, WriteConfig, WriteDetails};

/// What fuzz targets reach besides the tools. No part of the interface.
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod __fuzz {
    pub use crate::bash::accumulated;
}
