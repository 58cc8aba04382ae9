//! `cargo xtask codegen`: the model catalogue of `pi-ai` as Rust, from its `models/models.json`.
//!
//! The output is committed, so that neither a build nor a run reads JSON. It depends on nothing but
//! the input, and `--check` compares the two.

mod render;
mod source;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::report::Violation;

const INPUT: &str = "crates/pi-ai/models/models.json";
const OUTPUT: &str = "crates/pi-ai/src/catalog/generated";
const SUFFIX: &str = ".generated.rs";

/// Writes the generated files and removes those that are not generated any more.
pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let files = generate(root)?;
    let folder = root.join(OUTPUT);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {OUTPUT}"))?;

    let old = committed(root)?;
    for name in old.keys().filter(|name| !files.contains_key(*name)) {
        std::fs::remove_file(folder.join(name))
            .with_context(|| format!("cannot remove {OUTPUT}/{name}"))?;
    }
    let mut written = 0;
    for (name, text) in &files {
        // An untouched file is not compiled again.
        if old.get(name) != Some(text) {
            std::fs::write(folder.join(name), text)
                .with_context(|| format!("cannot write {OUTPUT}/{name}"))?;
            written += 1;
        }
    }
    println!("codegen: {} files, {written} of them changed", files.len());
    Ok(true)
}

/// Compares the committed files with what would be generated now.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Violation>> {
    Ok(compare(&generate(root)?, &committed(root)?))
}

fn compare(
    expected: &BTreeMap<String, String>,
    committed: &BTreeMap<String, String>,
) -> Vec<Violation> {
    let violation = |name: &str, what: &str| {
        Violation::new(
            format!("{OUTPUT}/{name}"),
            format!("{what}; run `cargo xtask codegen`"),
        )
    };
    let mut violations = Vec::new();
    for (name, text) in expected {
        match committed.get(name) {
            Some(found) if found == text => {}
            Some(_) => violations.push(violation(name, &format!("differs from {INPUT}"))),
            None => violations.push(violation(name, "is missing")),
        }
    }
    let left_over = committed
        .keys()
        .filter(|name| !expected.contains_key(*name));
    violations.extend(left_over.map(|name| violation(name, "is not generated any more")));
    violations
}

/// Returns the generated files by name.
fn generate(root: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(root.join(INPUT))
        .with_context(|| format!("cannot read {INPUT}"))?;
    let catalog = source::parse(&text).with_context(|| format!("cannot use {INPUT}"))?;
    render::files(&catalog).with_context(|| format!("cannot use {INPUT}"))
}

/// Reads the generated files that are there.
fn committed(root: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let folder = root.join(OUTPUT);
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {OUTPUT}"))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| name.ends_with(SUFFIX)) {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {OUTPUT}/{name}"))?;
            files.insert(name.to_owned(), text);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
