//! Lists of models.

use pi_ai::{HttpClient, list_models};
use pi_core::{ErrorKind, SecretString};
use wiremock::matchers::{header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

async fn server_with(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn models_are_listed_in_the_order_of_the_server() {
    let list = r#"{"object":"list","data":[{"id":"b","extra":1},{"id":"a"}]}"#;
    let server = server_with(ResponseTemplate::new(200).set_body_string(list)).await;
    for end in ["/v1", "/v1/"] {
        let base_url = server.uri() + end;
        let models = list_models(&HttpClient::new(), &base_url, None)
            .await
            .unwrap();
        assert_eq!(models, ["b", "a"]);
    }
}

#[tokio::test]
async fn key_and_query_of_the_base_url_are_sent() {
    let server = MockServer::start().await;
    Mock::given(path("/v1/models"))
        .and(query_param("version", "1"))
        .and(header("authorization", "Bearer k3y"))
        .respond_with(ResponseTemplate::new(200).set_body_string(r#"{"data":[]}"#))
        .mount(&server)
        .await;
    let base_url = server.uri() + "/v1?version=1";
    let key = SecretString::from("k3y");
    let models = list_models(&HttpClient::new(), &base_url, Some(&key))
        .await
        .unwrap();
    assert!(models.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_an_error() {
    for (answer, kind, part) in [
        (
            ResponseTemplate::new(200).set_body_string("<html>"),
            ErrorKind::Protocol,
            "list of models",
        ),
        (ResponseTemplate::new(404), ErrorKind::InvalidRequest, "404"),
    ] {
        let server = server_with(answer).await;
        let base_url = server.uri() + "/v1";
        let error = list_models(&HttpClient::new(), &base_url, None)
            .await
            .unwrap_err();
        assert_eq!(*error.kind(), kind, "{error:?}");
        assert!(error.message().contains(part), "{error}");
        assert!(!error.is_retryable());
    }
}
