use proptest::prelude::*;

use super::*;
use crate::testing::{self, codec_tests, fold};

codec_tests! {
    "openai-completions";
    "text",
    "framing",
    "tool-calls-in-turn",
    "tool-calls-interleaved",
    "tool-calls-same-index",
    "tool-calls-same-id",
    "tool-call-repeated-fields",
    "tool-call-without-id",
    "tool-call-late-name",
    "tool-arguments-object",
    "function-call",
    "reasoning-mirrored",
    "reasoning-details",
    "reasoning-encrypted",
    "refusal",
    "usage-in-choice",
    "usage-each-chunk",
    "usage-cache-and-reasoning",
    "usage-reasoning-on-top",
    "usage-odd",
    "usage-cost-reported",
    "usage-groq",
    "usage-service-tier",
    "chunks-without-choices",
    "content-after-finish",
    "finish-stop-with-call",
    "finish-tool-calls-without-call",
    "finish-length-in-call",
    "finish-content-filter",
    "finish-missing",
    "done-missing",
    "cut-in-text",
    "cut-with-done",
    "only-done",
    "error-chunk",
    "error-text",
    "error-event",
    "broken-chunk",
    "lone-surrogate",
}

#[test]
fn text_comes_in_pieces_up_to_the_end_marker() {
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
        "content-after-finish",
        r#"
         start
         0 text
         0 +Hel
         0 +lo
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "chunks-without-choices",
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
         0 +a� b 🙂
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn pieces_of_tool_calls_find_their_call() {
    check(
        "tool-calls-in-turn",
        r#"
         start
         0 toolcall call_1 read
         0 +
         0 +{"path":
         0 +"a.txt"}
         0 end
         1 toolcall call_2 read
         1 +
         1 +{"path":"b.txt"}
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-interleaved",
        r#"
         start
         0 toolcall call_1 read
         0 +
         1 toolcall call_2 read
         1 +
         0 +{"path":
         1 +{"path":"b
         0 +"a"}
         1 +"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-same-index",
        r#"
         start
         0 toolcall call_1 read
         0 +{"path":"a"}
         0 end
         1 toolcall call_2 list
         1 +{}
         1 end
         2 toolcall call_3 read
         2 +{"path":"c"}
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-same-id",
        r#"
         start
         0 toolcall call_1 read
         0 +{"path":"a"}
         0 end
         1 toolcall call_1_1 read
         1 +{"path":"b"}
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-call-repeated-fields",
        r#"
         start
         0 toolcall call_1 read
         0 +{"pa
         0 +th":
         0 +"a
         0 +"}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_in_odd_shapes_are_whole_calls() {
    check(
        "tool-call-without-id",
        r#"
         start
         0 toolcall call_8b961683acc0cab0_0 read
         0 +{"path":
         0 +"a"}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-call-late-name",
        r#"
         start
         0 toolcall call_1 read
         0 +{"path":"a"}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-arguments-object",
        r#"
         start
         0 toolcall call_1 read
         0 +{"path":"a","limit":3}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "function-call",
        r#"
         start
         0 toolcall call_8b961683acc0cab0_0 read
         0 +{"path":
         0 +"a"}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn reasoning_comes_once_from_whichever_field_has_it() {
    check(
        "reasoning-mirrored",
        r#"
         start
         0 thinking reasoning_content
         0 +Let me
         0 + see.
         0 end
         1 text
         1 +Done.
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "reasoning-details",
        r#"
         start
         0 thinking -
         0 +Let me
         0 + see.
         0 end
         1 text
         1 +Done.
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn encrypted_reasoning_goes_with_its_call() {
    check(
        "reasoning-encrypted",
        r#"
         start
         0 thinking reasoning
         0 +Hm.
         0 end
         1 toolcall call_1 read
         1 +{"path":"a"}
         1 end {"type":"reasoning.encrypted","id":"call_1","data":"b3BhcXVl","format":"some-v1","index":0}
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_refusal_is_text() {
    check(
        "refusal",
        r#"
         start
         0 text
         0 +I will
         0 + not.
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn usage_is_found_wherever_it_is() {
    check(
        "usage-in-choice",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "usage-each-chunk",
        r#"
         start
         0 text
         0 +a
         0 +b
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "usage-groq",
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
fn usage_counts_every_token_once() {
    check(
        "usage-cache-and-reasoning",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=50 read=60 write=20 total=150
        "#,
    );
    check(
        "usage-reasoning-on-top",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=100 output=35 total=135
        "#,
    );
    check(
        "usage-odd",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop read=12 total=12
        "#,
    );
}

#[test]
fn content_and_limit_decide_the_stop_reason() {
    check(
        "finish-stop-with-call",
        r#"
         start
         0 toolcall call_1 list
         0 +{}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "finish-tool-calls-without-call",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "finish-length-in-call",
        r#"
         start
         0 toolcall call_1 write
         0 +{"path":"a","text":"abc
         0 end
         done length input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_finish_reason_that_tells_of_a_failure_is_an_error() {
    check(
        "finish-content-filter",
        r#"
         start
         0 text
         0 +First,
         0 end
         error refused "Provider finish_reason: content_filter" input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_reply_is_complete_with_a_reason_or_with_usage_and_end_marker() {
    check(
        "finish-missing",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "done-missing",
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
         error protocol "the stream ended before the reply was complete"
        "#,
    );
    check(
        "cut-with-done",
        r#"
         start
         0 toolcall call_1 list
         0 +{}
         error protocol "the stream ended before the reply was complete"
        "#,
    );
    check(
        "only-done",
        r#"
         start
         error protocol "the stream ended without a reply"
        "#,
    );
    check(
        "broken-chunk",
        r#"
         start
         0 text
         0 +Hel
         error protocol "a message event is not valid (byte 8)"
        "#,
    );
}

#[test]
fn the_error_of_the_provider_is_kept() {
    check(
        "error-chunk",
        r#"
         start
         0 text
         0 +Hel
         error server "Upstream failed\nworker 7 crashed" input=20 output=5 total=25
        "#,
    );
    check(
        "error-text",
        r#"
         start
         0 text
         0 +Hel
         error server "\"model crashed\""
        "#,
    );
    check(
        "error-event",
        r#"
         start
         error rateLimited "Too many requests"
        "#,
    );
}

#[test]
fn what_the_service_charges_is_kept_beside_the_price() {
    let usage = fold(&decode(fixture("usage-cost-reported"), &[]).0)
        .usage
        .clone();
    let dollars = 20e-6 * 1.0 + 5e-6 * 10.0;
    assert!((usage.cost.total - dollars).abs() < 1e-12);
    assert_eq!(usage.cost.reported, Some(0.00042));
}

#[test]
fn the_reply_has_id_and_cost() {
    let (events, progress) = decode(fixture("usage-cache-and-reasoning"), &[]);
    let message = fold(&events);
    assert_eq!(message.response_id.as_deref(), Some("chatcmpl-a1"));
    assert_eq!(
        progress,
        Progress::new(message.usage.clone(), message.response_id.clone())
    );
    let dollars = 20e-6 * 1.0 + 50e-6 * 10.0 + 60e-6 * 0.1 + 20e-6 * 2.0;
    assert!((message.usage.cost.total - dollars).abs() < 1e-12);
}

#[test]
fn the_tier_that_the_service_used_sets_the_price() {
    let message = fold(&decode(fixture("usage-service-tier"), &[]).0);
    let dollars = 0.5 * (20e-6 * 1.0 + 5e-6 * 10.0);
    assert!((message.usage.cost.total - dollars).abs() < 1e-12);
}

#[test]
fn made_up_ids_differ_between_replies() {
    let body = fixture("tool-call-without-id");
    let (first, _) = decode(body, &[]);
    let (second, _) = decode(&body.replace("chatcmpl-a1", "chatcmpl-a2"), &[]);
    let id = |events: &[AssistantEvent]| {
        fold(events)
            .tool_calls()
            .next()
            .expect("there is a call")
            .id
            .clone()
    };
    assert_ne!(id(&first), id(&second));
}

#[test]
fn a_broken_chunk_is_not_quoted() {
    let (events, _) = decode(fixture("broken-chunk"), &[]);
    let message = fold(&events);
    assert!(
        !message
            .error_message
            .as_deref()
            .expect("it failed")
            .contains("secret")
    );
}

#[test]
fn nothing_is_read_after_the_end() {
    let body = format!("{}{}", fixture("text"), fixture("error-text"));
    assert_eq!(decode(&body, &[]), decode(fixture("text"), &[]));
}

#[test]
fn many_calls_that_never_end_take_no_long_time() {
    let mut body = String::new();
    for number in 0..5_000 {
        body += &format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c{number}\",\
             \"function\":{{\"name\":\"f\",\"arguments\":\"{{\"}}}}]}}}}]}}\n\n"
        );
    }
    let (events, _) = decode(&body, &[]);
    assert_eq!(fold(&events).tool_calls().count(), 5_000);
}
