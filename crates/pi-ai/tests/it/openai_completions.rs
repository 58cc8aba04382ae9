//! The provider for `openai-completions`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use pi_ai::{HttpClient, OpenAiCompletions, RetryPolicy};
use pi_core::{
    CancellationToken, Context, ErrorKind, HookError, Message, Model, PayloadHook, Provider,
    ProviderError, Request, SecretString, StopReason, UserMessage,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const TEXT: &str = concat!(
    "data: {\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n",
    ": keep-alive\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
);

const CALL: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",",
    "\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,",
    "\"function\":{\"arguments\":\"\\\"a.txt\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: [DONE]\n\n",
);

async fn server_with(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

async fn server_that_says(body: &str) -> MockServer {
    server_with(ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")).await
}

/// A model of a provider that needs a key elsewhere.
fn model(base_url: String) -> Model {
    Model::new("gpt-test", "openai-completions", "openai", base_url)
}

fn request(server: &MockServer) -> Request {
    request_to(model(server.uri() + "/v1"))
}

fn request_to(model: Model) -> Request {
    Request::new(
        model,
        Context::new(vec![Message::from(UserMessage::new("Hi", 0))]),
    )
}

async fn fail(provider: &OpenAiCompletions, request: Request) -> ProviderError {
    provider.stream(request).finish().await.unwrap_err()
}

#[tokio::test]
async fn text_comes_with_usage_and_id() {
    let server = server_that_says(TEXT).await;
    let mut stream = OpenAiCompletions::new().stream(request(&server));
    let mut text = String::new();
    while let Some(event) = stream.next().await {
        text.push_str(event.text_delta().unwrap_or_default());
    }
    let message = stream.finish().await.unwrap();
    assert_eq!((text.as_str(), message.text().as_str()), ("Hello", "Hello"));
    assert_eq!(message.stop_reason, StopReason::Stop);
    assert_eq!((message.usage.input, message.usage.output), (7, 2));
    assert_eq!(message.response_id.as_deref(), Some("r1"));
    assert!(message.timestamp > 0);
}

#[tokio::test]
async fn a_tool_call_is_assembled() {
    let server = server_that_says(CALL).await;
    let message = OpenAiCompletions::new()
        .stream(request(&server))
        .finish()
        .await
        .unwrap();
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    let call = message.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "read"));
    assert_eq!(
        serde_json::to_value(&call.arguments).unwrap(),
        json!({ "path": "a.txt" })
    );
}

