//! Rules for the recorded and hand-written data of the tests: each says where it is from and what it
//! shows, and none holds a secret.

mod secrets;

use std::collections::{BTreeMap, BTreeSet};

use super::File;
use crate::report::Violation;

const FOLDER: &str = "tests/fixtures/";

const ORIGINS: &[&str] = &["recorded", "synthetic"];

/// Checks every case `tests/fixtures/<api>/<case>/`, and looks for secrets in fixtures and
/// snapshots.
pub(super) fn check(paths: &[String], files: &[File]) -> Vec<Violation> {
    let texts: BTreeMap<&str, &str> = files
        .iter()
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    let cases: BTreeSet<&str> = paths.iter().filter_map(|path| case(path)).collect();

    let mut violations = Vec::new();
    for case in cases {
        let path = format!("{case}/meta.toml");
        match texts.get(path.as_str()) {
            Some(text) => violations.extend(meta(&path, text)),
            None => violations.push(Violation::new(case, "the case has no meta.toml")),
        }
    }
    for file in files {
        if file.path.starts_with(FOLDER) || file.path.ends_with(".snap") {
            violations.extend(secrets::check(file));
        }
    }
    violations
}

/// Returns the folder of the case that a file belongs to.
fn case(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(FOLDER)?;
    let (api, rest) = inside.split_once('/')?;
    let (case, _) = rest.split_once('/')?;
    path.get(..FOLDER.len() + api.len() + 1 + case.len())
}

fn meta(path: &str, text: &str) -> Vec<Violation> {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Violation::new(path, format!("does not parse: {error}"))],
    };
    let mut violations = Vec::new();
    let origin = table.get("origin").and_then(toml::Value::as_str);
    if !origin.is_some_and(|origin| ORIGINS.contains(&origin)) {
        let message = format!("`origin` must be one of {}", ORIGINS.join(", "));
        violations.push(Violation::new(path, message));
    }
    if !table.get("covers").is_some_and(says_something) {
        violations.push(Violation::new(
            path,
            "`covers` must say what the case shows",
        ));
    }
    violations
}

/// A text, or a list of texts.
fn says_something(value: &toml::Value) -> bool {
    match value {
        toml::Value::String(text) => !text.trim().is_empty(),
        toml::Value::Array(list) => !list.is_empty() && list.iter().all(says_something),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
