//! The same responses as in `wire.rs`, through the provider and a socket: nothing may change.

use integration_tests::apis::Access;
use integration_tests::observe::Observation;
use pi_ai::{HttpClient, OpenAiCompletions, Providers, RetryPolicy};
use pi_core::{
    AgentMessage, Context, ErrorKind, Message, Provider, Request, ToolDefinition, UserMessage,
};
use serde_json::{Map, Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::fixtures::{self, ALL};

/// Starts a server that gives one answer to everything.
async fn serve(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(response)
        .mount(&server)
        .await;
    server
}

fn request(server: &MockServer, api: &str) -> Request {
    let base_url = format!("{}/v1", server.uri());
    let context = Context::new(vec![UserMessage::new("go", 0).into()]);
    Request::new(fixtures::model(api, &base_url), context)
}

#[tokio::test]
async fn a_socket_changes_nothing() {
    for fixture in ALL.iter() {
        let body =
            ResponseTemplate::new(200).set_body_raw(fixture.body.to_vec(), "text/event-stream");
        let server = serve(body).await;
        let provider = (fixtures::api(fixture).provider)(Access::Direct).expect("a provider");
        let mut request = request(&server, &fixture.api);
        request.options.api_key = Some("test-key".to_owned().into());
        let observation = Observation::of_stream(provider.stream(request)).await;
        fixture.assert_snapshot(&observation);
    }
}

#[tokio::test]
async fn a_refusal_is_a_typed_error() {
    let cases = [
        (401, ErrorKind::Auth, false),
        (404, ErrorKind::InvalidRequest, false),
        (429, ErrorKind::RateLimited, true),
        (500, ErrorKind::Server, true),
        (529, ErrorKind::Overloaded, true),
    ];
    for api in [
        "anthropic-messages",
        "azure-openai-responses",
        "google-generative-ai",
        "mistral-conversations",
        "openai-completions",
        "openai-responses",
    ] {
        let provider = Providers::new().with_client(once());
        for (status, kind, retryable) in &cases {
            let body = json!({ "error": { "message": "not now" } });
            let server = serve(ResponseTemplate::new(*status).set_body_json(body)).await;
            let mut request = request(&server, api);
            request.options.api_key = Some("test-key".to_owned().into());
            let error = provider.stream(request).finish().await;
            let error = error.expect_err("it was refused");
            assert_eq!(
                (error.kind(), error.is_retryable()),
                (kind, *retryable),
                "{api}, {status}"
            );
            assert_eq!(error.status(), Some(*status));
            assert!(error.message().contains("not now"), "{}", error.message());
        }
    }
}

/// Makes a client that sends every request once.
fn once() -> HttpClient {
    HttpClient::builder().retry(RetryPolicy::off()).build()
}

#[tokio::test]
async fn f01_nobody_listens() {
    // A port that was free a moment ago may be another test's server; nobody serves port 1.
    let model = fixtures::model("openai-completions", "http://127.0.0.1:1/v1");
    let mut stream = OpenAiCompletions::new().stream(Request::new(model, Context::default()));
    let error = stream.finish().await.expect_err("nobody is there");
    assert_eq!(
        (error.kind(), error.is_retryable()),
        (&ErrorKind::Connect, true)
    );
}

#[tokio::test]
async fn a_conversation_goes_out_like_this() {
    let server = serve(ResponseTemplate::new(400)).await;
    let mut request = request(&server, "openai-completions");
    request.context = conversation();
    request.options.api_key = Some("secret".to_owned().into());
    request
        .options
        .headers
        .insert("x-trace".to_owned(), "7".to_owned());
    request.options.temperature = Some(0.5);
    let _ = OpenAiCompletions::new().stream(request).finish().await;

    let received = server
        .received_requests()
        .await
        .expect("requests are recorded");
    let [received] = received.as_slice() else {
        panic!("{} requests", received.len())
    };
    let names = ["accept", "authorization", "content-type", "x-trace"];
    let headers = names.iter().map(|name| {
        let value = received
            .headers
            .get(*name)
            .and_then(|value| value.to_str().ok());
        ((*name).to_owned(), Value::from(value))
    });
    let body: Value = serde_json::from_slice(&received.body).expect("a JSON body");
    insta::assert_json_snapshot!(json!({
        "path": received.url.path(),
        "headers": headers.collect::<Map<_, _>>(),
        "body": body,
    }));
}

/// A conversation with everything that a text model can be sent.
fn conversation() -> Context {
    let messages = json!([
        { "role": "user", "content": "Read both files.", "timestamp": 1 },
        {
            "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": "Two calls.", "thinkingSignature": "reasoning" },
                { "type": "text", "text": "I read them." },
                {
                    "type": "toolCall", "id": "call_a", "name": "read",
                    "arguments": { "path": "a.txt" },
                },
                {
                    "type": "toolCall", "id": "call_b", "name": "read",
                    "arguments": { "path": "b.txt" },
                },
            ],
            "api": "openai-completions", "provider": "test", "model": "test-model",
            "stopReason": "toolUse", "timestamp": 2,
        },
        {
            "role": "toolResult", "toolCallId": "call_a", "toolName": "read",
            "content": [{ "type": "text", "text": "A" }], "isError": false, "timestamp": 3,
        },
        { "role": "user", "content": [{ "type": "text", "text": "Only the first." }] },
        {
            "role": "assistant",
            "content": [{ "type": "text", "text": "Half an ans" }],
            "api": "openai-completions", "provider": "test", "model": "test-model",
            "stopReason": "error", "errorMessage": "connection reset", "timestamp": 4,
        },
        { "role": "user", "content": "Once more, please.", "timestamp": 5 },
    ]);
    let messages: Vec<AgentMessage> = serde_json::from_value(messages).expect("messages");
    let messages: Vec<Message> = messages
        .iter()
        .filter_map(AgentMessage::to_message)
        .collect();
    let parameters = json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
    });
    let read = ToolDefinition::new("read", "Reads a file.", parameters);
    Context::new(messages)
        .with_system_prompt("Be brief.")
        .with_tools(vec![read.into()])
}
