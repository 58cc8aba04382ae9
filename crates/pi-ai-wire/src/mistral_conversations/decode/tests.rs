use proptest::prelude::*;

use super::*;
use crate::testing::{self, codec_tests, fold};

codec_tests! {
    "mistral-conversations";
    "text",
    "thinking",
    "parts-mixed",
    "parts-unknown",
    "tool-call",
    "tool-calls",
    "tool-calls-same-index",
    "tool-calls-in-pieces",
    "tool-calls-id-null",
    "tool-calls-without-id",
    "tool-calls-same-id",
    "tool-arguments-object",
    "text-after-call",
    "stop-with-call",
    "length-in-call",
    "length-of-model",
    "finish-error",
    "finish-filtered",
    "finish-unknown",
    "finish-missing",
    "done-missing",
    "cut-in-text",
    "only-done",
    "chunks-without-choices",
    "usage-cached",
    "usage-cached-older",
    "usage-odd",
    "error-object",
    "error-field",
    "error-event",
    "broken-chunk",
    "lone-surrogate",
}

#[test]
fn text_comes_in_pieces() {
    check(
        "text",
        r#"
         start
         0 text
         0 +
         0 +Grüß
         0 + Gott 🙂
         0 +
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "done-missing",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn thinking_and_text_come_as_parts() {
    check(
        "thinking",
        r#"
         start
         0 thinking -
         0 +Let
         0 + me see.
         0 end
         1 text
         1 +4
         1 +
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "parts-mixed",
        r#"
         start
         0 thinking -
         0 +Hm.
         0 + Yes.
         0 end
         1 text
         1 +A
         1 +B
         1 +C
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn parts_that_cannot_be_shown_are_skipped() {
    check(
        "parts-unknown",
        r#"
         start
         0 thinking -
         0 +ab
         0 end
         1 text
         1 +ok
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_come_whole_or_in_pieces() {
    check(
        "tool-call",
        r#"
         start
         0 text
         0 +
         0 end
         1 toolcall gSIMJiOkT weather
         1 +{"city": "Oslo"}
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls",
        r#"
         start
         0 text
         0 +
         0 end
         1 toolcall aaaaaaaa1 read
         1 +{"path":"a"}
         2 toolcall aaaaaaaa2 read
         2 +{"path":"b"}
         1 end
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-same-index",
        r#"
         start
         0 toolcall aaaaaaaa1 read
         0 +{"path":"a"}
         1 toolcall aaaaaaaa2 read
         1 +{"path":"b"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-in-pieces",
        r#"
         start
         0 toolcall aaaaaaaa1 read
         0 +
         1 toolcall aaaaaaaa2 read
         1 +{"pa
         0 +{"path":
         1 +th":"b"}
         0 +"a"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "text-after-call",
        r#"
         start
         0 text
         0 +A
         0 end
         1 toolcall aaaaaaaa1 read
         1 +{}
         2 text
         2 +B
         2 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_without_an_id_of_their_own_get_one_that_fits() {
    check(
        "tool-calls-id-null",
        r#"
         start
         0 toolcall toolcall0 read
         0 +{"path":"a"}
         1 toolcall toolcall1 read
         1 +{"path":"b"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-without-id",
        r#"
         start
         0 toolcall toolcall0 read
         0 +{"path":"a"}
         1 toolcall toolcall1 read
         1 +{"path":"b"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-same-id",
        r#"
         start
         0 toolcall aaaaaaaa1 read
         0 +{"path":"a"}
         1 toolcall 1pjccw9er read
         1 +{"path":"b"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn arguments_may_be_a_value() {
    check(
        "tool-arguments-object",
        r#"
         start
         0 toolcall aaaaaaaa1 read
         0 +{"path":"a"}
         1 toolcall aaaaaaaa2 list
         1 +
         2 toolcall aaaaaaaa3 list
         2 +
         3 toolcall aaaaaaaa4 list
         3 +[1]
         0 end
         1 end
         2 end
         3 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn content_decides_between_stop_and_tool_use() {
    check(
        "stop-with-call",
        r#"
         start
         0 toolcall aaaaaaaa1 read
         0 +{}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "length-in-call",
        r#"
         start
         0 toolcall aaaaaaaa1 read
         0 +{"path":"a
         0 end
         done length input=20 output=5 total=25
        "#,
    );
    check(
        "length-of-model",
        r#"
         start
         0 text
         0 +A
         0 end
         done length input=20 output=5 total=25
        "#,
    );
    check(
        "finish-unknown",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_finish_reason_may_tell_of_a_failure() {
    check(
        "finish-error",
        r#"
         start
         0 text
         0 +A
         0 +
         0 end
         error server "Provider finish_reason: error" input=20 output=5 total=25
        "#,
    );
    check(
        "finish-filtered",
        r#"
         start
         0 text
         0 +A
         0 +
         0 end
         error refused "Provider finish_reason: content_filter" input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_reply_without_finish_reason_was_cut() {
    check(
        "finish-missing",
        r#"
         start
         0 text
         0 +A
         error protocol "the stream ended before the reply was complete"
        "#,
    );
    check(
        "cut-in-text",
        r#"
         start
         0 text
         0 +A
         0 +B
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
}

#[test]
fn chunks_without_choices_may_have_usage() {
    check(
        "chunks-without-choices",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn cached_tokens_are_part_of_the_prompt() {
    check(
        "usage-cached",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=4 output=5 read=16 total=25
        "#,
    );
    check(
        "usage-cached-older",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=4 output=5 read=16 total=25
        "#,
    );
    check(
        "usage-odd",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=10 total=10
        "#,
    );
}

#[test]
fn the_providers_error_ends_the_reply() {
    check(
        "error-object",
        r#"
         start
         0 text
         0 +A
         error overloaded "Service tier capacity exceeded for this model."
        "#,
    );
    check(
        "error-field",
        r#"
         start
         error rateLimited "Rate limit exceeded"
        "#,
    );
    check(
        "error-event",
        r#"
         start
         error server "Internal server error"
        "#,
    );
}

#[test]
fn a_chunk_that_is_no_json_ends_the_reply() {
    check(
        "broken-chunk",
        r#"
         start
         0 text
         0 +A
         error protocol "a message event is not valid (byte 50)"
        "#,
    );
}

#[test]
fn halves_of_surrogate_pairs_are_replaced() {
    check(
        "lone-surrogate",
        r#"
         start
         0 text
         0 +a�
         0 +�b
         0 end
         done stop
        "#,
    );
}

#[test]
fn nothing_is_read_after_the_end() {
    let body = format!("{}{}", fixture("text"), fixture("error-object"));
    assert_eq!(decode(&body, &[]), decode(fixture("text"), &[]));
}
