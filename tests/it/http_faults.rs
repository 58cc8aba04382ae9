//! Faults of the network and of HTTP, by their ids in the reliability rules, on raw sockets. The
//! tests turn the clock: no wait takes real time.

mod contents;
mod credentials;
mod transport;
mod world;

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use integration_tests::fault_server::Script;
use pi_ai::RetryPolicy;
use pi_core::{CancellationToken, ErrorKind, Phase};

use self::world::{END, OPENAI, World, done, good, next_word, outcome, refused, serve, word};

const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test]
async fn f01_a_refused_connection_is_tried_three_times() {
    // A port that was free a moment ago may be another test's server; nobody serves port 1.
    let world = World::new(|_| {});
    let mut stream = world.ask_at(OPENAI, "http://127.0.0.1:1/v1");
    let error = world.end_of(&mut stream).await.expect_err("nobody listens");
    assert_eq!(*error.kind(), ErrorKind::Connect, "{error:?}");
    assert_eq!(world.passed(), 500 + 1_000);
    assert_eq!(error.elapsed(), Some(Duration::from_millis(1_500)));
    assert!(stream.partial().content.is_empty());
}

#[tokio::test]
async fn f03_a_server_that_does_not_answer_is_tried_three_times() {
    for script in [Script::on_connect().hold(), Script::on_request().hold()] {
        let server = serve([script]).await;
        let world = World::new(|timeouts| timeouts.headers = Some(LIMIT));
        let error = world.end_of(&mut world.ask(&server)).await;
        let error = error.expect_err("the server is silent");
        assert_eq!(error.phase(), Some(&Phase::Headers), "{error:?}");
        assert_eq!(world.passed(), 3 * 120_000 + 500 + 1_000);
    }
    let server = serve([Script::on_request().hold(), good()]).await;
    let world = World::new(|timeouts| timeouts.headers = Some(LIMIT));
    let mut stream = world.ask(&server);
    // The first attempt has been made, and the clock is turned once; the second is answered.
    while server.received().is_empty() {
        assert!(stream.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    world.clock.advance(LIMIT);
    assert!(stream.next().now_or_never().is_none());
    world.clock.advance(Duration::from_millis(500));
    let text = stream.finish().await.map(|message| message.text());
    assert_eq!(text.expect("an answer"), "hello");
}

#[tokio::test]
async fn f04_silence_after_the_head_is_not_tried_again() {
    for (pieces, text) in [(vec![], ""), (vec![word("a")], "a")] {
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let script = Script::on_request().event_stream(&pieces).hold();
        let server = serve([script]).await;
        let world = World::new(|timeouts| timeouts.socket = Some(LIMIT));
        let mut stream = world.ask(&server);
        if !text.is_empty() {
            assert_eq!(next_word(&mut stream).await, text);
        }
        let error = world.end_of(&mut stream).await.expect_err("it is silent");
        assert_eq!(error.phase(), Some(&Phase::Socket), "{error:?}");
        assert_eq!(stream.partial().text(), text);
        assert_eq!((server.received().len(), world.passed()), (1, 120_000));
        server.closed(1).await;
    }
}

#[tokio::test]
async fn f05_content_just_within_the_limit_goes_on() {
    let words = 5;
    let mut script = Script::on_request().event_stream(&[]);
    for _ in 0..words {
        script = script.gate().chunk(word("a"));
    }
    let server = serve([script.chunk(END)]).await;
    let world = World::new(|timeouts| {
        timeouts.socket = Some(LIMIT);
        timeouts.first_content = Some(LIMIT);
        timeouts.content = Some(LIMIT);
    });
    let mut stream = world.ask(&server);
    for _ in 0..words {
        assert!(stream.next().now_or_never().is_none());
        world.clock.advance(LIMIT - Duration::from_secs(1));
        server.open_gate();
        assert_eq!(next_word(&mut stream).await, "a");
    }
    let message = stream.finish().await.expect("a whole reply");
    assert_eq!(message.text(), "a".repeat(words));
}

#[tokio::test]
async fn f05b_pings_are_no_content() {
    let content = word("a");
    for (first, phase) in [
        (": hi\n\n", Phase::FirstContent),
        (content.as_str(), Phase::Content),
    ] {
        let mut script = Script::on_request().event_stream(&[first]);
        for _ in 0..8 {
            script = script.gate().chunk(": ping\n\n");
        }
        let server = serve([script.hold()]).await;
        let world = World::new(|timeouts| {
            timeouts.first_content = Some(4 * LIMIT);
            timeouts.content = Some(4 * LIMIT);
            timeouts.socket = Some(LIMIT);
        });
        let mut stream = world.ask(&server);
        if phase == Phase::Content {
            assert_eq!(next_word(&mut stream).await, "a");
        }
        let pinging = async {
            loop {
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                world.clock.advance(LIMIT / 2);
                server.open_gate();
            }
        };
        let error = tokio::select! {
            ended = stream.finish() => ended.expect_err("there is no content"),
            () = pinging => unreachable!("the server pings for ever"),
        };
        assert_eq!(error.phase(), Some(&phase), "{error:?}");
        assert!(error.is_retryable());
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn f06_a_connection_that_breaks_before_the_head_is_tried_again() {
    for (name, bad) in [
        ("reset", Script::on_request().reset()),
        ("closed", Script::on_request()),
        ("half closed", Script::on_request().half_close().hold()),
        ("cut head", Script::on_request().send("HTTP/1.1 200 O")),
    ] {
        let (ended, requests, passed) = outcome([bad, good()]).await;
        assert_eq!(
            ended.map_err(|error| error.kind().clone()),
            done(),
            "{name}"
        );
        assert_eq!((requests, passed), (2, 500), "{name}");
    }
}

#[tokio::test]
async fn f07_a_reset_after_some_events_keeps_them_and_is_not_tried_again() {
    let script = Script::on_request().event_stream(&[&word("hel"), &word("lo")]);
    let server = serve([script.gate().reset(), good()]).await;
    let world = World::new(|_| {});
    let mut stream = world.ask(&server);
    assert_eq!(next_word(&mut stream).await, "hel");
    server.open_gate();
    let error = world.end_of(&mut stream).await.expect_err("it broke");
    assert_eq!(*error.kind(), ErrorKind::Transport, "{error:?}");
    assert!(error.is_retryable());
    assert!(stream.partial().text().starts_with("hel"));
    assert_eq!((server.received().len(), world.passed()), (1, 0));
}

#[tokio::test]
async fn f08_an_end_without_terminal_event_is_no_success() {
    let script = |piece: &str| Script::on_request().event_stream(&[piece]).last_chunk();
    let (ended, requests, _) = outcome([script(&word("hello")), good()]).await;
    let error = ended.expect_err("it was cut");
    assert_eq!(*error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("stream ended before"), "{error}");
    assert_eq!(requests, 1);

    let (ended, requests, _) = outcome([script(": nothing yet\n\n"), good()]).await;
    assert_eq!(ended.map_err(|error| error.kind().clone()), done());
    assert_eq!(
        requests, 2,
        "a reply that has shown nothing is asked for again"
    );
}

#[tokio::test]
async fn f09_the_terminal_event_ends_the_stream_at_once() {
    let script = Script::on_request().event_stream(&[&word("hello"), END]);
    let server = serve([script.hold()]).await;
    let world = World::new(|_| {});
    let mut stream = world.ask(&server);
    assert_eq!(world.end_of(&mut stream).await.expect("a reply"), "hello");
    server.closed(1).await;
}

#[tokio::test]
async fn f10_a_body_that_is_too_short_keeps_what_came() {
    let head = "content-type: text/event-stream\ncontent-length: 9999\n";
    for script in [
        Script::on_request().head(200, head).send(word("hello")),
        Script::on_request().event_stream(&[&word("hello")]),
        Script::on_request()
            .event_stream(&[&word("hello")])
            .send("ff\r\ndata: {"),
    ] {
        let server = serve([script, good()]).await;
        let world = World::new(|_| {});
        let mut stream = world.ask(&server);
        let error = world.end_of(&mut stream).await.expect_err("it was cut");
        assert_eq!(*error.kind(), ErrorKind::Transport, "{error:?}");
        assert!(error.is_retryable());
        assert_eq!(stream.partial().text(), "hello");
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn f11_the_wait_that_the_server_asks_for() {
    for (header, wait) in [
        ("retry-after: 3\n", 3_000),
        ("retry-after: 0.25\n", 250),
        ("retry-after-ms: 70\nretry-after: 9\n", 70),
        ("retry-after: Tue, 01 Jan 2030 00:00:20 GMT\n", 20_000),
        ("retry-after: 60\n", 60_000),
        ("retry-after: Mon, 31 Dec 2029 23:00:00 GMT\n", 500),
        ("retry-after: 2abc\n", 500),
        ("retry-after: -1\n", 500),
        ("retry-after: 0\n", 500),
        ("retry-after: NaN\n", 500),
        ("", 500),
    ] {
        let (ended, requests, passed) = outcome([refused(429, header), good()]).await;
        assert_eq!(ended.expect(header), "hello");
        assert_eq!((requests, passed), (2, wait), "{header}");
    }
    let twice = [refused(429, "retry-after: 3\n"), refused(503, ""), good()];
    assert_eq!(outcome(twice).await.2, 3_000 + 1_000);
}

#[tokio::test]
async fn f11_a_wait_that_is_too_long_fails_at_once_and_says_so() {
    for seconds in ["61", "3600", "1000000000"] {
        let header = format!("retry-after: {seconds}\n");
        let (ended, requests, passed) = outcome([refused(429, &header), good()]).await;
        let error = ended.expect_err("nobody waits so long");
        assert_eq!(*error.kind(), ErrorKind::RateLimited);
        assert!(error.message().starts_with("429 not now"), "{error}");
        assert!(error.message().contains(&format!("{seconds} s")), "{error}");
        let asked = Duration::from_secs(seconds.parse().expect("a number"));
        assert_eq!(error.retry_after(), Some(asked));
        assert_eq!((requests, passed), (1, 0));
    }
}

#[tokio::test]
async fn f12_a_server_that_fails_is_tried_three_times() {
    for status in [408, 409, 429, 500, 502, 503, 529, 599] {
        let bad = || refused(status, "");
        let (ended, requests, passed) = outcome([bad(), bad(), good()]).await;
        assert_eq!(ended.expect("an answer"), "hello", "{status}");
        assert_eq!((requests, passed), (3, 1_500), "{status}");
        let (ended, requests, _) = outcome([bad()]).await;
        let error = ended.expect_err("it fails");
        assert_eq!((error.status(), requests), (Some(status), 3));
        assert_eq!(error.message(), format!("{status} not now"));
    }
    let page = format!("<html><body>{}</body></html>", "bad gateway ".repeat(1_000));
    let page = Script::on_request().answer(502, "content-type: text/html\n", &page);
    let error = outcome([page]).await.0.expect_err("it fails");
    assert_eq!(error.message(), "502 answered with an HTML page");
}

#[tokio::test]
async fn f12_retries_can_be_turned_off() {
    let server = serve([refused(503, ""), good()]).await;
    let world = World::with(|_| {}, RetryPolicy::off());
    let error = world.end_of(&mut world.ask(&server)).await;
    assert_eq!(*error.expect_err("it fails").kind(), ErrorKind::Server);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn f13_f15_what_cannot_get_better_is_sent_once() {
    let window = r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#;
    let quota = r#"{"error":{"message":"m","code":"insufficient_quota"}}"#;
    for (status, body, kind) in [
        (400, window, ErrorKind::ContextOverflow),
        (500, window, ErrorKind::ContextOverflow),
        (429, quota, ErrorKind::Quota),
        (402, "{}", ErrorKind::Quota),
        (400, "{}", ErrorKind::InvalidRequest),
        (401, "{}", ErrorKind::Auth),
        (404, "{}", ErrorKind::InvalidRequest),
        (422, "{}", ErrorKind::InvalidRequest),
    ] {
        let script = Script::on_request().answer(status, "", body);
        let (ended, requests, passed) = outcome([script, good()]).await;
        let error = ended.expect_err("it was refused");
        assert_eq!(*error.kind(), kind, "{status} {body}");
        assert!(!error.is_retryable(), "{status} {body}");
        assert_eq!((requests, passed), (1, 0), "{status} {body}");
    }
}

#[tokio::test]
async fn f16_a_document_in_place_of_the_stream_is_an_error_with_its_message() {
    let json = r#"{"error":{"message":"the account is asleep","type":"odd"}}"#;
    for (headers, body, part) in [
        (
            "content-type: application/json\n",
            json,
            "the account is asleep",
        ),
        (
            "content-type: text/event-stream\n",
            json,
            "the account is asleep",
        ),
        (
            "content-type: text/html\n",
            "<!doctype html>",
            "is the base URL",
        ),
    ] {
        let script = Script::on_request().answer(200, headers, body);
        let (ended, requests, _) = outcome([script]).await;
        let error = ended.expect_err("it is no stream");
        assert!(error.message().contains(part), "{error}");
        assert_eq!(requests, 1);
    }
}

#[tokio::test]
async fn f17_a_redirect_takes_no_key_to_another_host() {
    let target = serve([good()]).await;
    let location = format!("location: {}\n", target.url("/v1/chat/completions"));
    let (ended, requests, _) = outcome([Script::on_request().answer(307, &location, "")]).await;
    let error = ended.expect_err("it is not followed");
    assert_eq!(error.status(), Some(307));
    assert!(error.message().contains(&target.host()), "{error}");
    assert_eq!((requests, target.received().len()), (1, 0));
}

#[tokio::test]
async fn f34_a_stream_that_begins_with_an_overload_is_asked_for_again() {
    let openai = r#"data: {"error":{"message":"m","code":"server_is_overloaded"}}"#;
    let anthropic = "event: error\n\
                     data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}";
    for (api, error, repeats) in [
        (OPENAI, openai, true),
        ("anthropic-messages", anthropic, true),
        (OPENAI, r#"data: {"error":{"message":"m"}}"#, false),
    ] {
        let mut body = String::new();
        writeln!(body, "{error}\n").expect("a string takes everything");
        let bad = Script::on_request().answer(200, "content-type: text/event-stream\n", &body);
        let server = serve([bad]).await;
        let world = World::new(|_| {});
        let mut stream = world.ask_at(api, &server.url("/v1"));
        world.end_of(&mut stream).await.expect_err("it fails");
        let requests = if repeats { 3 } else { 1 };
        assert_eq!(server.received().len(), requests, "{api}: {error}");
    }
}

#[tokio::test]
async fn f40_an_abort_ends_the_wait_before_a_retry() {
    let server = serve([refused(503, "retry-after: 30\n")]).await;
    let (world, token) = (World::new(|_| {}), CancellationToken::new());
    let mut stream = world.ask(&server).abort_on(token.clone());
    while world.clock.sleepers() == 0 {
        assert!(stream.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    token.cancel();
    let error = stream.finish().await.expect_err("it was stopped");
    assert_eq!(*error.kind(), ErrorKind::Aborted);
    assert_eq!((world.clock.sleepers(), world.passed()), (0, 0));
    assert_eq!(server.received().len(), 1);
}
