//! The rules of `retry`, without a socket.

use pi_core::ErrorInfo;

use super::*;

fn error(kind: ErrorKind) -> ProviderError {
    ProviderError::new(kind, "why")
}

fn host() -> String {
    "host:443".to_owned()
}

fn retries(random: f64) -> Retries {
    Retries::new(RetryPolicy::default(), Some(Box::new(move || random)))
}

fn again(error: ProviderError) -> Failure {
    Failure::without_head(error, host())
}

fn wait(next: Next) -> Duration {
    match next {
        Next::Wait(wait) => wait,
        Next::Fail(error) => panic!("{error:?}"),
    }
}

fn text(next: Next) -> String {
    match next {
        Next::Wait(wait) => panic!("waits {wait:?}"),
        Next::Fail(error) => error.message().to_owned(),
    }
}

#[test]
fn waits_double_up_to_a_limit_and_vary_by_a_quarter() {
    let policy = RetryPolicy::default();
    for (number, longest) in [
        (0, 500),
        (1, 1_000),
        (4, 8_000),
        (5, 8_000),
        (u32::MAX, 8_000),
    ] {
        for (random, part) in [
            (0.0, 1.0),
            (0.5, 0.875),
            (1.0, 0.75),
            (9.0, 0.75),
            (f64::NAN, 1.0),
        ] {
            let expected = Duration::from_millis(longest).mul_f64(part);
            assert_eq!(policy.own_delay(number, random), expected, "{number}");
        }
    }
}

#[test]
fn a_call_without_head_is_repeated_if_the_connection_or_the_time_failed() {
    for (error, repeats) in [
        (error(ErrorKind::Connect), true),
        (error(ErrorKind::Transport), true),
        (error(ErrorKind::Timeout).with_phase(Phase::Headers), true),
        (error(ErrorKind::Timeout).with_phase(Phase::Connect), true),
        (error(ErrorKind::Timeout).with_phase(Phase::Whole), false),
        (error(ErrorKind::Tls), false),
        (error(ErrorKind::Proxy), false),
        (error(ErrorKind::InvalidRequest), false),
    ] {
        let failure = Failure::without_head(error, host());
        assert_eq!(failure.ask_again.is_some(), repeats, "{failure:?}");
    }
}

#[test]
fn the_status_tells_what_is_repeated_unless_the_server_does() {
    for (status, kind, repeats) in [
        (408, ErrorKind::InvalidRequest, true),
        (409, ErrorKind::InvalidRequest, true),
        (429, ErrorKind::RateLimited, true),
        (500, ErrorKind::Server, true),
        (529, ErrorKind::Overloaded, true),
        (599, ErrorKind::Server, true),
        (307, ErrorKind::InvalidRequest, false),
        (400, ErrorKind::InvalidRequest, false),
        (400, ErrorKind::Server, false),
        (401, ErrorKind::Auth, false),
        (404, ErrorKind::InvalidRequest, false),
        (400, ErrorKind::ContextOverflow, false),
        (500, ErrorKind::ContextOverflow, false),
        (402, ErrorKind::Quota, false),
        (429, ErrorKind::Quota, false),
    ] {
        let error = error(kind).with_status(status);
        let repeated = |word| {
            let failure = Failure::of_status(error.clone(), word, host());
            failure.ask_again.is_some()
        };
        assert_eq!(repeated(None), repeats, "{error:?}");
        assert!(repeated(Some(true)) && !repeated(Some(false)), "{error:?}");
    }
}

#[test]
fn f15_a_plan_that_is_used_up_is_repeated_only_if_it_says_when() {
    let wait = Duration::from_secs(1);
    let error = error(ErrorKind::Quota).with_status(429);
    for (error, repeats) in [(error.clone(), false), (error.with_retry_after(wait), true)] {
        let failure = Failure::of_status(error, None, host());
        assert_eq!(failure.ask_again.is_some(), repeats, "{failure:?}");
    }
}

