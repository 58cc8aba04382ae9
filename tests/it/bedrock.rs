//! What is special about Amazon Bedrock: signatures, credentials, and frames that are not text.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use integration_tests::aws_frames::{event, exception};
use integration_tests::fault_server::{FaultServer, Script};
use integration_tests::logs::Logs;
use pi_ai::{Bedrock, Credential, HttpClient, Limits, RetryPolicy, Timeouts};
use pi_core::{Context, ErrorKind, Model, Provider, ProviderError, Request, UserMessage};
use pi_testkit::ManualClock;
use serde_json::json;

const API: &str = "bedrock-converse-stream";
const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalr-canary-secret";
const SESSION: &str = "session-canary-token";

/// 2030-01-01 00:00:00 UTC, in milliseconds.
const NOW: u64 = 1_893_456_000_000;

/// Where the server of a test that runs in a process of its own is.
const BASE_URL: &str = "PI_TEST_BEDROCK_BASE_URL";

fn good() -> Script {
    let text = json!({ "contentBlockIndex": 0, "delta": { "text": "hello" } });
    let frames = [
        event("messageStart", &json!({ "role": "assistant" })),
        event("contentBlockDelta", &text),
        event("messageStop", &json!({ "stopReason": "end_turn" })),
        event(
            "metadata",
            &json!({ "usage": { "inputTokens": 1, "outputTokens": 1 } }),
        ),
    ];
    body(&frames.concat())
}

fn body(bytes: &[u8]) -> Script {
    let headers = format!(
        "content-type: application/vnd.amazon.eventstream\ncontent-length: {}\n",
        bytes.len()
    );
    Script::on_request()
        .head(200, &headers)
        .send(bytes.to_vec())
}

fn refused(status: u16, error_type: &str) -> Script {
    let headers = format!("x-amzn-errortype: {error_type}\ncontent-type: application/json\n");
    Script::on_request().answer(status, &headers, r#"{"message":"not now"}"#)
}

async fn serve(scripts: impl IntoIterator<Item = Script>) -> FaultServer {
    FaultServer::start(scripts).await.unwrap()
}

fn request(base_url: &str) -> Request {
    let mut model = Model::new("amazon.nova-lite-v1:0", API, "amazon-bedrock", base_url);
    model.max_tokens = 1_000;
    let context = Context::new(vec![UserMessage::new("go", 0).into()]);
    let mut request = Request::new(model, context);
    // A key of another service must not go to AWS.
    request.options.api_key = Some("key-of-nobody".into());
    request
}

fn keyed(clock: &ManualClock) -> Bedrock {
    let client = HttpClient::builder()
        .clock(clock.clone())
        .timeouts(Timeouts::off())
        .random(|| 0.0)
        .build();
    Bedrock::new()
        .with_access_key(ID, SECRET, Some(SESSION.into()))
        .with_client(client)
}

async fn text(provider: &impl Provider, request: Request) -> Result<String, ProviderError> {
    let reply = provider.stream(request).finish().await?;
    Ok(reply.text())
}

/// Turns the clock to the end of the next wait, which is the one before a retry.
async fn turned_once(clock: &ManualClock) {
    while !clock.advance_to_next() {
        tokio::task::yield_now().await;
    }
}

/// The header of a request, as the server saw it.
fn header(server: &FaultServer, request: usize, name: &str) -> Option<String> {
    let received = server.received();
    let headers = &received[request].headers;
    headers
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value.clone())
}

#[tokio::test]
async fn each_attempt_is_signed_by_the_time_of_the_clock() {
    let clock = ManualClock::at(NOW);
    let server = serve([refused(503, "ServiceUnavailableException"), good()]).await;
    let provider = keyed(&clock).with_region("eu-west-1");
    let asked = text(&provider, request(&server.url("")));
    let (answer, ()) = tokio::join!(asked, turned_once(&clock));
    assert_eq!(answer.unwrap(), "hello");

    let date = |request| header(&server, request, "x-amz-date").unwrap();
    assert_eq!(
        (date(0), date(1)),
        ("20300101T000000Z".into(), "20300101T000000Z".into())
    );
    let signature = header(&server, 0, "authorization").unwrap();
    let scope = format!("AWS4-HMAC-SHA256 Credential={ID}/20300101/eu-west-1/bedrock/aws4_request");
    assert!(signature.starts_with(&scope), "{signature}");
    assert_eq!(
        header(&server, 0, "x-amz-security-token").as_deref(),
        Some(SESSION)
    );
    let accept = header(&server, 0, "accept");
    assert_eq!(
        accept.as_deref(),
        Some("application/vnd.amazon.eventstream")
    );
    let received = server.received();
    assert_eq!(
        received[0].target,
        "/model/amazon.nova-lite-v1%3A0/converse-stream"
    );
    assert_eq!(received[0].body, received[1].body);
}

