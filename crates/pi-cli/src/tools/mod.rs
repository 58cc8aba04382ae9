//! Tools that look at the files of a folder. They change nothing and see nothing outside of it.

mod confine;
mod ls;
mod read;

use std::sync::Arc;

use pi_core::{AgentTool, CancellationToken, ToolContext, ToolError};

pub(crate) use self::confine::Folder;
use self::ls::Ls;
use self::read::Read;

/// The most bytes of a result.
const MAX_BYTES: usize = 50 * 1024;

/// Returns the tools for a folder.
pub(crate) fn read_only(folder: Folder) -> Vec<AgentTool> {
    let folder = Arc::new(folder);
    vec![
        Ls::new(Arc::clone(&folder)).into(),
        Read::new(folder).into(),
    ]
}

/// Runs blocking work on files off the thread that drives the run. The work is told about an abort
/// by the token, and is not waited for after one.
async fn off_thread<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let abort = cx.abort_token().clone();
    let work = tokio::task::spawn_blocking(move || work(&abort));
    tokio::select! {
        biased;
        result = work => result.unwrap_or_else(|_| Err("The file could not be worked on.".into())),
        () = cx.aborted() => Err(aborted()),
    }
}

fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}

/// Writes a size as `123B`, `1.5KB`, `2.0MB`.
fn shown_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}
