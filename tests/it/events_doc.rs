//! The transcripts in `docs/events.md`, played.

use std::collections::BTreeMap;

use pi_agent::{Agent, Decision, Verdict};
use pi_core::{AgentEvent, AgentMessage, AgentTool, ToolContext, ToolDefinition, ToolOutput};
use pi_testkit::{Recorder, ScriptedProvider, Stepper, block_on};
use serde_json::json;

use crate::agent::{builder, record};

fn read() -> AgentTool {
    let parameters = json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"]
    });
    let definition = ToolDefinition::new("read", "Reads a file.", parameters);
    AgentTool::from_fn(definition, |_, cx: ToolContext| async move {
        cx.update(ToolOutput::<()>::text("reading"));
        Ok(ToolOutput::text("contents"))
    })
}

fn prompt() -> Recorder {
    let provider = ScriptedProvider::new().turn(|t| t.thinking("A greeting.").text("Hello there!"));
    let agent = builder(&provider).build();
    let recorder = record(&agent);
    block_on(agent.prompt("Hi")).unwrap();
    recorder
}

fn tools() -> Recorder {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c1", "read", json!({ "path": "a.txt" }))
                .tool_call("c2", "read", json!({}))
        })
        .turn(|t| t.text("The same."));
    let agent = builder(&provider).tool(read()).build();
    let recorder = record(&agent);
    block_on(agent.prompt("Compare.")).unwrap();
    recorder
}

fn steering() -> Recorder {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "read", json!({ "path": "a.txt" })))
        .turn(|t| t.text("Voila."))
        .turn(|t| t.text("Encore."));
    let agent = builder(&provider).tool(read()).build();
    let recorder = record(&agent);
    let typing = agent.clone();
    agent
        .subscribe(move |event| {
            if matches!(event, AgentEvent::ToolExecutionUpdate { .. }) {
                typing.steer(AgentMessage::user("In French.", 0)).unwrap();
                typing
                    .follow_up(AgentMessage::user("Thanks. One more.", 0))
                    .unwrap();
            }
        })
        .detach();
    block_on(agent.prompt("Look.")).unwrap();
    recorder
}

fn abort() -> Recorder {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("Once upon").cut().hang())
        .turn(|t| t.text("Once upon a time."));
    let agent = builder(&provider).build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Tell me."));
    assert!(run.step().is_pending());
    agent.abort();
    run.finish().unwrap();
    block_on(agent.continue_run()).unwrap();
    recorder
}

fn suspended() -> Recorder {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "read", json!({ "path": "secret.txt" })))
        .turn(|t| t.text("Read."));
    let agent: Agent = builder(&provider)
        .tool(read())
        .before_tool_call(|_| async { Verdict::Suspend })
        .build();
    let recorder = record(&agent);
    block_on(agent.prompt("Read it.")).unwrap();
    block_on(agent.resume([("c1", Decision::Approve)])).unwrap();
    recorder
}

/// The blocks of the page by name.
fn blocks() -> BTreeMap<String, String> {
    let page = include_str!("../../docs/events.md");
    let mut blocks = BTreeMap::new();
    for block in page.split("```transcript ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        let (text, _) = rest.split_once("\n```").unwrap();
        blocks.insert(name.to_owned(), text.to_owned());
    }
    blocks
}

#[test]
fn the_page_shows_what_happens() {
    type Play = fn() -> Recorder;
    let mut blocks = blocks();
    let plays: [(&str, Play); 5] = [
        ("prompt", prompt),
        ("tools", tools),
        ("steering", steering),
        ("abort", abort),
        ("suspended", suspended),
    ];
    for (name, play) in plays {
        let recorder = play();
        recorder.check_grammar().unwrap();
        let options = pi_testkit::TranscriptOptions::new().with_max_text(0);
        let expected = blocks.remove(name).unwrap_or_default();
        assert_eq!(
            recorder.transcript_with(&options).to_string(),
            expected,
            "{name}"
        );
    }
    assert!(blocks.is_empty(), "nobody plays {:?}", blocks.keys());
}
