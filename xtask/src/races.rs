//! Repeats every race test many times, with more threads than cores.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

/// Runs the tests named `race_*` with `rounds` repetitions of each race.
pub(crate) fn run(root: &Path, rounds: usize) -> anyhow::Result<bool> {
    println!("each race {rounds} times");
    let status = Command::new("cargo")
        .current_dir(root)
        .args([
            "test",
            "-p",
            "integration-tests",
            "--test",
            "it",
            "race_",
            "--",
        ])
        .args(["--test-threads", "8"])
        .env("PI_RACE_ROUNDS", rounds.to_string())
        .status()
        .context("start cargo test")?;
    Ok(status.success())
}
