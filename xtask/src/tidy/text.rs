//! Text that belongs to one machine and must not be in the repository.

use super::File;
use crate::report::Violation;

/// Settings that point a package manager at another registry. Split in two, so that this file
/// passes its own check.
const FOREIGN_REGISTRY: &[&str] = &[
    concat!("replace", "-with"),
    concat!("index", "-url"),
    concat!("npm", "rc:registry"),
];

/// Folders at the root of a file system where people keep their checkouts.
const HOMES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Checks every line of a text file.
pub(super) fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(home) = HOMES.iter().find(|home| has_absolute(line, home)) {
            violations.push(Violation::at(
                &file.path,
                index + 1,
                format!("a path below {home} exists on one machine only; use a relative one"),
            ));
        }
        if let Some(setting) = FOREIGN_REGISTRY
            .iter()
            .find(|setting| line.contains(**setting))
        {
            violations.push(Violation::at(
                &file.path,
                index + 1,
                format!("`{setting}` belongs into the settings of a machine, not of a project"),
            ));
        }
    }
    violations
}

/// Whether `path` begins somewhere in `line` with no part of a longer path or a URL before it.
fn has_absolute(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-~}*>".contains(c)))
    })
}

#[cfg(test)]
mod tests;
