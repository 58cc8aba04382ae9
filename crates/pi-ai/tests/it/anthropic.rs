//! The provider for `anthropic-messages`.

use futures_util::StreamExt;
use pi_ai::{Anthropic, HttpClient, RetryPolicy};
use pi_core::{
    Context, ErrorKind, HookError, Message, Model, PayloadHook, Provider, Request, StopReason,
    ThinkingContent, UserMessage,
};
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const REPLY: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m1","usage":{"input_tokens":7,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#;

async fn server_with(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("anthropic-version", "2023-06-01"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

fn request(server: &MockServer) -> Request {
    let mut model = Model::new(
        "claude-test",
        "anthropic-messages",
        "anthropic",
        server.uri(),
    );
    model.max_tokens = 9_000;
    let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
    Request::new(model, context)
}

#[tokio::test]
async fn a_reply_comes_with_thinking_text_usage_and_id() {
    let server = server_with(ResponseTemplate::new(200).set_body_raw(REPLY, "text/event-stream"));
    let server = server.await;
    let provider = Anthropic::new().with_key("k3y");
    let message = provider.stream(request(&server)).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");
    let mut thinking = ThinkingContent::new("Hm.");
    thinking.thinking_signature = Some("sig".into());
    assert_eq!(message.content.first(), Some(&thinking.into()));
    assert_eq!(message.stop_reason, StopReason::Stop);
    assert_eq!((message.usage.input, message.usage.output), (7, 5));
    assert_eq!(message.response_id.as_deref(), Some("m1"));

    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["x-api-key"], "k3y");
    assert!(!received.headers.contains_key("authorization"));
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(
        (&body["model"], &body["stream"]),
        (&json!("claude-test"), &json!(true))
    );
}

#[tokio::test]
async fn a_key_that_was_written_by_hand_is_the_only_one() {
    let server = server_with(ResponseTemplate::new(200).set_body_raw(REPLY, "text/event-stream"));
    let server = server.await;
    let mut request = request(&server);
    request
        .options
        .headers
        .insert("Authorization".into(), "Bearer mine".into());
    let provider = Anthropic::new().with_key("k3y");
    provider.stream(request).finish().await.unwrap();
    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["authorization"], "Bearer mine");
    assert!(!received.headers.contains_key("x-api-key"));
}

#[tokio::test]
async fn a_missing_key_names_its_variable() {
    let mut model = Model::new(
        "m",
        "anthropic-messages",
        "anthropic",
        "https://keys.invalid",
    );
    model.max_tokens = 1;
    let request = Request::new(model, Context::default());
    let error = Anthropic::new().stream(request).finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("ANTHROPIC_API_KEY"), "{error}");
}

#[tokio::test]
async fn answers_that_are_no_stream_are_typed_errors() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#;
    let json =
        |status, body: &str| ResponseTemplate::new(status).set_body_raw(body, "application/json");
    let long =
        r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#;
    for (answer, kind, text) in [
        (json(529, overloaded), ErrorKind::Overloaded, "Busy"),
        (json(200, overloaded), ErrorKind::Overloaded, "Busy"),
        (json(400, long), ErrorKind::ContextOverflow, "too long"),
        (json(200, "<html>"), ErrorKind::Protocol, "is the base URL"),
    ] {
        let server = server_with(answer).await;
        let client = HttpClient::builder().retry(RetryPolicy::off()).build();
        let provider = Anthropic::new().with_client(client);
        let error = provider
            .stream(request(&server))
            .finish()
            .await
            .unwrap_err();
        assert_eq!(*error.kind(), kind, "{error:?}");
        assert!(error.message().contains(text), "{error}");
    }
}

#[tokio::test]
async fn a_refused_request_has_started_too() {
    let server = server_with(ResponseTemplate::new(401)).await;
    let stream = Anthropic::new().stream(request(&server));
    let types = stream.map(|event| event.type_name().to_owned());
    assert_eq!(types.collect::<Vec<_>>().await, ["start", "error"]);

    let mut unsent = request(&server);
    unsent.options.on_payload = Some(PayloadHook::new(|_, _| async {
        Err(HookError::new("not today"))
    }));
    let stream = Anthropic::new().stream(unsent);
    let types = stream.map(|event| event.type_name().to_owned());
    assert_eq!(types.collect::<Vec<_>>().await, ["error"]);
}
