//! What a call answers, and the texts of calls that do not run.

use std::time::Duration;

use pi_core::{ToolError, ToolOutput, UserContent};
use serde_json::json;

use crate::running::Settled;

/// The most bytes of text in one result; the rest is cut.
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// What a call answers in the end.
pub(crate) struct Answer {
    pub(crate) output: ToolOutput,
    pub(crate) is_error: bool,
    pub(crate) duration: Option<Duration>,
    pub(crate) suspended: bool,
}

impl Answer {
    pub(crate) fn refused(error: ToolError) -> Self {
        Self {
            output: error_output(error),
            is_error: true,
            duration: None,
            suspended: false,
        }
    }

    pub(crate) fn supplied(output: ToolOutput) -> Self {
        let is_error = output.is_error;
        Self {
            output,
            is_error,
            duration: None,
            suspended: false,
        }
    }

    pub(crate) fn suspended() -> Self {
        let output = ToolOutput::new(Vec::new());
        Self {
            output,
            is_error: false,
            duration: None,
            suspended: true,
        }
    }

    pub(crate) fn ran(settled: Settled) -> Self {
        let mut answer = match settled.result {
            Ok(output) => Self::supplied(output),
            Err(error) => Self::refused(error),
        };
        answer.duration = Some(settled.duration);
        answer
    }

    pub(crate) fn replace_by(&mut self, error: ToolError) {
        self.output = error_output(error);
        self.is_error = true;
    }

    /// Cuts what is too much text for one result, and says so.
    pub(crate) fn cut(&mut self) {
        let mut left = MAX_TEXT_BYTES;
        let mut dropped = 0;
        for block in &mut self.output.content {
            let UserContent::Text(block) = block else {
                continue;
            };
            let mut kept = left.min(block.text.len());
            while !block.text.is_char_boundary(kept) {
                kept -= 1;
            }
            dropped += block.text.len() - kept;
            block.text.truncate(kept);
            left -= kept;
        }
        if dropped > 0 {
            let notice = format!("[{dropped} bytes of the result were cut at {MAX_TEXT_BYTES}]");
            self.output.content.push(UserContent::text(notice));
        }
    }
}

fn error_output(error: ToolError) -> ToolOutput {
    let mut output = ToolOutput::new(error.content);
    output.details = Some(error.details.unwrap_or_else(|| json!({})));
    output
}

/// The answer to a call that an abort came before.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}

/// The answer to a call that steering came before.
pub(crate) fn skipped() -> ToolError {
    ToolError::new("Skipped due to queued user message.")
}

/// The answer to a call of a reply that the token limit cut.
pub(crate) fn cut_off() -> ToolError {
    ToolError::new(
        "The reply was cut off by the output token limit, so this call was not run. Issue the \
         call again, in smaller steps if it is large.",
    )
}

/// The answer to a call that may have begun in an earlier run.
pub(crate) fn outcome_unknown() -> ToolError {
    ToolError::new(
        "The outcome of this call is unknown: the program stopped while it ran. Check the state \
         before repeating it.",
    )
}

/// The answer to a call whose arguments did not arrive as an object.
pub(crate) fn unreadable(tool: &str, error: &str) -> ToolError {
    ToolError::new(format!(
        "Invalid arguments for tool \"{tool}\": {error}. The call was not run. Issue it again with \
         a complete JSON object as arguments."
    ))
}

/// What the model sees of a panic.
pub(crate) fn unexpected(tool: &str) -> ToolError {
    ToolError::new(format!("Tool `{tool}` failed unexpectedly."))
}
