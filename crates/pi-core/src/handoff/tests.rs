use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::content::{ThinkingContent, ToolCall};
use crate::message::{StopReason, UserMessage};

fn target() -> Model {
    Model::new("mine", "api", "provider", "")
}

/// Letters, digits and underscores, at most six characters.
fn rule(id: &str, attempt: u32) -> String {
    let fitting: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    match attempt {
        0 => fitting.chars().take(6).collect(),
        _ => {
            let suffix = format!("_{attempt}");
            let head: String = fitting.chars().take(6 - suffix.len()).collect();
            head + &suffix
        }
    }
}

fn handed(messages: &[Message]) -> Vec<Message> {
    for_target(messages, &target(), rule)
}

fn reply(model: &str, content: Vec<AssistantContent>) -> AssistantMessage {
    let mut reply = AssistantMessage::empty(&Model::new(model, "api", "provider", ""), 7);
    reply.content = content;
    reply
}

fn call(id: &str) -> AssistantContent {
    ToolCall::new(id, "read", Map::new()).into()
}

fn result(id: &str, text: &str) -> Message {
    ToolResultMessage::new(id, "read", vec![text.into()], 8).into()
}

fn user(text: &str) -> Message {
    UserMessage::new(text, 1).into()
}

fn own(content: Vec<AssistantContent>) -> Message {
    reply("mine", content).into()
}

fn foreign(content: Vec<AssistantContent>) -> Message {
    reply("other", content).into()
}

fn failed(reason: StopReason, content: Vec<AssistantContent>) -> Message {
    let mut reply = reply("mine", content);
    reply.stop_reason = reason;
    reply.into()
}

/// One word for each message and block.
fn outline(messages: &[Message]) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages {
        lines.push(match message {
            Message::Assistant(reply) => {
                let blocks = reply.content.iter().map(|block| match block {
                    AssistantContent::Text(block) => match &block.text_signature {
                        Some(signature) => format!("text:{}#{signature}", block.text),
                        None => format!("text:{}", block.text),
                    },
                    AssistantContent::Thinking(block) => format!("thinking:{}", block.thinking),
                    AssistantContent::ToolCall(call) => match &call.thought_signature {
                        Some(signature) => format!("call:{}#{signature}", call.id),
                        None => format!("call:{}", call.id),
                    },
                    AssistantContent::Other(_) => "other".to_owned(),
                });
                format!("assistant {}", blocks.collect::<Vec<_>>().join(" "))
            }
            Message::ToolResult(result) => {
                let error = if result.is_error { " (error)" } else { "" };
                let text = crate::content::joined_text(&result.content);
                format!("result {} {text}{error}", result.tool_call_id)
            }
            Message::User(user) => format!("user {}", user.content.text()),
            Message::System(system) => format!("system {}", system.content.text()),
        });
    }
    lines
}

#[track_caller]
fn check(messages: &[Message], expected: &[&str]) {
    assert_eq!(outline(&handed(messages)), expected);
}

#[test]
fn failed_replies_are_dropped_with_their_results() {
    check(
        &[
            user("1"),
            failed(StopReason::Error, vec![call("a")]),
            result("a", "stray"),
            failed(StopReason::Aborted, vec![TextContent::new("half").into()]),
            user("2"),
            failed(StopReason::Length, vec![TextContent::new("cut").into()]),
        ],
        &["user 1", "user 2", "assistant text:cut"],
    );
}

#[test]
fn the_result_of_a_failed_call_does_not_answer_an_older_call_of_that_id() {
    check(
        &[
            own(vec![call("a")]),
            failed(StopReason::Error, vec![call("a")]),
            result("a", "stray"),
        ],
        &["assistant call:a", "result a No result provided (error)"],
    );
}

#[test]
fn every_call_gets_one_result_right_behind_it() {
    check(
        &[
            own(vec![call("a"), call("b")]),
            result("a", "A"),
            result("a", "again"),
            user("interrupts"),
            own(vec![call("c"), call("d")]),
            result("d", "D"),
            result("c", "C"),
            result("nobody", "stray"),
            own(vec![call("e")]),
            user("before the result"),
            result("e", "late"),
            own(vec![call("f")]),
        ],
        &[
            "assistant call:a call:b",
            "result a A",
            "result b No result provided (error)",
            "user interrupts",
            "assistant call:c call:d",
            "result c C",
            "result d D",
            "assistant call:e",
            "result e late",
            "user before the result",
            "assistant call:f",
            "result f No result provided (error)",
        ],
    );
}

