//! The command `pi`: lets a model work on the files of a folder.
//!
//! ```text
//! Args -> prompt + Backend (provider, model) -> Agent --events--> Render -> stdout, stderr
//!                                                    '--------> Session -> a file
//! ```
//!
//! The answer goes to standard output, everything about it (tool calls, thinking, usage, errors) to
//! standard error.

mod approve;
mod args;
mod backend;
mod conversation;
mod demo;
mod exit;
mod hint;
mod image;
mod interactive;
mod models;
mod output;
mod prompt;
mod render;
mod run;
mod session;
mod signals;
mod terminal;
mod tools;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match args::Args::try_parse() {
        Ok(args) => exit::report(run::run(&args)),
        Err(error) => {
            // The reader of a help text may be gone already.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}
