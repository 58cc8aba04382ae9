use pi_core::AssistantContent;
use proptest::prelude::*;

use super::*;
use crate::testing::{self, codec_tests, fold};

codec_tests! {
    "openai-responses";
    "text",
    "framing",
    "phases",
    "text-in-item",
    "text-replaced",
    "text-without-part",
    "refusal",
    "reasoning-summary",
    "reasoning-hidden",
    "reasoning-raw",
    "reasoning-late-end",
    "tool-calls",
    "tool-calls-interleaved",
    "tool-arguments-in-item",
    "tool-arguments-in-start",
    "tool-arguments-replaced",
    "tool-ids",
    "custom-tool",
    "custom-tool-in-item",
    "server-tools",
    "unknown",
    "index-missing",
    "items-missing",
    "index-reused",
    "output-at-end",
    "usage-flex",
    "usage-priority",
    "usage-cache-write",
    "usage-reasoning-on-top",
    "usage-odd",
    "incomplete-in-call",
    "incomplete-in-custom-tool",
    "incomplete-filter",
    "status-missing",
    "failed",
    "failed-bare",
    "failed-image",
    "cancelled",
    "error-flat",
    "error-nested",
    "error-unnamed",
    "error-text",
    "cut-in-text",
    "cut-in-call",
    "cut-behind-item",
    "cut-with-done",
    "empty",
    "only-created",
    "behind-the-end",
    "broken-event",
    "lone-surrogate",
}

