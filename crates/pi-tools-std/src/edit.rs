//! The tool `edit`.

mod cuts;
pub(crate) mod engine;
mod find;
mod fold;
mod nearest;
pub(crate) mod refusal;
pub(crate) mod splice;
mod tool;
mod utf16;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use self::tool::EditTool;
pub use self::tool::{EditConfig, EditDetails};
