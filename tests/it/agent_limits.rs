//! Budgets, hooks around a turn, and the optional orders.

use std::sync::{Arc, Mutex};

use pi_agent::{
    AfterTurn, AgentError, Budget, BudgetExhausted, RequestOverride, RunEnd, SteeringPoint,
    ToolEndOrder,
};
use pi_core::{
    AgentEvent, AgentMessage, AgentTool, Message, Model, ThinkingLevel, ToolDefinition,
    ToolExecutionMode, ToolOutput, Usage,
};
use pi_testkit::{Gates, ScriptedProvider, Stepper, assert_transcript, block_on, grammar};
use serde_json::json;

use crate::agent::{builder, echo, record, summary};

fn calling(turns: usize) -> ScriptedProvider {
    let mut provider = ScriptedProvider::new();
    for turn in 0..turns {
        let id = format!("c{turn}");
        provider = provider.turn(|t| {
            t.tool_call(id, "echo", json!({ "text": "x" }))
                .usage(Usage::new(60, 40, 0, 0))
        });
    }
    provider.turn(|t| t.text("done"))
}

#[test]
fn a_budget_ends_the_run_before_the_next_request_and_can_be_raised() {
    let cases = [
        (
            Budget::new().with_max_turns(2),
            BudgetExhausted::Turns { limit: 2 },
        ),
        (
            Budget::new().with_max_tool_calls(2),
            BudgetExhausted::ToolCalls { limit: 2 },
        ),
        (
            Budget::new().with_max_tokens(150),
            BudgetExhausted::Tokens { limit: 150 },
        ),
    ];
    for (budget, expected) in cases {
        let provider = calling(3);
        let agent = builder(&provider).tool(echo()).budget(budget).build();
        let recorder = record(&agent);
        let outcome = block_on(agent.prompt("Go")).unwrap();
        assert!(matches!(outcome.end, RunEnd::BudgetExhausted(limit) if limit == expected));
        assert_eq!(provider.requests().len(), 2);
        assert_eq!(agent.spent().usage.total_tokens, 200);
        recorder.check_grammar().unwrap();

        let events = recorder.events().len();
        let error = block_on(agent.continue_run()).unwrap_err();
        assert_eq!(error, AgentError::BudgetExhausted(expected));
        assert_eq!(
            recorder.events().len(),
            events,
            "a refused run has no events"
        );

        agent.set_budget(Budget::new());
        let outcome = block_on(agent.continue_run()).unwrap();
        assert_eq!(outcome.text(), "done");
    }
}

#[test]
fn dollars_count_by_the_prices_of_the_model() {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            let mut usage = Usage::new(1, 1, 0, 0);
            usage.cost.total = 0.75;
            t.tool_call("c1", "echo", json!({ "text": "x" }))
                .usage(usage)
        })
        .turn(|t| t.text("never"));
    let agent = builder(&provider)
        .tool(echo())
        .budget(Budget::new().with_max_cost_usd(0.5))
        .build();
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert!(matches!(
        outcome.end,
        RunEnd::BudgetExhausted(BudgetExhausted::Cost { .. })
    ));
}

#[test]
fn what_was_queued_for_an_exhausted_budget_stays_queued() {
    let provider = calling(1);
    let agent = builder(&provider)
        .tool(echo())
        .budget(Budget::new().with_max_turns(1))
        .build();
    let mut run = Stepper::new(agent.prompt("Go"));
    agent.follow_up(AgentMessage::user("later", 0)).unwrap();
    assert!(run.step().is_ready());
    assert_eq!(agent.queued_follow_ups().len(), 1);
}

