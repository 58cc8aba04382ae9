//! Silence, measured by a clock that the tests turn.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use pi_core::{AssistantStream, ErrorKind, Phase, ProviderError};
use pi_http::{HttpClient, RetryPolicy, Timeouts};

use crate::clock::HandClock;
use crate::server::{Act, Server, chunk, chunked};
use crate::words::{ask, exchange, expect_word, outcome};

const LIMIT: Duration = Duration::from_secs(120);
const CONTENT_LIMIT: Duration = Duration::from_secs(600);

fn client(clock: &HandClock) -> HttpClient {
    HttpClient::builder()
        .clock(clock.clone())
        .retry(RetryPolicy::off())
        .build()
}

/// Lets the stream wait until it sleeps, then lets time pass.
async fn after(stream: &mut AssistantStream, clock: &HandClock, time: Duration) -> ProviderError {
    let before = clock.sleeps();
    let turning = async {
        while clock.sleeps() == before {
            tokio::task::yield_now().await;
        }
        clock.advance(time);
    };
    let (ended, ()) = tokio::join!(stream.finish(), turning);
    ended.unwrap_err()
}

#[tokio::test]
async fn f03_a_server_that_does_not_answer_times_out() {
    let server = Server::start([Act::Hold]).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    let error = after(&mut stream, &clock, LIMIT).await;
    assert_eq!(
        (error.kind(), error.phase()),
        (&ErrorKind::Timeout, Some(&Phase::Headers))
    );
    assert_eq!(error.elapsed(), Some(LIMIT));
    assert!(error.is_retryable());
    let host = server
        .url
        .trim_start_matches("http://")
        .trim_end_matches("/v1/words");
    assert_eq!(
        error.message(),
        format!("no answer from {host} within 120 s")
    );
}

#[tokio::test]
async fn f04_a_silent_socket_times_out_and_keeps_the_text() {
    let mut server = Server::start([chunked(&["data: a\n\n"]), vec![Act::Hold]].concat()).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    expect_word(&mut stream, "a").await;
    let error = after(&mut stream, &clock, LIMIT).await;
    assert_eq!(error.phase(), Some(&Phase::Socket));
    assert_eq!(stream.partial().text(), "a");
    server.closed().await;
}

#[tokio::test]
async fn f05b_comments_and_pings_are_not_content() {
    for (first, phase) in [
        (": hi\n\n", Phase::FirstContent),
        ("data: a\n\n", Phase::Content),
    ] {
        let mut script = chunked(&[first]);
        for _ in 0..20 {
            script.extend([Act::Gate, chunk(": ping\n\ndata: ping\n\n")]);
        }
        script.push(Act::Hold);
        let server = Server::start(script).await;
        let clock = HandClock::new();
        let mut timeouts = Timeouts::default();
        timeouts.socket = None;
        let client = HttpClient::builder()
            .clock(clock.clone())
            .timeouts(timeouts)
            .build();
        let mut stream = ask(&client, exchange(&server.url));
        if phase == Phase::Content {
            expect_word(&mut stream, "a").await;
        }
        let ended = stream.finish();
        let turning = async {
            for _ in 0..20 {
                clock.advance(CONTENT_LIMIT / 20);
                server.open_gate();
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            }
            clock.advance(CONTENT_LIMIT);
        };
        let (ended, ()) = tokio::join!(ended, turning);
        assert_eq!(ended.unwrap_err().phase(), Some(&phase));
    }
}

#[tokio::test]
async fn f05_content_just_within_the_limit_goes_on() {
    let mut script = chunked(&["data: a\n\n"]);
    for _ in 0..10 {
        script.extend([Act::Gate, chunk("data: a\n\n")]);
    }
    script.push(chunk("data: [DONE]\n\n"));
    let server = Server::start(script).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    expect_word(&mut stream, "a").await;
    for _ in 0..10 {
        assert!(stream.next().now_or_never().is_none());
        clock.advance(LIMIT - Duration::from_secs(1));
        server.open_gate();
        expect_word(&mut stream, "a").await;
    }
    assert_eq!(stream.finish().await.unwrap().text().len(), 11);
}

#[tokio::test]
async fn the_time_of_a_slow_reader_does_not_count() {
    let mut script = chunked(&["data: a\n\n"]);
    script.extend([Act::Gate, chunk("data: b\n\ndata: [DONE]\n\n")]);
    let server = Server::start(script).await;
    let clock = HandClock::new();
    let mut stream = ask(&client(&clock), exchange(&server.url));
    expect_word(&mut stream, "a").await;
    clock.advance(10 * CONTENT_LIMIT);
    assert!(stream.next().now_or_never().is_none());
    server.open_gate();
    assert_eq!(stream.finish().await.unwrap().text(), "ab");
}

#[tokio::test]
async fn limits_that_are_off_never_fire() {
    let mut script = chunked(&["data: a\n\n"]);
    script.extend([Act::Gate, chunk("data: [DONE]\n\n")]);
    let server = Server::start(script).await;
    let clock = HandClock::new();
    let client = HttpClient::builder()
        .clock(clock.clone())
        .timeouts(Timeouts::off())
        .build();
    let mut stream = ask(&client, exchange(&server.url));
    expect_word(&mut stream, "a").await;
    assert!(stream.next().now_or_never().is_none());
    clock.advance(1_000 * CONTENT_LIMIT);
    assert!(stream.next().now_or_never().is_none());
    server.open_gate();
    stream.finish().await.unwrap();
    assert_eq!(clock.sleeps(), 0);
}

#[tokio::test]
async fn f02_a_connection_that_is_never_made_times_out() {
    // Nobody accepts here: the queue of the socket is full after its first connection.
    let mut timeouts = Timeouts::off();
    timeouts.connect = Some(Duration::from_millis(50));
    let client = HttpClient::builder()
        .timeouts(timeouts)
        .retry(RetryPolicy::off())
        .build();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let connecting = tokio::net::TcpStream::connect(address);
        waiting.push(tokio::time::timeout(Duration::from_millis(20), connecting).await);
    }
    let (_, error) = outcome(&client, &format!("http://{address}/v1")).await;
    let error = error.unwrap();
    assert_eq!(
        (error.kind(), error.phase()),
        (&ErrorKind::Timeout, Some(&Phase::Connect))
    );
    assert_eq!(
        error.message(),
        format!("no connection to {address} within 0.05 s")
    );
}
