use std::sync::Arc;
use std::time::Duration;

use pi_core::{
    AgentMessage, AssistantMessage, CustomMessage, ErrorKind, ProviderError, StopReason, ToolCall,
    ToolOutput, ToolResultMessage, Usage, UserContent,
};
use serde_json::{Value, json};

use super::*;
use crate::{assert_transcript, model};

fn call(id: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    ToolCall::new(id, "read_file", arguments)
}

fn message(message: impl Into<AgentMessage>) -> [AgentEvent; 2] {
    let message = message.into();
    [
        AgentEvent::MessageStart {
            message: message.clone(),
        },
        AgentEvent::MessageEnd { message },
    ]
}

fn update(event: AssistantEvent) -> AgentEvent {
    AgentEvent::MessageUpdate {
        message: AssistantMessage::empty(&model(), 0).into(),
        event,
    }
}

fn text(content_index: usize, deltas: &[&str]) -> Vec<AssistantEvent> {
    let deltas = deltas.iter().map(|&delta| AssistantEvent::TextDelta {
        content_index,
        delta: delta.to_owned(),
    });
    std::iter::once(AssistantEvent::TextStart { content_index })
        .chain(deltas)
        .collect()
}

fn text_end(content_index: usize, content: Option<&str>) -> AssistantEvent {
    let content = content.map(str::to_owned);
    AssistantEvent::TextEnd {
        content_index,
        content,
        content_signature: None,
    }
}

fn tool_call(content_index: usize, id: &str, deltas: &[&str]) -> Vec<AssistantEvent> {
    let start = AssistantEvent::ToolCallStart {
        content_index,
        id: id.to_owned(),
        tool_name: "read_file".to_owned(),
    };
    let deltas = deltas.iter().map(|&delta| AssistantEvent::ToolCallDelta {
        content_index,
        delta: delta.to_owned(),
    });
    std::iter::once(start).chain(deltas).collect()
}

fn tool_call_end(content_index: usize, tool_call: Option<ToolCall>) -> AssistantEvent {
    let tool_call = tool_call.map(Box::new);
    AssistantEvent::ToolCallEnd {
        content_index,
        thought_signature: None,
        tool_call,
    }
}

/// A run in which a file is read; every time and id differs from run to run.
fn run(id: &str, time: u64) -> Vec<AgentEvent> {
    let mut reply = AssistantMessage::empty(&model(), time);
    let start = Arc::new(reply.clone());
    reply.content = vec![
        pi_core::TextContent::new("Looking.").into(),
        call(id, json!({ "path": "a.txt" })).into(),
    ];
    reply.stop_reason = StopReason::ToolUse;
    reply.usage = Usage::new(time, 2, 0, 0);
    let reply = Arc::new(reply);
    let call = Arc::new(call(id, json!({ "path": "a.txt" })));
    let output = ToolOutput::text("hi").with_details(json!({ "lines": 1 }));
    let result = ToolResultMessage::new(id, "read_file", output.content.clone(), time);

    let mut events = vec![AgentEvent::AgentStart, AgentEvent::TurnStart];
    events.extend(message(AgentMessage::user("What is in a.txt?", time)));
    events.push(AgentEvent::MessageStart {
        message: start.into(),
    });
    let mut block = text(0, &["Look", "ing."]);
    block.push(text_end(0, None));
    block.extend(tool_call(1, id, &["{\"path\":", " \"a.txt\"}"]));
    block.push(tool_call_end(1, None));
    events.extend(block.into_iter().map(update));
    events.push(AgentEvent::MessageEnd {
        message: reply.clone().into(),
    });
    events.push(AgentEvent::ToolExecutionStart {
        call: Arc::clone(&call),
    });
    events.push(AgentEvent::ToolExecutionUpdate {
        call: Arc::clone(&call),
        partial_result: ToolOutput::text("h"),
    });
    events.push(AgentEvent::ToolExecutionEnd {
        call,
        result: output,
        is_error: false,
        duration: Some(Duration::from_millis(time)),
        suspended: false,
    });
    events.extend(message(result.clone()));
    events.push(AgentEvent::TurnEnd {
        message: reply.clone().into(),
        tool_results: vec![Arc::new(result)],
    });
    events.push(AgentEvent::AgentEnd {
        messages: Arc::new([reply.into()]),
    });
    events
}