#[test]
fn the_prepare_hook_replaces_what_a_request_is_made_of() {
    let provider = calling(1);
    let agent = builder(&provider)
        .tool(echo())
        .system_prompt("old")
        .prepare_request(|request| async move {
            let first = request.spent.turns == 0;
            first.then(|| {
                RequestOverride::none()
                    .with_system_prompt("new")
                    .with_model(Model::new("other", "scripted", "scripted", ""))
                    .with_thinking_level(ThinkingLevel::High)
                    .with_messages(vec![AgentMessage::user("summary", 0)])
            })
        })
        .transform_context(|mut messages, _| async move {
            messages.push(AgentMessage::user("injected", 0));
            messages
        })
        .build();
    block_on(agent.prompt("Go")).unwrap();
    let requests = provider.requests();
    assert_eq!(requests[0].model.id, "other");
    assert_eq!(requests[0].context.system_prompt.as_deref(), Some("new"));
    assert_eq!(requests[0].options.reasoning, Some(ThinkingLevel::High));
    let texts: Vec<String> = requests[0]
        .context
        .messages
        .iter()
        .map(|message| match message {
            Message::User(message) => message.content.text().into_owned(),
            other => other.role().to_owned(),
        })
        .collect();
    assert_eq!(texts, ["summary", "injected"]);
    assert_eq!(requests[1].context.system_prompt.as_deref(), Some("old"));
    assert_eq!(
        requests[1].roles(),
        ["user", "assistant", "toolResult", "user"]
    );
    assert_eq!(
        summary(&agent).len(),
        4,
        "the transcript itself is untouched"
    );
}

#[test]
fn steering_that_came_during_a_long_preparation_goes_in_before_the_request() {
    let provider = ScriptedProvider::new().turn(|t| t.text("ok"));
    let gates = Gates::new();
    let hook_gates = gates.clone();
    let agent = builder(&provider)
        .prepare_request(move |request| {
            let gates = hook_gates.clone();
            async move {
                gates.pass("compacted").await;
                Some(RequestOverride::none().with_messages(request.messages.to_vec()))
            }
        })
        .build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    agent.steer(AgentMessage::user("Wait!", 0)).unwrap();
    gates.open("compacted");
    run.finish().unwrap();
    assert_eq!(
        summary(&agent),
        ["user:Go", "user:Wait!", "assistant(stop):ok"]
    );
    assert_eq!(provider.requests()[0].roles(), ["user", "user"]);
    recorder.check_grammar().unwrap();
}

#[test]
fn the_finish_hook_can_end_the_run() {
    let provider = calling(2);
    let agent = builder(&provider)
        .tool(echo())
        .finish_turn(|turn| async move {
            assert_eq!(turn.tool_results.len(), 1);
            AfterTurn::End
        })
        .build();
    let recorder = record(&agent);
    agent.follow_up(AgentMessage::user("later", 0)).unwrap();
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert!(matches!(outcome.end, RunEnd::Stopped));
    assert_eq!(
        agent.queued_follow_ups().len(),
        1,
        "what is queued stays queued"
    );
    assert_eq!(provider.requests().len(), 1);
    recorder.check_grammar().unwrap();
}

#[test]
fn a_finish_hook_that_fails_ends_the_run_in_a_turn_of_its_own() {
    let provider = calling(1);
    let agent = builder(&provider)
        .tool(echo())
        .finish_turn(|_| async { Err::<AfterTurn, _>("cannot save") })
        .build();
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert!(matches!(outcome.end, RunEnd::Failed(_)));
    assert_eq!(agent.state().error.as_deref(), Some("cannot save"));
    assert_eq!(summary(&agent).len(), 4);
    recorder.check_grammar().unwrap();
}

/// Two gated tools whose calls end in the order that the gates open.
fn gated_pair(gates: &Gates) -> Vec<AgentTool> {
    ["a", "b"]
        .map(|name| {
            let gates = gates.clone();
            let definition = ToolDefinition::new(name, "Waits.", json!({ "type": "object" }));
            AgentTool::from_fn(definition, move |_, _| {
                let gates = gates.clone();
                async move {
                    gates.pass(name).await;
                    Ok(ToolOutput::text(name))
                }
            })
        })
        .to_vec()
}

