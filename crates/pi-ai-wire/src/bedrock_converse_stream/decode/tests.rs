use proptest::prelude::*;

use super::*;
use crate::framing::Framing;
use crate::testing::{self, fold};

macro_rules! fixtures {
    ($($name:literal,)+) => {
        const FIXTURES: &[(&str, &[u8])] = &[$((
            $name,
            include_bytes!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../tests/fixtures/bedrock-converse-stream/",
                $name,
                "/response.bin"
            )),
        ),)+];
    };
}

fixtures! {
    "after-the-end",
    "broken-checksum",
    "broken-json",
    "cut-in-frame",
    "cut-in-text",
    "error-frame",
    "exception-bare",
    "exception-in-text",
    "exception-overflow",
    "exception-throttling",
    "index-reused",
    "length-in-call",
    "length-of-window",
    "lone-surrogate",
    "metadata-first",
    "stop-guardrail",
    "stop-malformed",
    "stop-unknown",
    "stray-pieces",
    "text",
    "text-empty",
    "thinking-omitted",
    "thinking-redacted",
    "thinking-signed",
    "thinking-unsigned",
    "tool-call-without-arguments",
    "tool-calls",
    "tool-calls-with-end-turn",
    "tool-ids-odd",
    "unknown",
    "usage-cached",
    "usage-missing",
    "usage-odd",
}

fn decode(body: &[u8], cuts: &[usize]) -> (Vec<AssistantEvent>, Progress) {
    let decoder = Decoder::new(testing::model());
    testing::decode_framed(Framing::AwsEventStream, decoder, body, cuts)
}

fn fixture(name: &str) -> &'static [u8] {
    let found = FIXTURES.iter().find(|(known, _)| *known == name);
    found.expect("the fixture is in the list").1
}

#[track_caller]
fn check(name: &str, expected: &str) {
    testing::check_outline(name, &decode(fixture(name), &[]).0, expected);
}

