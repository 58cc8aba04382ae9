//! The crates that run anywhere: no HTTP client, no runtime, no clock, no operating system.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::report::Violation;

/// The crates that must link none of [`FORBIDDEN_CRATES`] and [`FORBIDDEN_TOKIO`].
pub(crate) const PURE: &[&str] = &["pi-core", "pi-ai-wire", "pi-agent-loop", "pi-agent"];

const FORBIDDEN_CRATES: &[&str] = &["reqwest", "hyper"];

/// Features of tokio that need a runtime or the operating system.
const FORBIDDEN_TOKIO: &[&str] = &["rt", "rt-multi-thread", "net", "time", "fs", "process"];

/// Checks what `package` links when it is resolved alone, for every target and with all features.
pub(crate) fn check(root: &Path, package: &str) -> anyhow::Result<Vec<Violation>> {
    Ok(judge(package, &tree(root, package)?))
}

/// Asks cargo for the tree. A selection of one package keeps the features that its neighbours in
/// the workspace turn on out of the answer; `cargo metadata` cannot do that.
fn tree(root: &Path, package: &str) -> anyhow::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args([
            "tree",
            "--package",
            package,
            "--all-features",
            "--target",
            "all",
        ])
        .args([
            "--edges",
            "normal,no-proc-macro",
            "--prefix",
            "depth",
            "--format",
            "\t{p}\t{f}",
        ])
        .output()
        .context("cannot start cargo tree")?;
    if !output.status.success() {
        bail!(
            "cargo tree failed for {package}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout).context("cargo tree printed something other than UTF-8")
}

/// Judges a tree of lines `depth TAB name version TAB features`.
fn judge(package: &str, tree: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    for (depth, name, features) in tree.lines().filter_map(parse) {
        path.truncate(depth);
        path.push(name);
        let through = path.join(" -> ");
        if FORBIDDEN_CRATES.contains(&name) {
            violations.push(Violation::new(
                package,
                format!("must not link {name}, but does through {through}"),
            ));
        }
        if name == "tokio" {
            violations.extend(
                features
                    .filter(|feature| FORBIDDEN_TOKIO.contains(feature))
                    .map(|feature| {
                        Violation::new(
                            package,
                            format!(
                                "must not turn on tokio/{feature}; tokio comes in through {through}"
                            ),
                        )
                    }),
            );
        }
    }
    violations
}

/// Splits one line. A crate that was printed before ends in ` (*)` and has no children here, which
/// hides nothing: what it links was judged at its first place.
fn parse(line: &str) -> Option<(usize, &str, impl Iterator<Item = &str>)> {
    let mut fields = line.trim_end().trim_end_matches(" (*)").split('\t');
    let depth = fields.next()?.parse().ok()?;
    let name = fields.next()?.split(' ').next()?;
    let features = fields.next().unwrap_or_default().split(',');
    Some((depth, name, features))
}

#[cfg(test)]
mod tests;
