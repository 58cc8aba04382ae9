use proptest::prelude::*;

use super::*;
use crate::testing::{self, codec_tests, fold};

codec_tests! {
    "anthropic-messages";
    "text",
    "framing",
    "event-names-missing",
    "types-missing",
    "lone-surrogate",
    "thinking-signed",
    "thinking-redacted",
    "thinking-omitted",
    "tool-calls",
    "tool-calls-interleaved",
    "tool-input-in-start",
    "tool-ids-missing",
    "server-tools",
    "unknown",
    "index-reused",
    "start-twice",
    "usage-totals",
    "usage-nulls",
    "usage-cache-split",
    "usage-missing",
    "stop-max-tokens",
    "stop-window",
    "stop-pause",
    "stop-end-turn-with-call",
    "stop-refusal",
    "stop-refusal-bare",
    "stop-unknown",
    "stop-event-missing",
    "done-marker",
    "cut-in-text",
    "cut-before-stop-reason",
    "cut-with-open-block",
    "empty",
    "error-event",
    "error-first",
    "error-text",
    "broken-event",
}

#[test]
fn text_comes_in_pieces() {
    check(
        "text",
        r#"
         start
         0 text
         0 +Grüß
         0 + Gott 🙂
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "framing",
        r#"
         start
         0 text
         0 +Hi
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "event-names-missing",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "types-missing",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "lone-surrogate",
        r#"
         start
         0 text
         0 +a� b
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "start-twice",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn reasoning_keeps_its_signature() {
    check(
        "thinking-signed",
        r#"
         start
         0 thinking -
         0 +Let me
         0 + see.
         0 end c2lnbmVk
         1 text
         1 +Done.
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "thinking-redacted",
        r#"
         start
         0 thinking -
         0 end b3BhcXVl redacted
         1 thinking -
         1 +Hm.
         1 end c2ln
         2 text
         2 +Done.
         2 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "thinking-omitted",
        r#"
         start
         0 thinking -
         0 end c2ln
         1 text
         1 +Done.
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_get_all_their_arguments() {
    check(
        "tool-calls",
        r#"
         start
         0 text
         0 +Reading.
         0 end
         1 toolcall toolu_1 read
         1 +
         1 +{"path":
         1 +"a"}
         1 end
         2 toolcall toolu_2 list
         2 +
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-interleaved",
        r#"
         start
         0 toolcall toolu_1 read
         1 toolcall toolu_2 read
         0 +{"path":"a"}
         1 +{"path":"b"}
         1 end
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-input-in-start",
        r#"
         start
         0 toolcall toolu_1 roll
         0 +{"player":"one"}
         0 end
         1 toolcall toolu_2 roll
         1 +{"player":"two"}
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_have_ids_that_differ() {
    check(
        "tool-ids-missing",
        r#"
         start
         0 toolcall call_f91e44c46d732cb9_0 list
         0 +{}
         0 end
         1 toolcall toolu_1 list
         1 +{}
         1 end
         2 toolcall toolu_1_2 list
         2 +{}
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn what_is_not_for_the_user_is_skipped() {
    check(
        "server-tools",
        r#"
         start
         0 text
         0 +Found.
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "unknown",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "index-reused",
        r#"
         start
         0 text
         0 +a
         0 end
         1 text
         1 +b
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn usage_is_that_of_the_whole_reply() {
    check(
        "usage-totals",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=50 read=60 write=20 total=150
        "#,
    );
    check(
        "usage-nulls",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=50 read=60 total=130
        "#,
    );
    check(
        "usage-cache-split",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 write=20 total=45
        "#,
    );
    check(
        "usage-missing",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=1 total=21
        "#,
    );
}

#[test]
fn content_and_limit_decide_the_stop_reason() {
    check(
        "stop-max-tokens",
        r#"
         start
         0 toolcall toolu_1 write
         0 +{"path":"a","text":"abc
         0 end
         done length input=20 output=5 total=25
        "#,
    );
    check(
        "stop-window",
        r#"
         start
         0 text
         0 +ok
         0 end
         done length input=20 output=5 total=25
        "#,
    );
    check(
        "stop-pause",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "stop-end-turn-with-call",
        r#"
         start
         0 toolcall toolu_1 list
         0 +{}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_stop_reason_that_tells_of_a_failure_is_an_error() {
    check(
        "stop-refusal",
        r#"
         start
         0 text
         0 +First,
         0 end
         error refused "Provider stop_reason: refusal: This is declined." input=20 output=5 total=25
        "#,
    );
    check(
        "stop-refusal-bare",
        r#"
         start
         error refused "Provider stop_reason: refusal" input=20 output=5 total=25
        "#,
    );
    check(
        "stop-unknown",
        r#"
         start
         0 text
         0 +ok
         0 end
         error protocol "Provider stop_reason: novelty" input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_stop_reason_with_nothing_open_completes_the_reply() {
    check(
        "stop-event-missing",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "done-marker",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_cut_reply_is_an_error_that_keeps_what_came() {
    check(
        "cut-in-text",
        r#"
         start
         0 text
         0 +Hel
         error protocol "the stream ended before the reply was complete" input=20 output=1 total=21
        "#,
    );
    check(
        "cut-before-stop-reason",
        r#"
         start
         0 toolcall toolu_1 list
         0 +{}
         0 end
         error protocol "the stream ended before the reply was complete" input=20 output=1 total=21
        "#,
    );
    check(
        "cut-with-open-block",
        r#"
         start
         0 text
         0 +Hel
         error protocol "the stream ended before the reply was complete" input=20 output=5 total=25
        "#,
    );
    check(
        "empty",
        r#"
         start
         error protocol "request ended without sending any chunks"
        "#,
    );
    check(
        "broken-event",
        r#"
         start
         0 text
         0 +Hel
         error protocol "a content_block_delta event is not valid (byte 9)" input=20 output=1 total=21
        "#,
    );
}

#[test]
fn the_error_of_the_provider_is_kept() {
    check(
        "error-event",
        r#"
         start
         0 text
         0 +Hel
         error overloaded "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_1\"}" input=20 output=1 total=21
        "#,
    );
    check(
        "error-first",
        r#"
         start
         error rateLimited "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Slow down\"}}"
        "#,
    );
    check(
        "error-text",
        r#"
         start
         error server "upstream failed"
        "#,
    );
}

#[test]
fn the_reply_has_id_and_cost() {
    let (events, progress) = decode(fixture("usage-totals"), &[]);
    let message = fold(&events);
    assert_eq!(message.response_id.as_deref(), Some("msg_a1"));
    assert_eq!(
        progress,
        Progress::new(message.usage.clone(), message.response_id.clone())
    );
    let dollars = 20e-6 * 1.0 + 50e-6 * 10.0 + 60e-6 * 0.1 + 20e-6 * 2.0;
    assert!((message.usage.cost.total - dollars).abs() < 1e-12);
}

#[test]
fn an_hour_in_the_cache_and_what_a_gateway_charges_are_told_apart() {
    let (events, _) = decode(fixture("usage-cache-split"), &[]);
    let usage = fold(&events).usage.clone();
    assert_eq!((usage.cache_write, usage.cache_write_1h), (20, 15));
    let dollars = 20e-6 * 1.0 + 5e-6 * 10.0 + 5e-6 * 2.0 + 15e-6 * 2.0 * 1.0;
    assert!((usage.cost.total - dollars).abs() < 1e-12);
    assert_eq!(usage.cost.reported, Some(0.00125));
    assert_eq!(usage.cost.usd(), 0.00125);
}

#[test]
fn the_id_of_a_failed_request_is_kept() {
    let (events, _) = decode(fixture("error-event"), &[]);
    let message = fold(&events);
    let info = message
        .error_info
        .as_deref()
        .expect("errors of a codec are typed");
    assert_eq!(info.request_id.as_deref(), Some("req_1"));
    assert!(info.retryable);
}

#[test]
fn hidden_reasoning_is_marked_and_has_a_placeholder() {
    let (events, _) = decode(fixture("thinking-redacted"), &[]);
    let message = fold(&events);
    let Some(pi_core::AssistantContent::Thinking(block)) = message.content.first() else {
        panic!("the first block is reasoning")
    };
    assert_eq!(block.thinking, "[Reasoning redacted]");
    assert!(block.redacted);
}

#[test]
fn nothing_is_read_after_the_end() {
    let body = format!("{}{}", fixture("text"), fixture("error-first"));
    assert_eq!(decode(&body, &[]), decode(fixture("text"), &[]));
}

#[test]
fn many_blocks_that_never_end_take_no_long_time() {
    let mut body = String::new();
    for index in 0..5_000 {
        body += &format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\
             \"content_block\":{{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\"}}}}\n\n"
        );
    }
    body += "data: {\"type\":\"message_stop\"}\n\n";
    let (events, _) = decode(&body, &[]);
    assert_eq!(fold(&events).tool_calls().count(), 5_000);
}
