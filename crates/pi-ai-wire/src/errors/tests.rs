use pi_core::{Model, Usage};

use super::*;

#[test]
fn codes_come_before_status_and_status_before_text() {
    let cases: &[(Option<u16>, &[&str], &str, ErrorKind)] = &[
        (Some(429), &["insufficient_quota"], "", ErrorKind::Quota),
        (
            Some(429),
            &["billing_hard_limit_reached"],
            "",
            ErrorKind::Quota,
        ),
        (
            Some(429),
            &[],
            "You exceeded your current quota",
            ErrorKind::RateLimited,
        ),
        (
            Some(429),
            &["RESOURCE_EXHAUSTED"],
            "quota exceeded",
            ErrorKind::RateLimited,
        ),
        (
            Some(429),
            &["context_length_exceeded"],
            "prompt is too long",
            ErrorKind::RateLimited,
        ),
        (
            Some(413),
            &["tokens", "rate_limit_exceeded"],
            "too large",
            ErrorKind::RateLimited,
        ),
        (
            Some(400),
            &["invalid_request_error", "context_length_exceeded"],
            "",
            ErrorKind::ContextOverflow,
        ),
        (
            Some(400),
            &["invalid_request_error"],
            "prompt is too long: 9 > 8",
            ErrorKind::ContextOverflow,
        ),
        (
            Some(400),
            &[],
            "Prompt has 9 tokens, but the configured context size is 8",
            ErrorKind::ContextOverflow,
        ),
        (
            Some(500),
            &[],
            "the request exceeds the available context size",
            ErrorKind::ContextOverflow,
        ),
        (
            Some(400),
            &[],
            "max_tokens: 9 > 8, the maximum allowed number of output tokens",
            ErrorKind::InvalidRequest,
        ),
        (
            Some(400),
            &[],
            "Your credit balance is too low",
            ErrorKind::Quota,
        ),
        (Some(402), &[], "", ErrorKind::Quota),
        (Some(401), &["invalid_request_error"], "", ErrorKind::Auth),
        (Some(403), &[], "", ErrorKind::Auth),
        (Some(404), &[], "", ErrorKind::InvalidRequest),
        (Some(409), &[], "", ErrorKind::InvalidRequest),
        (Some(500), &[], "", ErrorKind::Server),
        (
            Some(503),
            &[],
            "The model is overloaded",
            ErrorKind::Overloaded,
        ),
        (Some(529), &[], "", ErrorKind::Overloaded),
        (None, &["overloaded_error"], "", ErrorKind::Overloaded),
        (None, &["too_many_requests"], "", ErrorKind::RateLimited),
        (None, &["content_filter"], "", ErrorKind::Refused),
        (None, &[], "model crashed", ErrorKind::Server),
    ];
    for (status, codes, text, expected) in cases {
        assert_eq!(
            classify(*status, codes, text),
            *expected,
            "{status:?} {codes:?} {text}"
        );
    }
}

#[test]
fn the_message_of_a_body_is_shown_with_its_status() {
    let cases: &[(u16, &str, &str)] = &[
        (400, r#"{"error":{"message":"no"}}"#, "400 no"),
        (
            400,
            r#"{"error":{"message":"no","metadata":{"raw":"{\"a\":1}"}}}"#,
            "400 no\n{\"a\":1}",
        ),
        (
            400,
            r#"{"error":{"message":"no","metadata":{"raw":{"a":1}}}}"#,
            "400 no\n{\"a\":1}",
        ),
        (400, r#"{"error":{"message":{"a": 1}}}"#, r#"400 {"a":1}"#),
        (400, r#"{"error":{"code":7}}"#, r#"400 {"code":7}"#),
        (400, r#"{"error":"no"}"#, r#"400 "no""#),
        (404, r#"{"detail":"Not Found"}"#, "404 Not Found"),
        (422, r#"{"message":"no"}"#, "422 no"),
        (
            429,
            r#"[{"error":{"message":"slow down"}}]"#,
            "429 slow down",
        ),
        (502, "bad gateway\n", "502 bad gateway"),
        (500, "", "500 status code (no body)"),
        (
            502,
            "<!DOCTYPE html><p>203.0.113.9</p>",
            "502 answered with an HTML page",
        ),
    ];
    for (status, body, expected) in cases {
        let error = http_error(*status, body.as_bytes());
        assert_eq!(error.message(), *expected);
        assert_eq!(error.status(), Some(*status));
    }
}

#[test]
fn a_long_text_is_cut_to_400_characters() {
    let error = http_error(500, "é".repeat(1000).as_bytes());
    assert_eq!(error.message().chars().count(), 400);
    assert!(error.message().ends_with('…'));
    let exact = "é".repeat(396);
    assert_eq!(
        http_error(500, exact.as_bytes()).message(),
        format!("500 {exact}")
    );
}

#[test]
fn an_empty_400_is_an_overflow_and_an_empty_500_is_not() {
    assert_eq!(*http_error(400, b"").kind(), ErrorKind::ContextOverflow);
    assert_eq!(*http_error(413, b"").kind(), ErrorKind::ContextOverflow);
    assert_eq!(*http_error(500, b"").kind(), ErrorKind::Server);
}

#[test]
fn an_error_inside_a_stream_tells_its_status_by_a_number() {
    let error = stream_error(&serde_json::json!({ "message": "Upstream failed", "code": 502 }));
    assert_eq!(
        (error.message(), error.kind()),
        ("Upstream failed", &ErrorKind::Server)
    );
    let error = stream_error(&serde_json::json!({ "message": "no", "code": 400 }));
    assert_eq!(
        (error.is_retryable(), error.kind()),
        (false, &ErrorKind::InvalidRequest)
    );
    assert_eq!(
        stream_error(&"model crashed".into()).message(),
        "\"model crashed\""
    );
}

#[test]
fn a_conversation_that_became_too_long_is_known_by_kind_by_text_and_by_usage() {
    let failed = |text: &str| {
        let mut reply = AssistantMessage::empty(&Model::default(), 0);
        reply.stop_reason = StopReason::Error;
        reply.error_message = Some(text.to_owned());
        reply
    };
    for (text, expected) in [
        (
            "400 prompt is too long: 210000 tokens > 200000 maximum",
            true,
        ),
        ("413 status code (no body)", true),
        ("400 status code (no body)", true),
        ("400 no such model", false),
        ("429 too many tokens per minute", false),
        ("", false),
    ] {
        assert_eq!(is_context_overflow(&failed(text), 0), expected, "{text}");
    }
    let mut typed = failed("whatever");
    let error = ProviderError::new(ErrorKind::ContextOverflow, "whatever");
    typed.error_info = Some(Box::new(error.info().clone()));
    assert!(is_context_overflow(&typed, 0));

    let mut reply = AssistantMessage::empty(&Model::default(), 0);
    reply.usage = Usage::new(900, 500, 90, 10);
    assert!(!is_context_overflow(&reply, 1_000));
    reply.usage.cache_write += 1;
    assert!(is_context_overflow(&reply, 1_000));
    reply.stop_reason = StopReason::Aborted;
    assert!(!is_context_overflow(&reply, 1_000));
}
