//! Calls of tools: order, modes, hooks, refusals, progress and abort.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{ResultOverride, RunEnd, Verdict};
use pi_core::{
    AgentEvent, AgentMessage, AgentTool, Clock, DynTool, PreparedCall, Replay, StopReason,
    ToolContext, ToolDefinition, ToolError, ToolExecutionMode, ToolOutput, UserContent,
};
use pi_testkit::{
    Gates, ManualClock, ScriptedProvider, Stepper, assert_transcript, block_on, model,
};
use serde_json::json;

use crate::agent::{builder, echo, record, summary};

/// A tool without arguments that waits for the gate of its name.
fn gated(name: &'static str, gates: &Gates) -> AgentTool {
    let gates = gates.clone();
    let definition = ToolDefinition::new(name, "Waits.", json!({ "type": "object" }));
    AgentTool::from_fn(definition, move |_, _| {
        let gates = gates.clone();
        async move {
            gates.pass(name).await;
            Ok(ToolOutput::text(name))
        }
    })
}

fn failing(name: &'static str) -> AgentTool {
    let definition = ToolDefinition::new(name, "Fails.", json!({ "type": "object" }));
    AgentTool::from_fn(definition, |_, _| async { Err("boom".into()) })
}

#[test]
fn parallel_results_leave_in_source_order_as_soon_as_they_can() {
    let gates = Gates::new();
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c0", "nowhere", json!({}))
                .tool_call("c1", "slow", json!({}))
                .tool_call("c2", "nowhere", json!({}))
                .tool_call("c3", "fast", json!({}))
        })
        .turn(|t| t.text("done"));
    let agent = builder(&provider)
        .tool(gated("slow", &gates))
        .tool(gated("fast", &gates))
        .build();
    let recorder = record(&agent);

    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    gates.open("fast");
    assert!(run.step().is_pending());
    let ended = recorder
        .events()
        .iter()
        .filter(|e| e.type_name() == "tool_execution_end")
        .count();
    assert_eq!(
        ended, 1,
        "the refused call at the head has its result, the others wait"
    );
    gates.open("slow");
    run.finish().unwrap();

    assert_transcript!(recorder, @r##"
        agent_start
        turn_start
        message        user "Go"
        message_start  assistant
        message_update #0 toolcall c0 nowhere {}
        message_update #1 toolcall c1 slow {}
        message_update #2 toolcall c2 nowhere {}
        message_update #3 toolcall c3 fast {}
        message_end    assistant tool_use
        tool_start     c0 nowhere
        tool_end       c0 error
        message        tool_result c0 error "Tool nowhere not found"
        tool_start     c1 slow
        tool_start     c2 nowhere
        tool_start     c3 fast
        tool_end       c1 ok
        message        tool_result c1 "slow"
        tool_end       c2 error
        message        tool_result c2 error "Tool nowhere not found"
        tool_end       c3 ok
        message        tool_result c3 "fast"
        turn_end       results=4
        turn_start
        message_start  assistant
        message_update #0 text +"done"
        message_end    assistant stop
        turn_end       results=0
        agent_end      messages=7
    "##);
    recorder.check_grammar().unwrap();
}

/// A tool that says how many calls run at once.
struct Counting {
    mode: Option<ToolExecutionMode>,
    running: Arc<Mutex<(usize, usize)>>,
    clock: ManualClock,
}

impl DynTool for Counting {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("count", "Counts.", json!({ "type": "object" }))
    }

    fn execution_mode(&self) -> Option<ToolExecutionMode> {
        self.mode.clone()
    }

    fn run(
        &self,
        _call: PreparedCall,
        _cx: ToolContext,
    ) -> pi_core::BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            {
                let mut running = self.running.lock().unwrap();
                running.0 += 1;
                running.1 = running.1.max(running.0);
            }
            self.clock.sleep(Duration::from_millis(10)).await;
            self.running.lock().unwrap().0 -= 1;
            Ok(ToolOutput::text("ok"))
        })
    }
}

#[test]
fn one_sequential_tool_makes_its_batch_sequential() {
    for (mode, agent_mode, expected) in [
        (None, ToolExecutionMode::Parallel, 3),
        (None, ToolExecutionMode::Sequential, 1),
        (
            Some(ToolExecutionMode::Sequential),
            ToolExecutionMode::Parallel,
            1,
        ),
    ] {
        let clock = ManualClock::new();
        let running = Arc::new(Mutex::new((0, 0)));
        let tool = Counting {
            mode,
            running: Arc::clone(&running),
            clock: clock.clone(),
        };
        let provider = ScriptedProvider::new()
            .turn(|t| {
                t.tool_call("a", "count", json!({}))
                    .tool_call("b", "count", json!({}))
                    .tool_call("c", "count", json!({}))
            })
            .turn(|t| t.text("done"));
        let agent = pi_agent::Agent::builder(provider, model())
            .clock(clock.clone())
            .tool(AgentTool::new(tool))
            .tool_execution(agent_mode)
            .build();
        let recorder = record(&agent);
        clock.run(agent.prompt("Go")).unwrap();
        assert_eq!(running.lock().unwrap().1, expected);
        recorder.check_grammar().unwrap();
    }
}

