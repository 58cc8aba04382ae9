//! The end of a call that nobody waits for any more.

use pi_core::ToolError;

/// Returns what the model sees of a call on files that was aborted before it had an effect.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}