fn thinking(text: &str, signature: Option<&str>, redacted: bool) -> AssistantContent {
    let mut block = ThinkingContent::new(text);
    block.thinking_signature = signature.map(str::to_owned);
    block.redacted = redacted;
    block.into()
}

fn signed_blocks() -> Vec<AssistantContent> {
    let mut text = TextContent::new("said");
    text.text_signature = Some("s".into());
    let mut call = ToolCall::new("a", "read", Map::new());
    call.thought_signature = Some("t".into());
    vec![
        thinking("signed", Some("s"), false),
        thinking("", Some("s"), false),
        thinking("unsigned", None, false),
        thinking(" \n", Some(""), false),
        thinking("hidden", Some("payload"), true),
        text.into(),
        AssistantContent::Other(json!({ "type": "widget" })),
        call.into(),
    ]
}

#[test]
fn signatures_go_back_to_their_own_model_only() {
    let results = "result a No result provided (error)";
    check(
        &[own(signed_blocks())],
        &[
            "assistant thinking:signed thinking: thinking:unsigned thinking:hidden text:said#s \
             other call:a#t",
            results,
        ],
    );
    check(
        &[foreign(signed_blocks())],
        &[
            "assistant text:signed text:unsigned text:said call:a",
            results,
        ],
    );
}

#[test]
fn a_reply_is_own_only_if_provider_api_and_model_are_the_same() {
    for (provider, api, model) in [
        ("other", "api", "mine"),
        ("provider", "other", "mine"),
        ("provider", "api", "other"),
    ] {
        let mut reply = AssistantMessage::empty(&Model::new(model, api, provider, ""), 0);
        reply.content = vec![thinking("hm", Some("s"), false)];
        check(&[reply.into()], &["assistant text:hm"]);
    }
}

#[test]
fn ids_are_made_to_fit_and_to_differ() {
    check(
        &[
            foreign(vec![call("a:1"), call("a;1"), call("longer-than-six")]),
            result("a;1", "second"),
            result("longer-than-six", "third"),
            own(vec![call("longer-than-six"), call("a:1"), call("")]),
            result("a:1", "own"),
            own(vec![call("a:1"), call("x"), call("x")]),
            result("a:1", "again"),
            result("x", "first x"),
            result("x", "second x"),
        ],
        &[
            "assistant call:a_1 call:a_1_1 call:longer",
            "result a_1 No result provided (error)",
            "result a_1_1 second",
            "result longer third",
            "assistant call:longer-than-six call:a:1 call:_1",
            "result longer-than-six No result provided (error)",
            "result a:1 own",
            "result _1 No result provided (error)",
            "assistant call:a_1_2 call:x call:x_1",
            "result a_1_2 again",
            "result x first x",
            "result x_1 second x",
        ],
    );
}

#[test]
fn a_rule_that_ignores_the_attempt_does_not_hang() {
    let sent = for_target(&[own(vec![call("a"), call("a")])], &target(), |_, _| {
        "a".to_owned()
    });
    assert_eq!(sent.len(), 3);
}

#[test]
fn messages_that_need_no_change_are_shared() {
    let messages = [
        user("1"),
        own(vec![thinking("hm", Some("s"), false), call("a")]),
        result("a", "A"),
        foreign(vec![TextContent::new("plain").into(), call("b")]),
        result("b", "B"),
    ];
    let sent = handed(&messages);
    assert_eq!(sent.len(), messages.len());
    for (sent, stored) in sent.iter().zip(&messages) {
        let is_shared = match (sent, stored) {
            (Message::User(a), Message::User(b)) => Arc::ptr_eq(a, b),
            (Message::Assistant(a), Message::Assistant(b)) => Arc::ptr_eq(a, b),
            (Message::ToolResult(a), Message::ToolResult(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        assert!(is_shared, "{sent:?}");
    }
}

fn any_id() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "a",
        "b",
        "a_1",
        "a:1",
        "long-long-id",
        "long-long-other",
    ])
    .prop_map(str::to_owned)
}

