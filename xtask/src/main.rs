//! The scripts of this workspace, run as `cargo xtask <command>`.
//!
//! Each command is a module of the same name; this file holds the flags. A check collects every
//! [`Violation`](report::Violation) it can find before it fails, so that one run shows all the work.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a script talks to the terminal it runs in"
)]

mod bedrock;
mod ci;
mod codegen;
mod fuzz;
mod layers;
mod races;
mod report;
mod resilience;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The scripts of this workspace")]
struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Subcommand)]
enum Command {
    /// Write the model catalogue of pi-ai as Rust.
    Codegen {
        /// Write nothing, fail if the committed files differ.
        #[arg(long)]
        check: bool,
    },
    /// Check which crates may depend on which, and that the pure crates stay free of I/O.
    Layers,
    /// Check sizes, module docs, attributes, the lock file, fixtures and forbidden text.
    Tidy,
    /// Repeat every race test many times. Not a part of `ci`.
    Races {
        /// How often each race is run.
        #[arg(long, default_value_t = 1000)]
        rounds: usize,
    },
    /// Drive every provider through every fault of llmock, a server that judges its clients. It needs
    /// Python, and is skipped without it. Not a part of `ci`.
    Resilience {
        /// Handed on to the binary `resilience`, such as `--api openai-completions`.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run every fuzz target for a while. It needs `cargo-fuzz` and a nightly compiler, and is skipped
    /// without them. Not a part of `ci`.
    Fuzz {
        /// How long each target is run.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// The only target to run.
        #[arg(long)]
        target: Option<String>,
    },
    /// Check everything that needs crates of AWS: clippy, tests and docs with the feature `bedrock`. Not a
    /// part of `ci`.
    Bedrock,
    /// Run every check that guards the main branch, tests apart.
    Ci,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    match run(flags.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the folder of xtask has no parent")?;
    match command {
        Command::Codegen { check: false } => codegen::write(root),
        Command::Codegen { check: true } => Ok(report::print("codegen", &codegen::check(root)?)),
        Command::Races { rounds } => races::run(root, rounds),
        Command::Resilience { arguments } => resilience::run(root, &arguments),
        Command::Fuzz { seconds, target } => fuzz::run(root, seconds, target.as_deref()),
        Command::Layers => Ok(report::print("layers", &layers::check(root)?)),
        Command::Tidy => Ok(report::print("tidy", &tidy::check(root)?)),
        Command::Bedrock => bedrock::run(root),
        Command::Ci => ci::run(root),
    }
}
