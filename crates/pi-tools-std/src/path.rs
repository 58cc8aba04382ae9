//! What the path of a call means.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use pi_core::ToolError;
use unicode_normalization::UnicodeNormalization as _;

use crate::ops::{FileError, Identity, ReadOps};

/// Where the paths of calls start.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    /// The workspace folder.
    pub(crate) folder: PathBuf,
    /// What `~` stands for; without it, `~` is a name.
    pub(crate) home: Option<PathBuf>,
}

/// The path of a call to a file that should be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Absolute; it may still hold `..` and links.
    pub(crate) path: PathBuf,
    /// True if the file has another name than the call gave.
    pub(crate) is_variant: bool,
}

impl Resolved {
    /// Returns the path if the file has another name than the call gave.
    pub(crate) fn variant(&self) -> Option<PathBuf> {
        self.is_variant.then(|| self.path.clone())
    }
}

impl Base {
    /// Finds the path of a file that may not exist yet: the name as it is given.
    ///
    /// # Errors
    /// If the path is empty or holds a NUL byte.
    pub(crate) fn new_file(&self, raw: &str) -> Result<PathBuf, ToolError> {
        check(raw)?;
        self.absolute(raw.strip_prefix('@').unwrap_or(raw))
    }

    /// Finds the path of a file that should exist: the first spelling that does. If there is none,
    /// the name as it is given.
    ///
    /// # Errors
    /// As [`new_file`](Self::new_file).
    pub(crate) fn existing(&self, ops: &dyn ReadOps, raw: &str) -> Result<Resolved, ToolError> {
        let given = self.written(ops, raw)?;
        let variant = if is_there(ops, &given) {
            None
        } else {
            let mut spellings = Self::other_spellings(&given).into_iter();
            spellings.find(|path| is_there(ops, path))
        };
        Ok(Resolved {
            is_variant: variant.is_some(),
            path: variant.unwrap_or(given),
        })
    }

    /// Finds the path of a file that is written: the name as it is given, unless only the one with
    /// its `@` is there.
    ///
    /// # Errors
    /// As [`new_file`](Self::new_file).
    pub(crate) fn written(&self, ops: &dyn ReadOps, raw: &str) -> Result<PathBuf, ToolError> {
        let given = self.new_file(raw)?;
        if raw.starts_with('@') && !is_there(ops, &given) {
            let with_sign = self.absolute(raw)?;
            if is_there(ops, &with_sign) {
                return Ok(with_sign);
            }
        }
        Ok(given)
    }

    /// Names every file that a path may turn out to mean when its turn comes: earlier calls may
    /// create any of them, so none is looked for.
    ///
    /// # Errors
    /// As [`new_file`](Self::new_file).
    pub(crate) fn identities(
        &self,
        ops: &dyn ReadOps,
        raw: &str,
    ) -> Result<Vec<Identity>, ToolError> {
        let given = self.new_file(raw)?;
        let mut paths = Self::other_spellings(&given);
        if raw.starts_with('@') {
            paths.push(self.absolute(raw)?);
        }
        paths.push(given);
        Ok(paths.iter().map(|path| ops.identity(path)).collect())
    }

    /// Lists how else the name of a file may be written on disk, the likeliest first.
    fn other_spellings(given: &Path) -> Vec<PathBuf> {
        let mut spellings = Vec::new();
        let Some(text) = given.to_str() else {
            return spellings;
        };
        let decomposed: String = text.nfd().collect();
        for spelling in [
            narrow_space_before_meridiem(text),
            decomposed.clone(),
            text.replace('\'', "\u{2019}"),
            decomposed.replace('\'', "\u{2019}"),
            text.nfc().collect(),
        ] {
            if spelling != text {
                spellings.push(PathBuf::from(spelling));
            }
        }
        spellings
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, ToolError> {
        let path: String = path.chars().map(plain_space).collect();
        let path = match from_url(&path) {
            Some(path) => {
                check(&path)?;
                PathBuf::from(path)
            }
            None => PathBuf::from(path),
        };
        if let (Ok(rest), Some(home)) = (path.strip_prefix("~"), &self.home) {
            return Ok(self.folder.join(home).join(rest));
        }
        Ok(self.folder.join(path))
    }
}

/// Returns true unless nothing is there; what may not be looked at is something, too.
fn is_there(ops: &dyn ReadOps, path: &Path) -> bool {
    !matches!(ops.stat(path), Err(FileError::NotFound))
}

fn check(path: &str) -> Result<(), ToolError> {
    if path.is_empty() || path == "@" {
        return Err("path must not be empty.".into());
    }
    if path.contains('\0') {
        return Err("path must not contain a NUL byte.".into());
    }
    Ok(())
}

/// Turns the other spaces of Unicode into the plain one: models write them by mistake.
fn plain_space(c: char) -> char {
    match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

/// Reads the path out of a `file://` URL of this machine.
fn from_url(url: &str) -> Option<String> {
    let path = url.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    path.starts_with('/')
        .then(|| percent_decode_str(path).decode_utf8().ok())?
        .map(|path| path.into_owned())
}

/// Puts the narrow space before `AM.` and `PM.` that macOS writes in the names of screenshots.
fn narrow_space_before_meridiem(path: &str) -> String {
    let mut spelled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(space) = rest.find(' ') {
        let (before, from_space) = rest.split_at(space);
        let after = &from_space[1..];
        spelled.push_str(before);
        let word = after.get(..3).unwrap_or_default();
        let narrow = word.eq_ignore_ascii_case("am.") || word.eq_ignore_ascii_case("pm.");
        spelled.push(if narrow { '\u{202f}' } else { ' ' });
        rest = after;
    }
    spelled + rest
}

#[cfg(test)]
mod tests;
