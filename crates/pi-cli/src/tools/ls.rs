//! The tool `ls`.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use pi_core::{CancellationToken, Replay, Tool, ToolContext, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confine::{Folder, failure};
use super::{MAX_BYTES, aborted, off_thread};

/// The entries that are listed when the model names no limit.
const ENTRIES: usize = 500;

/// The most entries that are looked at.
const MAX_SCANNED: usize = 100_000;

/// Lists a directory.
pub(super) struct Ls {
    folder: Arc<Folder>,
}

impl Ls {
    pub(super) fn new(folder: Arc<Folder>) -> Self {
        Self { folder }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LsArgs {
    /// The directory, relative to the working folder; the working folder itself when absent.
    path: Option<String>,
    /// The most entries to list; 500 when absent.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(super) struct LsDetails {
    /// The entries that are listed.
    entries: usize,
    /// True if there are more.
    truncated: bool,
}

impl Tool for Ls {
    const NAME: &'static str = "ls";
    const LABEL: &'static str = "List";
    const DESCRIPTION: &'static str = "Lists a directory: one entry a line, sorted, hidden ones \
        included, directories with a / at the end. At most 500 entries or 50KB are listed.";
    const REPLAY: Replay = Replay::Safe;
    type Args = LsArgs;
    type Details = LsDetails;

    async fn run(&self, args: LsArgs, cx: ToolContext) -> Result<ToolOutput<LsDetails>, ToolError> {
        let folder = Arc::clone(&self.folder);
        off_thread(&cx, move |abort| {
            let path = args.path.as_deref().unwrap_or(".");
            let limit = args.limit.unwrap_or(ENTRIES).max(1);
            let directory = folder.find(path)?;
            if !directory.is_dir() {
                return Err(ToolError::new(format!(
                    "{path} is not a directory. Use read to see it."
                )));
            }
            let entries = scan(&folder, &directory, path, abort)?;
            Ok(show(&entries, limit))
        })
        .await
    }
}

/// Reads the names of a directory, marked by their kind and sorted without regard to case.
fn scan(
    folder: &Folder,
    directory: &Path,
    path: &str,
    abort: &CancellationToken,
) -> Result<Vec<String>, ToolError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)
        .map_err(|error| failure(&error, path))?
        .take(MAX_SCANNED)
    {
        if abort.is_cancelled() {
            return Err(aborted());
        }
        let shown = entry.and_then(|entry| shown_entry(folder, &entry));
        entries.push(shown.map_err(|error| failure(&error, path))?);
    }
    entries.sort_by_cached_key(|entry| (entry.to_lowercase(), entry.clone()));
    Ok(entries)
}

fn shown_entry(folder: &Folder, entry: &fs::DirEntry) -> io::Result<String> {
    let name = entry.file_name();
    let mut shown = name.to_string_lossy().replace(char::is_control, "\u{fffd}");
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        match entry.path().canonicalize() {
            Ok(target) if !folder.contains(&target) => shown.push_str(" (leads out of the folder)"),
            Ok(target) if target.is_dir() => shown.push('/'),
            Ok(_) => {}
            Err(_) => shown.push_str(" (broken symlink)"),
        }
    } else if kind.is_dir() {
        shown.push('/');
    }
    if name.to_str().is_none() {
        shown.push_str(" (name is not valid UTF-8)");
    }
    Ok(shown)
}

fn show(entries: &[String], limit: usize) -> ToolOutput<LsDetails> {
    let mut text = String::new();
    let mut listed = 0;
    for entry in entries.iter().take(limit) {
        if text.len() + entry.len() >= MAX_BYTES {
            break;
        }
        text.push_str(entry);
        text.push('\n');
        listed += 1;
    }
    let truncated = listed < entries.len();
    if entries.is_empty() {
        text.push_str("(empty directory)\n");
    } else if truncated && listed == limit {
        let next = limit.saturating_mul(2);
        text.push_str(&format!(
            "\n[{limit} entries limit reached. Use limit={next} for more]\n"
        ));
    } else if truncated {
        text.push_str("\n[50.0KB limit reached]\n");
    }
    text.pop();
    ToolOutput::text(text).with_details(LsDetails {
        entries: listed,
        truncated,
    })
}

#[cfg(test)]
mod tests {
    use pi_core::joined_text;

    use super::*;

    async fn ls(dir: &Path, path: Option<&str>, limit: Option<usize>) -> Result<String, String> {
        let tool = Ls::new(Arc::new(Folder::new(dir).unwrap()));
        let args = LsArgs {
            path: path.map(str::to_owned),
            limit,
        };
        match tool.run(args, ToolContext::detached("c1")).await {
            Ok(output) => Ok(joined_text(&output.content).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[tokio::test]
    async fn entries_are_sorted_and_marked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            ls(dir.path(), None, None).await.unwrap(),
            "(empty directory)"
        );
        for file in ["b.txt", "A.txt", ".hidden"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        fs::create_dir(dir.path().join("Zoo")).unwrap();
        assert_eq!(
            ls(dir.path(), None, None).await.unwrap(),
            ".hidden\nA.txt\nb.txt\nZoo/"
        );
        assert_eq!(
            ls(dir.path(), Some("."), Some(2)).await.unwrap(),
            ".hidden\nA.txt\n\n[2 entries limit reached. Use limit=4 for more]"
        );
        assert_eq!(
            ls(dir.path(), Some("b.txt"), None).await.unwrap_err(),
            "b.txt is not a directory. Use read to see it."
        );
        assert!(
            ls(dir.path(), Some(".."), None)
                .await
                .unwrap_err()
                .contains("outside")
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_and_strange_names_are_told() {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        symlink("sub", dir.path().join("inside")).unwrap();
        symlink("/", dir.path().join("out")).unwrap();
        symlink("gone", dir.path().join("broken")).unwrap();
        fs::write(dir.path().join("new\nline"), "").unwrap();
        let expected = "\
broken (broken symlink)
inside/
new\u{fffd}line
out (leads out of the folder)
sub/";
        assert_eq!(ls(dir.path(), None, None).await.unwrap(), expected);
        // Not every file system takes such a name.
        if fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").is_ok() {
            let listed = ls(dir.path(), None, None).await.unwrap();
            assert!(
                listed.contains("\u{fffd} (name is not valid UTF-8)"),
                "{listed}"
            );
        }
    }

    #[test]
    fn a_listing_is_bounded_in_bytes() {
        let entries: Vec<String> = (0..400).map(|n| format!("{n:0>250}")).collect();
        let output = show(&entries, ENTRIES);
        let text = joined_text(&output.content).into_owned();
        assert!(text.len() < MAX_BYTES + 100, "{}", text.len());
        assert!(text.ends_with("[50.0KB limit reached]"));
    }
}
