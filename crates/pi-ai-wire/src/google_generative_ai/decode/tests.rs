use proptest::prelude::*;

use super::*;
use crate::testing::{self, codec_tests, fold};

codec_tests! {
    "google-generative-ai";
    "text",
    "framing",
    "thoughts",
    "signature-trailing",
    "signature-alone",
    "signature-first",
    "tool-calls",
    "tool-calls-same-id",
    "tool-arguments-odd",
    "tool-call-in-pieces",
    "tool-call-in-pieces-cut",
    "service-tools",
    "usage-cached",
    "usage-without-counts",
    "usage-odd",
    "nulls",
    "content-after-finish",
    "finish-length",
    "finish-safety",
    "finish-malformed-call",
    "finish-unknown",
    "finish-missing",
    "finish-missing-empty",
    "prompt-blocked",
    "error-event",
    "error-first",
    "broken-chunk",
    "empty",
    "done-marker",
    "lone-surrogate",
    "unknown",
}

#[test]
fn text_comes_in_pieces_up_to_the_end_of_the_body() {
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
         0 +H
         0 +i
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
        "lone-surrogate",
        r#"
         start
         0 text
         0 +a� b 🙂
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
fn what_is_not_known_is_skipped() {
    check(
        "nulls",
        r#"
         start
         0 text
         0 +ok
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
        "service-tools",
        r#"
         start
         0 text
         0 +One.
         0 end
         done stop input=50 output=5 total=55
        "#,
    );
}

#[test]
fn thoughts_are_blocks_of_their_own() {
    check(
        "thoughts",
        r#"
         start
         0 thinking -
         0 +Hm, 
         0 +right.
         0 end
         1 text
         1 +Yes.
         1 end
         done stop input=20 output=8 total=28
        "#,
    );
}

#[test]
fn a_signature_stays_with_its_block() {
    check(
        "signature-first",
        r#"
         start
         0 thinking -
         0 +Hm
         0 +.
         0 end dGhvdWdodA==
         1 text
         1 +A
         1 +B
         1 end dGV4dA==
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "signature-trailing",
        r#"
         start
         0 thinking -
         0 +Hm.
         0 end
         1 text
         1 +289
         1 +
         1 end c2lnbmVk
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "signature-alone",
        r#"
         start
         0 text
         0 +289
         0 end c2lnbmVk
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_come_whole_and_have_ids_of_their_own() {
    check(
        "tool-calls",
        r#"
         start
         0 text
         0 +Reading.
         0 end
         1 toolcall call_8137037cc895e7f9_0 read
         1 +{"path":"a.txt","limit":5,"lines":[1,2]}
         1 end Y2FsbA==
         2 toolcall call_8137037cc895e7f9_1 list
         2 +{}
         2 end
         3 toolcall call_8137037cc895e7f9_2 ping
         3 +{}
         3 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-calls-same-id",
        r#"
         start
         0 toolcall c1 read
         0 +{"path":"a"}
         0 end
         1 toolcall c1_1 read
         1 +{"path":"b"}
         1 end
         2 toolcall call_8137037cc895e7f9_2 read
         2 +{"path":"c"}
         2 end
         3 toolcall call_8137037cc895e7f9_3 read
         3 +{"path":"d"}
         3 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-arguments-odd",
        r#"
         start
         0 toolcall call_8137037cc895e7f9_0 a
         0 +{}
         0 end
         1 toolcall call_8137037cc895e7f9_1 b
         1 +[1]
         1 end
         2 toolcall call_8137037cc895e7f9_2 c
         2 +{"t":"<b> �"}
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn arguments_in_pieces_are_put_together() {
    check(
        "tool-call-in-pieces",
        r#"
         start
         0 toolcall call_8137037cc895e7f9_0 read
         0 +{"path":"a.txt","lines":[3]}
         0 end Y2FsbA==
         1 toolcall call_8137037cc895e7f9_1 list
         1 +{"all":true}
         1 end
         2 text
         2 +
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-call-in-pieces-cut",
        r#"
         start
         0 toolcall call_8137037cc895e7f9_0 read
         0 +{"path":"a"
         0 end
         1 toolcall call_8137037cc895e7f9_1 list
         1 +{"all":true}
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn usage_is_the_last_that_has_counts() {
    check(
        "usage-cached",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop input=45 output=27 read=60 total=132
        "#,
    );
    check(
        "usage-without-counts",
        r#"
         start
         0 text
         0 +o
         0 +k
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "usage-odd",
        r#"
         start
         0 text
         0 +ok
         0 end
         done stop read=30 total=30
        "#,
    );
}

#[test]
fn the_finish_reason_decides() {
    check(
        "finish-length",
        r#"
         start
         0 toolcall call_8137037cc895e7f9_0 read
         0 +{"path":"a"}
         0 end
         1 text
         1 +So
         1 end
         done length input=20 output=5 total=25
        "#,
    );
    check(
        "finish-safety",
        r#"
         start
         0 text
         0 +Hel
         error refused "Provider finishReason: SAFETY" input=20 output=5 total=25
        "#,
    );
    check(
        "finish-malformed-call",
        r#"
         start
         0 toolcall call_8137037cc895e7f9_0 read
         0 +{"path":"a"}
         0 end
         error server "Provider finishReason: MALFORMED_FUNCTION_CALL: Malformed function call: print(x)" input=20 output=5 total=25
        "#,
    );
    check(
        "finish-unknown",
        r#"
         start
         0 text
         0 +Hel
         0 +lo
         error server "Unhandled stop reason: BRAND_NEW" input=20 output=5 total=25
        "#,
    );
    check(
        "prompt-blocked",
        r#"
         start
         error refused "the provider blocked the prompt: PROHIBITED_CONTENT: not this" input=20 total=20
        "#,
    );
}

#[test]
fn a_cut_stream_is_an_error() {
    check(
        "finish-missing",
        r#"
         start
         0 text
         0 +Hel
         error protocol "the stream ended before the reply was complete" input=20 output=5 total=25
        "#,
    );
    check(
        "finish-missing-empty",
        r#"
         start
         error protocol "the stream ended without a reply" input=20 total=20
        "#,
    );
    check(
        "empty",
        r#"
         start
         error protocol "the stream ended without a reply"
        "#,
    );
}

#[test]
fn the_services_own_error_ends_the_reply() {
    for (name, kind, text) in [
        (
            "error-event",
            "overloaded",
            "got status: UNAVAILABLE. {\"error\":{\"code\":503",
        ),
        (
            "error-first",
            "rateLimited",
            "got status: RESOURCE_EXHAUSTED. {",
        ),
    ] {
        let message = fold(&decode(fixture(name), &[]).0);
        let info = message.error_info.as_deref().expect("it failed");
        assert_eq!(info.kind.as_str(), kind);
        let message = message.error_message.as_deref().expect("it failed");
        assert!(message.starts_with(text), "{message}");
    }
}

#[test]
fn a_broken_chunk_is_not_quoted() {
    let message = fold(&decode(fixture("broken-chunk"), &[]).0);
    let text = message.error_message.as_deref().expect("it failed");
    assert!(text.starts_with("a message event is not valid"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(message.text(), "Hel");
}

#[test]
fn a_call_that_was_cut_is_not_to_be_run() {
    let message = fold(&decode(fixture("tool-call-in-pieces-cut"), &[]).0);
    let errors = message
        .tool_calls()
        .map(|call| call.arguments_error.is_some());
    assert_eq!(errors.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn made_up_ids_differ_between_replies() {
    let first = fixture("tool-arguments-odd");
    let second = first.replace("resp-1", "resp-2");
    let ids = |body: &str| {
        let message = fold(&decode(body, &[]).0);
        message
            .tool_calls()
            .map(|call| call.id.clone())
            .collect::<Vec<_>>()
    };
    assert!(ids(first).iter().all(|id| !ids(&second).contains(id)));
}

#[test]
fn a_failed_reply_keeps_its_usage_and_id() {
    let progress = decode(fixture("finish-safety"), &[]).1;
    assert_eq!((progress.usage.input, progress.usage.output), (20, 5));
    assert_eq!(progress.response_id.as_deref(), Some("resp-1"));
}