#[test]
fn a_tool_sees_coerced_arguments_and_history_the_raw_ones() {
    let seen = Arc::new(Mutex::new(None));
    let log = Arc::clone(&seen);
    let parameters = json!({
        "type": "object",
        "properties": { "count": { "type": "integer" } },
        "required": ["count"]
    });
    let tool = AgentTool::from_fn(ToolDefinition::new("n", "Takes a number.", parameters), {
        move |arguments, _| {
            *log.lock().unwrap() = Some(arguments);
            async { Ok(ToolOutput::text("ok")) }
        }
    });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "n", json!({ "count": "5" })))
        .turn(|t| t.text("done"));
    let agent = builder(&provider).tool(tool).build();
    block_on(agent.prompt("Go")).unwrap();
    assert_eq!(
        seen.lock().unwrap().clone().map(serde_json::Value::Object),
        Some(json!({ "count": 5 }))
    );
    let reply = agent.messages()[1].as_assistant().cloned().unwrap();
    assert_eq!(
        reply.tool_calls().next().unwrap().arguments["count"],
        json!("5")
    );
}

#[test]
fn calls_that_must_not_run_get_an_error_result_and_the_run_goes_on() {
    let cases = [
        (
            "unknown tool",
            json!({}),
            "nowhere",
            StopReason::ToolUse,
            "Tool nowhere not found",
        ),
        (
            "invalid arguments",
            json!({ "text": [1] }),
            "echo",
            StopReason::ToolUse,
            "must be string",
        ),
        (
            "output limit",
            json!({ "text": "x" }),
            "echo",
            StopReason::Length,
            "output token limit",
        ),
    ];
    for (what, arguments, tool, reason, expected) in cases {
        let provider = ScriptedProvider::new()
            .turn(|t| t.tool_call("c1", tool, arguments).stop_reason(reason))
            .turn(|t| t.text("sorry"));
        let agent = builder(&provider).tool(echo()).build();
        let recorder = record(&agent);
        let outcome = block_on(agent.prompt("Go")).unwrap();
        assert!(matches!(outcome.end, RunEnd::Completed), "{what}");
        let text = summary(&agent)[2].clone();
        assert!(text.contains(expected), "{what}: {text}");
        recorder.check_grammar().unwrap();
    }
}

#[test]
fn cut_arguments_are_kept_and_never_run() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call_deltas("c1", "echo", ["{\"text\":\"ab"]))
        .turn(|t| t.text("sorry"));
    let agent = builder(&provider).tool(echo()).build();
    block_on(agent.prompt("Go")).unwrap();
    let reply = agent.messages()[1].as_assistant().cloned().unwrap();
    let call = reply.tool_calls().next().unwrap();
    assert_eq!(call.arguments["text"], json!("ab"));
    assert!(call.arguments_error.is_some());
    assert!(summary(&agent)[2].contains("Invalid arguments"));
}

#[test]
fn hooks_block_edit_and_override() {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("block", "echo", json!({ "text": "a" }))
                .tool_call("edit", "echo", json!({ "text": "a" }))
                .tool_call("bad-edit", "echo", json!({ "text": "a" }))
                .tool_call("fail", "echo", json!({ "text": "a" }))
        })
        .turn(|t| t.text("done"));
    let agent = builder(&provider)
        .tool(echo())
        .before_tool_call(|call| async move {
            let mut arguments = call.arguments.clone();
            match call.call.id.as_str() {
                "block" => Ok(Verdict::block("not today")),
                "edit" => {
                    arguments.insert("text".into(), json!("edited"));
                    Ok(Verdict::Edit { arguments })
                }
                "bad-edit" => {
                    arguments.insert("text".into(), json!({}));
                    Ok(Verdict::Edit { arguments })
                }
                _ => Err("hook broke"),
            }
        })
        .after_tool_call(|call| async move {
            assert!(!call.is_error);
            ResultOverride::none()
                .with_content(vec![UserContent::text("seen")])
                .with_details(call.arguments.into())
        })
        .build();
    let recorder = record(&agent);
    block_on(agent.prompt("Go")).unwrap();
    let results = &summary(&agent)[2..6];
    assert_eq!(results[0], "block:not today");
    assert_eq!(results[1], "edit:seen");
    assert!(results[2].contains("must be string"), "{}", results[2]);
    assert_eq!(results[3], "fail:hook broke");
    let AgentMessage::ToolResult(edited) = &agent.messages()[3] else {
        panic!("no result")
    };
    assert_eq!(edited.details, Some(json!({ "text": "edited" })));
    recorder.check_grammar().unwrap();
}

