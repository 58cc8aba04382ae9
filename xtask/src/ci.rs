//! `cargo xtask ci`: every check that guards the main branch, tests apart.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;
use cargo_metadata::MetadataCommand;

use crate::{codegen, layers, report, tidy};

/// The feature that has a command of its own, since it needs crates that take long to build.
const OWN_COMMAND: &str = "bedrock";

/// A check with the name that it is reported under.
struct Step {
    name: &'static str,
    run: fn(&Path) -> anyhow::Result<bool>,
}

const STEPS: &[Step] = &[
    Step {
        name: "codegen",
        run: |root| Ok(report::print("codegen", &codegen::check(root)?)),
    },
    Step {
        name: "fmt",
        run: fmt,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "doc",
        run: doc,
    },
    Step {
        name: "layers",
        run: |root| Ok(report::print("layers", &layers::check(root)?)),
    },
    Step {
        name: "tidy",
        run: |root| Ok(report::print("tidy", &tidy::check(root)?)),
    },
];

/// Runs all steps, also after one failed, and returns whether all passed.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let mut failed = Vec::new();
    for step in STEPS {
        println!("ci: {} ...", step.name);
        let start = Instant::now();
        let passed = (step.run)(root).with_context(|| format!("cannot run {}", step.name))?;
        let verdict = if passed { "ok" } else { "FAILED" };
        println!(
            "ci: {} {verdict} ({:.1} s)",
            step.name,
            start.elapsed().as_secs_f64()
        );
        if !passed {
            failed.push(step.name);
        }
    }
    if failed.is_empty() {
        println!("ci: all {} steps passed", STEPS.len());
    } else {
        eprintln!("ci: failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

fn fmt(root: &Path) -> anyhow::Result<bool> {
    succeeds(cargo(root).args(["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> anyhow::Result<bool> {
    succeeds(
        cargo(root)
            .args(["clippy", "--workspace", "--all-targets"])
            .args(["--features", &features(root)?])
            .args(["--", "-D", "warnings"]),
    )
}

fn doc(root: &Path) -> anyhow::Result<bool> {
    succeeds(
        cargo(root)
            .args(["doc", "--workspace", "--no-deps"])
            .args(["--features", &features(root)?])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

/// Returns all features of all packages of the workspace, apart from [`OWN_COMMAND`].
fn features(root: &Path) -> anyhow::Result<String> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("cannot read the packages of the workspace")?;
    let packages = metadata.workspace_packages();
    let features = packages.iter().flat_map(|package| {
        let names = package.features.keys();
        let names = names.filter(|name| *name != OWN_COMMAND);
        names.map(|name| format!("{}/{name}", package.name))
    });
    Ok(features.collect::<Vec<_>>().join(","))
}

pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    Ok(status.success())
}
