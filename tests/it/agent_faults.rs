//! Code of the application that fails or panics: every opened event is closed.

use pi_agent::{ResultOverride, RunEnd, Verdict};
use pi_core::{
    AgentEvent, AgentTool, AssistantStream, HookError, Message, Provider, Request, ToolDefinition,
    ToolOutput,
};
use pi_testkit::{ManualClock, ScriptedProvider, assert_transcript, block_on, model};
use serde_json::json;

use crate::agent::{builder, echo, record, summary};

#[test]
fn f44_hooks_of_the_request_that_fail_end_the_run_through_its_normal_exit() {
    type Build = fn(pi_agent::AgentBuilder) -> pi_agent::AgentBuilder;
    let cases: [(&str, Build); 3] = [
        ("transform failed", |b| {
            b.transform_context(|_, _| async { Err::<Vec<_>, _>("transform failed") })
        }),
        ("convert failed", |b| {
            b.convert_to_llm(|_| async { Err::<Vec<Message>, _>("convert failed") })
        }),
        ("key failed", |b| {
            b.api_key(|_| async { Err(HookError::new("key failed")) })
        }),
    ];
    for (text, build) in cases {
        let provider = ScriptedProvider::new().turn(|t| t.text("never"));
        let agent = build(builder(&provider)).build();
        let recorder = record(&agent);
        let outcome = block_on(agent.prompt("Go")).unwrap();
        assert!(matches!(outcome.end, RunEnd::Failed(_)), "{text}");
        assert_eq!(agent.state().error.as_deref(), Some(text));
        assert!(provider.requests().is_empty());
        let expected = format!(
            r#"
            agent_start
            turn_start
            message        user "Go"
            message_start  assistant
            message_end    assistant error hook "{text}" text ""
            turn_end       results=0
            agent_end      messages=2
            "#
        );
        assert_transcript!(recorder, &expected);
        recorder.check_grammar().unwrap();
    }
}

#[test]
fn f42_a_tool_that_panics_is_an_error_result() {
    let definition = |name: &str| ToolDefinition::new(name, "Panics.", json!({ "type": "object" }));
    let late = AgentTool::from_fn(definition("late"), |_, _| async {
        panic!("secret of the tool")
    });
    let early = AgentTool::from_fn(definition("early"), |arguments, _| {
        assert!(arguments.len() > 7, "secret of the tool");
        async { Ok(ToolOutput::text("never")) }
    });
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c1", "late", json!({}))
                .tool_call("c2", "early", json!({}))
        })
        .turn(|t| t.text("done"));
    let agent = builder(&provider).tool(late).tool(early).build();
    let recorder = record(&agent);
    block_on(agent.prompt("Go")).unwrap();
    assert_eq!(
        summary(&agent)[2..],
        [
            "c1:Tool `late` failed unexpectedly.",
            "c2:Tool `early` failed unexpectedly.",
            "assistant(stop):done"
        ]
    );
    recorder.check_grammar().unwrap();
}

#[test]
fn f44_tool_hooks_that_panic_are_the_result_of_their_call() {
    for before in [true, false] {
        let provider = ScriptedProvider::new()
            .turn(|t| t.tool_call("c1", "echo", json!({ "text": "x" })))
            .turn(|t| t.text("done"));
        let mut building = builder(&provider).tool(echo());
        building = if before {
            building.before_tool_call(|call| async move {
                assert!(call.arguments.is_empty(), "broken hook");
                Verdict::Allow
            })
        } else {
            building.after_tool_call(|call| async move {
                assert!(call.is_error, "broken hook");
                ResultOverride::none()
            })
        };
        let agent = building.build();
        let recorder = record(&agent);
        block_on(agent.prompt("Go")).unwrap();
        assert!(
            summary(&agent)[2].ends_with("failed unexpectedly"),
            "{:?}",
            summary(&agent)
        );
        assert_eq!(summary(&agent)[3], "assistant(stop):done");
        recorder.check_grammar().unwrap();
    }
}

#[test]
fn f45_a_subscriber_that_panics_changes_nothing() {
    let provider = ScriptedProvider::new().turn(|t| t.text("ok"));
    let agent = builder(&provider).build();
    agent
        .subscribe(|event| assert!(*event != AgentEvent::TurnStart, "broken subscriber"))
        .detach();
    agent
        .subscribe_async(|event| async move {
            assert!(event.text_delta().is_none(), "broken subscriber");
        })
        .detach();
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert_eq!(outcome.text(), "ok");
    recorder.check_grammar().unwrap();
}

#[test]
fn a_provider_that_panics_ends_the_run_with_what_was_streamed() {
    let provider =
        ScriptedProvider::new().turn(|t| t.text("Half").panics("secret of the provider"));
    let agent = builder(&provider).build();
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert!(matches!(outcome.end, RunEnd::Failed(_)));
    assert_eq!(summary(&agent)[1], "assistant(error):Half");
    assert_eq!(
        agent.state().error.as_deref(),
        Some("the provider failed unexpectedly")
    );
    recorder.check_grammar().unwrap();
}

#[test]
fn a_provider_that_panics_at_once_ends_the_run() {
    struct Broken;
    impl Provider for Broken {
        fn stream(&self, request: Request) -> AssistantStream {
            panic!("no {}", request.model.id)
        }
    }
    let agent = pi_agent::Agent::builder(Broken, model())
        .clock(ManualClock::new())
        .build();
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Go")).unwrap();
    assert!(matches!(outcome.end, RunEnd::Failed(_)));
    recorder.check_grammar().unwrap();
}

#[test]
fn a_stream_without_its_end_is_a_retryable_failure_and_runs_no_tool() {
    let provider = ScriptedProvider::new().turn(|t| {
        t.tool_call("c1", "echo", json!({ "text": "x" }))
            .end_without_terminal()
    });
    let agent = builder(&provider).tool(echo()).build();
    let recorder = record(&agent);
    let outcome = block_on(agent.prompt("Go")).unwrap();
    let RunEnd::Failed(error) = outcome.end else {
        panic!("the run did not fail")
    };
    assert!(error.is_retryable());
    assert_eq!(agent.messages().len(), 2);
    recorder.check_grammar().unwrap();
}
