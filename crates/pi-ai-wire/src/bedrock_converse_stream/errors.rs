//! The errors that the service reports.

use pi_core::{ErrorKind, ProviderError};
use serde::Deserialize;

use crate::errors::{self, classify, shortened};
use crate::json;
use crate::read::Text;

/// Makes the error of a response whose status is not 2xx. `error_type` is its header
/// `x-amzn-errortype`, which names the exception.
///
/// `body` may be cut. The text is the service's own message, as its clients show it, up to 400
/// characters of it.
///
/// # Examples
/// ```
/// use pi_ai_wire::bedrock_converse_stream::http_error;
/// use pi_core::ErrorKind;
///
/// let body = br#"{"message":"Too many requests, please wait before trying again."}"#;
/// let error = http_error(429, Some("ThrottlingException:http://internal/"), body);
/// assert_eq!(*error.kind(), ErrorKind::RateLimited);
/// assert_eq!(error.message(), "Too many requests, please wait before trying again.");
/// ```
#[must_use]
pub fn http_error(status: u16, error_type: Option<&str>, body: &[u8]) -> ProviderError {
    // `ThrottlingException:http://..`, `com.amazon.coral#ThrottlingException`
    let name = error_type
        .unwrap_or_default()
        .split(':')
        .next()
        .unwrap_or_default();
    let name = name.rsplit('#').next().unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    match message(&text) {
        Some(message) => {
            let kind = kind(name, Some(status), &message);
            ProviderError::new(kind, shortened(message)).with_status(status)
        }
        None => {
            let error = errors::http_error(status, body);
            let kind = kind(name, Some(status), error.message());
            ProviderError::new(kind, error.message()).with_status(status)
        }
    }
}

/// Makes the error that the service reports inside a stream.
pub(super) fn stream_error(name: &str, data: &str) -> ProviderError {
    let message = message(data).unwrap_or_else(|| format!("the service reported {name}"));
    let kind = kind(name, None, &message);
    ProviderError::new(kind, shortened(message))
}

/// Makes the error of a reply that ended in a stop reason which tells of a failure.
pub(super) fn stop_error(reason: &str) -> ProviderError {
    let text = shortened(format!("Provider stop_reason: {reason}"));
    match reason {
        "guardrail_intervened" | "content_filtered" | "refusal" => {
            ProviderError::new(ErrorKind::Refused, text)
        }
        // The model wrote what nobody can read; another time it may not.
        "malformed_model_output" | "malformed_tool_use" => {
            ProviderError::new(ErrorKind::Protocol, text)
        }
        // Asking again would most likely end in the same way.
        _ => ProviderError::new(ErrorKind::Protocol, text).with_retryable(false),
    }
}

/// Returns the text of an exception, whose field some services of AWS write with a capital letter.
fn message(data: &str) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Exception<'a> {
        #[serde(borrow)]
        message: Text<'a>,
        #[serde(borrow, rename = "Message")]
        capital: Text<'a>,
    }

    let mut repaired = String::new();
    let exception: Exception<'_> = json::parse(data, &mut repaired).ok()?;
    let texts = [exception.message, exception.capital];
    let text = texts.into_iter().find(|text| !text.is_empty())?;
    Some(text.0.into_owned())
}

fn kind(name: &str, status: Option<u16>, message: &str) -> ErrorKind {
    match name.to_ascii_lowercase().as_str() {
        "throttlingexception" | "toomanyrequestsexception" => ErrorKind::RateLimited,
        "servicequotaexceededexception" => ErrorKind::Quota,
        "modelnotreadyexception" | "serviceunavailableexception" => ErrorKind::Overloaded,
        "accessdeniedexception"
        | "expiredtokenexception"
        | "incompletesignatureexception"
        | "invalidsignatureexception"
        | "missingauthenticationtokenexception"
        | "unrecognizedclientexception" => ErrorKind::Auth,
        "validationexception" => classify(Some(400), &[], message),
        "resourcenotfoundexception" => ErrorKind::InvalidRequest,
        "internalserverexception"
        | "modelerrorexception"
        | "modelstreamerrorexception"
        | "modeltimeoutexception" => ErrorKind::Server,
        _ => classify(status, &[], message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_exception_decides() {
        let throttled = "ThrottlingException:http://internal.amazon.com/coral/";
        let too_long = br#"{"message":"Input is too long for requested model."}"#;
        for (status, name, body, kind, text) in [
            (
                429,
                Some(throttled),
                &br#"{"message":"slow"}"#[..],
                ErrorKind::RateLimited,
                "slow",
            ),
            (
                429,
                None,
                br#"{"message":"slow"}"#,
                ErrorKind::RateLimited,
                "slow",
            ),
            (
                403,
                Some("a.b#ExpiredTokenException"),
                br#"{"Message":"old"}"#,
                ErrorKind::Auth,
                "old",
            ),
            (
                400,
                Some("ValidationException"),
                too_long,
                ErrorKind::ContextOverflow,
                "Input is too long for requested model.",
            ),
            (
                400,
                Some("ValidationException"),
                br#"{"message":"no"}"#,
                ErrorKind::InvalidRequest,
                "no",
            ),
            (
                400,
                Some("ServiceQuotaExceededException"),
                br#"{"message":"q"}"#,
                ErrorKind::Quota,
                "q",
            ),
            (
                503,
                None,
                b"",
                ErrorKind::Server,
                "503 status code (no body)",
            ),
            (
                502,
                None,
                b"<html>x</html>",
                ErrorKind::Server,
                "502 answered with an HTML page",
            ),
            (
                404,
                Some("UnknownOperationException"),
                b"{}",
                ErrorKind::InvalidRequest,
                "404 {}",
            ),
        ] {
            let error = http_error(status, name, body);
            assert_eq!(
                (error.kind(), error.message()),
                (&kind, text),
                "{status} {name:?}"
            );
            assert_eq!(error.status(), Some(status));
        }
    }
}
