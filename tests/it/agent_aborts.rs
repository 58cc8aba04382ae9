//! Aborts, drops and races at every point of a run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{Agent, RunEnd};
use pi_core::{AgentMessage, AgentTool, Clock, ToolContext, ToolDefinition, ToolOutput};
use pi_testkit::{Gates, ManualClock, Recorder, ScriptedProvider, Stepper, block_on, model};
use serde_json::json;

use crate::agent::{builder, echo, record, summary};

/// A tool that ends when the run is aborted, or when its gate opens.
fn patient(gates: &Gates) -> AgentTool {
    let gates = gates.clone();
    let definition = ToolDefinition::new("wait", "Waits.", json!({ "type": "object" }));
    AgentTool::from_fn(definition, move |_, cx: ToolContext| {
        let gates = gates.clone();
        async move {
            let open = std::pin::pin!(gates.pass("open"));
            let aborted = std::pin::pin!(cx.aborted());
            match futures_util::future::select(open, aborted).await {
                futures_util::future::Either::Left(_) => Ok(ToolOutput::text("waited")),
                futures_util::future::Either::Right(_) => Err("stopped".into()),
            }
        }
    })
}

fn scripted() -> ScriptedProvider {
    ScriptedProvider::new()
        .turn(|t| {
            t.text_deltas(["Let ", "me ", "look."])
                .tool_call("c1", "echo", json!({ "text": "a" }))
                .tool_call("c2", "echo", json!({ "text": "b" }))
        })
        .turn(|t| t.text("Done."))
}

/// Every call of a reply that did not fail has exactly one result, in order.
fn assert_paired(messages: &[AgentMessage]) {
    for (place, message) in messages.iter().enumerate() {
        let AgentMessage::Assistant(reply) = message else {
            continue;
        };
        let calls: Vec<&str> = if reply.stop_reason.is_failure() {
            Vec::new()
        } else {
            reply.tool_calls().map(|call| call.id.as_str()).collect()
        };
        let results: Vec<&str> = messages[place + 1..]
            .iter()
            .map_while(|message| match message {
                AgentMessage::ToolResult(result) => Some(result.tool_call_id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(results, calls);
    }
}

#[test]
fn f40_an_abort_at_any_event_closes_what_was_opened() {
    let total = {
        let agent = builder(&scripted()).tool(echo()).build();
        let recorder = record(&agent);
        block_on(agent.prompt("Go")).unwrap();
        recorder.events().len()
    };
    for at in 0..total {
        let provider = scripted();
        let agent = builder(&provider).tool(echo()).build();
        let recorder = record(&agent);
        let aborting = agent.clone();
        let seen = AtomicUsize::new(0);
        agent
            .subscribe(move |_| {
                if seen.fetch_add(1, Ordering::Relaxed) == at {
                    aborting.abort();
                }
            })
            .detach();
        let outcome = block_on(agent.prompt("Go")).unwrap();
        // The last reply may be complete by then: there is nothing left to abort.
        let complete = summary(&agent)
            .last()
            .is_some_and(|last| last == "assistant(stop):Done.");
        assert!(
            matches!(outcome.end, RunEnd::Aborted) || complete,
            "event {at}: {outcome:?}"
        );
        recorder.check_grammar().unwrap();
        assert_paired(&agent.messages());
        assert!(!agent.is_streaming());
        assert_eq!(provider.active_streams(), 0);
    }
}

#[test]
fn f40_an_abort_before_the_first_poll_of_a_run_does_nothing() {
    let agent = builder(&ScriptedProvider::new().turn(|t| t.text("ok"))).build();
    let run = agent.prompt("Go");
    agent.abort();
    assert_eq!(block_on(run).unwrap().text(), "ok");
}

#[test]
fn f40_an_abort_while_a_hook_of_the_request_waits_drops_the_hook() {
    let provider = ScriptedProvider::new().turn(|t| t.text("never"));
    let agent = builder(&provider)
        .transform_context(|messages, _| async move {
            std::future::pending::<()>().await;
            messages
        })
        .build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    agent.abort();
    assert!(matches!(run.finish().unwrap().end, RunEnd::Aborted));
    assert!(provider.requests().is_empty());
    recorder.check_grammar().unwrap();
}

#[test]
fn f41_an_abort_answers_every_call_of_a_batch_in_order() {
    let gates = Gates::new();
    let provider = ScriptedProvider::new().turn(|mut t| {
        for number in 0..10 {
            t = t.tool_call(format!("c{number}"), "wait", json!({}));
        }
        t
    });
    // Five calls have begun; the hook of the sixth holds the rest back.
    let hook_gates = gates.clone();
    let agent = builder(&provider)
        .tool(patient(&gates))
        .tool_execution(pi_core::ToolExecutionMode::Sequential)
        .before_tool_call(move |call| {
            let gates = hook_gates.clone();
            async move {
                if call.call.id == "c5" {
                    gates.pass("never").await;
                }
                pi_agent::Verdict::Allow
            }
        })
        .abort_grace(Duration::ZERO)
        .build();
    let recorder = record(&agent);
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    gates.open("open");
    assert!(run.step().is_pending());
    agent.abort();
    run.finish().unwrap();
    let results = summary(&agent)[2..].to_vec();
    assert_eq!(results.len(), 10);
    for (number, result) in results.iter().enumerate() {
        let text = if number < 5 {
            "waited"
        } else {
            "Operation aborted"
        };
        assert_eq!(*result, format!("c{number}:{text}"));
    }
    recorder.check_grammar().unwrap();
}

#[test]
fn f46_a_prompt_during_a_run_is_refused_and_steering_works() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.gate("go").text("1"))
        .turn(|t| t.text("2"));
    let agent = builder(&provider).build();
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    assert!(block_on(agent.prompt("Again")).is_err());
    agent.steer(AgentMessage::user("Again", 0)).unwrap();
    provider.gates().open("go");
    run.finish().unwrap();
    assert_eq!(summary(&agent)[2..], ["user:Again", "assistant(stop):2"]);
}

#[test]
fn f47_a_dropped_run_stops_its_tools_and_its_stream() {
    struct Running(Arc<AtomicBool>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    let running = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&running);
    let definition = ToolDefinition::new("wait", "Waits.", json!({ "type": "object" }));
    let tool = AgentTool::from_fn(definition, move |_, cx: ToolContext| {
        flag.store(true, Ordering::SeqCst);
        let guard = Running(Arc::clone(&flag));
        async move {
            let _guard = guard;
            cx.aborted().await;
            std::future::pending().await
        }
    });
    let provider = ScriptedProvider::new().turn(|t| t.tool_call("c1", "wait", json!({})));
    let agent = builder(&provider).tool(tool).build();
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    assert!(running.load(Ordering::SeqCst));
    drop(run);
    assert!(!running.load(Ordering::SeqCst));
    assert!(!agent.is_streaming());
    assert!(agent.state().pending_tool_calls.is_empty());
}

#[test]
fn f48_a_run_may_be_dropped_where_no_runtime_is_left() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let provider = ScriptedProvider::new().turn(|t| t.text("Half").hang());
    let agent = builder(&provider).build();
    let handle = runtime.spawn(agent.prompt("Go"));
    runtime.block_on(async { tokio::task::yield_now().await });
    runtime.shutdown_background();
    drop(handle);
    assert!(!agent.is_streaming());
    assert_eq!(summary(&agent), ["user:Go", "assistant(aborted):Half"]);
}

