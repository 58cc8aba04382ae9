//! The errors that the service reports.

use std::time::Duration;

use pi_core::{ErrorKind, ProviderError};
use serde_json::Value;

use crate::errors::{Report, http_error as plain_http_error, shortened};

/// Makes the error of a response whose status is not 2xx.
///
/// `body` may be cut. The text is the JSON body, as Google's own client shows it, up to 400
/// characters of it. The wait is that of the detail `RetryInfo`, except where the quota of a day is
/// used up: that wait is far too short.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use pi_ai_wire::google_generative_ai::http_error;
/// use pi_core::ErrorKind;
///
/// let body = br#"{"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
///     "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]}}"#;
/// let error = http_error(429, body);
/// assert_eq!(*error.kind(), ErrorKind::RateLimited);
/// assert_eq!(error.retry_after(), Some(Duration::from_millis(3_500)));
/// ```
#[must_use]
pub fn http_error(status: u16, body: &[u8]) -> ProviderError {
    match serde_json::from_slice::<Value>(body) {
        Ok(body) => report(&body, Some(status), body.to_string()).with_status(status),
        Err(_) => plain_http_error(status, body),
    }
}

/// Makes the error that the service reports inside an answer whose status was 200.
///
/// `body` is the data of the event, or the whole answer where it is no event stream.
#[must_use]
pub fn stream_error(body: &Value) -> ProviderError {
    let Some(error) = error_of(body) else {
        let text = "the answer is a JSON document and no event stream: did a proxy drop alt=sse?";
        return ProviderError::new(ErrorKind::Protocol, text).with_retryable(false);
    };
    let status = error.get("status").and_then(Value::as_str);
    let status = status.unwrap_or("unknown");
    report(body, None, format!("got status: {status}. {body}"))
}

/// Makes the error of a reply that ended in a finish reason which tells of a failure.
pub(super) fn finish_error(reason: &str, message: &str) -> ProviderError {
    let kind = match reason {
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => ErrorKind::Refused,
        _ => ErrorKind::Server,
    };
    // Fixtures `finish-safety`, `finish-malformed-call`, `finish-unknown`.
    let text = match reason {
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "LANGUAGE"
        | "OTHER"
        | "IMAGE_OTHER"
        | "NO_IMAGE"
        | "FINISH_REASON_UNSPECIFIED" => {
            format!("Provider finishReason: {reason}")
        }
        _ if kind == ErrorKind::Refused => format!("Provider finishReason: {reason}"),
        _ => format!("Unhandled stop reason: {reason}"),
    };
    with_message(kind, text, message)
}

/// Makes the error of a prompt that the service does not answer.
pub(super) fn blocked_error(reason: &str, message: &str) -> ProviderError {
    let text = format!("the provider blocked the prompt: {reason}");
    with_message(ErrorKind::Refused, text, message)
}

fn with_message(kind: ErrorKind, mut text: String, message: &str) -> ProviderError {
    if !message.is_empty() {
        text.push_str(": ");
        text.push_str(message);
    }
    ProviderError::new(kind, shortened(text))
}

fn report(body: &Value, status: Option<u16>, text: String) -> ProviderError {
    let details = Details::of(body);
    let kind = details
        .kind
        .unwrap_or_else(|| Report::of_body(body).kind(status));
    let error = ProviderError::new(kind, shortened(text));
    match details.wait {
        Some(wait) if *error.kind() != ErrorKind::Quota => error.with_retry_after(wait),
        _ => error,
    }
}

/// Returns the error of a body: `{"error": ...}`, alone or in a list of one.
fn error_of(body: &Value) -> Option<&Value> {
    let error = body.get(0).unwrap_or(body).get("error")?;
    (!error.is_null()).then_some(error)
}

/// What an error says beside its code and message.
#[derive(Default)]
struct Details {
    /// The kind, where the code says too little or something else.
    kind: Option<ErrorKind>,
    wait: Option<Duration>,
}

impl Details {
    fn of(body: &Value) -> Self {
        let Some(error) = error_of(body) else {
            return Self::default();
        };
        let mut found = Self::default();
        if error.get("status").and_then(Value::as_str) == Some("UNAVAILABLE") {
            found.kind = Some(ErrorKind::Overloaded);
        }
        let details = error.get("details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            found.kind = kind_of(detail).or(found.kind);
            if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
                found.wait = seconds(delay).or(found.wait);
            }
        }
        // A wrong key is a bad argument to this service.
        let message = error.get("message").and_then(Value::as_str);
        if message.is_some_and(|message| message.starts_with("API key not valid")) {
            found.kind = Some(ErrorKind::Auth);
        }
        found
    }
}

fn kind_of(detail: &Value) -> Option<ErrorKind> {
    let violations = detail.get("violations").and_then(Value::as_array);
    let ids = violations.into_iter().flatten();
    let ids = ids.filter_map(|violation| violation.get("quotaId"));
    let mut limits = ids.chain(detail.pointer("/metadata/quota_limit"));
    let is_of_a_day = |limit: &Value| limit.as_str().is_some_and(|limit| limit.contains("PerDay"));
    match detail.get("reason").and_then(Value::as_str) {
        Some("API_KEY_INVALID" | "API_KEY_EXPIRED" | "ACCESS_TOKEN_EXPIRED") => {
            Some(ErrorKind::Auth)
        }
        Some("QUOTA_EXHAUSTED") => Some(ErrorKind::Quota),
        _ if limits.any(is_of_a_day) => Some(ErrorKind::Quota),
        _ => None,
    }
}

