//! The checks of everything that needs crates of AWS, which `ci` leaves out: they take long to build,
//! and few use them.

use std::path::Path;

use crate::ci::{cargo, succeeds};

/// The packages with a feature `bedrock`.
const PACKAGES: [&str; 3] = ["pi-ai-wire", "pi-ai", "integration-tests"];

/// Runs clippy, the tests and the documentation with the feature `bedrock` on.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let packages = || PACKAGES.iter().flat_map(|package| ["--package", package]);
    let features = PACKAGES
        .map(|package| format!("{package}/bedrock"))
        .join(",");
    let with_features = ["--features", &features];
    let clippy = succeeds(
        cargo(root)
            .args(["clippy", "--all-targets"])
            .args(packages())
            .args(with_features)
            .args(["--", "-D", "warnings"]),
    )?;
    let tests = succeeds(cargo(root).arg("test").args(packages()).args(with_features))?;
    let docs = succeeds(
        cargo(root)
            .args(["doc", "--no-deps"])
            .args(packages())
            .args(with_features)
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    Ok(clippy && tests && docs)
}
