//! The command as a user runs it. Nothing here needs a network, a key or another program.

mod bad_input;
mod coding;
mod demo;
mod images;
mod live;
mod models;
#[cfg(target_os = "linux")]
mod questions;
mod runs;
mod server;
mod sessions;
#[cfg(unix)]
mod signals;
mod usage;
