//! Runs stored cases against this workspace, and says which of them it does not fulfil.
//!
//! The last line is `N passed, N failed, N skipped`; before it there is one line for each failing
//! case. The exit code is 1 if a case failed, 2 if the cases could not be read.

mod agent;
mod cases;
mod dump;
mod request;
mod roundtrip;
mod stream;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use integration_tests::report::{Report, Verbosity};

use crate::dump::Dump;

/// Runs stored cases and reports which of them are not fulfilled.
#[derive(Parser)]
#[command(name = "conformance")]
struct Arguments {
    /// Prints all differences of a failing case, not only the first
    #[arg(long)]
    list_failures: bool,
    /// Prints the cases that were not run, and why
    #[arg(long)]
    list_skips: bool,
    /// Runs only cases of this layer (mode `cases`); may be repeated
    #[arg(long, value_name = "NAME")]
    layer: Vec<String>,
    /// Writes what was observed below this folder
    #[arg(long, value_name = "OUT")]
    dump: Option<PathBuf>,
    /// The kind of cases
    mode: Mode,
    /// Where the cases are
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Responses of providers: events, message and request
    Provider,
    /// Requests to providers
    Request,
    /// Scripted runs of an agent
    Agent,
    /// Answers of a proxy server
    Proxy,
    /// Cases made from bug reports
    Cases,
    /// Messages, models and contexts that must survive reading and writing
    Roundtrip,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("error: {error:#}\n"));
            ExitCode::from(2)
        }
    }
}

/// Runs the cases of all folders; returns whether none failed.
async fn run(arguments: Arguments) -> Result<bool> {
    let dump = Dump::new(arguments.dump.clone());
    let mut report = Report::default();
    for folder in &arguments.folders {
        match arguments.mode {
            Mode::Provider => stream::run(folder, &dump, &mut report).await?,
            Mode::Request => request::run(folder, &dump, &mut report).await?,
            Mode::Cases => cases::run(folder, &arguments.layer, &mut report).await?,
            Mode::Roundtrip => roundtrip::run(folder, &mut report)?,
            Mode::Agent => agent::run(folder, false, &dump, &mut report).await?,
            Mode::Proxy => agent::run(folder, true, &dump, &mut report).await?,
        }
    }
    let verbosity = Verbosity {
        failures: arguments.list_failures,
        skips: arguments.list_skips,
    };
    report.print(&mut io::stdout().lock(), verbosity)?;
    Ok(report.is_success())
}
