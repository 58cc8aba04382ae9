//! Reading of stored test data.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a JSON file; escapes of unpaired surrogate halves are read as U+FFFD.
///
/// # Errors
/// If the file cannot be read or is no JSON.
pub fn json(path: &Path) -> Result<Value> {
    parse(path)
}

/// Reads a JSON file into a type, as [`json`] does.
///
/// # Errors
/// If the file cannot be read or does not fit the type.
pub fn parse<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let text = without_lone_surrogates(text);
    serde_json::from_str(&text).with_context(|| format!("parse {}", path.display()))
}

/// Reads a JSON file if it is there.
///
/// # Errors
/// As [`json`].
pub fn json_if_any(path: &Path) -> Result<Option<Value>> {
    if path.exists() {
        json(path).map(Some)
    } else {
        Ok(None)
    }
}

/// Lists the files below a folder whose names satisfy `wanted`, sorted by path.
///
/// # Errors
/// If a folder cannot be read.
pub fn files_below(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, wanted, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, wanted, found)?;
        } else if path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(wanted)
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Replaces `\u` escapes of unpaired surrogate halves, which strict readers refuse.
fn without_lone_surrogates(text: String) -> String {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find('\\') {
        let (before, escape) = rest.split_at(start);
        kept.push_str(before);
        let (copied, replaced) = match (half(escape), escape.get(6..).and_then(half)) {
            (Some(Half::High), Some(Half::Low)) => (12, false),
            (Some(_), _) => (6, true),
            // Two bytes at least: the escape's letter may be a backslash itself.
            (None, _) => (escape.chars().take(2).map(char::len_utf8).sum(), false),
        };
        let (piece, after) = escape.split_at(copied);
        kept.push_str(if replaced { "\\ufffd" } else { piece });
        rest = after;
    }
    kept.push_str(rest);
    kept
}

#[derive(Clone, Copy)]
enum Half {
    High,
    Low,
}

/// Returns which half of a surrogate pair the escape at the beginning of `text` is.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}
