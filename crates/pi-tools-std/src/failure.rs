//! What the model reads when the machine refuses.

use pi_core::ToolError;

use crate::abort::aborted;
use crate::ops::FileError;

/// Says why a file cannot be used. `path` is what the model called it.
pub(crate) fn file_failure(path: &str, error: &FileError) -> ToolError {
    ToolError::new(match error {
        FileError::IsFolder => format!("{path} is a directory. Use ls to list it."),
        FileError::NotFolder { part } => format!(
            "File not found: {path} ({} is not a directory)",
            part.display()
        ),
        error => return common_failure(path, error),
    })
}

/// Says why a search or a listing cannot begin.
pub(crate) fn folder_failure(path: &str, error: &FileError) -> ToolError {
    ToolError::new(match error {
        FileError::NotFound => format!("Path not found: {path}"),
        FileError::NotFolder { .. } | FileError::NotRegular => format!("Not a directory: {path}"),
        FileError::Outside { .. } | FileError::Aborted => return common_failure(path, error),
        error => format!("Cannot read directory: {error}"),
    })
}

/// Says why a file cannot be changed.
pub(crate) fn change_failure(path: &str, error: &FileError) -> ToolError {
    ToolError::new(match error {
        FileError::IsFolder => format!("{path} is a directory. Only files can be written."),
        FileError::NotFolder { part } => {
            format!(
                "Cannot create {path}: {} is not a directory.",
                part.display()
            )
        }
        error => return common_failure(path, error),
    })
}

fn common_failure(path: &str, error: &FileError) -> ToolError {
    ToolError::new(match error {
        FileError::NotFound => format!("File not found: {path}"),
        FileError::PermissionDenied => format!("Permission denied: {path}"),
        FileError::Outside { root } => format!(
            "{path} is outside the workspace {}. Only paths inside it can be used.",
            root.display()
        ),
        FileError::NotRegular => format!("{path} is not a regular file."),
        FileError::NoSpace => format!("No space left on device; {path} was not changed."),
        FileError::ReadOnly => format!("{path} is read-only and was not changed."),
        FileError::Changed => {
            format!("{path} is being changed by another program. Read it again.")
        }
        FileError::Aborted => return aborted(),
        error => format!("Cannot use {path}: {error}"),
    })
}
