//! Patterns of paths.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use pi_core::ToolError;

/// A pattern of paths relative to the folder that is searched. Without a slash it means names at
/// any depth.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    /// Whether the pattern ends with a slash and so means folders only.
    folders_only: bool,
}

impl Glob {
    /// # Errors
    /// If the pattern is broken.
    pub(super) fn new(pattern: &str, ignore_case: bool) -> Result<Self, ToolError> {
        let given = pattern;
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let (pattern, folders_only) = match pattern.strip_suffix('/') {
            Some(folder) if !folder.is_empty() => (folder, true),
            _ => (pattern, false),
        };
        let pattern = match pattern.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if pattern.contains('/') => pattern.to_owned(),
            None => format!("**/{pattern}"),
        };
        let matcher = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .case_insensitive(ignore_case)
            .build()
            .map_err(|error| ToolError::new(format!("Invalid glob '{given}': {}", error.kind())))?
            .compile_matcher();
        Ok(Self {
            matcher,
            folders_only,
        })
    }

    pub(super) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        (is_folder || !self.folders_only) && self.matcher.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_relative_and_names_match_at_any_depth() {
        for (pattern, path, matches) in [
            ("*.rs", "a/b/c.rs", true),
            ("*.rs", ".c.rs", true),
            ("./*.rs", "a/c.rs", true),
            ("/*.rs", "a/c.rs", false),
            ("/*.rs", "c.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("src/**/*.rs", "x/src/a.rs", false),
            ("**/src/*.rs", "x/src/a.rs", true),
            ("{a,b}.txt", "x/b.txt", true),
            ("[!a].txt", "b.txt", true),
            ("*", "a/b", true),
        ] {
            let glob = Glob::new(pattern, false).unwrap();
            assert_eq!(
                glob.matches(Path::new(path), false),
                matches,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn a_slash_at_the_end_means_folders() {
        let glob = Glob::new("src/", false).unwrap();
        assert!(glob.matches(Path::new("a/src"), true));
        assert!(!glob.matches(Path::new("a/src"), false));
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let error = Glob::new("a[", false).unwrap_err().to_string();
        assert!(error.starts_with("Invalid glob 'a[': "), "{error}");
    }
}
