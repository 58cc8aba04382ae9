//! Streams that go well, and those that their reader stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, StreamExt};
use pi_core::{
    AssistantEvent, CancellationToken, ErrorKind, EventSource, HookError, ResponseHook,
    SecretString,
};
use pi_http::{Call, HttpClient};

use crate::server::{Act, Server, answer, chunk, chunked, last_chunk};
use crate::words::{ask, exchange, exchange_of, expect_word, outcome};

#[tokio::test]
async fn the_size_of_the_pieces_does_not_show() {
    let body = "data: Grüße\n\n: ping\r\n\r\ndata: welt\r\rdata: [DONE]\n\n";
    let letters: Vec<String> = body.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    for pieces in [vec![body], letters] {
        let mut script = chunked(&pieces);
        script.push(last_chunk());
        let server = Server::start(script).await;
        let (text, error) = outcome(&HttpClient::new(), &server.url).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text, "Grüßewelt");
    }
}

#[tokio::test]
async fn a_last_event_without_blank_line_counts_if_it_is_whole() {
    let server = Server::start(answer("200 OK", "", "data: a\n\ndata: [DONE]")).await;
    let (text, error) = outcome(&HttpClient::new(), &server.url).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text, "a");
}

#[tokio::test]
async fn the_request_carries_headers_and_body() {
    let mut server = Server::start(answer("200 OK", "", "data: [DONE]\n\n")).await;
    let call = Call::post(&server.url, r#"{"a":1}"#)
        .with_bearer(&SecretString::from("k3y"))
        .with_header("X-Extra", "1");
    ask(&HttpClient::new(), exchange_of(call))
        .finish()
        .await
        .unwrap();
    let request = server.request().await;
    assert!(
        request.starts_with("POST /v1/words HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\n{\"a\":1}"), "{request}");
    let agent = concat!("user-agent: pi/", env!("CARGO_PKG_VERSION"), "\r\n");
    for header in [
        "authorization: Bearer k3y\r\n",
        "x-extra: 1\r\n",
        "content-type: application/json\r\n",
        "accept: text/event-stream\r\n",
        agent,
    ] {
        assert!(request.contains(header), "{header} is not in {request}");
    }
}

#[tokio::test]
async fn events_come_as_they_are_sent() {
    let mut script = chunked(&["data: a\n\n"]);
    script.extend([
        Act::Gate,
        chunk("data: b\n\n"),
        Act::Gate,
        chunk("data: [DONE]\n\n"),
    ]);
    let server = Server::start(script).await;
    let mut stream = ask(&HttpClient::new(), exchange(&server.url));
    expect_word(&mut stream, "a").await;
    assert!(stream.next().now_or_never().is_none());
    server.open_gate();
    expect_word(&mut stream, "b").await;
    server.open_gate();
    assert_eq!(stream.finish().await.unwrap().text(), "ab");
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let mut server = Server::start(chunked(&["data: [DONE]\n\n"])).await;
    let mut stream = ask(&HttpClient::new(), exchange(&server.url));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!server.has_request());
    stream.finish().await.unwrap();
    assert!(server.has_request());
}

#[tokio::test]
async fn f09_the_terminal_event_ends_the_stream_at_once() {
    let mut script = chunked(&["data: a\n\ndata: [DONE]\n\ndata: late\n\n"]);
    script.push(Act::Hold);
    let mut server = Server::start(script).await;
    let mut stream = ask(&HttpClient::new(), exchange(&server.url));
    assert_eq!(stream.finish().await.unwrap().text(), "a");
    assert!(stream.next().await.is_none());
    server.closed().await;
}

#[tokio::test]
async fn f47_dropping_the_stream_closes_the_connection() {
    for script in [
        vec![Act::Hold],
        [chunked(&["data: a\n\n"]), vec![Act::Hold]].concat(),
    ] {
        let mut server = Server::start(script.clone()).await;
        let mut stream = ask(&HttpClient::new(), exchange(&server.url));
        if script.len() > 1 {
            expect_word(&mut stream, "a").await;
        } else {
            tokio::select! {
                _ = stream.next() => unreachable!("the server is silent"),
                _ = server.request() => {}
            }
        }
        drop(stream);
        server.closed().await;
    }
}

