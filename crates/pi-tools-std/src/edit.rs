//! The tool `edit`.

mod compare;
mod cuts;
mod engine;
mod find;
mod fold;
mod nearest;
mod refusal;
mod splice;
mod tool;
mod utf16;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use self::tool::EditTool;
pub use self::tool::{EditConfig, EditDetails};
