//! All built-in providers as one.

use pi_ai::{HttpClient, Providers, RetryPolicy};
use pi_core::{Context, ErrorKind, Model, Provider, Request, SecretString};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

#[tokio::test]
async fn the_api_of_the_model_decides_where_a_request_goes_and_how_the_key_is_sent() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(401))
        .mount(&server)
        .await;
    let providers = Providers::new().with_credentials(|provider: String| {
        std::future::ready(Ok(Some(SecretString::from(format!("key of {provider}")))))
    });
    for (api, provider, path, header, value) in [
        (
            "anthropic-messages",
            "anthropic",
            "/v1/messages",
            "x-api-key",
            "key of anthropic",
        ),
        (
            "anthropic-messages",
            "github-copilot",
            "/v1/messages",
            "authorization",
            "Bearer key of github-copilot",
        ),
        (
            "azure-openai-responses",
            "azure",
            "/responses",
            "api-key",
            "key of azure",
        ),
        (
            "openai-responses",
            "xai",
            "/responses",
            "authorization",
            "Bearer key of xai",
        ),
        (
            "google-generative-ai",
            "google",
            "/models/m:streamGenerateContent",
            "x-goog-api-key",
            "key of google",
        ),
        (
            "openai-completions",
            "openai",
            "/chat/completions",
            "authorization",
            "Bearer key of openai",
        ),
        (
            "openai-completions",
            "cloudflare-ai-gateway",
            "/chat/completions",
            "cf-aig-authorization",
            "Bearer key of cloudflare-ai-gateway",
        ),
    ] {
        let model = Model::new("m", api, provider, server.uri());
        let request = Request::new(model, Context::default());
        let error = providers.stream(request).finish().await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Auth);
        let received = server.received_requests().await.unwrap().pop().unwrap();
        assert_eq!(received.url.path(), path);
        for name in [
            "api-key",
            "authorization",
            "cf-aig-authorization",
            "x-api-key",
            "x-goog-api-key",
        ] {
            let sent = received
                .headers
                .get(name)
                .map(|value| value.to_str().unwrap());
            assert_eq!(
                sent,
                (name == header).then_some(value),
                "{provider}: {name}"
            );
        }
    }
}

#[tokio::test]
async fn an_api_that_is_not_built_in_is_named() {
    let client = HttpClient::builder().retry(RetryPolicy::off()).build();
    let providers = Providers::from_env().with_client(client);
    let model = Model::new("m", "smoke-signals", "hill", "http://127.0.0.1:9");
    let request = Request::new(model, Context::default());
    let error = providers.stream(request).finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("smoke-signals"), "{error}");
    assert!(error.message().contains("openai-completions"), "{error}");
}
