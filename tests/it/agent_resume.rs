//! Calls that wait for a decision, and runs that are resumed.

use std::sync::{Arc, Mutex};

use pi_agent::{Agent, AgentError, Decision, RunEnd, Verdict};
use pi_core::{AgentMessage, AgentTool, ToolDefinition, ToolOutput};
use pi_testkit::{ScriptedProvider, assert_transcript, block_on};
use serde_json::{Map, json};

use crate::agent::{builder, record, summary};

/// A tool that notes what it was run with.
fn deploy(ran: &Arc<Mutex<Vec<String>>>) -> AgentTool {
    let ran = Arc::clone(ran);
    let parameters = json!({
        "type": "object",
        "properties": { "to": { "type": "string" } },
        "required": ["to"]
    });
    let definition = ToolDefinition::new("deploy", "Deploys.", parameters);
    AgentTool::from_fn(definition, move |arguments, _| {
        let to = arguments["to"].as_str().unwrap_or_default().to_owned();
        ran.lock().unwrap().push(to.clone());
        async move { Ok(ToolOutput::text(format!("deployed to {to}"))) }
    })
}

/// An agent whose deployments to `prod` wait.
fn agent(provider: &ScriptedProvider, ran: &Arc<Mutex<Vec<String>>>) -> Agent {
    builder(provider)
        .tool(deploy(ran))
        .before_tool_call(|call| async move {
            match call.arguments["to"].as_str() {
                Some("prod") => Verdict::Suspend,
                _ => Verdict::Allow,
            }
        })
        .build()
}

/// Runs until two of three calls wait, and returns the transcript as it lies in a file.
fn suspended() -> String {
    let provider = ScriptedProvider::new().turn(|t| {
        t.tool_call("c1", "deploy", json!({ "to": "prod" }))
            .tool_call("c2", "deploy", json!({ "to": "test" }))
            .tool_call("c3", "deploy", json!({ "to": "prod" }))
    });
    let ran = Arc::default();
    let agent = agent(&provider, &ran);
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Ship it")).unwrap();
    let RunEnd::Suspended { calls } = &outcome.end else {
        panic!("{:?}", outcome.end)
    };
    let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c3"]);
    assert_eq!(*ran.lock().unwrap(), ["test"]);
    recorder.check_grammar().unwrap();
    assert_transcript!(recorder, @r##"
        agent_start
        turn_start
        message        user "Ship it"
        message_start  assistant
        message_update #0 toolcall c1 deploy {"to":"prod"}
        message_update #1 toolcall c2 deploy {"to":"test"}
        message_update #2 toolcall c3 deploy {"to":"prod"}
        message_end    assistant tool_use
        tool_start     c1 deploy
        tool_end       c1 suspended
        tool_start     c2 deploy
        tool_start     c3 deploy
        tool_end       c2 ok
        message        tool_result c2 "deployed to test"
        tool_end       c3 suspended
        turn_end       results=1
        agent_end      messages=3
    "##);
    serde_json::to_string(&*agent.messages()).unwrap()
}

#[test]
fn a_suspended_run_is_resumed_in_another_process() {
    let edited = Map::from_iter([("to".to_owned(), json!("staging"))]);
    let broken = Map::from_iter([("to".to_owned(), json!({}))]);
    let supplied = ToolOutput::text("done by hand");
    let cases = [
        (Decision::Approve, "c1:deployed to prod", vec!["prod"]),
        (
            Decision::reject("not on Fridays"),
            "c1:not on Fridays",
            vec![],
        ),
        (
            Decision::Edit { arguments: edited },
            "c1:deployed to staging",
            vec!["staging"],
        ),
        (
            Decision::Edit { arguments: broken },
            "must be string",
            vec![],
        ),
        (Decision::Supply(supplied), "c1:done by hand", vec![]),
    ];
    let stored = suspended();
    for (decision, expected, expected_runs) in cases {
        let provider = ScriptedProvider::new().turn(|t| t.text("All done."));
        let ran = Arc::default();
        let agent = agent(&provider, &ran);
        agent
            .replace_messages(serde_json::from_str(&stored).unwrap())
            .unwrap();
        let recorder = record(&agent);
        let decisions = [("c1", decision), ("c3", Decision::reject("one is enough"))];
        let outcome = block_on(agent.resume(decisions)).unwrap();
        assert_eq!(outcome.text(), "All done.");
        let results = summary(&agent);
        assert!(results[3].contains(expected), "{results:?}");
        assert_eq!(results[4], "c3:one is enough");
        assert_eq!(*ran.lock().unwrap(), expected_runs);
        recorder.check_grammar().unwrap();
    }
}

#[test]
fn a_call_without_a_decision_keeps_waiting() {
    let stored = suspended();
    let provider = ScriptedProvider::new().turn(|t| t.text("All done."));
    let ran = Arc::default();
    let agent = agent(&provider, &ran);
    agent
        .replace_messages(serde_json::from_str(&stored).unwrap())
        .unwrap();

    let outcome = block_on(agent.resume([("c3", Decision::Approve)])).unwrap();
    assert!(matches!(&outcome.end, RunEnd::Suspended { calls } if calls[0].id == "c1"));
    assert!(provider.requests().is_empty());

    let outcome = block_on(agent.resume([("c1", Decision::Approve)])).unwrap();
    assert_eq!(outcome.text(), "All done.");
    assert_eq!(*ran.lock().unwrap(), ["prod", "prod"]);
}

#[test]
fn decisions_that_fit_no_call_are_refused() {
    let provider = ScriptedProvider::new().turn(|t| t.text("hi"));
    let ran = Arc::default();
    let agent = agent(&provider, &ran);
    let error = block_on(agent.resume([("c1", Decision::Approve)])).unwrap_err();
    assert_eq!(error, AgentError::NoOpenCalls);
    agent
        .replace_messages(serde_json::from_str(&suspended()).unwrap())
        .unwrap();
    let error = block_on(agent.resume([("c9", Decision::Approve)])).unwrap_err();
    assert_eq!(
        error,
        AgentError::UnknownCall {
            id: "c9".to_owned()
        }
    );
}

#[test]
fn a_prompt_after_a_suspension_leaves_the_calls_behind() {
    let provider = ScriptedProvider::new().turn(|t| t.text("Fine."));
    let ran = Arc::default();
    let agent = agent(&provider, &ran);
    agent
        .replace_messages(serde_json::from_str(&suspended()).unwrap())
        .unwrap();
    block_on(agent.prompt("Forget it")).unwrap();
    assert!(ran.lock().unwrap().is_empty());
    assert!(matches!(
        agent.messages().last(),
        Some(AgentMessage::Assistant(_))
    ));
}