#[test]
fn a_stream_is_repeated_if_it_was_cut_or_begins_with_too_much_to_do() {
    for (kind, is_cut, repeats) in [
        (ErrorKind::Overloaded, false, true),
        (ErrorKind::RateLimited, false, true),
        (ErrorKind::Transport, false, true),
        (ErrorKind::Protocol, true, true),
        (ErrorKind::Protocol, false, false),
        (ErrorKind::Server, false, false),
        (ErrorKind::Timeout, false, false),
        (ErrorKind::TooLarge, false, false),
        (ErrorKind::Refused, true, false),
    ] {
        let failure = Failure::of_stream(error(kind), is_cut, None, host());
        assert_eq!(failure.ask_again.is_some(), repeats, "{failure:?}");
    }
}

#[test]
fn the_number_of_retries_is_limited() {
    let retries = retries(0.0);
    let failure = || again(error(ErrorKind::Connect));
    assert_eq!(wait(retries.next(failure(), 0, None)).as_millis(), 500);
    assert_eq!(wait(retries.next(failure(), 1, None)).as_millis(), 1_000);
    assert_eq!(text(retries.next(failure(), 2, None)), "why");
    let off = Retries::new(RetryPolicy::off(), None);
    assert_eq!(text(off.next(failure(), 0, None)), "why");
    let never = Failure::from(error(ErrorKind::Connect));
    assert_eq!(text(retries.next(never, 0, None)), "why");
}

#[test]
fn f11_the_wait_of_the_server_is_taken_up_to_the_cap() {
    let seconds = Duration::from_secs;
    for (asked, cap, expected) in [
        (Some(30), None, Ok(30)),
        (Some(60), None, Ok(60)),
        (Some(61), Some(120), Ok(61)),
        (Some(1_000_000_000), Some(0), Ok(1_000_000_000)),
        (Some(61), None, Err("61 s, longer than the limit of 60 s")),
        (Some(3), Some(2), Err("3 s, longer than the limit of 2 s")),
    ] {
        let mut failed = error(ErrorKind::RateLimited);
        if let Some(asked) = asked {
            failed = failed.with_retry_after(seconds(asked));
        }
        let next = retries(0.0).next(again(failed), 0, cap.map(seconds));
        match expected {
            Ok(expected) => assert_eq!(wait(next), seconds(expected)),
            Err(expected) => assert_eq!(text(next), format!("why (asks to wait {expected})")),
        }
    }
    let zero = error(ErrorKind::RateLimited).with_retry_after(Duration::ZERO);
    assert_eq!(
        wait(retries(0.0).next(again(zero), 0, None)).as_millis(),
        500
    );
}

#[test]
fn a_wait_that_is_too_long_keeps_what_is_known_of_the_error() {
    let error = error(ErrorKind::RateLimited)
        .with_status(429)
        .with_request_id("q1")
        .with_retry_after(Duration::from_secs(3_600));
    let known: ErrorInfo = error.info().clone();
    match retries(0.0).next(again(error), 0, None) {
        Next::Fail(error) => assert_eq!(*error.info(), known),
        Next::Wait(wait) => panic!("waits {wait:?}"),
    }
}

#[test]
fn a_budget_for_each_host_ends_the_retries_of_an_outage() {
    let retries = retries(0.0);
    let ask = |host: &str| {
        let failure = Failure::without_head(error(ErrorKind::Connect), host.to_owned());
        matches!(retries.next(failure, 0, None), Next::Wait(_))
    };
    assert!((0..10).all(|_| ask("a:1")));
    assert!(!ask("a:1"));
    assert!(ask("b:1"), "another host has a budget of its own");
    (0..9).for_each(|_| retries.succeeded("a:1"));
    assert!(!ask("a:1"));
    retries.succeeded("a:1");
    assert!(ask("a:1") && !ask("a:1"));
    // More replies than the budget holds do not save up for later.
    (0..1_000).for_each(|_| retries.succeeded("a:1"));
    assert!((0..10).all(|_| ask("a:1")));
    assert!(!ask("a:1"));
}