#[test]
fn end_events_in_completion_order_leave_the_results_in_source_order() {
    let gates = Gates::new();
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c1", "a", json!({}))
                .tool_call("c2", "b", json!({}))
        })
        .turn(|t| t.text("done"));
    let agent = builder(&provider)
        .tools(gated_pair(&gates))
        .tool_end_order(ToolEndOrder::Completion)
        .build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    gates.open("b");
    assert!(run.step().is_pending());
    gates.open("a");
    run.finish().unwrap();
    let events = recorder.events();
    grammar::Rules::new()
        .completion_order()
        .check(&events)
        .unwrap();
    let tools: Vec<AgentEvent> = events
        .into_iter()
        .filter(|e| e.type_name() == "tool_execution_end")
        .collect();
    assert_transcript!(tools, @r##"
        tool_end       c2 ok
        tool_end       c1 ok
    "##);
    assert_eq!(summary(&agent)[2..4], ["c1:a", "c2:b"]);
}

#[test]
fn steering_at_the_tool_boundary_skips_calls_that_have_not_started() {
    for mode in [ToolExecutionMode::Sequential, ToolExecutionMode::Parallel] {
        let provider = ScriptedProvider::new()
            .turn(|t| {
                t.tool_call("c1", "echo", json!({ "text": "a" })).tool_call(
                    "c2",
                    "echo",
                    json!({ "text": "b" }),
                )
            })
            .turn(|t| t.text("ok"));
        let agent = builder(&provider)
            .tool(echo())
            .tool_execution(mode.clone())
            .steering_point(SteeringPoint::ToolBoundary)
            .build();
        let steering = agent.clone();
        let once = Mutex::new(true);
        agent
            .subscribe(move |event| {
                let begun = matches!(event, AgentEvent::ToolExecutionStart { .. });
                if begun && std::mem::take(&mut *once.lock().unwrap()) {
                    steering.steer(AgentMessage::user("Stop that", 0)).unwrap();
                }
            })
            .detach();
        let recorder = record(&agent);
        block_on(agent.prompt("Go")).unwrap();
        let skipped = "Skipped due to queued user message.";
        let first = if mode == ToolExecutionMode::Sequential {
            "a"
        } else {
            skipped
        };
        assert_eq!(
            summary(&agent)[2..],
            [
                format!("c1:{first}"),
                format!("c2:{skipped}"),
                "user:Stop that".to_owned(),
                "assistant(stop):ok".to_owned()
            ]
        );
        recorder.check_grammar().unwrap();
    }
}

#[test]
fn f42_a_result_of_many_megabytes_is_cut_and_says_so() {
    let definition = ToolDefinition::new("big", "Talks.", json!({ "type": "object" }));
    let big = AgentTool::from_fn(definition, |_, _| async {
        Ok(ToolOutput::text("ä".repeat(9 * 1024 * 1024)))
    });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "big", json!({})))
        .turn(|t| t.text("done"));
    let agent = builder(&provider).tool(big).build();
    block_on(agent.prompt("Go")).unwrap();
    let AgentMessage::ToolResult(result) = &agent.messages()[2] else {
        panic!("no result")
    };
    let bytes: usize = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(str::len)
        .sum();
    assert!(bytes < 16 * 1024 * 1024 + 100);
    assert!(
        result.content[1]
            .as_text()
            .is_some_and(|text| text.contains("were cut"))
    );
}

#[test]
fn an_agent_waits_for_itself_only_from_outside() {
    let provider = ScriptedProvider::new().turn(|t| t.text("ok"));
    let agent = builder(&provider).build();
    let waiting = agent.clone();
    let refused = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&refused);
    agent
        .subscribe_async(move |event| {
            let (agent, log) = (waiting.clone(), Arc::clone(&log));
            async move {
                if event == AgentEvent::TurnStart {
                    agent.wait_for_idle().await;
                    let error = agent.prompt("me too").await.unwrap_err();
                    log.lock().unwrap().push(error);
                    agent.abort();
                }
            }
        })
        .detach();
    let mut run = Stepper::new(agent.prompt("Go"));
    let mut idle = Stepper::new({
        let agent = agent.clone();
        async move { agent.wait_for_idle().await }
    });
    assert!(run.step().is_ready(), "nothing here waits for the outside");
    assert!(idle.step().is_ready());
    assert_eq!(*refused.lock().unwrap(), [AgentError::Busy]);
    assert_eq!(summary(&agent)[1], "assistant(aborted):");
}