#[test]
fn an_after_hook_that_fails_becomes_the_result_of_its_call() {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c1", "echo", json!({ "text": "a" })).tool_call(
                "c2",
                "echo",
                json!({ "text": "b" }),
            )
        })
        .turn(|t| t.text("done"));
    let agent = builder(&provider)
        .tool(echo())
        .after_tool_call(|call| async move {
            if call.call.id == "c1" {
                Err("no audit, no result")
            } else {
                Ok(ResultOverride::none())
            }
        })
        .build();
    let recorder = record(&agent);
    block_on(agent.prompt("Go")).unwrap();
    assert_eq!(summary(&agent)[2..4], ["c1:no audit, no result", "c2:b"]);
    recorder.check_grammar().unwrap();
}

#[test]
fn other_calls_go_on_while_an_after_hook_waits() {
    let gates = Gates::new();
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c1", "echo", json!({ "text": "a" }))
                .tool_call("c2", "talk", json!({}))
        })
        .turn(|t| t.text("done"));
    let definition = ToolDefinition::new("talk", "Reports.", json!({ "type": "object" }));
    let tool_gates = gates.clone();
    let talk = AgentTool::from_fn(definition, move |_, cx: ToolContext| {
        let gates = tool_gates.clone();
        async move {
            gates.pass("talk").await;
            cx.update(ToolOutput::<()>::text("half way"));
            Ok(ToolOutput::text("said"))
        }
    });
    let hook_gates = gates.clone();
    let agent = builder(&provider)
        .tool(echo())
        .tool(talk)
        .after_tool_call(move |call| {
            let gates = hook_gates.clone();
            async move {
                if call.call.id == "c1" {
                    gates.pass("hook").await;
                }
                ResultOverride::none()
            }
        })
        .build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    gates.open("talk");
    assert!(run.step().is_pending());
    assert!(
        recorder
            .events()
            .iter()
            .any(|e| e.type_name() == "tool_execution_update")
    );
    gates.open("hook");
    run.finish().unwrap();
    assert_eq!(summary(&agent)[2..4], ["c1:a", "c2:said"]);
    recorder.check_grammar().unwrap();
}

#[test]
fn f43_progress_comes_before_the_result_and_never_after_it() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let definition = ToolDefinition::new("talk", "Reports.", json!({ "type": "object" }));
    let talk = AgentTool::from_fn(definition, move |_, cx: ToolContext| {
        cx.update(ToolOutput::<()>::text("1"));
        cx.update(ToolOutput::<()>::text("2"));
        *keep.lock().unwrap() = Some(cx);
        async { Ok(ToolOutput::text("3")) }
    });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "talk", json!({})))
        .turn(|t| t.gate("late").text("done"));
    let agent = builder(&provider).tool(talk).build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    kept.lock()
        .unwrap()
        .take()
        .unwrap()
        .update(ToolOutput::<()>::text("too late"));
    provider.gates().open("late");
    run.finish().unwrap();
    let texts: Vec<String> = recorder
        .events()
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolExecutionUpdate {
                partial_result: output,
                ..
            }
            | AgentEvent::ToolExecutionEnd { result: output, .. } => {
                Some(pi_core::joined_text(&output.content).into_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["1", "2", "3"]);
}