#[test]
fn text_comes_in_pieces_up_to_the_end_of_the_response() {
    check(
        "text",
        r#"
         start
         0 text
         0 +Grüß
         0 + Gott 🙂
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "framing",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "phases",
        r#"
         start
         0 text
         0 +Looking.
         0 end {"v":1,"id":"msg_1","phase":"commentary"}
         1 text
         1 +Found.
         1 end {"v":1,"id":"msg_2","phase":"final_answer"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "text-without-part",
        r#"
         start
         0 text
         0 +Hel
         0 +lo
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "refusal",
        r#"
         start
         0 text
         0 +Well,
         0 + no.
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "lone-surrogate",
        r#"
         start
         0 thinking -
         0 end = a�
         1 text
         1 +b� 🙂
         1 end
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "behind-the-end",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn the_end_of_an_item_has_the_last_word() {
    check(
        "text-in-item",
        r#"
         start
         0 text
         0 end = Hi
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "text-replaced",
        r#"
         start
         0 text
         0 +The secret is 1
         0 end = I cannot say.
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "tool-arguments-in-item",
        r#"
         start
         0 toolcall call_1|fc_1 read
         0 end = {"path":"a"}
         1 toolcall call_2|fc_2 read
         1 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "tool-arguments-in-start",
        r#"
         start
         0 toolcall call_1|fc_1 read
         0 end = {"path":"a"}
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "tool-arguments-replaced",
        r#"
         start
         0 toolcall call_1|fc_1 read
         0 +{"path":"a
         0 end = {"path":"c"}
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "custom-tool-in-item",
        r#"
         start
         0 toolcall call_1|ctc_1 query
         0 end = {"input":"a"}
         1 toolcall call_2|ctc_2 query
         1 +{"input":"x
         1 end = {"input":"b"}
         2 toolcall call_3|ctc_3 query
         2 +{"input":""}
         2 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn thoughts_are_shown_as_their_summary_or_as_they_are() {
    check(
        "reasoning-summary",
        r#"
         start
         0 thinking -
         0 +Fir
         0 +st.
         0 +


         0 +Then.
         0 +


         0 end = First.

         Then.
         1 text
         1 +Hi
         1 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "reasoning-hidden",
        r#"
         start
         0 thinking -
         0 end {"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"ZW5j"}
         1 text
         1 +Hi
         1 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "reasoning-raw",
        r#"
         start
         0 thinking -
         0 +The user
         0 + greets.
         0 +


         0 +Answer.
         0 end {"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"The user greets."},{"type":"reasoning_text","text":"Answer."}]}
         1 text
         1 +Hi
         1 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "reasoning-late-end",
        r#"
         start
         0 thinking -
         0 +Hm.
         1 text
         1 +Hi
         1 end {"v":1,"id":"msg_1"}
         0 end {"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn pieces_find_their_item_by_its_index() {
    check(
        "tool-calls",
        r#"
         start
         0 toolcall call_1|fc_1 read
         0 +{"path":
         0 +"a.txt"}
         0 end
         1 toolcall call_2|fc_2 read
         1 +{}
         1 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "tool-calls-interleaved",
        r#"
         start
         0 text
         0 +Hel
         1 toolcall call_1|fc_1 read
         2 toolcall call_2|fc_2 read
         0 +lo
         2 +{"path":"b
         1 +{"path":"a"}
         2 +"}
         1 end
         0 end {"v":1,"id":"msg_1"}
         2 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "index-reused",
        r#"
         start
         0 text
         0 +One.
         0 end
         1 text
         1 +Two.
         1 end {"v":1,"id":"msg_2"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn items_are_found_without_index_and_without_beginning() {
    check(
        "index-missing",
        r#"
         start
         0 thinking -
         0 +Hm.
         0 end {"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}
         1 text
         1 +Hi
         1 end {"v":1,"id":"msg_1"}
         2 toolcall call_1|fc_1 read
         2 +{"path":"a"}
         2 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "items-missing",
        r#"
         start
         0 thinking -
         0 +Hm.
         1 text
         1 +Hi
         1 end {"v":1,"id":"msg_1"}
         2 toolcall call_1|fc_1 read
         2 end = {}
         0 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "output-at-end",
        r#"
         start
         0 thinking -
         0 end = Hm.
         1 text
         1 end = Hi
         2 toolcall call_1|fc_1 read
         2 end = {"path":"a"}
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn calls_have_ids_of_their_own() {
    check(
        "tool-ids",
        r#"
         start
         0 toolcall call_1|fc_1 read
         0 end = {}
         1 toolcall call_1_1|fc_2 read
         1 end = {}
         2 toolcall call_81d3177cc91a4c97_2 list
         2 end = {}
         3 toolcall call_81d3177cc91a4c97_3 list
         3 end = {}
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn what_a_grammar_shapes_is_the_argument_of_the_call() {
    check(
        "custom-tool",
        r#"
         start
         0 toolcall call_1|ctc_1 query
         0 +{"input":"SELECT \"
         0 +ä\"\nFR
         0 +OM t
         0 +"}
         0 end
         done toolUse input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "incomplete-in-custom-tool",
        r#"
         start
         0 toolcall call_1|ctc_1 query
         0 +{"input":"SELECT
         0 end
         done length input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn what_is_not_known_is_skipped() {
    check(
        "server-tools",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "unknown",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop input=12 output=5 read=8 total=25
        "#,
    );
}

#[test]
fn tokens_are_counted_as_the_service_means_them() {
    check(
        "usage-cache-write",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop input=8 output=5 read=8 write=4 total=25
        "#,
    );
    check(
        "usage-reasoning-on-top",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop input=20 output=12 total=32
        "#,
    );
    check(
        "usage-odd",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done stop
        "#,
    );
}

#[test]
fn a_reply_at_its_limit_is_cut() {
    check(
        "incomplete-in-call",
        r#"
         start
         0 toolcall call_1|fc_1 read
         0 +{"path":"a
         0 end
         done length input=12 output=5 read=8 total=25
        "#,
    );
    check(
        "status-missing",
        r#"
         start
         0 text
         0 +Hi
         0 end {"v":1,"id":"msg_1"}
         done length
        "#,
    );
}

#[test]
fn what_went_wrong_has_a_kind_and_keeps_what_came() {
    for (name, kind, text) in [
        ("incomplete-filter", "refused", "incomplete: content_filter"),
        ("failed", "server", "server_error: the model crashed"),
        (
            "failed-bare",
            "server",
            "Unknown error (no error details in response)",
        ),
        (
            "failed-image",
            "invalidRequest",
            "invalid_image: not an image",
        ),
        ("cancelled", "server", "the response was cancelled"),
        (
            "error-flat",
            "rateLimited",
            "Error Code rate_limit_exceeded: slow down",
        ),
        ("error-nested", "quota", "You are out of credit."),
        ("error-unnamed", "server", "boom"),
        ("error-text", "server", "upstream went away"),
        (
            "cut-in-text",
            "protocol",
            "the stream ended before the reply was complete",
        ),
        (
            "cut-in-call",
            "protocol",
            "the stream ended before the reply was complete",
        ),
        (
            "cut-behind-item",
            "protocol",
            "the stream ended before the reply was complete",
        ),
        (
            "cut-with-done",
            "protocol",
            "the stream ended before the reply was complete",
        ),
        ("empty", "protocol", "the stream ended without a reply"),
        (
            "only-created",
            "protocol",
            "the stream ended without a reply",
        ),
        (
            "broken-event",
            "protocol",
            "a message event is not valid (byte 48)",
        ),
    ] {
        let (events, _) = decode(fixture(name), &[]);
        let message = fold(&events);
        let info = message.error_info.as_deref().expect("it failed");
        assert_eq!(info.kind.as_str(), kind, "{name}");
        assert_eq!(message.error_message.as_deref(), Some(text), "{name}");
        let has_content = fixture(name).contains(".delta");
        assert_eq!(!message.content.is_empty(), has_content, "{name}");
    }
}

#[test]
fn the_reply_has_id_and_cost() {
    for (name, factor) in [("text", 1.0), ("usage-flex", 0.5), ("usage-priority", 2.0)] {
        let (events, progress) = decode(fixture(name), &[]);
        let message = fold(&events);
        assert_eq!(message.response_id.as_deref(), Some("resp_1"));
        assert_eq!(
            progress,
            Progress::new(message.usage.clone(), message.response_id.clone())
        );
        let dollars = factor * (12e-6 * 1.0 + 5e-6 * 10.0 + 8e-6 * 0.1);
        let cost = message.usage.cost;
        assert!((cost.total - dollars).abs() < 1e-12, "{name}: {cost:?}");
    }
}

#[test]
fn signatures_hold_what_goes_back() {
    let blocks = |name: &str| {
        let message = fold(&decode(fixture(name), &[]).0);
        let blocks = message.content.iter().filter_map(|block| match block {
            AssistantContent::Text(block) => block.text_signature.clone(),
            AssistantContent::Thinking(block) => block.thinking_signature.clone(),
            _ => None,
        });
        blocks.collect::<Vec<_>>()
    };
    assert_eq!(
        blocks("phases"),
        [
            r#"{"v":1,"id":"msg_1","phase":"commentary"}"#,
            r#"{"v":1,"id":"msg_2","phase":"final_answer"}"#,
        ]
    );
    assert_eq!(
        blocks("reasoning-summary"),
        [
            concat!(
                r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"First."},"#,
                r#"{"type":"summary_text","text":"Then."}],"encrypted_content":"ZW5j"}"#,
            ),
            r#"{"v":1,"id":"msg_1"}"#,
        ]
    );
    // Readers of JSON refuse half a surrogate pair.
    assert_eq!(
        blocks("lone-surrogate"),
        [concat!(
            r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"a"#,
            "\u{FFFD}",
            r#""}]}"#,
        )]
    );
}

#[test]
fn cut_arguments_are_an_error_of_their_call() {
    for name in [
        "incomplete-in-call",
        "incomplete-in-custom-tool",
        "cut-in-call",
    ] {
        let message = fold(&decode(fixture(name), &[]).0);
        let call = message.tool_calls().next().expect("there is a call");
        assert!(call.arguments_error.is_some(), "{name}");
    }
}

#[test]
fn a_broken_event_is_not_quoted() {
    let body = fixture("broken-event").replace("\"ar", "\"secret");
    let message = fold(&decode(&body, &[]).0);
    let error = message.error_message.as_deref().expect("it failed");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn many_items_that_never_end_take_no_long_time() {
    let mut body = String::new();
    for number in 0..5_000 {
        body += &format!(
            "data: {{\"type\":\"response.output_item.added\",\"item\":{{\"type\":\"function_call\",\
             \"id\":\"fc_{number}\",\"call_id\":\"c\",\"name\":\"f\"}}}}\n\n\
             data: {{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_{number}\",\
             \"delta\":\"{{\"}}\n\n"
        );
    }
    let (events, _) = decode(&body, &[]);
    assert_eq!(fold(&events).tool_calls().count(), 5_000);
}
