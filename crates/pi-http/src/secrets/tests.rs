use pi_core::ErrorKind;
use reqwest::header::HeaderValue;

use super::*;

fn secrets(url: &str, headers: &[(&'static str, &'static str)]) -> Secrets {
    let headers = headers.iter().map(|(name, value)| {
        let name = HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    Secrets::of(&Url::parse(url).unwrap(), &headers.collect())
}

#[test]
fn credentials_are_replaced_and_the_rest_stays() {
    let secrets = secrets(
        "https://me:password%20word%21@host/v1?key=query%2Dlong%2Dkey&api-version=2024-10-21",
        &[
            ("authorization", "Bearer sk-longer-key"),
            ("x-api-key", "sk-longer-key-2"),
            ("anthropic-version", "2023-06-01"),
            ("x-short-key", "EMPTY"),
        ],
    );
    for (text, expected) in [
        (
            "Incorrect API key: sk-longer-key.",
            "Incorrect API key: [redacted].",
        ),
        ("sk-longer-key-2 sk-longer-key", "[redacted] [redacted]"),
        (
            "password word! or password%20word%21",
            "[redacted] or [redacted]",
        ),
        (
            "query-long-key, query%2Dlong%2Dkey",
            "[redacted], [redacted]",
        ),
        (
            "Bearer EMPTY 2023-06-01 2024-10-21 me",
            "Bearer EMPTY 2023-06-01 2024-10-21 me",
        ),
    ] {
        let redacted = secrets.redact_text(text);
        assert_eq!(redacted.as_deref().unwrap_or(text), expected);
        let body = secrets.redact_body(text.as_bytes().to_vec());
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }
}

#[test]
fn an_error_keeps_what_shows_no_credential() {
    let secrets = secrets("https://host", &[("x-api-key", "sk-longer-key")]);
    let clean = ProviderError::new(ErrorKind::Auth, "no")
        .with_source(ProviderError::new(ErrorKind::Auth, "why"));
    let kept = secrets.redact(clean);
    assert_eq!(kept.message(), "no");
    assert!(kept.source().is_some());

    let error = ProviderError::new(ErrorKind::Auth, "bad key sk-longer-key")
        .with_status(401)
        .with_request_id("of sk-longer-key")
        .with_model("p", "m")
        .with_source(ProviderError::new(ErrorKind::Auth, "sk-longer-key"));
    let redacted = secrets.redact(error);
    assert_eq!(redacted.message(), "bad key [redacted]");
    assert_eq!(redacted.status(), Some(401));
    assert_eq!((redacted.provider(), redacted.model()), ("p", "m"));
    assert!(!format!("{redacted:?}").contains("sk-longer-key"));

    let by_cause = ProviderError::new(ErrorKind::Protocol, "broken")
        .with_source(ProviderError::new(ErrorKind::Auth, "sk-longer-key"));
    let redacted = secrets.redact(by_cause);
    assert_eq!(redacted.message(), "broken");
    assert!(redacted.source().is_none());
}
