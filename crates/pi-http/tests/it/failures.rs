//! Servers that refuse, break off or send something else.

use std::time::Duration;

use pi_core::ErrorKind;
use pi_http::{Call, HttpClient, Limits, RetryPolicy};
use tokio::net::TcpListener;

use crate::server::{Act, Server, answer, chunked, head, last_chunk};
use crate::words::{ask, exchange_of, once, outcome, read_error};

#[tokio::test]
async fn f01_a_refused_connection_names_host_and_port_only() {
    // A port that was free a moment ago may be another test's server; nobody serves port 1.
    let address = "127.0.0.1:1";
    let url = format!("http://me:s3cret@{address}/v1?key=s3cret");
    let (text, error) = outcome(&once(), &url).await;
    let error = error.unwrap();
    assert_eq!(
        (*error.kind() == ErrorKind::Connect, &*text),
        (true, ""),
        "{error:?}"
    );
    assert!(error.is_retryable());
    assert_eq!(
        error.message(),
        format!("cannot connect to {address}: connection refused, is the server running?")
    );
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    assert_eq!((error.provider(), error.model()), ("tests", "words-1"));
}

#[tokio::test]
async fn f01_a_name_that_does_not_resolve_is_a_connect_error() {
    let (_, error) = outcome(&once(), "http://nosuch.localhost.invalid:1/v1").await;
    let error = error.unwrap();
    assert_eq!(*error.kind(), ErrorKind::Connect, "{error:?}");
    assert_eq!(
        error.message(),
        "cannot connect to nosuch.localhost.invalid:1: the name of the host cannot be resolved"
    );
}

#[tokio::test]
async fn f18_a_server_without_tls_is_a_tls_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let text = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, text).await;
        }
    });
    let (_, error) = outcome(&once(), &format!("https://localhost:{port}/v1")).await;
    let error = error.unwrap();
    assert_eq!(*error.kind(), ErrorKind::Tls, "{error:?}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn f06_a_reset_before_the_head_is_a_transport_error() {
    let server = Server::start([Act::Reset]).await;
    let (_, error) = outcome(&once(), &server.url).await;
    let error = error.unwrap();
    assert_eq!(*error.kind(), ErrorKind::Transport, "{error:?}");
    assert!(error.message().contains("before it answered"), "{error}");
}

#[tokio::test]
async fn f07_f10_a_body_that_breaks_keeps_what_came() {
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\ndata: a\n\n".to_owned();
    let reset = [chunked(&["data: a\n\n"]), vec![Act::Gate, Act::Reset]].concat();
    for (name, script) in [
        ("content-length short", vec![Act::Send(short)]),
        ("chunked body cut", chunked(&["data: a\n\n"])),
        ("reset", reset),
    ] {
        let server = Server::start(script).await;
        server.open_gate();
        let (text, error) = outcome(&once(), &server.url).await;
        let error = error.unwrap();
        assert_eq!(*error.kind(), ErrorKind::Transport, "{name}: {error:?}");
        assert!(error.is_retryable(), "{name}");
        assert!(error.message().contains("in mid-reply"), "{name}: {error}");
        if name != "reset" {
            assert_eq!(text, "a", "{name}");
        }
    }
}

#[tokio::test]
async fn f08_a_clean_end_without_terminal_event_is_an_error() {
    for (body, message) in [
        ("data: a\n\n", "stream ended before [DONE]"),
        (
            "data: a\n\ndata: {\"b",
            "the event stream was cut inside an event",
        ),
    ] {
        let server = Server::start([chunked(&[body]), vec![last_chunk()]].concat()).await;
        let (text, error) = outcome(&once(), &server.url).await;
        let error = error.unwrap();
        assert_eq!(*error.kind(), ErrorKind::Protocol);
        assert_eq!((error.message(), &*text), (message, "a"));
        assert_eq!(error.request_id(), Some("req-7"));
        assert!(error.elapsed().is_some());
    }
}

#[tokio::test]
async fn f34_an_error_of_the_decoder_comes_behind_its_events() {
    let server = Server::start(chunked(&["data: a\n\ndata: !\n\ndata: b\n\n"])).await;
    let (text, error) = outcome(&once(), &server.url).await;
    assert_eq!(*error.unwrap().kind(), ErrorKind::Overloaded);
    assert_eq!(text, "a");
}

#[tokio::test]
async fn f12_a_status_is_read_by_the_protocol_and_completed_from_the_head() {
    let headers = "x-request-id: req-9\r\nretry-after: 2\r\ncf-ray: ray\r\n";
    for (status, kind) in [
        ("401 Unauthorized", ErrorKind::Auth),
        ("429 Too Many Requests", ErrorKind::RateLimited),
        ("500 Oops", ErrorKind::Server),
    ] {
        let server = Server::start(answer(status, headers, "why")).await;
        let (_, error) = outcome(&once(), &server.url).await;
        let error = error.unwrap();
        let code = status[..3].parse().ok();
        assert_eq!((error.kind(), error.status()), (&kind, code));
        assert_eq!(error.message(), format!("{} why", &status[..3]));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
        assert_eq!(error.request_id(), Some("req-9"));
    }
}

