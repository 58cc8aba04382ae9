//! Requests that are sent again, and those that are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use pi_core::{
    AssistantEvent, AssistantStream, CancellationToken, Clock, ErrorKind, ResponseHook,
    SecretString,
};
use pi_http::{Call, HttpClient};

use crate::clock::HandClock;
use crate::server::{Act, Server, answer, chunked, last_chunk};
use crate::words::{ask, exchange, exchange_of};

const BUSY: &str = "503 Busy";

fn client(clock: &HandClock) -> HttpClient {
    HttpClient::builder()
        .clock(clock.clone())
        .random(|| 0.0)
        .build()
}

fn good() -> Vec<Act> {
    answer("200 OK", "", "data: start\n\ndata: a\n\ndata: [DONE]\n\n")
}

/// Polls a future to its end and turns the clock whenever a wait before a retry begins, which is
/// the one sleep that is not a deadline of 120 s or more.
async fn turning<T>(clock: &HandClock, future: impl Future<Output = T>) -> (T, Vec<Duration>) {
    let mut waits = Vec::new();
    let waiting = async {
        loop {
            let wait = clock.next_sleep().await;
            if wait < Duration::from_secs(100) {
                waits.push(wait);
                clock.advance(wait);
            }
        }
    };
    let output = tokio::select! {
        output = future => output,
        () = waiting => unreachable!("the clock is turned for ever"),
    };
    (output, waits)
}

/// Returns the text or the error's kind, the number of requests, and the waits in milliseconds.
async fn run(scripts: Vec<Vec<Act>>) -> (Result<String, ErrorKind>, usize, Vec<u128>) {
    let mut server = Server::start_each(scripts).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    let (ended, waits) = turning(&clock, stream.finish()).await;
    let ended = match ended {
        Ok(message) => Ok(message.text()),
        Err(error) => Err(error.kind().clone()),
    };
    let mut requests = 0;
    while server.has_request() {
        requests += 1;
    }
    (
        ended,
        requests,
        waits.iter().map(Duration::as_millis).collect(),
    )
}

#[tokio::test]
async fn what_fails_before_the_first_content_is_sent_again() {
    for (name, bad) in [
        ("status", answer(BUSY, "", "")),
        ("reset before the head", vec![Act::Reset]),
        ("closed before the head", vec![]),
        ("overload", chunked(&["data: start\n\ndata: !\n\n"])),
        ("cut after the start", chunked(&["data: start\n\n"])),
        (
            "ended without content",
            [chunked(&["data: start\n\n"]), vec![last_chunk()]].concat(),
        ),
        ("empty body", answer("200 OK", "", "")),
    ] {
        let ended = run(vec![bad.clone(), bad.clone(), good()]).await;
        assert_eq!(ended, (Ok("a".into()), 3, vec![500, 1_000]), "{name}");
        let (ended, requests, _) = run(vec![bad]).await;
        assert!(ended.is_err(), "{name}");
        assert_eq!(requests, 3, "{name}");
    }
}

#[tokio::test]
async fn what_cannot_get_better_is_sent_once() {
    let word = |value| format!("x-should-retry: {value}\r\n");
    for (name, bad) in [
        ("a bad request", answer("400 Bad Request", "", "")),
        ("a bad key", answer("401 Unauthorized", "", "")),
        ("the server's word", answer(BUSY, &word("false"), "")),
        ("cut after content", chunked(&["data: a\n\n"])),
        (
            "overload after content",
            chunked(&["data: a\n\ndata: !\n\n"]),
        ),
        ("an HTML page", answer("200 OK", "", "<html>")),
    ] {
        let (ended, requests, waits) = run(vec![bad, good()]).await;
        assert!(ended.is_err(), "{name}");
        assert_eq!((requests, waits.len()), (1, 0), "{name}");
    }
    let bad = answer("400 Bad Request", &word("true"), "");
    assert_eq!(run(vec![bad, good()]).await.0, Ok("a".into()));
}

