//! `cargo xtask tidy`: the rules of the house that neither rustfmt nor clippy knows.

mod fixtures;
mod lockfile;
mod source;
mod text;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::report::Violation;

/// A text file of the repository.
#[derive(Debug)]
struct File {
    /// Relative to the root of the repository, with `/` between the parts.
    path: String,
    text: String,
}

/// Checks every text file that git tracks below `root`, or would track after `git add`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Violation>> {
    let paths = tracked(root)?;
    let files = read(root, &paths)?;

    let mut violations = Vec::new();
    for file in &files {
        violations.extend(text::check(file));
        if file.path.ends_with(".rs") {
            violations.extend(source::check(file));
        }
        if file.path == "Cargo.lock" {
            violations.extend(lockfile::check(file));
        }
    }
    violations.extend(fixtures::check(&paths, &files));
    Ok(violations)
}

fn tracked(root: &Path) -> anyhow::Result<Vec<String>> {
    let output = Command::new("git")
        .current_dir(root)
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .output()
        .context("cannot start git to list the files")?;
    if !output.status.success() {
        bail!(
            "git ls-files failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let list = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut paths: Vec<String> = list
        .split_terminator('\0')
        // A file that was deleted but not yet committed is still listed.
        .filter(|path| root.join(path).is_file())
        .map(str::to_owned)
        .collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Reads the files that hold text; the rules have nothing to say about binary ones.
fn read(root: &Path, paths: &[String]) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    for path in paths {
        let bytes =
            std::fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File {
                path: path.clone(),
                text,
            });
        }
    }
    Ok(files)
}
