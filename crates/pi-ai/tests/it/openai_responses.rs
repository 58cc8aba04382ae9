//! The providers for `openai-responses`, Azure's included.

use pi_ai::{AzureOpenAi, OpenAiResponses};
use pi_core::{
    Context, ErrorKind, Message, Model, Provider, Request, StopReason, StreamOptions,
    ThinkingLevel, UserMessage,
};
use serde_json::{Value, json};
use wiremock::matchers::{method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

const REPLY: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"Hello"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hello"}]}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","usage":{"input_tokens":7,"output_tokens":5,"total_tokens":12}}}

"#;

fn stream(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

fn request(api: &str, base_url: &str) -> Request {
    let mut model = Model::new("gpt-test", api, "openai", base_url);
    model.reasoning = true;
    let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
    let mut request = Request::new(model, context);
    request.options.reasoning = Some(ThinkingLevel::Low);
    request
}

#[tokio::test]
async fn a_reply_comes_with_text_usage_and_id() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/responses"))
        .respond_with(stream(REPLY))
        .mount(&server)
        .await;
    let provider = OpenAiResponses::new().with_key("k3y");
    let request = request("openai-responses", &format!("{}/v1", server.uri()));
    let message = provider.stream(request).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");
    assert_eq!(message.stop_reason, StopReason::Stop);
    assert_eq!((message.usage.input, message.usage.output), (7, 5));
    assert_eq!(message.response_id.as_deref(), Some("resp_1"));

    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["authorization"], "Bearer k3y");
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["stream"], json!(true));
    assert_eq!(body["reasoning"]["effort"], json!("low"));
}

#[tokio::test]
async fn azure_is_asked_at_its_resource_by_the_name_of_the_deployment() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/openai/v1/responses"))
        .and(query_param("api-version", "preview"))
        .respond_with(stream(REPLY))
        .mount(&server)
        .await;
    let mut request = request("azure-openai-responses", "http://unused.invalid");
    let options: StreamOptions = serde_json::from_value(json!({
        "azureBaseUrl": format!("{}/openai/v1/", server.uri()),
        "azureApiVersion": "preview",
        "azureDeploymentName": "mine",
    }))
    .unwrap();
    request.options = options;
    let provider = AzureOpenAi::new().with_key("k3y");
    let message = provider.stream(request).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");

    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["api-key"], "k3y");
    assert!(!received.headers.contains_key("authorization"));
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["model"], json!("mine"));
}

#[tokio::test]
async fn azure_without_an_address_says_what_is_missing() {
    let request = request("azure-openai-responses", "");
    let provider = AzureOpenAi::new().with_key("k3y");
    let error = provider.stream(request).finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("AZURE_OPENAI_BASE_URL"), "{error}");
}

#[tokio::test]
async fn what_fails_before_the_first_content_is_sent_again() {
    let busy =
        "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"busy\"}\n\n";
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(stream(busy))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .respond_with(stream(REPLY))
        .mount(&server)
        .await;
    let provider = OpenAiResponses::new().with_key("k3y");
    let request = request("openai-responses", &server.uri());
    let message = provider.stream(request).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}