/// Reads a duration such as `3.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.strip_suffix('s')?.parse().ok()?;
    let wait = Duration::try_from_secs_f64(number).ok()?;
    (!wait.is_zero()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(code: u16, status: &str, message: &str, details: Value) -> Value {
        json!({ "error": { "code": code, "message": message, "status": status, "details": details } })
    }

    fn quota(id: &str, delay: &str) -> Value {
        json!([
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{ "quotaId": id, "quotaValue": "20" }],
            },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
        ])
    }

    #[test]
    fn kinds_are_told_by_details_then_codes() {
        let exhausted = "RESOURCE_EXHAUSTED";
        let invalid = "INVALID_ARGUMENT";
        let reason = |reason: &str| json!([{ "reason": reason }]);
        let cases = [
            (
                429,
                error(429, exhausted, "Quota exceeded", json!([])),
                ErrorKind::RateLimited,
            ),
            (
                429,
                error(
                    429,
                    exhausted,
                    "q",
                    quota("GenerateRequestsPerMinute", "3s"),
                ),
                ErrorKind::RateLimited,
            ),
            (
                429,
                error(
                    429,
                    exhausted,
                    "q",
                    quota("GenerateRequestsPerDayPerModel", "3s"),
                ),
                ErrorKind::Quota,
            ),
            (
                429,
                error(429, exhausted, "q", reason("QUOTA_EXHAUSTED")),
                ErrorKind::Quota,
            ),
            (
                429,
                error(
                    429,
                    exhausted,
                    "q",
                    json!([{ "metadata": { "quota_limit": "RequestsPerDay" } }]),
                ),
                ErrorKind::Quota,
            ),
            (
                400,
                error(400, invalid, "API key not valid. Pass one.", json!(null)),
                ErrorKind::Auth,
            ),
            (
                400,
                error(400, invalid, "k", reason("API_KEY_INVALID")),
                ErrorKind::Auth,
            ),
            (
                401,
                error(401, "UNAUTHENTICATED", "k", json!([])),
                ErrorKind::Auth,
            ),
            (
                403,
                error(403, "PERMISSION_DENIED", "k", json!([])),
                ErrorKind::Auth,
            ),
            (
                404,
                error(404, "NOT_FOUND", "no model", json!([])),
                ErrorKind::InvalidRequest,
            ),
            (
                400,
                error(
                    400,
                    invalid,
                    "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                    json!([]),
                ),
                ErrorKind::ContextOverflow,
            ),
            (
                500,
                error(500, "INTERNAL", "i", json!([])),
                ErrorKind::Server,
            ),
            (
                503,
                error(503, "UNAVAILABLE", "high demand", json!([])),
                ErrorKind::Overloaded,
            ),
            (
                429,
                json!([error(429, exhausted, "in a list", json!([]))]),
                ErrorKind::RateLimited,
            ),
            (400, json!("odd"), ErrorKind::InvalidRequest),
        ];
        for (status, body, kind) in cases {
            let error = http_error(status, body.to_string().as_bytes());
            assert_eq!(
                (error.kind(), error.status()),
                (&kind, Some(status)),
                "{body}"
            );
            assert_eq!(error.message(), body.to_string());
        }
    }

    #[test]
    fn the_wait_is_read_where_it_is_one() {
        for (id, delay, expected) in [
            ("PerMinute", "3s", Some(3_000)),
            ("PerMinute", "36.43s", Some(36_430)),
            ("PerMinute", "0s", None),
            ("PerMinute", "-3s", None),
            ("PerMinute", "NaNs", None),
            ("PerMinute", "1e300s", None),
            ("PerMinute", "3", None),
            ("PerDay", "3s", None),
        ] {
            let body = error(429, "RESOURCE_EXHAUSTED", "q", quota(id, delay));
            let expected = expected.map(Duration::from_millis);
            let error = http_error(429, body.to_string().as_bytes());
            assert_eq!(error.retry_after(), expected, "{id} {delay}");
            assert_eq!(stream_error(&body).retry_after(), expected, "{id} {delay}");
        }
    }

    #[test]
    fn a_document_is_an_error_of_the_service_or_of_a_proxy() {
        let error = stream_error(&error(503, "UNAVAILABLE", "busy", json!([])));
        assert_eq!(*error.kind(), ErrorKind::Overloaded);
        assert!(
            error
                .message()
                .starts_with("got status: UNAVAILABLE. {\"error\""),
            "{error}"
        );
        for body in [
            json!([{ "candidates": [] }]),
            json!({ "error": null }),
            json!(7),
        ] {
            let error = stream_error(&body);
            assert_eq!(
                (error.kind(), error.is_retryable()),
                (&ErrorKind::Protocol, false)
            );
            assert!(error.message().contains("no event stream"), "{error}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_an_error_of_a_gateway() {
        let error = http_error(502, b"<html>secret</html>");
        assert_eq!(error.message(), "502 answered with an HTML page");
        assert_eq!(http_error(500, b"oops").message(), "500 oops");
    }
}