#[tokio::test]
async fn a_later_attempt_has_a_later_signature() {
    let clock = ManualClock::at(NOW);
    let headers = "retry-after: 30\n";
    let busy = Script::on_request().answer(429, headers, r#"{"message":"slow down"}"#);
    let server = serve([busy, good()]).await;
    let provider = keyed(&clock);
    let asked = text(&provider, request(&server.url("")));
    let (answer, ()) = tokio::join!(asked, turned_once(&clock));
    assert_eq!(answer.unwrap(), "hello");
    assert_eq!(
        header(&server, 1, "x-amz-date").as_deref(),
        Some("20300101T000030Z")
    );
    assert_ne!(
        header(&server, 0, "authorization"),
        header(&server, 1, "authorization")
    );
}

#[tokio::test]
async fn bearer_tokens_and_headers_by_hand_are_not_signed() {
    let clock = ManualClock::at(NOW);
    let by_hand = |mut request: Request| {
        let headers = &mut request.options.headers;
        headers.insert("authorization".to_owned(), "Mine 1".to_owned());
        request
    };
    let same = |request: Request| request;
    for (provider, change, expected) in [
        (
            keyed(&clock).with_bearer_token("t0ken"),
            same as fn(Request) -> Request,
            Some("Bearer t0ken"),
        ),
        (
            keyed(&clock).with_credentials(|_| async { Ok(Some(Credential::token("mine"))) }),
            same,
            Some("Bearer mine"),
        ),
        (
            keyed(&clock).with_bearer_token("t0ken"),
            by_hand,
            Some("Mine 1"),
        ),
        (Bedrock::new().without_key(), same, None),
    ] {
        let server = serve([good()]).await;
        let answer = text(&provider, change(request(&server.url("")))).await;
        assert_eq!(answer.unwrap(), "hello");
        assert_eq!(header(&server, 0, "authorization").as_deref(), expected);
        assert_eq!(header(&server, 0, "x-amz-date"), None);
    }
}

#[tokio::test]
async fn without_credentials_nothing_is_sent() {
    let request = request("https://bedrock-runtime.us-east-1.amazonaws.com");
    let error = text(&Bedrock::new(), request).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("from_env()"), "{error}");
}

#[tokio::test]
async fn the_name_of_the_exception_is_read_from_the_head() {
    let server = serve([refused(
        400,
        "ServiceQuotaExceededException:http://internal/",
    )])
    .await;
    let provider = keyed(&ManualClock::at(NOW));
    let error = text(&provider, request(&server.url(""))).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (&ErrorKind::Quota, "not now")
    );
    assert_eq!(error.status(), Some(400));
}

#[tokio::test]
async fn a_throttled_stream_is_asked_for_again_and_a_broken_one_ends_in_an_error() {
    let throttled = exception("throttlingException", &json!({ "message": "slow down" }));
    let clock = ManualClock::at(NOW);
    let server = serve([body(&throttled), good()]).await;
    let provider = keyed(&clock);
    let asked = text(&provider, request(&server.url("")));
    let (answer, ()) = tokio::join!(asked, turned_once(&clock));
    assert_eq!(answer.unwrap(), "hello");
    assert_eq!(server.received().len(), 2);

    let shown = json!({ "contentBlockIndex": 0, "delta": { "text": "Hel" } });
    let mut broken = event("contentBlockDelta", &shown);
    let shown = broken.clone();
    *broken.last_mut().unwrap() ^= 1;
    let server = serve([body(&[shown, broken].concat())]).await;
    let mut stream = keyed(&clock).stream(request(&server.url("")));
    let error = stream.finish().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.is_retryable()),
        (&ErrorKind::Protocol, true)
    );
    assert_eq!(stream.partial().text(), "Hel");
}