#[tokio::test]
async fn the_word_of_the_server_on_retries_wins() {
    for (value, expected) in [("false", false), ("true", true), ("maybe", true)] {
        let headers = format!("x-should-retry: {value}\r\n");
        let server = Server::start(answer("500 Oops", &headers, "")).await;
        let (_, error) = outcome(&once(), &server.url).await;
        assert_eq!(error.unwrap().is_retryable(), expected, "{value}");
    }
}

#[tokio::test]
async fn f12_of_a_long_error_body_the_first_part_is_read() {
    let mut limits = Limits::default();
    limits.error_body_bytes = 10;
    let client = HttpClient::builder()
        .limits(limits)
        .retry(RetryPolicy::off())
        .build();
    let server = Server::start(answer("500 Oops", "", &"x".repeat(1_000_000))).await;
    let (_, error) = outcome(&client, &server.url).await;
    assert_eq!(error.unwrap().message(), "500 xxxxxxxxxx");
}

#[tokio::test]
async fn f12_an_error_body_that_breaks_leaves_the_status() {
    let text = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 99\r\n\r\nwhy";
    let server = Server::start([Act::Send(text.into())]).await;
    let (_, error) = outcome(&once(), &server.url).await;
    assert_eq!(error.unwrap().message(), "401 why");
}

#[tokio::test]
async fn f16_a_document_in_place_of_the_stream_is_an_error() {
    for (content_type, pieces) in [
        ("application/json", vec!["{\"error\":", "\"no\"}"]),
        ("text/event-stream", vec!["\n ", " {\"error\":", "\"no\"}"]),
        ("text/html", vec!["<html>"]),
    ] {
        let mut script = vec![head(content_type)];
        script.extend(chunked(&pieces).split_off(1));
        script.push(last_chunk());
        let server = Server::start(script).await;
        let (_, error) = outcome(&once(), &server.url).await;
        let error = error.unwrap();
        let document = pieces.concat();
        assert_eq!(
            error.message().trim_start_matches("200").trim(),
            document.trim()
        );
        assert_eq!(error.request_id(), Some("req-7"));
    }
}

#[tokio::test]
async fn an_event_stream_of_another_content_type_is_read() {
    let headers = "content-type: application/json\r\n";
    let server = Server::start(answer("200 OK", headers, "data: a\n\ndata: [DONE]\n\n")).await;
    let (text, error) = outcome(&once(), &server.url).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text, "a");
}

#[tokio::test]
async fn f17_a_redirect_is_not_followed() {
    let mut target = Server::start(answer("200 OK", "", "data: [DONE]\n\n")).await;
    let location = target.url.replace("http://", "http://me:s3cret@");
    let headers = format!("location: {location}?key=s3cret\r\n");
    let server = Server::start(answer("307 Temporary Redirect", &headers, "")).await;
    let (_, error) = outcome(&once(), &server.url).await;
    let error = error.unwrap();
    assert_eq!(
        (error.kind(), error.status()),
        (&ErrorKind::InvalidRequest, Some(307))
    );
    assert!(error.message().contains(&target.url), "{error}");
    assert!(!error.message().contains("s3cret"), "{error}");
    assert!(!target.has_request());
}

#[tokio::test]
async fn f25_sizes_are_limited() {
    let mut lines = Limits::default();
    lines.line_bytes = 100;
    let mut bodies = Limits::default();
    bodies.body_bytes = 100;
    for limits in [lines, bodies] {
        let client = HttpClient::builder()
            .limits(limits)
            .retry(RetryPolicy::off())
            .build();
        let server = Server::start(answer("200 OK", "", &"data: ".repeat(1_000))).await;
        let (_, error) = outcome(&client, &server.url).await;
        assert_eq!(*error.unwrap().kind(), ErrorKind::TooLarge);
        let server = Server::start(answer("200 OK", "", "ok")).await;
        client
            .fetch(Call::get(&server.url), read_error)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_made_ends_the_stream() {
    let client = once();
    for (url, part) in [
        ("localhost:8080", "http://"),
        ("", "not valid"),
        ("http://", "not valid"),
    ] {
        let (_, error) = outcome(&client, url).await;
        let error = error.unwrap();
        assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().contains(part), "{error}");
    }
    let refused = pi_core::ProviderError::new(ErrorKind::Auth, "no key");
    let exchange = exchange_of(move || std::future::ready(Err(refused.clone())));
    let error = ask(&client, exchange).finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Auth);
}
