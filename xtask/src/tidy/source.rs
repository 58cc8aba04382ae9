//! Rules for Rust files: sizes, module docs, attributes and leftovers.

mod functions;
mod tokens;

use proc_macro2::TokenStream;

use super::File;
use crate::report::Violation;

const MAX_FILE_LINES: usize = 600;

/// What a file is for decides which rules it has to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Shipped,
    Test,
    Generated,
}

/// Checks one Rust file.
pub(super) fn check(file: &File) -> Vec<Violation> {
    let purpose = purpose(&file.path);
    let mut violations = Vec::new();

    violations.extend(name(file));
    if !is_unit_test(&file.path) {
        violations.extend(docs(file));
    }
    if purpose == Purpose::Shipped {
        violations.extend(length(file));
    }
    match parse(&file.text) {
        Ok((tokens, syntax)) => {
            violations.extend(tokens::check(&file.path, tokens));
            if purpose == Purpose::Shipped {
                violations.extend(functions::check(&file.path, &syntax));
            }
        }
        Err(error) => violations.push(Violation::at(
            &file.path,
            error.span().start().line,
            format!("does not parse: {error}"),
        )),
    }
    violations
}

fn purpose(path: &str) -> Purpose {
    if path.ends_with(".generated.rs") {
        return Purpose::Generated;
    }
    let mut parts = path.split('/');
    let is_test = parts.any(|part| matches!(part, "tests" | "tests.rs" | "it" | "benches"));
    if is_test {
        Purpose::Test
    } else {
        Purpose::Shipped
    }
}

/// The sibling file or folder of a module that holds its tests: the module's own docs are enough.
fn is_unit_test(path: &str) -> bool {
    let inside = path.split_once("/src/").map_or("", |(_, inside)| inside);
    inside
        .split('/')
        .any(|part| matches!(part, "tests" | "tests.rs"))
}

fn name(file: &File) -> Option<Violation> {
    let vague = |part: &str| matches!(part, "utils" | "utils.rs" | "util" | "util.rs");
    file.path.split('/').any(vague).then(|| {
        Violation::new(
            &file.path,
            "name the module after what it does, not `utils`",
        )
    })
}

fn docs(file: &File) -> Option<Violation> {
    let first = file.text.lines().map(str::trim).find(|line| {
        // Generated files name their generator in a plain comment first.
        !line.is_empty() && (line.starts_with("//!") || !line.starts_with("//"))
    });
    let documented = first.is_some_and(|line| line.starts_with("//!"));
    (!documented).then(|| Violation::at(&file.path, 1, "start with `//!` docs of the module"))
}

fn length(file: &File) -> Option<Violation> {
    let lines = file.text.lines().count();
    (lines > MAX_FILE_LINES).then(|| {
        Violation::new(
            &file.path,
            format!("{lines} lines, at most {MAX_FILE_LINES}; split it"),
        )
    })
}

fn parse(text: &str) -> syn::Result<(TokenStream, syn::File)> {
    let tokens: TokenStream = text.parse()?;
    Ok((tokens.clone(), syn::parse2(tokens)?))
}

#[cfg(test)]
mod tests;
