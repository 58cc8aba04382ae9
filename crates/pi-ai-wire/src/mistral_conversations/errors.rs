//! The errors that the service reports.

use pi_core::ProviderError;
use serde::de::IgnoredAny;

use crate::errors::{self, shortened};

/// Makes the error of a response whose status is not 2xx.
///
/// `body` may be cut. The text is the status and up to 400 characters of the body, which is where
/// Mistral says which field was wrong; nothing of an HTML page.
///
/// # Examples
/// ```
/// use pi_ai_wire::mistral_conversations::http_error;
///
/// let error = http_error(422, br#"{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}"#);
/// let text = r#"Mistral API error (422): {"detail":[{"loc":["body","messages"],"msg":"Field required"}]}"#;
/// assert_eq!(error.message(), text);
/// ```
#[must_use]
pub fn http_error(status: u16, body: &[u8]) -> ProviderError {
    let error = errors::http_error(status, body);
    let text = String::from_utf8_lossy(body);
    let plain = error
        .message()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let shown = match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => text.trim(),
        Err(_) => plain.trim_start(),
    };
    let text = shortened(format!("Mistral API error ({status}): {shown}"));
    ProviderError::new(error.kind().clone(), text).with_status(status)
}

#[cfg(test)]
mod tests {
    use pi_core::ErrorKind;

    use super::*;

    #[test]
    fn the_kind_is_told_and_the_body_shown() {
        let too_long = r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_invalid_args","param":null,"code":"3051"}"#;
        let limited = r#"{"message":"Requests rate limit exceeded"}"#;
        for (status, body, kind, shown) in [
            (400, too_long, ErrorKind::ContextOverflow, too_long),
            (429, limited, ErrorKind::RateLimited, limited),
            (
                401,
                r#"{"detail":"Unauthorized"}"#,
                ErrorKind::Auth,
                r#"{"detail":"Unauthorized"}"#,
            ),
            (
                503,
                "<html>secret</html>",
                ErrorKind::Server,
                "answered with an HTML page",
            ),
            (500, "", ErrorKind::Server, "status code (no body)"),
            (502, "bad gateway", ErrorKind::Server, "bad gateway"),
        ] {
            let error = http_error(status, body.as_bytes());
            assert_eq!(*error.kind(), kind, "{body}");
            assert_eq!(
                error.message(),
                format!("Mistral API error ({status}): {shown}")
            );
        }
    }
}