#[tokio::test]
async fn the_start_is_shown_once_and_at_once() {
    let busy = [chunked(&["data: start\n\n"]), vec![Act::Gate, last_chunk()]].concat();
    let server = Server::start_each([busy, good()]).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    assert_eq!(stream.next().await, Some(AssistantEvent::Start));
    server.open_gate();
    let (rest, waits) = turning(&clock, stream.collect::<Vec<_>>()).await;
    assert_eq!(waits.len(), 1);
    assert!(!rest.contains(&AssistantEvent::Start), "{rest:?}");
    assert_eq!(
        rest.iter().filter_map(AssistantEvent::text_delta).count(),
        1
    );
}

#[tokio::test]
async fn each_attempt_asks_for_a_call_and_shows_its_head() {
    let mut server = Server::start_each([answer(BUSY, "", ""), good()]).await;
    let (clock, url) = (HandClock::new(), server.url.clone());
    let mut keys = 0;
    let calls = move || {
        keys += 1;
        let key = SecretString::from(format!("key-{keys}"));
        std::future::ready(Ok(Call::post(&url, "{}").with_bearer(&key)))
    };
    let heads = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&heads);
    let hook = ResponseHook::new(move |_, _| {
        seen.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(()))
    });
    let exchange = exchange_of(calls).with_response_hook(Some(hook));
    let mut stream = ask(&client(&clock), exchange);
    turning(&clock, stream.finish()).await.0.unwrap();
    for key in ["Bearer key-1\r\n", "Bearer key-2\r\n"] {
        assert!(server.request().await.contains(key));
    }
    assert_eq!(heads.load(Ordering::Relaxed), 2);
}

/// Polls a stream until it waits to ask again.
async fn until_wait(stream: &mut AssistantStream, clock: &HandClock) {
    tokio::select! {
        event = stream.next() => panic!("{event:?}"),
        () = async {
            while clock.next_sleep().await > Duration::from_secs(100) {}
        } => {}
    }
}

#[tokio::test]
async fn f40_an_abort_ends_the_wait() {
    let mut server = Server::start(answer(BUSY, "retry-after: 30\r\n", "")).await;
    let (clock, token) = (HandClock::new(), CancellationToken::new());
    let stream = ask(&client(&clock), exchange(&server.url));
    let mut stream = stream.abort_on(token.clone());
    until_wait(&mut stream, &clock).await;
    token.cancel();
    let error = stream.finish().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Aborted);
    assert!(server.has_request() && !server.has_request());
    assert_eq!(clock.monotonic(), Duration::ZERO);
}

#[tokio::test]
async fn the_time_of_all_attempts_is_told() {
    let server = Server::start(answer(BUSY, "retry-after: 30\r\n", "")).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    let error = turning(&clock, stream.finish()).await.0.unwrap_err();
    assert_eq!(error.elapsed(), Some(Duration::from_secs(60)));
    assert_eq!(error.message(), "503 ");
}

#[tokio::test]
async fn f11_the_request_has_the_last_word_on_the_longest_wait() {
    for (cap, is_done) in [
        (None, false),
        (Some(30), false),
        (Some(95), true),
        (Some(0), true),
    ] {
        let bad = answer(BUSY, "retry-after: 90\r\n", "");
        let server = Server::start_each([bad, good()]).await;
        let clock = HandClock::new();
        let exchange = exchange(&server.url).with_max_retry_delay(cap.map(Duration::from_secs));
        let mut stream = ask(&client(&clock), exchange);
        let (ended, _) = turning(&clock, stream.finish()).await;
        assert_eq!(ended.is_ok(), is_done, "{cap:?}");
        if let Err(error) = ended {
            let limit = format!(
                "(asks to wait 90 s, longer than the limit of {} s)",
                cap.unwrap_or(60)
            );
            assert!(error.message().ends_with(&limit), "{error}");
        }
    }
}
