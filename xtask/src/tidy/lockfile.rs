//! The number of packages that this workspace pulls in, and where they come from.

use super::File;
use crate::report::Violation;

/// The packages that `Cargo.lock` may hold, about a tenth more than it does. To raise it is a
/// deliberate edit, made in the commit that needs it.
const MAX_PACKAGES: usize = 450;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks `Cargo.lock`.
pub(super) fn check(file: &File) -> Vec<Violation> {
    let table: toml::Table = match file.text.parse() {
        Ok(table) => table,
        Err(error) => {
            return vec![Violation::new(
                &file.path,
                format!("does not parse: {error}"),
            )];
        }
    };
    let packages = table
        .get("package")
        .and_then(toml::Value::as_array)
        .map_or(&[][..], |p| p);

    let mut violations = Vec::new();
    if packages.len() > MAX_PACKAGES {
        violations.push(Violation::new(
            &file.path,
            format!(
                "{} packages, at most {MAX_PACKAGES}; drop a dependency, or raise MAX_PACKAGES in \
                 xtask/src/tidy/lockfile.rs and say why in the commit",
                packages.len()
            ),
        ));
    }
    for package in packages {
        let text = |key| package.get(key).and_then(toml::Value::as_str);
        if let Some(source) = text("source").filter(|source| *source != CRATES_IO) {
            let name = text("name").unwrap_or("a package");
            violations.push(Violation::new(
                &file.path,
                format!("{name} comes from {source}; every dependency comes from crates.io"),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests;
