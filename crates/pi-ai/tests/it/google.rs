//! The provider for `google-generative-ai`.

use std::time::Duration;

use pi_ai::{Google, HttpClient, RetryPolicy};
use pi_core::{Context, ErrorKind, Message, Model, Provider, Request, StopReason, UserMessage};
use serde_json::{Value, json};
use wiremock::matchers::{method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

const REPLY: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true}]}}],"responseId":"r1"}

data: {"candidates":[{"content":{"parts":[{"text":"Hello","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"thoughtsTokenCount":3,"totalTokenCount":12}}

"#;

async fn server_with(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1beta/models/gemini-test:streamGenerateContent"))
        .and(query_param("alt", "sse"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

fn request(server: &MockServer) -> Request {
    let base_url = format!("{}/v1beta", server.uri());
    let model = Model::new("gemini-test", "google-generative-ai", "google", base_url);
    let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
    Request::new(model, context)
}

fn once() -> Google {
    Google::new().with_client(HttpClient::builder().retry(RetryPolicy::off()).build())
}

#[tokio::test]
async fn a_reply_comes_with_thoughts_text_usage_and_id() {
    let answer = ResponseTemplate::new(200).set_body_raw(REPLY, "text/event-stream");
    let server = server_with(answer).await;
    let provider = Google::new().with_key("k3y");
    let message = provider.stream(request(&server)).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");
    assert_eq!(message.content.len(), 2);
    assert_eq!(message.stop_reason, StopReason::Stop);
    assert_eq!((message.usage.input, message.usage.output), (7, 5));
    assert_eq!(message.response_id.as_deref(), Some("r1"));

    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["x-goog-api-key"], "k3y");
    assert!(!received.headers.contains_key("authorization"));
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["contents"][0]["parts"][0], json!({ "text": "Hi" }));
}

#[tokio::test]
async fn a_key_that_was_written_by_hand_is_the_only_one() {
    let answer = ResponseTemplate::new(200).set_body_raw(REPLY, "text/event-stream");
    let server = server_with(answer).await;
    let mut request = request(&server);
    let headers = &mut request.options.headers;
    headers.insert("X-Goog-Api-Key".into(), "mine".into());
    let provider = Google::new().with_key("k3y");
    provider.stream(request).finish().await.unwrap();
    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["x-goog-api-key"], "mine");
}

#[tokio::test]
async fn a_missing_key_names_its_variable() {
    let model = Model::new(
        "m",
        "google-generative-ai",
        "google",
        "https://keys.invalid",
    );
    let request = Request::new(model, Context::default());
    let error = Google::new().stream(request).finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("GEMINI_API_KEY"), "{error}");
}

#[tokio::test]
async fn answers_that_are_no_stream_are_typed_errors() {
    let busy = r#"{"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}"#;
    let key =
        r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}"#;
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}]"#;
    for (status, body, kind, text) in [
        (503, busy, ErrorKind::Overloaded, "Busy"),
        (200, busy, ErrorKind::Overloaded, "Busy"),
        (400, key, ErrorKind::Auth, "not valid"),
        (200, list, ErrorKind::Protocol, "alt=sse"),
        (200, "<html>", ErrorKind::Protocol, "is the base URL"),
    ] {
        let answer = ResponseTemplate::new(status).set_body_raw(body, "application/json");
        let server = server_with(answer).await;
        let error = once().stream(request(&server)).finish().await.unwrap_err();
        assert_eq!(*error.kind(), kind, "{error:?}");
        assert!(error.message().contains(text), "{error}");
    }
}

#[tokio::test]
async fn the_wait_in_a_body_counts_where_the_headers_are_silent() {
    let body = json!({ "error": {
        "code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
        "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s" }],
    } });
    for (header, expected) in [(None, 7), (Some("3"), 3)] {
        let mut answer = ResponseTemplate::new(429).set_body_json(&body);
        if let Some(seconds) = header {
            answer = answer.insert_header("retry-after", seconds);
        }
        let server = server_with(answer).await;
        let error = once().stream(request(&server)).finish().await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::RateLimited);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(expected)));
    }
}
