//! How a reply ends, and the errors that come in place of an end.

use pi_core::{ErrorKind, ProviderError, StopReason};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::errors::{classify, stream_error};

/// What is known about the end of a reply.
#[derive(Debug, Default)]
pub(crate) struct Finish {
    has_reason: bool,
    is_length: bool,
    /// The first finish reason that tells of a failure.
    failure: Option<String>,
}

/// What a finish reason says.
pub(crate) enum Reason<'a> {
    Complete,
    Length,
    Failure(&'a str),
}

impl Finish {
    pub(crate) fn note(&mut self, reason: Reason<'_>) {
        self.has_reason = true;
        match reason {
            Reason::Complete => {}
            Reason::Length => self.is_length = true,
            Reason::Failure(reason) => {
                self.failure.get_or_insert_with(|| reason.to_owned());
            }
        }
    }

    pub(crate) fn has_reason(&self) -> bool {
        self.has_reason
    }

    /// Returns the reason of a reply: what it holds decides where the service only says that it is
    /// complete.
    ///
    /// # Errors
    /// If a finish reason told of a failure.
    pub(crate) fn stop_reason(&self, has_calls: bool) -> Result<StopReason, ProviderError> {
        if let Some(reason) = &self.failure {
            let kind = classify(None, &[reason], "");
            let text = format!("Provider finish_reason: {reason}");
            return Err(ProviderError::new(kind, text));
        }
        Ok(match (self.is_length, has_calls) {
            (true, _) => StopReason::Length,
            (false, true) => StopReason::ToolUse,
            (false, false) => StopReason::Stop,
        })
    }
}

/// Makes the error of the field `error` of a chunk; `None` for what JavaScript clients take for no
/// error.
pub(crate) fn chunk_error(error: &RawValue) -> Option<ProviderError> {
    let is_falsy = matches!(error.get(), "false" | "0" | "\"\"");
    (!is_falsy).then(|| error_of(error.get()))
}

/// Makes the error of a JSON text that is one.
pub(crate) fn error_of(error: &str) -> ProviderError {
    match serde_json::from_str::<Value>(error) {
        Ok(error) => stream_error(&error),
        Err(_) => ProviderError::new(ErrorKind::Server, "the provider reported an error"),
    }
}
