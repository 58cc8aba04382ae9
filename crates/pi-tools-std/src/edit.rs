//! The tool `edit`.

mod cuts;
pub(crate) mod engine;
mod find;
mod fold;
mod nearest;
pub(crate) mod refusal;
pub(crate) mod splice;
mod utf16;
mod view;