#[test]
fn a_run_reads_like_a_conversation() {
    assert_transcript!(run("c1", 5), @r##"
    agent_start
    turn_start
    message        user "What is in a.txt?"
    message_start  assistant
    message_update #0 text +"Looking."
    message_update #1 toolcall c1 read_file {"path":"a.txt"}
    message_end    assistant tool_use
    tool_start     c1 read_file
    tool_update    c1 "h"
    tool_end       c1 ok
    message        tool_result c1 "hi"
    turn_end       results=1
    agent_end      messages=1
    "##);
}

#[test]
fn times_and_generated_ids_leave_no_trace() {
    let first = run("toolu_01A09q90qw90", 5).to_transcript();
    let second = run("550e8400-e29b-41d4-a716-446655440000", 1_700_000_000_000).to_transcript();
    assert_eq!(first, second);
    assert_eq!(first.lines()[7], "tool_start     id#1 read_file");
}

#[test]
fn ids_are_masked_as_the_options_say() {
    let line = |ids| {
        let options = TranscriptOptions::new().with_ids(ids);
        Transcript::of_agent(&run("call_2", 0), &options).lines()[7].clone()
    };
    assert_eq!(line(Ids::MaskGenerated), "tool_start     call_2 read_file");
    assert_eq!(line(Ids::MaskAll), "tool_start     id#1 read_file");
    let options = TranscriptOptions::new().with_ids(Ids::Keep);
    let kept = Transcript::of_agent(&run("toolu_01A09q90qw90", 0), &options);
    assert_eq!(
        kept.lines()[7],
        "tool_start     toolu_01A09q90qw90 read_file"
    );
}

#[test]
fn every_event_is_a_line_where_deltas_are_kept() {
    let options = TranscriptOptions::new().with_join_deltas(false);
    let transcript = Transcript::of_agent(&run("c1", 5), &options);
    let updates: Vec<&str> = transcript
        .lines()
        .iter()
        .filter_map(|line| line.strip_prefix("message_update "))
        .collect();
    assert_eq!(
        updates,
        [
            "#0 text_start",
            "#0 text_delta +\"Look\"",
            "#0 text_delta +\"ing.\"",
            "#0 text_end",
            "#1 toolcall_start c1 read_file",
            "#1 toolcall_delta +\"{\\\"path\\\":\"",
            "#1 toolcall_delta +\" \\\"a.txt\\\"}\"",
            "#1 toolcall_end",
        ]
    );
}

#[test]
fn details_tell_more() {
    let options = TranscriptOptions::new().with_details(true);
    assert_transcript!(Transcript::of_agent(&run("c1", 5), &options), @r##"
    agent_start
    turn_start
    message        user "What is in a.txt?"
    message_start  assistant
    message_update #0 text +"Looking."
    message_update #1 toolcall c1 read_file {"path":"a.txt"}
    message_end    assistant tool_use model=scripted-1 usage=5/2/0/0
    tool_start     c1 read_file args={"path":"a.txt"}
    tool_update    c1 "h"
    tool_end       c1 ok details={"lines":1}
    message        tool_result c1 "hi"
    turn_end       results=1
    agent_end      messages=1
    "##);
}

#[test]
fn messages_of_every_role_have_a_line() {
    let mut failed = ToolResultMessage::new("c1", "t", vec![UserContent::text("no")], 0);
    failed.is_error = true;
    let picture = vec![
        UserContent::text("look"),
        UserContent::image("aGVsbG8=", "image/png"),
        UserContent::Other(json!({ "type": "audio", "data": "" })),
    ];
    let note = json!({ "text": "saved", "timestamp": 5 });
    let mut events = Vec::new();
    events.extend(message(pi_core::SystemMessage::new("Be brief.", 1)));
    events.extend(message(AgentMessage::user(picture, 1)));
    events.extend(message(failed));
    events.extend(message(CustomMessage::new("notification", note).unwrap()));
    events.push(AgentEvent::MessageStart {
        message: AgentMessage::user("open", 1),
    });
    events.push(AgentEvent::Other(
        json!({ "type": "compaction", "tokens": 5 }),
    ));
    assert_transcript!(events, @r#"
    message        system "Be brief."
    message        user "look" [image image/png 5 bytes] [audio]
    message        tool_result c1 error "no"
    message        custom notification {"text":"saved"}
    message_start  user "open"
    compaction
    "#);
}

#[test]
fn a_reply_that_was_not_streamed_shows_its_blocks() {
    let mut reply = AssistantMessage::empty(&model(), 0);
    reply.content = vec![
        pi_core::ThinkingContent::new("Hm.").into(),
        pi_core::TextContent::new("Hi").into(),
        call("c1", json!({})).into(),
    ];
    let error = ProviderError::new(ErrorKind::RateLimited, "slow down");
    let mut failed = AssistantMessage::empty(&model(), 0);
    failed.stop_reason = StopReason::Error;
    failed.error_message = Some(error.message().to_owned());
    failed.error_info = Some(Box::new(error.info().clone()));
    let events: Vec<_> = message(reply).into_iter().chain(message(failed)).collect();
    assert_transcript!(events, @r#"
    message_start  assistant
    message_end    assistant stop thinking "Hm." text "Hi" toolcall c1 read_file {}
    message_start  assistant
    message_end    assistant error rate_limited "slow down"
    "#);
}

#[test]
fn a_block_that_is_interrupted_or_cut_says_so() {
    let mut events = text(0, &["Hel"]);
    events.extend(text(1, &["Wor"]));
    events.push(AssistantEvent::TextDelta {
        content_index: 0,
        delta: "lo".into(),
    });
    events.push(text_end(0, None));
    events.extend(tool_call(2, "c1", &["{\"path\": \"a"]));
    let aborted = ProviderError::aborted();
    events.push(AssistantEvent::from_error(&aborted, Usage::default(), None));
    assert_transcript!(events, @r##"
    #0 text +"Hel" ...
    #1 text +"Wor" ...
    #0 text ... +"lo"
    #2 toolcall c1 read_file +"{\"path\": \"a" ...
    error aborted "Request was aborted"
    "##);
}

#[test]
fn an_end_that_says_something_else_is_shown() {
    let mut events = text(0, &["Helo"]);
    events.push(text_end(0, Some("Hello")));
    events.extend(text(1, &[]));
    events.push(text_end(1, Some("whole")));
    events.extend(tool_call(2, "c1", &["{\"a\":1}"]));
    events.push(tool_call_end(2, Some(call("c1", json!({ "a": 2 })))));
    events.extend(tool_call(3, "c2", &["{\"a\": 1}"]));
    events.push(tool_call_end(3, Some(call("c2", json!({ "a": 1 })))));
    events.extend(tool_call(4, "c3", &[]));
    events.push(tool_call_end(4, None));
    events.extend(tool_call(5, "c4", &["{oops"]));
    events.push(tool_call_end(5, None));
    events.push(AssistantEvent::ThinkingStart {
        content_index: 6,
        content_signature: None,
    });
    events.push(AssistantEvent::ThinkingEnd {
        content_index: 6,
        content: Some("[hidden]".into()),
        content_signature: Some("opaque".into()),
        redacted: true,
    });
    assert_transcript!(events, @r##"
    #0 text +"Helo" ="Hello"
    #1 text +"whole"
    #2 toolcall c1 read_file {"a":1} ={"a":2}
    #3 toolcall c2 read_file {"a":1}
    #4 toolcall c3 read_file {}
    #5 toolcall c4 read_file +"{oops"
    #6 thinking redacted
    "##);
}

#[test]
fn long_text_is_shortened_in_its_middle() {
    let options = TranscriptOptions::new().with_max_text(12);
    let long = format!("{}ü{}", "a".repeat(50), "b".repeat(50));
    let events = message(AgentMessage::user(long.as_str(), 0));
    let shown = Transcript::of_agent(&events, &options);
    assert_eq!(
        shown.lines(),
        ["message        user \"aaaaaaaaa…bbb\" (101 chars)"]
    );

    let whole = Transcript::of_agent(&events, &options.clone().with_max_text(0));
    assert!(whole.lines()[0].ends_with(&format!("\"{long}\"")));

    let wide = message(AgentMessage::user("ü".repeat(12), 0));
    let shown = Transcript::of_agent(&wide, &options);
    assert_eq!(
        shown.lines(),
        [format!("message        user \"{}\"", "ü".repeat(12))]
    );
}

#[test]
fn a_line_stays_a_line() {
    let events = message(AgentMessage::user("a\nb\t\"c\"", 0));
    assert_eq!(
        events.to_transcript().lines(),
        ["message        user \"a\\nb\\t\\\"c\\\"\""]
    );
}