#[tokio::test]
async fn the_first_source_of_keys_wins() {
    let server = server_that_says(TEXT).await;
    let resolved = OpenAiCompletions::new().with_credentials(|provider: String| async move {
        Ok(Some(SecretString::from(format!("resolved for {provider}"))))
    });
    let fixed = OpenAiCompletions::new().with_key(" fixed\n");
    let none = OpenAiCompletions::new();
    for (provider, of_request, header, expected) in [
        (&resolved, None, None, Some("Bearer resolved for openai")),
        (&fixed, None, None, Some("Bearer fixed")),
        (&fixed, Some("mine"), None, Some("Bearer mine")),
        (&fixed, Some(" "), None, Some("Bearer fixed")),
        (&fixed, None, Some("Basic x"), Some("Basic x")),
        (&none, None, None, None),
    ] {
        let mut request = request(&server);
        request.options.api_key = of_request.map(SecretString::from);
        if let Some(value) = header {
            request
                .options
                .headers
                .insert("Authorization".into(), value.into());
        }
        provider.stream(request).finish().await.unwrap();
        let received = server.received_requests().await.unwrap().pop().unwrap();
        let sent = received
            .headers
            .get("authorization")
            .map(|value| value.to_str().unwrap());
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn a_missing_key_is_an_auth_error_that_says_what_to_do() {
    // Nothing is sent, so the address need not exist.
    let mut unknown = model("https://keys.invalid/v1".into());
    unknown.provider = "someone".into();
    let known = model("https://keys.invalid/v1".into());
    let failing =
        |_: String| async { Err::<Option<SecretString>, _>(HookError::new("vault is sealed")) };
    for (provider, model, kind, part) in [
        (
            OpenAiCompletions::new(),
            known.clone(),
            ErrorKind::Auth,
            "OPENAI_API_KEY",
        ),
        (
            OpenAiCompletions::from_env(),
            unknown.clone(),
            ErrorKind::Auth,
            "without_key()",
        ),
        (
            OpenAiCompletions::new().with_key(""),
            unknown,
            ErrorKind::Auth,
            "for someone",
        ),
        (
            OpenAiCompletions::new().with_credentials(failing),
            known,
            ErrorKind::Hook,
            "vault is sealed",
        ),
    ] {
        let error = fail(&provider, request_to(model)).await;
        assert_eq!(*error.kind(), kind, "{error:?}");
        assert!(error.message().contains(part), "{error}");
    }
}

#[tokio::test]
async fn the_base_url_of_the_provider_wins() {
    let server = server_that_says(TEXT).await;
    let provider = OpenAiCompletions::new()
        .with_base_url(server.uri() + "/v1/")
        .without_key();
    let elsewhere = model("https://elsewhere.invalid/v1".into());
    provider
        .stream(request_to(elsewhere))
        .finish()
        .await
        .unwrap();
    let error = fail(&OpenAiCompletions::new(), request_to(model(String::new()))).await;
    assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("no base URL"), "{error}");
}

#[tokio::test]
async fn the_payload_hook_sees_and_replaces_the_body() {
    let server = server_that_says(TEXT).await;
    for replace in [true, false] {
        let mut request = request(&server);
        request.options.on_payload = Some(PayloadHook::new(move |mut body: Value, model| {
            body["seen"] = json!(model.id);
            async move { Ok(replace.then_some(body)) }
        }));
        OpenAiCompletions::new()
            .stream(request)
            .finish()
            .await
            .unwrap();
        let received = server.received_requests().await.unwrap().pop().unwrap();
        let body: Value = serde_json::from_slice(&received.body).unwrap();
        assert_eq!(body["model"], "gpt-test");
        assert_eq!(body["messages"][0]["content"], "Hi");
        assert_eq!(body.get("seen").is_some(), replace);
    }
    let mut request = request(&server);
    request.options.on_payload = Some(PayloadHook::new(|_, _| async {
        Err(HookError::new("not today"))
    }));
    let error = fail(&OpenAiCompletions::new(), request).await;
    assert_eq!(*error.kind(), ErrorKind::Hook);
    assert_eq!(error.message(), "the payload hook failed: not today");
}

#[tokio::test]
async fn answers_that_are_no_stream_are_typed_errors() {
    let refused = r#"{"error":{"message":"bad key sent","code":"invalid_api_key"}}"#;
    let json =
        |status, body: &str| ResponseTemplate::new(status).set_body_raw(body, "application/json");
    for (answer, kind, text) in [
        (json(401, refused), ErrorKind::Auth, "bad key sent"),
        (json(200, refused), ErrorKind::Auth, "bad key sent"),
        (json(200, r#""odd""#), ErrorKind::Server, "odd"),
        (
            ResponseTemplate::new(200).set_body_raw("<html>", "text/html"),
            ErrorKind::Protocol,
            "is the base URL",
        ),
        (
            ResponseTemplate::new(500).set_body_raw("<html>secret", "text/html"),
            ErrorKind::Server,
            "500",
        ),
    ] {
        let server = server_with(answer.insert_header("x-request-id", "q1")).await;
        let client = HttpClient::builder().retry(RetryPolicy::off()).build();
        let provider = OpenAiCompletions::new().with_client(client);
        let error = fail(&provider, request(&server)).await;
        assert_eq!(*error.kind(), kind, "{error:?}");
        assert!(error.message().contains(text), "{error}");
        assert_eq!((error.provider(), error.model()), ("openai", "gpt-test"));
        let stored = serde_json::to_value(error.info()).unwrap();
        assert!(!stored.to_string().contains("secret"));
    }
}

/// A client whose own waits take no time.
fn hasty() -> HttpClient {
    let mut policy = RetryPolicy::default();
    policy.base_delay = Duration::ZERO;
    HttpClient::builder().retry(policy).build()
}

#[tokio::test]
async fn a_retry_looks_up_the_key_again_and_sends_the_same_body() {
    let server = MockServer::start().await;
    let endpoint = || Mock::given(method("POST")).and(path("/v1/chat/completions"));
    endpoint()
        .respond_with(ResponseTemplate::new(503))
        .up_to_n_times(2)
        .mount(&server)
        .await;
    endpoint()
        .respond_with(ResponseTemplate::new(200).set_body_raw(TEXT, "text/event-stream"))
        .mount(&server)
        .await;
    let (keys, payloads) = (AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
    let provider = OpenAiCompletions::new()
        .with_client(hasty())
        .with_credentials(move |_: String| {
            let number = keys.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok(Some(SecretString::from(format!("key-{number}")))))
        });
    let mut request = request(&server);
    let seen = Arc::clone(&payloads);
    request.options.on_payload = Some(PayloadHook::new(move |mut body: Value, _| {
        body["number"] = json!(seen.fetch_add(1, Ordering::Relaxed));
        std::future::ready(Ok(Some(body)))
    }));
    let message = provider.stream(request).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");
    assert_eq!(payloads.load(Ordering::Relaxed), 1);
    let received = server.received_requests().await.unwrap();
    let sent: Vec<_> = received
        .iter()
        .map(|request| request.headers["authorization"].to_str().unwrap())
        .collect();
    assert_eq!(sent, ["Bearer key-0", "Bearer key-1", "Bearer key-2"]);
    assert!(
        received
            .iter()
            .all(|request| request.body == received[0].body)
    );
}

#[tokio::test]
async fn the_longest_wait_is_an_option_of_the_request() {
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "2");
    let server = server_with(busy).await;
    let mut request = request(&server);
    request.options.max_retry_delay_ms = Some(1_000);
    let error = fail(&OpenAiCompletions::new(), request).await;
    assert_eq!(*error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
    assert!(
        error.message().contains("longer than the limit of 1 s"),
        "{error}"
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_part_of_the_base_url_that_nobody_fills_in_is_named() {
    let model = model("https://gateway.invalid/{PI_TESTS_NO_SUCH_ACCOUNT}/v1".into());
    for provider in [OpenAiCompletions::new(), OpenAiCompletions::from_env()] {
        let error = fail(&provider, request_to(model.clone())).await;
        assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
        assert!(
            error.message().contains("PI_TESTS_NO_SUCH_ACCOUNT"),
            "{error}"
        );
    }
}

/// Accepts one connection, sends the beginning of a reply and tells when the client has gone.
async fn server_that_stalls() -> (String, oneshot::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (gone, is_gone) = oneshot::channel();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        // The request is short, so its beginning means that all of it is on the way.
        socket.read_exact(&mut buffer[..4]).await.unwrap();
        let start = TEXT.split_inclusive("\n\n").next().unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        socket
            .write_all(format!("{head}{start}").as_bytes())
            .await
            .unwrap();
        let mut buffer = [0; 4096];
        while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        let _ = gone.send(());
    });
    (base_url, is_gone)
}

#[tokio::test]
async fn f40_the_token_of_the_request_aborts() {
    let (base_url, is_gone) = server_that_stalls().await;
    let token = CancellationToken::new();
    let request = request_to(model(base_url)).with_abort(token.clone());
    let mut stream = OpenAiCompletions::new().stream(request);
    while stream.partial().text().is_empty() {
        stream.next().await.unwrap();
    }
    token.cancel();
    let error = stream.finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Aborted);
    let message = stream.partial();
    assert_eq!(
        (message.text().as_str(), &message.stop_reason),
        ("Hel", &StopReason::Aborted)
    );
    tokio::time::timeout(Duration::from_secs(5), is_gone)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn f47_dropping_the_stream_closes_the_connection() {
    let (base_url, is_gone) = server_that_stalls().await;
    let mut stream = OpenAiCompletions::new().stream(request_to(model(base_url)));
    assert!(!stream.next().await.unwrap().is_terminal());
    drop(stream);
    tokio::time::timeout(Duration::from_secs(5), is_gone)
        .await
        .unwrap()
        .unwrap();
}

#[test]
fn a_provider_does_not_show_its_key() {
    let provider = OpenAiCompletions::new()
        .with_key("s3cret")
        .with_base_url("https://me:s3cret@host/v1?key=s3cret");
    let shown = format!("{provider:?}");
    assert!(
        shown.contains("https://host/v1") && !shown.contains("s3cret"),
        "{shown}"
    );
}