#[test]
fn text_comes_in_pieces_and_usage_last() {
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
        "text-empty",
        r#"
         start
         0 text
         0 +
         0 end
         1 text
         1 +A
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "usage-missing",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop
        "#,
    );
    check(
        "metadata-first",
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
fn thinking_keeps_its_signature() {
    check(
        "thinking-signed",
        r#"
         start
         0 thinking unsigned
         0 +Let me
         0 + see.
         0 end c2lnbmF0
         1 text
         1 +4
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "thinking-unsigned",
        r#"
         start
         0 thinking unsigned
         0 +Hm.
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "thinking-redacted",
        r#"
         start
         0 thinking unsigned
         0 end b3BhcXVl redacted
         1 text
         1 +A
         1 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "thinking-omitted",
        r#"
         start
         0 thinking unsigned
         0 end c2ln
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
         0 toolcall tooluse_1 read
         1 toolcall tooluse_2 read
         0 +{"pa
         1 +{"path":"b"}
         0 +th":"a"}
         0 end
         1 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "tool-call-without-arguments",
        r#"
         start
         0 toolcall tooluse_1 ping
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn calls_have_ids_that_differ() {
    check(
        "tool-ids-odd",
        r#"
         start
         0 toolcall call_cbf29ce484222325_0 read
         0 +{}
         0 end
         1 toolcall tooluse_1 read
         1 end
         2 toolcall tooluse_1_2 read
         2 end
         done toolUse input=20 output=5 total=25
        "#,
    );
}

#[test]
fn content_and_limit_decide_the_stop_reason() {
    check(
        "tool-calls-with-end-turn",
        r#"
         start
         0 toolcall tooluse_1 read
         0 +{}
         0 end
         done toolUse input=20 output=5 total=25
        "#,
    );
    check(
        "length-in-call",
        r#"
         start
         0 toolcall tooluse_1 read
         0 +{"path":"a
         0 end
         done length input=20 output=5 total=25
        "#,
    );
    check(
        "length-of-window",
        r#"
         start
         0 text
         0 +A
         0 end
         done length input=20 output=5 total=25
        "#,
    );
}

#[test]
fn a_stop_reason_may_tell_of_a_failure() {
    check(
        "stop-guardrail",
        r#"
         start
         0 text
         0 +A
         0 end
         error refused "Provider stop_reason: guardrail_intervened" input=20 output=5 total=25
        "#,
    );
    check(
        "stop-malformed",
        r#"
         start
         0 text
         0 +A
         0 end
         error protocol "Provider stop_reason: malformed_tool_use" input=20 output=5 total=25
        "#,
    );
    check(
        "stop-unknown",
        r#"
         start
         0 text
         0 +A
         0 end
         error protocol "Provider stop_reason: weary" input=20 output=5 total=25
        "#,
    );
}

#[test]
fn what_is_not_known_or_belongs_to_nothing_is_skipped() {
    check(
        "unknown",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "stray-pieces",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
    check(
        "index-reused",
        r#"
         start
         0 text
         0 +A
         0 end
         1 thinking unsigned
         1 +B
         1 end
         2 text
         2 +C
         2 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn usage_counts_the_cache_apart() {
    check(
        "usage-cached",
        r#"
         start
         0 text
         0 +A
         0 end
         done stop input=20 output=5 read=100 write=30 total=155
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
fn nothing_is_read_after_the_end() {
    check(
        "after-the-end",
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
fn a_cut_reply_is_an_error_that_keeps_what_came() {
    check(
        "cut-in-text",
        r#"
         start
         0 text
         0 +A
         error protocol "the stream ended before the reply was complete"
        "#,
    );
    check(
        "cut-in-frame",
        r#"
         start
         0 text
         0 +A
         error protocol "the event stream was cut inside a frame"
        "#,
    );
    testing::check_outline(
        "no frame at all",
        &decode(&[], &[]).0,
        r#"
         start
         error protocol "the stream ended without a reply"
        "#,
    );
}

#[test]
fn exceptions_have_a_kind_and_their_own_words() {
    check(
        "exception-throttling",
        r#"
         start
         error rateLimited "Too many requests, please wait."
        "#,
    );
    check(
        "exception-in-text",
        r#"
         start
         0 text
         0 +A
         error server "The model broke."
        "#,
    );
    check(
        "exception-overflow",
        r#"
         start
         error contextOverflow "Input is too long for requested model."
        "#,
    );
    check(
        "exception-bare",
        r#"
         start
         error server "the service reported internalServerException"
        "#,
    );
    check(
        "error-frame",
        r#"
         start
         error server "it broke"
        "#,
    );
}

#[test]
fn what_is_broken_is_an_error() {
    check(
        "broken-checksum",
        r#"
         start
         0 text
         0 +A
         error protocol "a frame of the event stream is broken: message checksum 0x166A9984 didn't match expected checksum 0x166A9985"
        "#,
    );
    check(
        "broken-json",
        r#"
         start
         0 text
         0 +A
         error protocol "a contentBlockDelta event is not valid (byte 35)"
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
         0 end
         done stop input=20 output=5 total=25
        "#,
    );
}

#[test]
fn an_hour_in_the_cache_is_counted_apart() {
    let usage = fold(&decode(fixture("usage-cached"), &[]).0).usage.clone();
    assert_eq!((usage.cache_write, usage.cache_write_1h), (30, 10));
    assert!(usage.cost.total > 0.0);
}

/// The frames of all fixtures that are whole.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let mut frames = Vec::new();
    for &(_, body) in FIXTURES {
        let mut body = body;
        while let Some(length) = body.first_chunk::<4>() {
            let length = usize::try_from(u32::from_be_bytes(*length)).expect("a short frame");
            let Some((frame, rest)) = body.split_at_checked(length) else {
                break;
            };
            frames.push(frame);
            body = rest;
        }
    }
    prop::collection::vec(prop::sample::select(frames), 0..12).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn where_the_body_is_cut_never_shows(
        (_, body) in prop::sample::select(FIXTURES),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(decode(body, &cuts), decode(body, &[]));
    }

    #[test]
    fn any_frames_fold_and_end(body in any_body()) {
        let (events, _) = decode(&body, &[]);
        fold(&events);
        prop_assert_eq!(events.iter().filter(|event| event.is_terminal()).count(), 1);
        prop_assert!(events.last().is_some_and(AssistantEvent::is_terminal));
    }
}
