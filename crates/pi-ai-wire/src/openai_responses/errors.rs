//! What the service says went wrong in a reply.

use pi_core::{ErrorKind, ProviderError};
use serde_json::Value;
use serde_json::value::RawValue;

use super::types::Response;
use crate::errors::{Report, classify, shortened, stream_error};

/// Makes the error of an event `error`, which holds it in a field of that name or is it itself.
pub(super) fn event_error(data: &str) -> ProviderError {
    let Ok(event) = serde_json::from_str::<Value>(data) else {
        return ProviderError::new(ErrorKind::Server, shortened(data.to_owned()));
    };
    match event.get("error") {
        Some(error) if !error.is_null() => with_kind(stream_error(error), error),
        _ => {
            let report = Report::of_body(&event);
            let text = match event.get("code").and_then(Value::as_str) {
                Some(code) => format!("Error Code {code}: {}", report.message()),
                None => report.message(),
            };
            with_kind(
                ProviderError::new(report.kind(None), shortened(text)),
                &event,
            )
        }
    }
}

/// Makes the error of a response that failed.
pub(super) fn failure(response: &Response<'_>) -> ProviderError {
    let error = response.error.map(RawValue::get);
    let error = error.and_then(|error| serde_json::from_str::<Value>(error).ok());
    if let Some(error) = error.filter(|error| !error.is_null()) {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let code = text("code").unwrap_or("unknown");
        let message = text("message").unwrap_or("no message");
        let kind = Report::of_body(&error).kind(None);
        let failure = ProviderError::new(kind, shortened(format!("{code}: {message}")));
        return with_kind(failure, &error);
    }
    match response.incomplete_details.as_ref() {
        Some(details) if !details.reason.is_empty() => incomplete(&details.reason),
        _ => {
            let text = "Unknown error (no error details in response)";
            ProviderError::new(ErrorKind::Server, text)
        }
    }
}

/// Makes the error of a reply that was broken off for another reason than its length.
pub(super) fn incomplete(reason: &str) -> ProviderError {
    let kind = classify(None, &[reason], "");
    ProviderError::new(kind, shortened(format!("incomplete: {reason}")))
}

/// Makes the error of a reply that somebody else stopped; asking again would not be their wish.
pub(super) fn cancelled() -> ProviderError {
    ProviderError::new(ErrorKind::Server, "the response was cancelled").with_retryable(false)
}

/// Corrects the kind of an error whose code says that the same request cannot succeed.
fn with_kind(error: ProviderError, body: &Value) -> ProviderError {
    let code = body.get("code").and_then(Value::as_str).unwrap_or_default();
    let is_about_request = ["invalid_", "unsupported_", "image_", "empty_image_"]
        .iter()
        .any(|begin| code.starts_with(begin));
    match error.kind() {
        ErrorKind::Server if is_about_request => {
            ProviderError::new(ErrorKind::InvalidRequest, error.message())
        }
        _ => error,
    }
}
