//! Events for readers that the run does not wait for.

use futures_util::StreamExt;
use pi_core::{AgentEvent, AgentMessage};
use pi_testkit::{ScriptedProvider, Stepper, block_on};
use serde_json::json;

use crate::agent::{builder, echo, record};

#[test]
fn a_detached_reader_sees_the_same_events_as_a_subscriber() {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.thinking("Hm.")
                .tool_call("c1", "echo", json!({ "text": "x" }))
        })
        .turn(|t| t.text("ok"));
    let agent = builder(&provider).tool(echo()).build();
    let recorder = record(&agent);
    let events = agent.events();
    block_on(agent.prompt("Go")).unwrap();
    drop(agent);
    let seen: Vec<AgentEvent> = block_on(events.map(|event| event.unwrap()).collect());
    let transcript = |events: &[AgentEvent]| {
        pi_testkit::Transcript::of_agent(events, &pi_testkit::TranscriptOptions::new()).to_string()
    };
    assert_eq!(transcript(&seen), recorder.transcript().to_string());
    let last_update = seen.iter().rev().find_map(|event| match event {
        AgentEvent::MessageUpdate { message, .. } => Some(message.text()),
        _ => None,
    });
    assert_eq!(
        last_update.as_deref(),
        Some("ok"),
        "the reader has built the partial message"
    );
}

#[test]
fn deltas_of_one_block_are_merged_for_a_reader_that_is_behind() {
    let deltas: Vec<String> = (0..5000).map(|number| format!("{number} ")).collect();
    let whole = deltas.concat();
    let provider = ScriptedProvider::new().turn(|t| t.text_deltas(deltas));
    let agent = builder(&provider).build();
    let events = agent.events();
    block_on(agent.prompt("Go")).unwrap();
    drop(agent);
    let seen: Vec<AgentEvent> = block_on(events.map(|event| event.unwrap()).collect());
    let text: String = seen.iter().filter_map(AgentEvent::text_delta).collect();
    assert_eq!(text, whole);
    assert!(seen.len() < 20, "{} events", seen.len());
}

#[test]
fn a_reader_that_stays_behind_is_told_and_cut_off() {
    let mut provider = ScriptedProvider::new();
    for _ in 0..200 {
        provider = provider.turn(|t| t.tool_call("c", "echo", json!({ "text": "x" })));
    }
    let provider = provider.turn(|t| t.text("ok"));
    let agent = builder(&provider).tool(echo()).build();
    let mut events = agent.events();
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert_eq!(outcome.text(), "ok", "the run has not waited");
    let mut read = 0;
    let lagged = loop {
        match block_on(events.next()) {
            Some(Ok(_)) => read += 1,
            Some(Err(lagged)) => break lagged,
            None => panic!("the reader was not told"),
        }
    };
    assert_eq!(read, 1024);
    assert_eq!(lagged.waiting, 1024);
    assert!(block_on(events.next()).is_none());
}

#[test]
fn a_dropped_reader_is_no_subscriber_any_more() {
    let provider = ScriptedProvider::new().turn(|t| t.text("a").gate("go").text("b"));
    let agent = builder(&provider).build();
    let events = agent.events();
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    drop(events);
    provider.gates().open("go");
    run.finish().unwrap();
    assert!(matches!(
        agent.messages().last(),
        Some(AgentMessage::Assistant(_))
    ));
}

#[test]
fn a_reader_that_joins_in_the_middle_of_a_reply_gets_what_follows() {
    let provider = ScriptedProvider::new().turn(|t| t.text("a").gate("go").text("b"));
    let agent = builder(&provider).build();
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    let events = agent.events();
    provider.gates().open("go");
    run.finish().unwrap();
    drop(agent);
    let seen: Vec<AgentEvent> = block_on(events.map(|event| event.unwrap()).collect());
    assert_eq!(
        seen.iter()
            .filter_map(AgentEvent::text_delta)
            .collect::<String>(),
        "b"
    );
    assert_eq!(seen.last().map(AgentEvent::type_name), Some("agent_end"));
}