fn any_block() -> impl Strategy<Value = AssistantContent> {
    prop_oneof![
        any_id().prop_map(|id| call(&id)),
        Just(AssistantContent::from(TextContent::new("text"))),
        prop::sample::select(signed_blocks()),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let reason = prop::sample::select(vec![
        StopReason::Stop,
        StopReason::ToolUse,
        StopReason::Aborted,
    ]);
    let model = prop::sample::select(vec!["mine", "other"]);
    prop_oneof![
        Just(user("hi")),
        any_id().prop_map(|id| result(&id, "r")),
        (model, reason, prop::collection::vec(any_block(), 0..4)).prop_map(
            |(model, reason, blocks)| {
                let mut reply = reply(model, blocks);
                reply.stop_reason = reason;
                reply.into()
            }
        ),
    ]
}

proptest! {
    #[test]
    fn doing_it_twice_changes_nothing(messages in prop::collection::vec(any_message(), 0..12)) {
        let once = handed(&messages);
        prop_assert_eq!(handed(&once), once);
    }

    #[test]
    fn the_report_is_empty_exactly_when_nothing_changes(
        messages in prop::collection::vec(any_message(), 0..5),
    ) {
        let is_blank = |block: &AssistantContent| {
            matches!(block, AssistantContent::Thinking(block) if block.thinking.trim().is_empty())
        };
        prop_assume!(messages.iter().all(|message| match message {
            Message::Assistant(reply) => !reply.content.iter().any(is_blank),
            _ => true,
        }));
        // Results come right behind their calls, wherever they were stored.
        let sorted = |messages: &[Message]| {
            let mut texts: Vec<_> = messages.iter().map(|message| json!(message).to_string()).collect();
            texts.sort();
            texts
        };
        let is_same = sorted(&handed(&messages)) == sorted(&messages);
        prop_assert_eq!(report(&messages, &target(), rule).is_empty(), is_same);
    }

    #[test]
    fn calls_and_results_are_paired(messages in prop::collection::vec(any_message(), 0..12)) {
        let sent = handed(&messages);
        let mut ids = HashSet::new();
        let mut open = VecDeque::new();
        for message in &sent {
            if let Message::ToolResult(result) = message {
                prop_assert_eq!(open.pop_front(), Some(result.tool_call_id.clone()));
                continue;
            }
            prop_assert!(open.is_empty());
            if let Message::Assistant(reply) = message {
                for call in reply.tool_calls() {
                    prop_assert!(!call.id.is_empty());
                    prop_assert!(ids.insert(call.id.clone()), "{} is sent twice", call.id);
                    open.push_back(call.id.clone());
                }
            }
        }
        prop_assert!(open.is_empty());
    }
}

#[test]
fn the_report_tells_what_is_dropped_and_changed() {
    let mut hidden = ThinkingContent::new("");
    hidden.redacted = true;
    let mut signed = TextContent::new("signed");
    signed.text_signature = Some("s".to_owned());
    let image = || UserContent::image("QUJD", "image/png");
    let messages = [
        UserMessage::new(vec![image(), image()], 1).into(),
        failed(StopReason::Aborted, vec![call("a")]),
        result("a", "of the aborted reply"),
        foreign(vec![
            ThinkingContent::new("hm").into(),
            ThinkingContent::new(" ").into(),
            hidden.into(),
            signed.into(),
            call("b|1"),
            call("c"),
        ]),
        result("b|1", "kept"),
        result("b|1", "twice"),
        ToolResultMessage::new("d", "read", vec![image()], 8).into(),
        own(vec![ThinkingContent::new("mine").into(), call("e")]),
        ToolResultMessage::new("e", "read", vec![image()], 8).into(),
    ];
    let report = report(&messages, &target(), rule);
    let expected = r#"
message 0: the 2 images are left out
message 1: the reply is left out (it ended with "aborted")
message 2: the result of call "a" is left out
message 3: the reasoning in block 0 goes on as plain text
message 3: block 2 is left out
message 3: block 3 goes on without its signature
message 3: call "b|1" becomes "b_1"
message 3: call "c" has no result and gets one that says so
message 5: the result of call "b|1" is left out
message 6: the result of call "d" is left out
message 8: the image is left out"#;
    assert_eq!(report.to_string(), expected.trim());
    assert_eq!(report.losses().count(), 8);

    let handed = for_target(&messages, &target(), rule);
    let mut again = super::report(&handed, &target(), rule);
    again
        .changes
        .retain(|change| !matches!(change.effect, HandoffEffect::ImagesDropped { .. }));
    assert!(again.is_empty(), "{again}");
}
