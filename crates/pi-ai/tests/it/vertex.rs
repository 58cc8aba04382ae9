//! The provider for `google-vertex`, and the credentials of Google Cloud.

use std::io::Write as _;

use pi_ai::{ApplicationDefault, Vertex};
use pi_core::{Context, ErrorKind, Message, Model, Provider, Request, SecretString, UserMessage};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const REPLY: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}

"#;

const OF_PROJECT: &str =
    "/v1/projects/p1/locations/here/publishers/google/models/gemini-test:streamGenerateContent";

fn reply() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(REPLY, "text/event-stream")
}

async fn serve(at: &str, answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path(at))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

/// Answers a token that is named by the number of the question.
async fn serve_tokens() -> MockServer {
    let server = MockServer::start().await;
    for number in 1..=2 {
        let token = json!({ "access_token": format!("t{number}"), "expires_in": 3600 });
        Mock::given(method("POST"))
            .and(path("/token"))
            .respond_with(ResponseTemplate::new(200).set_body_json(token))
            .up_to_n_times(1)
            .mount(&server)
            .await;
    }
    server
}

fn request(server: &MockServer) -> Request {
    let base_url = format!("{}/v1", server.uri());
    let model = Model::new("gemini-test", "google-vertex", "google-vertex", base_url);
    let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
    Request::new(model, context)
}

fn file(content: &Value) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(content.to_string().as_bytes())
        .expect("room for it");
    file
}

/// The file that `gcloud` writes when a user logs in.
fn login(tokens: &MockServer) -> NamedTempFile {
    file(&json!({
        "type": "authorized_user",
        "client_id": "id",
        "client_secret": "s3cret",
        "refresh_token": "r3fresh",
        "quota_project_id": "q1",
        "token_uri": format!("{}/token", tokens.uri()),
    }))
}

fn vertex() -> Vertex {
    Vertex::new().with_project("p1").with_location("here")
}

#[tokio::test]
async fn a_key_needs_no_project() {
    let at = "/v1/publishers/google/models/gemini-test:streamGenerateContent";
    let server = serve(at, reply()).await;
    for (vertex, key) in [
        (Vertex::new().with_key("k3y"), None),
        (vertex(), Some("k3y")),
    ] {
        let mut request = request(&server);
        request.options.api_key = key.map(SecretString::from);
        let message = vertex.stream(request).finish().await.unwrap();
        assert_eq!(message.text(), "Hello");
        let received = server.received_requests().await.unwrap().pop().unwrap();
        assert_eq!(received.url.query(), Some("alt=sse"));
        assert_eq!(received.headers["x-goog-api-key"], "k3y");
        assert!(!received.headers.contains_key("authorization"));
    }
}

#[tokio::test]
async fn a_token_goes_to_the_project() {
    let server = serve(OF_PROJECT, reply()).await;
    let vertex = Vertex::new()
        .with_location("there")
        .with_credentials(|_| async { Ok(Some(pi_ai::Credential::token("t0ken"))) });
    let mut request = request(&server);
    request.options.api_key = Some("<authenticated>".to_owned().into());
    let extra = &mut request.options.extra;
    extra.insert("project", json!("p1"));
    extra.insert("location", json!("here"));
    vertex.stream(request).finish().await.unwrap();
    let received = server.received_requests().await.unwrap().pop().unwrap();
    assert_eq!(received.headers["authorization"], "Bearer t0ken");
    assert!(!received.headers.contains_key("x-goog-api-key"));
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body.get("project"), None);
}

#[tokio::test]
async fn what_is_missing_is_named() {
    for (vertex, what) in [
        (Vertex::new(), "GOOGLE_CLOUD_PROJECT"),
        (Vertex::new().with_project("p1"), "GOOGLE_CLOUD_LOCATION"),
    ] {
        let model = Model::new("m", "google-vertex", "google-vertex", "");
        let mut stream = vertex.stream(Request::new(model, Context::default()));
        let error = stream.finish().await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().contains(what), "{error}");
    }
}

#[tokio::test]
async fn the_login_of_a_user_gives_tokens() {
    let tokens = serve_tokens().await;
    let file = login(&tokens);
    let server = serve(OF_PROJECT, reply()).await;
    let vertex = vertex().with_application_default(ApplicationDefault::from_file(file.path()));
    for _ in 0..2 {
        vertex.stream(request(&server)).finish().await.unwrap();
    }
    for received in server.received_requests().await.unwrap() {
        assert_eq!(received.headers["authorization"], "Bearer t1");
        assert_eq!(received.headers["x-goog-user-project"], "q1");
    }
    let asked = tokens.received_requests().await.unwrap();
    assert_eq!(asked.len(), 1, "a token is kept");
    let question: Value = serde_json::from_slice(&asked[0].body).unwrap();
    assert_eq!(
        question,
        json!({
            "client_id": "id", "client_secret": "s3cret", "refresh_token": "r3fresh",
            "grant_type": "refresh_token",
        })
    );
}

#[tokio::test]
async fn a_refused_token_is_fetched_anew_once() {
    let tokens = serve_tokens().await;
    let file = login(&tokens);
    let server = serve(OF_PROJECT, ResponseTemplate::new(401)).await;
    Mock::given(header("authorization", "Bearer t2"))
        .respond_with(reply())
        .with_priority(1)
        .mount(&server)
        .await;
    let vertex = vertex().with_application_default(ApplicationDefault::from_file(file.path()));
    let message = vertex.stream(request(&server)).finish().await.unwrap();
    assert_eq!(message.text(), "Hello");
    assert_eq!(tokens.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn credentials_that_give_no_token_end_the_stream_without_a_secret() {
    let refusing = serve("/token", ResponseTemplate::new(400)).await;
    let service = json!({
        "type": "service_account", "client_email": "e", "private_key": "s3cret",
        "private_key_id": "1", "token_uri": "http://127.0.0.1:1/token",
    });
    for (file, text) in [
        (login(&refusing), "application-default login"),
        (file(&service), "lookup of the key"),
        (
            file(&json!({ "type": "external_account" })),
            "external_account",
        ),
        (file(&json!("s3cret")), "no credentials"),
    ] {
        let vertex = vertex().with_application_default(ApplicationDefault::from_file(file.path()));
        let server = serve(OF_PROJECT, reply()).await;
        let error = vertex.stream(request(&server)).finish().await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Hook, "{error:?}");
        assert!(error.message().contains(text), "{error}");
        let shown = format!("{error:?} {vertex:?}");
        assert!(
            !shown.contains("s3cret") && !shown.contains("r3fresh"),
            "{shown}"
        );
        assert!(server.received_requests().await.unwrap().is_empty());
    }
}
