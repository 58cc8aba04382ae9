//! Drives every provider through every fault of a mock server that judges its clients.
//!
//! `cargo xtask resilience` starts the server, which is the Python package `llmock`, and runs this
//! with its address. For each provider and fault there is one line: how it ended, which failures were
//! reported, the requests and the time that it took, and the server's verdict. The exit code is 1 if a
//! fault did not end as it should or if the server found something that is ours to avoid, 2 if the
//! server could not be used.

mod drive;
mod faults;
mod mock;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;
use integration_tests::apis;

use crate::drive::{Outcome, Target};
use crate::faults::Fault;
use crate::mock::{Mock, Verdict};

/// Drives every provider through every fault of a running llmock.
#[derive(Parser)]
#[command(name = "resilience")]
struct Arguments {
    /// Runs only this API; may be repeated
    #[arg(long, value_name = "NAME")]
    api: Vec<String>,
    /// Runs only faults whose name holds this text
    #[arg(long, value_name = "TEXT")]
    fault: Option<String>,
    /// Where the server is, such as `http://127.0.0.1:8000`
    server: String,
}

/// The APIs, and where the server speaks them. One more provider is one more entry.
const TARGETS: &[Target] = &[
    Target {
        api: "openai-completions",
        path: "/v1",
    },
    Target {
        api: "anthropic-messages",
        path: "/anthropic",
    },
    Target {
        api: "openai-responses",
        path: "/v1",
    },
    Target {
        api: "azure-openai-responses",
        path: "/v1",
    },
    Target {
        api: "google-generative-ai",
        path: "/gemini/v1beta",
    },
    Target {
        api: "mistral-conversations",
        path: "/mistral/v1",
    },
];

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs all rows of the table; returns whether all are right.
async fn run(arguments: Arguments) -> Result<bool> {
    let mock = Mock::new(&arguments.server)?;
    let wanted = |api: &str| arguments.api.is_empty() || arguments.api.iter().any(|a| a == api);
    let (mut rows, mut bad) = (0_usize, 0_usize);
    for target in TARGETS.iter().filter(|target| wanted(target.api)) {
        let api = apis::find(target.api).context(target.api)?;
        say(&format!("\n{}", target.api))?;
        for fault in faults::all() {
            let named = |text: &String| fault.name.contains(text.as_str());
            if !arguments.fault.as_ref().is_none_or(named) {
                continue;
            }
            mock.prepare(&fault.behaviors).await?;
            let outcome = drive::run(target, api, &arguments.server, &fault).await?;
            let (requests, verdict) = (mock.requests().await?, mock.verdict().await?);
            let wrong = complaints(&fault, &outcome, requests, &verdict);
            say(&line(&fault, &outcome, requests, &verdict))?;
            for text in &wrong {
                say(&format!("    WRONG: {text}"))?;
            }
            rows += 1;
            bad += usize::from(!wrong.is_empty());
        }
    }
    let served = |api: &&apis::Api| TARGETS.iter().any(|target| target.api == api.name);
    for api in apis::ALL.iter().filter(|api| !served(api)) {
        say(&format!(
            "\n{}: not run, since the server does not speak it",
            api.name
        ))?;
    }
    say(&format!("\n{rows} rows, {bad} wrong"))?;
    Ok(bad == 0 && rows > 0)
}

fn say(text: &str) -> Result<()> {
    writeln!(io::stdout(), "{text}").context("print")
}

/// Writes one row.
fn line(fault: &Fault, outcome: &Outcome, requests: usize, verdict: &Verdict) -> String {
    let failures = match outcome.failures.as_slice() {
        [] => "-".to_owned(),
        failures => failures.join(", "),
    };
    format!(
        "  {:<38} {:<16} reported: {failures:<24} {requests:>2} requests {:>6} ms  {verdict}",
        fault.name,
        outcome.end,
        outcome.elapsed.as_millis()
    )
}

/// Returns what is wrong with a row.
fn complaints(fault: &Fault, outcome: &Outcome, requests: usize, verdict: &Verdict) -> Vec<String> {
    let mut wrong = Vec::new();
    if !fault.allows(outcome) {
        wrong.push(format!("it ended in {}: {}", outcome.end, outcome.detail));
    }
    if !fault.requests.contains(&requests) {
        wrong.push(format!(
            "{requests} requests in place of {:?}",
            fault.requests
        ));
    }
    for finding in &verdict.findings {
        if !fault.accepted.contains(&finding.code.as_str()) {
            wrong.push(format!("{}: {}", finding.code, finding.title));
        }
    }
    wrong
}
