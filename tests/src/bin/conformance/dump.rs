//! Writing what was observed, so that somebody else's comparison can judge it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

/// The folder that observations are written to, if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Dump(Option<PathBuf>);

impl Dump {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// Writes one observation; `path` is relative to the folder.
    pub(crate) fn write(&self, path: &str, value: &Value) -> Result<()> {
        let Some(folder) = &self.0 else { return Ok(()) };
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        }
        let text = format!("{value:#}\n");
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }
}
