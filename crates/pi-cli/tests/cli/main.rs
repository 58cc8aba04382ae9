//! The command as a user runs it. Nothing here needs a network, a key or another program.

mod demo;
mod live;
mod runs;
mod server;
#[cfg(unix)]
mod signals;
mod usage;