#[tokio::test]
async fn f40_a_token_aborts_and_keeps_text_and_usage() {
    let mut script = chunked(&["data: a\n\n"]);
    script.push(Act::Hold);
    let mut server = Server::start(script).await;
    let token = CancellationToken::new();
    let stream = ask(&HttpClient::new(), exchange(&server.url));
    let mut stream = stream.abort_on(token.clone());
    expect_word(&mut stream, "a").await;
    token.cancel();
    let error = stream.finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Aborted);
    assert_eq!(stream.partial().text(), "a");
    assert_eq!(stream.partial().usage.output, 1);
    server.closed().await;
}

#[tokio::test]
async fn the_response_hook_sees_the_head_before_any_event() {
    let script = answer("200 OK", "X-Seen: yes\r\n", "data: a\n\ndata: [DONE]\n\n");
    let server = Server::start(script).await;
    let seen = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&seen);
    let hook = ResponseHook::new(move |head, model| {
        *sink.lock().unwrap() = Some((head.status, head.headers.get("x-seen").cloned(), model));
        async { Ok(()) }
    });
    let exchange = exchange(&server.url).with_response_hook(Some(hook));
    let mut stream = ask(&HttpClient::new(), exchange);
    assert!(seen.lock().unwrap().is_none());
    stream.next().await.unwrap();
    let (status, header, model) = seen.lock().unwrap().take().unwrap();
    assert_eq!(
        (status, header.as_deref(), &*model.id),
        (200, Some("yes"), "words-1")
    );
}

#[tokio::test]
async fn a_response_hook_that_fails_ends_the_stream() {
    let server = Server::start(chunked(&["data: a\n\n"])).await;
    let hook = ResponseHook::new(|_, _| async { Err(HookError::new("no")) });
    let exchange = exchange(&server.url).with_response_hook(Some(hook));
    let error = ask(&HttpClient::new(), exchange)
        .finish()
        .await
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Hook);
    assert_eq!(error.message(), "the response hook failed: no");
}

#[tokio::test]
async fn a_slow_reader_slows_the_socket() {
    // More than the buffers of any kernel between the two.
    let (words, word) = (4_000, "w".repeat(10_000));
    let body = format!("data: {word}\n\n").repeat(words) + "data: [DONE]\n\n";
    let mut server = Server::start(answer("200 OK", "", &body)).await;
    let mut stream = ask(&HttpClient::new(), exchange(&server.url));
    expect_word(&mut stream, &word).await;
    let all_sent = AtomicBool::new(false);
    let reading = async {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert!(
            !all_sent.load(Ordering::Relaxed),
            "the body went to memory unread"
        );
        stream.finish().await.unwrap();
    };
    let serving = async {
        server.closed().await;
        all_sent.store(true, Ordering::Relaxed);
    };
    tokio::join!(reading, serving);
    assert_eq!(stream.partial().text().len(), words * word.len());
}

#[test]
fn outside_a_runtime_the_stream_ends_in_an_error() {
    let mut stream = HttpClient::new().stream_events(exchange("http://127.0.0.1:9/"));
    let event = stream.next().now_or_never().flatten().unwrap();
    let AssistantEvent::Error {
        error_info: Some(info),
        error_message,
        ..
    } = event
    else {
        panic!("{event:?}");
    };
    assert_eq!(info.kind, ErrorKind::Hook);
    assert!(error_message.contains("tokio runtime"), "{error_message}");
    assert!(stream.next().now_or_never().flatten().is_none());
    assert_eq!(stream.progress().usage.output, 0);
}

#[tokio::test]
async fn fetch_returns_the_body() {
    let mut server = Server::start(answer("200 OK", "", "[1]")).await;
    let call = Call::get(&server.url);
    let body = HttpClient::new()
        .fetch(call, crate::words::read_error)
        .await
        .unwrap();
    assert_eq!(&*body, b"[1]");
    assert!(
        server
            .request()
            .await
            .starts_with("GET /v1/words HTTP/1.1\r\n")
    );
}

#[tokio::test]
async fn a_reply_can_start_before_it_is_refused() {
    for (starts_when_sent, expected) in [(false, 1), (true, 2)] {
        let server = Server::start(answer("401 Unauthorized", "", "no")).await;
        let exchange = exchange(&server.url).with_start_when_sent(starts_when_sent);
        let events: Vec<AssistantEvent> = ask(&HttpClient::new(), exchange).collect().await;
        assert_eq!(events.len(), expected, "{events:?}");
        assert_eq!(matches!(events[0], AssistantEvent::Start), starts_when_sent);
    }
}
