use std::path::Path;

use futures_util::FutureExt;
use pi_core::ToolContext;

use super::{Access, Order, Ordering, Ticket};
use crate::ops::Identity;

fn file(path: &str) -> Identity {
    Identity::of_path(Path::new(path))
}

fn access(word: &str) -> Access {
    match word.split_once(' ') {
        Some(("read", path)) => Access::Read(vec![file(path)]),
        Some(("mutate", path)) => Access::Mutate(vec![file(path)]),
        _ => match word {
            "tree" => Access::ReadTree,
            "bash" => Access::Command { exclusive: false },
            "bash!" => Access::Command { exclusive: true },
            other => panic!("no access: {other}"),
        },
    }
}

fn is_ready(ticket: &mut Ticket) -> bool {
    ticket
        .ready(&ToolContext::detached("c"))
        .now_or_never()
        .is_some_and(|ready| ready.is_ok())
}

#[track_caller]
fn check(ordering: Ordering, earlier: &str, later: &str, waits: bool) {
    let order = Order::default();
    let first = order.take(ordering, access(earlier));
    let mut second = order.take(ordering, access(later));
    assert_eq!(!is_ready(&mut second), waits, "{later} behind {earlier}");
    drop(first);
    assert!(is_ready(&mut second), "{later} once {earlier} has ended");
}

#[test]
fn a_later_call_waits_for_an_earlier_one_that_it_conflicts_with() {
    for (earlier, later, waits) in [
        ("read /a", "read /a", false),
        ("read /a", "tree", false),
        ("read /a", "mutate /a", true),
        ("read /a", "mutate /b", false),
        ("read /a", "bash", true),
        ("tree", "read /a", false),
        ("tree", "tree", false),
        ("tree", "mutate /a", true),
        ("tree", "bash", true),
        ("mutate /a", "read /x/../a", true),
        ("mutate /a", "read /b", false),
        ("mutate /a", "tree", true),
        ("mutate /a", "mutate /a", true),
        ("mutate /a", "mutate /b", false),
        ("mutate /a", "bash", true),
        ("bash", "read /a", true),
        ("bash", "tree", true),
        ("bash", "mutate /a", true),
        ("bash", "bash", false),
        ("bash", "bash!", true),
        ("bash!", "bash", true),
    ] {
        check(Ordering::Full, earlier, later, waits);
    }
}

#[test]
fn upstream_order_keeps_only_changes_of_one_file_apart() {
    for (earlier, later, waits) in [
        ("mutate /a", "mutate /a", true),
        ("mutate /a", "mutate /b", false),
        ("mutate /a", "read /a", false),
        ("bash", "mutate /a", false),
        ("tree", "bash", false),
    ] {
        check(Ordering::Upstream, earlier, later, waits);
    }
}

#[test]
fn one_file_under_two_names_is_one_file() {
    let identity = |path: &str| Identity {
        path: path.into(),
        file: Some((1, 2)),
    };
    let order = Order::default();
    let _first = order.take(Ordering::Full, Access::Mutate(vec![identity("/a")]));
    let mut second = order.take(Ordering::Full, Access::Read(vec![identity("/hard-link")]));
    assert!(!is_ready(&mut second));
}

#[test]
fn a_call_that_gave_up_waiting_lets_the_next_one_through() {
    let order = Order::default();
    let first = order.take(Ordering::Full, access("mutate /a"));
    let second = order.take(Ordering::Full, access("mutate /a"));
    let mut third = order.take(Ordering::Full, access("mutate /a"));
    drop(second);
    assert!(!is_ready(&mut third), "the first still runs");
    drop(first);
    assert!(is_ready(&mut third));
}

#[tokio::test]
async fn an_abort_ends_the_waiting() {
    let order = Order::default();
    let _first = order.take(Ordering::Full, access("bash"));
    let mut second = order.take(Ordering::Full, access("tree"));
    let cx = ToolContext::detached("c");
    let mut waiting = Box::pin(second.ready(&cx));
    assert!((&mut waiting).now_or_never().is_none());
    cx.abort_token().cancel();
    let error = waiting.await.unwrap_err();
    assert_eq!(error.to_string(), "Operation aborted");
}
