//! The standard tools in the hands of an agent.

use std::fs;
use std::time::Duration;

use pi_agent::RunEnd;
use pi_core::{AgentEvent, Replay, ToolExecutionMode};
use pi_testkit::{ScriptedProvider, grammar};
use pi_tools_std::{
    BashConfig, EditConfig, MemoryFiles, MemoryShell, Scripted, ToolSet, Workspace, WriteConfig,
};
use serde_json::{Map, Value, json};

use crate::agent::{builder, record, summary};

fn all_tools() -> ToolSet {
    let shell = MemoryShell::new(|_| Scripted::output("ok\n"));
    ToolSet::builder(Workspace::on("/project", MemoryFiles::new("/project")))
        .all(BashConfig::on(shell))
        .build()
        .unwrap()
}

#[test]
fn the_model_is_told_of_seven_tools() {
    let set = all_tools();
    let definitions: Map<String, Value> = set
        .tools()
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            let told = json!({
                "description": definition.description,
                "parameters": definition.parameters,
            });
            (definition.name.clone(), told)
        })
        .collect();
    let text = serde_json::to_string(&definitions).unwrap();
    for banned in ["$schema", "$defs", "\"format\""] {
        assert!(!text.contains(banned), "{banned}");
    }
    insta::assert_json_snapshot!("tools_std_definitions", definitions);
}

#[test]
fn tools_say_how_they_may_be_run() {
    let set = all_tools();
    for tool in set.tools() {
        assert_ne!(tool.execution_mode(), Some(ToolExecutionMode::Sequential));
        let expected = match tool.name() {
            "edit" | "bash" => Replay::Never,
            _ => Replay::Safe,
        };
        assert_eq!(tool.replay(), expected, "{}", tool.name());
    }
}

#[tokio::test]
async fn a_batch_of_one_reply_works_as_if_it_were_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "buy milk\n").unwrap();
    let set = ToolSet::builder(Workspace::confined(dir.path()).unwrap())
        .all(BashConfig::unsandboxed())
        .build()
        .unwrap();
    let provider = ScriptedProvider::new()
        .turn(|t| {
            let edit = json!({ "path": "notes.txt", "oldText": "milk", "newText": "bread" });
            t.tool_call("c1", "read", json!({ "path": "notes.txt" }))
                .tool_call("c2", "edit", edit)
                .tool_call("c3", "grep", json!({ "pattern": "buy" }))
                .tool_call(
                    "c4",
                    "bash",
                    json!({ "command": "cat notes.txt; echo two > new.txt" }),
                )
                .tool_call("c5", "read", json!({ "path": "new.txt" }))
                .tool_call("c6", "read", json!({ "path": "missing.txt" }))
        })
        .turn(|t| t.text("Done."));
    let agent = builder(&provider).tools(set.tools()).build();
    let recorder = record(&agent);
    agent.prompt("Go").await.unwrap();
    let events: Vec<AgentEvent> = recorder
        .events()
        .into_iter()
        // How often a command reports progress is a matter of time.
        .filter(|event| event.type_name() != "tool_execution_update")
        .collect();
    grammar::check(&events).unwrap();
    let results: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolExecutionEnd { call, result, .. } => Some(format!(
                "{}: {}",
                call.id,
                pi_core::joined_text(&result.content).trim_end()
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        results,
        [
            "c1: buy milk",
            "c2: Successfully replaced 1 block(s) in notes.txt.",
            "c3: notes.txt:1: buy bread",
            "c4: buy bread",
            "c5: two",
            "c6: File not found: missing.txt",
        ]
    );
}

#[tokio::test]
async fn an_abort_ends_a_command_and_keeps_what_it_said() {
    let dir = tempfile::tempdir().unwrap();
    let set = ToolSet::builder(Workspace::confined(dir.path()).unwrap())
        .bash(BashConfig::unsandboxed())
        .build()
        .unwrap();
    let command = "echo begun; while :; do echo x >> mark; sleep 0.05; done";
    let provider =
        ScriptedProvider::new().turn(|t| t.tool_call("c1", "bash", json!({ "command": command })));
    let agent = builder(&provider).tools(set.tools()).build();
    let aborting = agent.clone();
    let _aborting = agent.subscribe(move |event| {
        if let AgentEvent::ToolExecutionUpdate { partial_result, .. } = event
            && pi_core::joined_text(&partial_result.content).contains("begun")
        {
            aborting.abort();
        }
    });
    let outcome = agent.prompt("Go").await.unwrap();
    assert!(matches!(outcome.end, RunEnd::Aborted));
    let texts = summary(&agent);
    assert!(
        texts
            .iter()
            .any(|text| text.contains("begun\n\nCommand aborted")),
        "{texts:?}"
    );
    let mark = || fs::read(dir.path().join("mark")).unwrap().len();
    let before = mark();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(mark(), before, "nothing writes any more");
}

#[tokio::test]
async fn an_agent_is_tested_without_a_disk_and_without_a_shell() {
    let files = MemoryFiles::new("/project").with("src/lib.rs", "fn one() -> u8 { 2 }\n");
    let shell = MemoryShell::new({
        let files = files.clone();
        move |command| match command.command.as_str() {
            "cargo test"
                if files
                    .text("src/lib.rs")
                    .is_some_and(|text| text.contains("{ 1 }")) =>
            {
                Scripted::output("test result: ok\n")
            }
            _ => Scripted::output("test result: FAILED\n").with_code(101),
        }
    });
    let set = ToolSet::builder(Workspace::on("/project", files.clone()))
        .bash(BashConfig::on(shell))
        .edit(EditConfig::default())
        .write(WriteConfig::default())
        .build()
        .unwrap();
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "bash", json!({ "command": "cargo test" })))
        .turn(|t| {
            let edit = json!({ "path": "src/lib.rs", "oldText": "{ 2 }", "newText": "{ 1 }" });
            t.tool_call("c2", "edit", edit)
        })
        .turn(|t| t.tool_call("c3", "bash", json!({ "command": "cargo test" })))
        .turn(|t| t.text("Fixed."));
    let agent = builder(&provider).tools(set.tools()).build();
    agent.prompt("Make the test pass").await.unwrap();
    assert_eq!(files.text("src/lib.rs").unwrap(), "fn one() -> u8 { 1 }\n");
    assert_eq!(
        summary(&agent),
        [
            "user:Make the test pass",
            "assistant(toolUse):",
            "c1:test result: FAILED\n\nCommand exited with code 101",
            "assistant(toolUse):",
            "c2:Successfully replaced 1 block(s) in src/lib.rs.",
            "assistant(toolUse):",
            "c3:test result: ok",
            "assistant(stop):Fixed.",
        ]
    );
}