#[tokio::test]
async fn f25_a_frame_without_end_is_refused_at_the_limit() {
    let mut limits = Limits::default();
    limits.event_bytes = 1_000;
    let client = HttpClient::builder()
        .limits(limits)
        .retry(RetryPolicy::off())
        .build();
    let long = event("contentBlockDelta", &json!({ "text": "x".repeat(1_000) }));
    // Only its beginning comes: nobody waits for the rest.
    let script = Script::on_request()
        .event_stream(&[])
        .chunk(&long[..20])
        .hold();
    let server = serve([script]).await;
    let provider = Bedrock::new().with_client(client);
    let reading = text(&provider, request(&server.url("")));
    let error = tokio::time::timeout(Duration::from_secs(10), reading)
        .await
        .unwrap();
    assert_eq!(*error.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn f16_a_document_in_place_of_frames_is_an_error_in_its_words() {
    let script = Script::on_request().answer(200, "", r#"{"message":"the proxy is asleep"}"#);
    let server = serve([script]).await;
    let provider =
        Bedrock::new().with_client(HttpClient::builder().retry(RetryPolicy::off()).build());
    let error = text(&provider, request(&server.url(""))).await.unwrap_err();
    assert!(error.message().contains("the proxy is asleep"), "{error}");
}

#[tokio::test]
async fn p8_neither_key_nor_token_nor_signature_is_shown() {
    let logs = Logs::new();
    let guard = tracing::subscriber::set_default(logs.clone());
    let provider = keyed(&ManualClock::at(NOW));
    let server = serve([refused(403, "AccessDeniedException"), good()]).await;
    let error = text(&provider, request(&server.url(""))).await.unwrap_err();
    text(&provider, request(&server.url(""))).await.unwrap();
    drop(guard);
    let signature = header(&server, 0, "authorization").unwrap();
    let (_, signature) = signature.split_once("Signature=").unwrap();
    let seen = format!(
        "{provider:?} {provider:#?} {error:?} {error} {}",
        logs.text()
    );
    for secret in [SECRET, SESSION, signature] {
        assert!(!seen.contains(secret), "{secret} is shown");
    }
}

/// Runs a test of this file in a process whose environment is that of a container of AWS.
fn in_container(test: &str, server: &FaultServer) -> (bool, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            server.url("/credentials"),
        )
        .env("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-canary")
        .env("AWS_CONFIG_FILE", "/nowhere")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_REGION", "eu-north-1")
        .env(BASE_URL, server.url(""))
        .output()
        .unwrap();
    let shown = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&shown).into_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chain_of_aws_finds_the_credentials_of_a_container() {
    let credentials = json!({
        "AccessKeyId": "AKIDCONTAINER", "SecretAccessKey": SECRET, "Token": SESSION,
        "Expiration": "2100-01-01T00:00:00Z",
    });
    let headers = "content-type: application/json\n";
    let found = Script::on_request().answer(200, headers, &credentials.to_string());
    let server = serve([found, good(), good()]).await;
    let (passed, shown) = in_container("bedrock::asks_twice_in_a_container", &server);
    assert!(passed, "{shown}");
    for secret in [SECRET, SESSION, "container-canary"] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
    let received = server.received();
    assert_eq!(received.len(), 3, "the credentials are kept");
    assert_eq!(received[0].target, "/credentials");
    assert_eq!(
        header(&server, 0, "authorization").as_deref(),
        Some("container-canary")
    );
    for request in [1, 2] {
        let signature = header(&server, request, "authorization").unwrap();
        assert!(signature.contains("AKIDCONTAINER/") && signature.contains("/eu-north-1/"));
    }
}

/// Does nothing but in the process that the test above starts.
#[test]
fn asks_twice_in_a_container() {
    let Ok(base_url) = std::env::var(BASE_URL) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let logs = Logs::new();
    let guard = tracing::subscriber::set_default(logs.clone());
    runtime.block_on(async {
        let provider = Bedrock::from_env();
        for _ in 0..2 {
            assert_eq!(text(&provider, request(&base_url)).await.unwrap(), "hello");
        }
    });
    drop(guard);
    // What is logged is looked at from outside.
    writeln!(std::io::stdout(), "{}", logs.text()).unwrap();
}
