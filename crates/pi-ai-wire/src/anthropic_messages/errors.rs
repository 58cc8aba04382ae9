//! The errors that a service reports.

use pi_core::{ErrorKind, ProviderError};
use serde_json::Value;

use crate::errors::{Report, http_error_with, shortened};

/// Makes the error of a response whose status is not 2xx.
///
/// `body` may be cut. The text is the status and the body, as Anthropic's own clients show it, up to
/// 400 characters of it. The id of the request is taken from the body where it is there.
///
/// # Examples
/// ```
/// use pi_ai_wire::anthropic_messages::http_error;
/// use pi_core::ErrorKind;
///
/// let body = br#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
/// let error = http_error(529, body);
/// assert_eq!(*error.kind(), ErrorKind::Overloaded);
/// assert!(error.message().starts_with(r#"529 {"type":"error","error""#));
/// ```
#[must_use]
pub fn http_error(status: u16, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    match serde_json::from_str::<Value>(text.trim()) {
        Ok(body) => with_id(http_error_with(status, &text, shown), &body),
        Err(_) => http_error_with(status, &text, shown),
    }
}

/// Makes the error that a service reports inside an answer whose status was 200.
///
/// `body` is the data of the event, or the whole answer where it is no event stream.
#[must_use]
pub fn stream_error(body: &Value) -> ProviderError {
    let kind = Report::of_body(body).kind(None);
    with_id(ProviderError::new(kind, shortened(shown(body))), body)
}

/// Makes the error of a reply that ended in a stop reason which tells of a failure.
pub(super) fn stop_error(reason: &str, explanation: Option<&str>) -> ProviderError {
    let text = match explanation {
        Some(explanation) => format!("Provider stop_reason: {reason}: {explanation}"),
        None => format!("Provider stop_reason: {reason}"),
    };
    match reason {
        "refusal" | "sensitive" => ProviderError::new(ErrorKind::Refused, shortened(text)),
        // Asking again would most likely end in the same way.
        _ => ProviderError::new(ErrorKind::Protocol, shortened(text)).with_retryable(false),
    }
}

fn shown(body: &Value) -> String {
    match body.get("message") {
        Some(Value::String(message)) => message.clone(),
        _ => body.to_string(),
    }
}

fn with_id(error: ProviderError, body: &Value) -> ProviderError {
    match body.get("request_id").and_then(Value::as_str) {
        Some(id) => error.with_request_id(id),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_shown_behind_the_status() {
        let cases: [(u16, &str, &str, ErrorKind); 7] = [
            (
                400,
                r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}}"#,
                r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
                ErrorKind::ContextOverflow,
            ),
            (
                401,
                r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                r#"401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                ErrorKind::Auth,
            ),
            (
                404,
                r#"{"message":"no"}"#,
                "404 no",
                ErrorKind::InvalidRequest,
            ),
            (
                413,
                "<html>too large</html>",
                "413 <html>too large</html>",
                ErrorKind::ContextOverflow,
            ),
            (502, "", "502 status code (no body)", ErrorKind::Server),
            (
                400,
                r#"{"error":{"type":"billing_error","message":"pay"}}"#,
                r#"400 {"error":{"type":"billing_error","message":"pay"}}"#,
                ErrorKind::Quota,
            ),
            (429, "slow down", "429 slow down", ErrorKind::RateLimited),
        ];
        for (status, body, text, kind) in cases {
            let error = http_error(status, body.as_bytes());
            assert_eq!((error.message(), error.kind()), (text, &kind));
            assert_eq!(error.status(), Some(status));
        }
    }

    #[test]
    fn the_id_of_the_request_is_kept() {
        let body = br#"{"type":"error","error":{"type":"api_error"},"request_id":"req_1"}"#;
        assert_eq!(http_error(500, body).request_id(), Some("req_1"));
        assert_eq!(http_error(500, b"{\"request_id\":null}").request_id(), None);
    }

    #[test]
    fn a_long_body_is_shortened() {
        let error = http_error(500, "x".repeat(10_000).as_bytes());
        assert_eq!(error.message().chars().count(), 400);
    }
}
