//! Scripted runs of an agent, of the bare loop, and of a proxy.

mod hooks;
mod judge;
mod label;
mod model;
mod play;
mod scenario;
mod state;
mod steps;
mod tools;
mod world;

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use integration_tests::report::{Outcome, Report};
use integration_tests::stored;
use serde_json::Value;

use crate::dump::Dump;
use scenario::{Kind, Scenario};

/// Runs all scenarios below a folder; with `proxy_only` those of a proxy, else all others.
pub(crate) async fn run(
    folder: &Path,
    proxy_only: bool,
    dump: &Dump,
    report: &mut Report,
) -> Result<()> {
    for file in stored::files_below(folder, &|name| name.ends_with(".scenario.json"))? {
        let raw = stored::json(&file)?;
        let is_proxy = raw.get("kind").is_some_and(|kind| kind == "proxy");
        if proxy_only && !is_proxy {
            continue;
        }
        let name = raw
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if is_proxy {
            report.add(
                name,
                Outcome::Skipped("the proxy client is not built yet".to_owned()),
            );
            continue;
        }
        let outcome = run_scenario(&file, &name, dump)
            .await
            .unwrap_or_else(|error| Outcome::Failed(vec![format!("{error:#}")]));
        report.add(name, outcome);
    }
    Ok(())
}

async fn run_scenario(file: &Path, name: &str, dump: &Dump) -> Result<Outcome> {
    let expected = stored::json(&file.with_file_name(format!("{name}.expected.json")))?;
    if let Some(reason) = expected
        .pointer("/oracle_suspect/skip")
        .and_then(Value::as_str)
    {
        return Ok(Outcome::Skipped(reason.to_owned()));
    }
    let scenario: Scenario = stored::parse(file)?;
    let kind = scenario.kind;
    // A thread of its own: the scenario's time is that of a paused clock.
    let played = tokio::task::spawn_blocking(move || play_on_paused_clock(scenario));
    let actual = played
        .await
        .map_err(|error| anyhow!("the code under test: {error}"))??;
    dump.write(&format!("{name}.actual.json"), &actual)?;
    let is_agent = kind == Kind::Agent;
    Ok(Outcome::from_differences(judge::compare(
        &expected, &actual, is_agent,
    )))
}

fn play_on_paused_clock(scenario: Scenario) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .context("make a runtime")?;
    runtime.block_on(play::play(scenario))
}