#[test]
fn a_full_progress_queue_keeps_the_first_and_the_newest() {
    let definition = ToolDefinition::new("talk", "Reports.", json!({ "type": "object" }));
    let talk = AgentTool::from_fn(definition, |_, cx: ToolContext| async move {
        for number in 0..1000 {
            cx.update(ToolOutput::<()>::text(number.to_string()));
        }
        Ok(ToolOutput::text("end"))
    });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "talk", json!({})))
        .turn(|t| t.text("done"));
    let agent = builder(&provider).tool(talk).build();
    let recorder = record(&agent);
    block_on(agent.prompt("Go")).unwrap();
    let updates: Vec<String> = recorder
        .events()
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolExecutionUpdate { partial_result, .. } => {
                Some(pi_core::joined_text(&partial_result.content).into_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(updates.len(), 64);
    assert_eq!(updates.first().map(String::as_str), Some("0"));
    assert_eq!(updates.last().map(String::as_str), Some("999"));
}

#[test]
fn a_run_ends_after_a_batch_only_if_every_result_says_so() {
    for (second, turns) in [(true, 1), (false, 2)] {
        let definition = ToolDefinition::new(
            "stop",
            "Stops.",
            json!({ "type": "object", "properties": { "end": { "type": "boolean" } } }),
        );
        let stop = AgentTool::from_fn(definition, |arguments, _| async move {
            let end = arguments.get("end") == Some(&json!(true));
            Ok(ToolOutput::text("ok").with_terminate(end))
        });
        let provider = ScriptedProvider::new()
            .turn(|t| {
                t.tool_call("c1", "stop", json!({ "end": true })).tool_call(
                    "c2",
                    "stop",
                    json!({ "end": second }),
                )
            })
            .turn(|t| t.text("more"));
        let agent = builder(&provider).tool(stop).build();
        block_on(agent.prompt("Go")).unwrap();
        assert_eq!(provider.requests().len(), turns);
    }
}

#[test]
fn abort_in_a_before_hook_runs_nothing_and_answers_every_call() {
    let provider = ScriptedProvider::new().turn(|t| {
        t.tool_call("c1", "echo", json!({ "text": "a" })).tool_call(
            "c2",
            "echo",
            json!({ "text": "b" }),
        )
    });
    let slot: Arc<Mutex<Option<pi_agent::Agent>>> = Arc::default();
    let aborting = Arc::clone(&slot);
    let agent = builder(&provider)
        .tool(echo())
        .before_tool_call(move |_| {
            if let Some(agent) = aborting.lock().unwrap().as_ref() {
                agent.abort();
            }
            async { Verdict::Allow }
        })
        .build();
    *slot.lock().unwrap() = Some(agent.clone());
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert!(matches!(outcome.end, RunEnd::Aborted));
    assert_eq!(
        summary(&agent)[2..],
        ["c1:Operation aborted", "c2:Operation aborted"]
    );
    assert_eq!(agent.state().error, None);
    recorder.check_grammar().unwrap();
}

#[test]
fn f42_a_tool_that_never_returns_is_dropped_after_the_grace() {
    let gates = Gates::new();
    let clock = ManualClock::new();
    let provider = ScriptedProvider::new().turn(|t| {
        t.tool_call("c1", "deaf", json!({}))
            .tool_call("c2", "echo", json!({ "text": "b" }))
    });
    let agent = pi_agent::Agent::builder(provider, model())
        .clock(clock.clone())
        .abort_grace(Duration::from_secs(2))
        .tool(gated("deaf", &gates))
        .tool(echo())
        .build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    agent.abort();
    assert!(run.step().is_pending());
    clock.advance(Duration::from_millis(1999));
    assert!(run.step().is_pending());
    clock.advance(Duration::from_millis(1));
    run.finish().unwrap();
    // The second call had ended by itself before; its result stands.
    assert_eq!(summary(&agent)[2..], ["c1:Operation aborted", "c2:b"]);
    recorder.check_grammar().unwrap();
}

#[test]
fn open_calls_of_a_stored_reply_are_run_only_if_replay_is_safe() {
    struct Safe;
    impl DynTool for Safe {
        fn definition(&self) -> ToolDefinition {
            ToolDefinition::new("safe", "Reads.", json!({ "type": "object" }))
        }
        fn replay(&self) -> Replay {
            Replay::Safe
        }
        fn run(
            &self,
            _call: PreparedCall,
            _cx: ToolContext,
        ) -> pi_core::BoxFuture<'_, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::text("read")) })
        }
    }
    let script = ScriptedProvider::new().turn(|t| {
        t.tool_call("c1", "safe", json!({}))
            .tool_call("c2", "echo", json!({ "text": "x" }))
    });
    let gates = Gates::new();
    let first = builder(&script)
        .tool(AgentTool::new(Safe))
        .tool(echo())
        .before_tool_call(move |_| {
            let gates = gates.clone();
            async move {
                gates.pass("never").await;
                Verdict::Allow
            }
        })
        .build();
    let mut run = Stepper::new(first.prompt("Go"));
    assert!(run.step().is_pending());
    drop(run);
    let stored = serde_json::to_string(&*first.messages()).unwrap();

    let provider = ScriptedProvider::new().turn(|t| t.text("done"));
    let agent = builder(&provider)
        .tool(AgentTool::new(Safe))
        .tool(echo())
        .messages(serde_json::from_str(&stored).unwrap())
        .build();
    let recorder = record(&agent);
    block_on(agent.continue_run()).unwrap();
    let results = summary(&agent);
    assert_eq!(results[2], "c1:read");
    assert!(
        results[3].starts_with("c2:The outcome of this call is unknown"),
        "{}",
        results[3]
    );
    assert_eq!(results[4], "assistant(stop):done");
    recorder.check_grammar().unwrap();
}

#[test]
fn a_failing_tool_is_an_error_result() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "bad", json!({})))
        .turn(|t| t.text("done"));
    let agent = builder(&provider).tool(failing("bad")).build();
    block_on(agent.prompt("Go")).unwrap();
    let AgentMessage::ToolResult(result) = &agent.messages()[2] else {
        panic!("no result")
    };
    assert!(result.is_error);
    assert_eq!(pi_core::joined_text(&result.content), "boom");
}
