//! A talk on a terminal.
//!
//! ```text
//! editor (a thread) --Input--> Talk --prompt, steer, abort--> Agent
//!     '<------------ Screen <----- what is said <---- Render ---'
//!                                      '<-- questions about calls --'
//! ```

mod command;
mod editor;
mod questions;
mod screen;
mod talk;

pub(crate) use self::talk::{is_wanted, talk};
