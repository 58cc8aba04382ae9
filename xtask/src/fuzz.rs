//! `cargo xtask fuzz`: every fuzz target for a while. It needs `cargo-fuzz` and a nightly compiler, and is
//! skipped without them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::ci::succeeds;

/// The packages with fuzz targets, which are no members of the workspace.
const PACKAGES: [&str; 1] = ["crates/pi-tools-std"];

/// Runs each target for some seconds and returns whether none found anything.
pub(crate) fn run(root: &Path, seconds: u64, only: Option<&str>) -> anyhow::Result<bool> {
    if !has_fuzz() {
        println!("fuzz: skipped, since `cargo +nightly fuzz` is not installed");
        return Ok(true);
    }
    let mut passed = true;
    for package in PACKAGES {
        let package = root.join(package);
        for target in targets(&package)? {
            if only.is_some_and(|only| only != target) {
                continue;
            }
            println!("fuzz: {target}, {seconds} s ...");
            passed &= succeeds(
                Command::new("cargo")
                    .args(["+nightly", "fuzz", "run", &target, "--"])
                    .arg(format!("-max_total_time={seconds}"))
                    .args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"])
                    .current_dir(&package),
            )?;
        }
    }
    Ok(passed)
}

fn has_fuzz() -> bool {
    Command::new("cargo")
        .args(["+nightly", "fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Lists the targets by the `[[bin]]` tables of the package beside the one that is tested.
fn targets(package: &Path) -> anyhow::Result<Vec<String>> {
    let manifest = package.join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let manifest: toml::Table = text.parse().context("the manifest is no TOML")?;
    let bins = manifest.get("bin").and_then(toml::Value::as_array);
    Ok(bins
        .into_iter()
        .flatten()
        .filter_map(|bin| Some(bin.get("name")?.as_str()?.to_owned()))
        .collect())
}