#[test]
fn f49_a_wall_clock_that_jumps_changes_no_duration() {
    let clock = ManualClock::at(1_000_000);
    let jumping = clock.clone();
    let definition = ToolDefinition::new("jump", "Jumps.", json!({ "type": "object" }));
    let tool = AgentTool::from_fn(definition, move |_, _| {
        let clock = jumping.clone();
        async move {
            clock.sleep(Duration::from_millis(30)).await;
            clock.set_now(5);
            Ok(ToolOutput::text("back in time"))
        }
    });
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "jump", json!({})))
        .turn(|t| t.text("done"));
    let agent = Agent::builder(provider, model())
        .clock(clock.clone())
        .tool(tool)
        .build();
    let durations = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&durations);
    agent
        .subscribe(move |event| {
            if let pi_core::AgentEvent::ToolExecutionEnd { duration, .. } = event {
                log.lock().unwrap().push(*duration);
            }
        })
        .detach();
    clock.run(agent.prompt("Go")).unwrap();
    assert_eq!(
        *durations.lock().unwrap(),
        [Some(Duration::from_millis(30))]
    );
}

/// How often each race is run: `cargo xtask races` asks for many.
fn rounds() -> usize {
    std::env::var("PI_RACE_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(20)
}

/// Runs a script on one thread while `meddle` runs on another.
fn race(meddle: impl Fn(&Agent) + Send + Sync) {
    for _ in 0..rounds() {
        let agent = builder(&scripted()).tool(echo()).build();
        let recorder = Recorder::new();
        agent.subscribe(recorder.listener()).detach();
        std::thread::scope(|scope| {
            let run = agent.prompt("Go");
            let running = scope.spawn(move || block_on(run).unwrap());
            scope.spawn(|| meddle(&agent));
            running.join().unwrap();
        });
        recorder.check_grammar().unwrap();
        assert_paired(&agent.messages());
        assert!(!agent.is_streaming());
    }
}

#[test]
fn race_abort_against_a_run() {
    race(Agent::abort);
}

#[test]
fn race_steering_against_a_run_loses_no_message() {
    let sent = AtomicUsize::new(0);
    let kept = AtomicUsize::new(0);
    race(|agent| {
        agent.steer(AgentMessage::user("queued", 0)).unwrap();
        sent.fetch_add(1, Ordering::SeqCst);
        // Whoever asks after the run sees the message in the transcript or in the queue.
        block_on(agent.wait_for_idle());
        let delivered = summary(agent)
            .iter()
            .filter(|line| *line == "user:queued")
            .count();
        kept.fetch_add(delivered + agent.queued_steering().len(), Ordering::SeqCst);
    });
    assert_eq!(sent.load(Ordering::SeqCst), kept.load(Ordering::SeqCst));
}

#[test]
fn race_readers_against_a_run() {
    race(|agent| {
        while agent.is_streaming() {
            std::hint::black_box(agent.state());
        }
        block_on(agent.wait_for_idle());
    });
}

#[test]
fn race_two_prompts_only_one_runs_at_a_time() {
    for _ in 0..rounds() {
        let provider = ScriptedProvider::new()
            .turn(|t| t.text("1"))
            .turn(|t| t.text("2"));
        let agent = builder(&provider).build();
        let recorder = Recorder::new();
        agent.subscribe(recorder.listener()).detach();
        let ran = std::thread::scope(|scope| {
            let runs = [agent.prompt("a"), agent.prompt("b")];
            let threads = runs.map(|run| scope.spawn(move || block_on(run).is_ok()));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .filter(|ok| *ok)
                .count()
        });
        assert!(ran >= 1);
        assert_eq!(agent.messages().len(), 2 * ran);
        recorder.check_grammar().unwrap();
    }
}
