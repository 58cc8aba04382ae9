//! The standard tools of an agent: `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls`.
//!
//! **Who should depend on this:** applications that let a model work on files and run commands. The
//! crate knows `pi-core` only, so the tools fit the agent loop, the stateful agent and direct calls.
//!
//! Names, arguments and texts are those of the TypeScript coding agent. The tools on files are
//! confined to a folder; `bash` runs in a sandbox or without one, as the application says. A batch of
//! calls at once has the effects and the results of its calls one by one. Every limit is in
//! [`Limits`].
//!
//! It does not decide what a model should do, and it asks nobody: approval is a hook of the agent.
//!
//! # Examples
//! ```
//! use pi_core::{ToolContext, joined_text};
//! use pi_tools_std::{ToolSet, Workspace};
//! use serde_json::{Map, json};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let set = ToolSet::builder(Workspace::confined(".")?).read_only().build()?;
//!
//! // An agent takes `set.tools()`; a call by hand goes like this:
//! let find = set.tool("find").expect("the set has it");
//! let arguments = Map::from_iter([("pattern".to_owned(), json!("Cargo.toml"))]);
//! let output = find.run(find.prepare(arguments)?, ToolContext::detached("call_1")).await?;
//! assert!(joined_text(&output.content).contains("Cargo.toml"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! A set with `bash` is built by [`ToolSetBuilder::coding`] or [`ToolSetBuilder::all`]; it says by
//! [`BashConfig`] which walls its commands have.
//!
//! # Features
//! - `images` (default): `read` shows images, scaled to what providers take. Without it they are
//!   named and left out.
//! - `sandbox` (default): commands confined by Landlock and seccomp, or by bubblewrap; Linux only.
//! - `memory`: files and a shell in memory, for tests of agents.
//! - `policy`: `PrefixPolicy`, rules by the first words of a command.
//!
//! The tools run inside a tokio runtime with its timer on; work on files goes to its blocking pool.
//! `bash` needs Unix.

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

#[cfg(feature = "sandbox")]
pub use self::bash::{Backend, ReadAccess, SandboxPolicy};
pub use self::bash::{
    BashConfig, BashDetails, BashOps, CommandPolicy, CommandRequest, Decision, Environment,
    Inherit, Killer, LeftBehind, OutputSink, ShellCommand, ShellExit, ShellProcess,
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
