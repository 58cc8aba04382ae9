//! The standard tools of an agent: `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls`.
//!
//! **Who should depend on this:** applications that let a model work on files. The crate knows
//! `pi-core` only: no agent, no provider.

#![cfg_attr(
    not(test),
    expect(dead_code, reason = "what the tools stand on comes before the tools")
)]

mod abort;
mod limits;
mod ops;
mod order;
mod size;
mod truncate;

pub use self::limits::Limits;
pub use self::ops::{
    Entry, FileError, Identity, Kind, Listing, OpenFile, ReadOps, Replace, Replaced, Stamp, Stat,
    Sync, WriteOps,
};
pub use self::order::Ordering;
pub use self::truncate::{Kept, TruncatedBy, Truncation, truncate_head, truncate_tail};
