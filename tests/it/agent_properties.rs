//! Random scripts of replies, tools, steering and aborts: what holds for every run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pi_agent::{Agent, AgentBuilder, QueueMode, SteeringPoint, ToolEndOrder};
use pi_core::{
    AgentMessage, AgentTool, AssistantMessage, Clock, ErrorKind, StopReason, ToolContext,
    ToolDefinition, ToolExecutionMode, ToolOutput,
};
use pi_testkit::{ManualClock, Recorder, ScriptedProvider, grammar, model};
use proptest::prelude::*;
use serde_json::json;

/// What one reply of the script does.
#[derive(Debug, Clone)]
enum Reply {
    Text,
    Calls(Vec<&'static str>),
    CutCalls(Vec<&'static str>),
    Fails,
    FailsAfterText,
    NeverEnds,
    EndsWithoutTerminal,
    Panics,
}

/// What somebody does when the n-th event is delivered.
#[derive(Debug, Clone, Copy)]
enum Act {
    Abort,
    Steer,
    FollowUp,
}

#[derive(Debug, Clone)]
struct Script {
    replies: Vec<Reply>,
    acts: Vec<(usize, Act)>,
    sequential: bool,
    completion_order: bool,
    tool_boundary: bool,
    all_at_once: bool,
}

const TOOLS: [&str; 6] = ["quick", "slow", "fails", "panics", "deaf", "unknown"];

fn calls() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&TOOLS[..]), 1..5)
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        2 => Just(Reply::Text),
        6 => calls().prop_map(Reply::Calls),
        1 => calls().prop_map(Reply::CutCalls),
        1 => Just(Reply::Fails),
        1 => Just(Reply::FailsAfterText),
        1 => Just(Reply::NeverEnds),
        1 => Just(Reply::EndsWithoutTerminal),
        1 => Just(Reply::Panics),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let act = prop_oneof![
        Just(Act::Abort),
        Just(Act::Steer),
        Just(Act::Steer),
        Just(Act::FollowUp)
    ];
    (
        prop::collection::vec(reply(), 1..6),
        prop::collection::vec((0..60_usize, act), 0..5),
        any::<[bool; 4]>(),
    )
        .prop_map(
            |(replies, acts, [sequential, completion_order, tool_boundary, all_at_once])| Script {
                replies,
                acts,
                sequential,
                completion_order,
                tool_boundary,
                all_at_once,
            },
        )
}

fn provider(script: &Script, clock: &ManualClock) -> ScriptedProvider {
    let mut provider = ScriptedProvider::new().with_clock(clock.clone());
    for (turn, reply) in script.replies.iter().enumerate() {
        provider = provider.turn(|mut t| {
            match reply {
                Reply::Text => return t.text("Some words."),
                Reply::Fails => return t.error(ErrorKind::Overloaded, "busy"),
                Reply::FailsAfterText => return t.text("Half").error(ErrorKind::Server, "broke"),
                Reply::NeverEnds => return t.text("Half").hang(),
                Reply::EndsWithoutTerminal => return t.text("Half").end_without_terminal(),
                Reply::Panics => return t.text("Half").panics("broken provider"),
                Reply::Calls(_) | Reply::CutCalls(_) => {}
            }
            let (Reply::Calls(calls) | Reply::CutCalls(calls)) = reply else {
                return t;
            };
            for (number, tool) in calls.iter().enumerate() {
                t = t.tool_call(format!("t{turn}c{number}"), *tool, json!({}));
            }
            if matches!(reply, Reply::CutCalls(_)) {
                t.stop_reason(StopReason::Length)
            } else {
                t
            }
        });
    }
    provider.otherwise(|_, t| t.text("The end."))
}

fn tool(name: &'static str, clock: &ManualClock) -> AgentTool {
    let clock = clock.clone();
    let definition = ToolDefinition::new(name, "Does things.", json!({ "type": "object" }));
    AgentTool::from_fn(definition, move |_, cx: ToolContext| {
        let clock = clock.clone();
        async move {
            match name {
                "quick" => Ok(ToolOutput::text("done")),
                "slow" => {
                    for _ in 0..3 {
                        clock.sleep(Duration::from_millis(10)).await;
                        cx.update(ToolOutput::<()>::text("still at it"));
                    }
                    Ok(ToolOutput::text("done"))
                }
                "fails" => Err("it failed".into()),
                "panics" => panic!("broken tool"),
                _ => {
                    clock.sleep(Duration::from_secs(3600)).await;
                    Ok(ToolOutput::text("much later"))
                }
            }
        }
    })
}

fn configured(builder: AgentBuilder, script: &Script) -> AgentBuilder {
    let mode = if script.all_at_once {
        QueueMode::All
    } else {
        QueueMode::OneAtATime
    };
    let mut builder = builder.steering_mode(mode).follow_up_mode(mode);
    if script.sequential {
        builder = builder.tool_execution(ToolExecutionMode::Sequential);
    }
    if script.completion_order {
        builder = builder.tool_end_order(ToolEndOrder::Completion);
    }
    if script.tool_boundary {
        builder = builder.steering_point(SteeringPoint::ToolBoundary);
    }
    builder
}

/// Plays a script and returns the agent, what was recorded, and how many messages were queued.
fn play(script: &Script) -> (Agent, Recorder, usize) {
    let clock = ManualClock::new();
    let builder = Agent::builder(provider(script, &clock), model()).clock(clock.clone());
    let tools = TOOLS[..5].iter().map(|name| tool(name, &clock));
    let agent = configured(builder, script).tools(tools).build();
    let recorder = Recorder::new();
    agent.subscribe(recorder.listener()).detach();

    let acting = agent.clone();
    let acts = script.acts.clone();
    let (seen, queued) = (
        AtomicUsize::new(0),
        std::sync::Arc::new(AtomicUsize::new(0)),
    );
    let count = std::sync::Arc::clone(&queued);
    agent
        .subscribe(move |_| {
            let number = seen.fetch_add(1, Ordering::Relaxed);
            for (_, act) in acts.iter().filter(|(at, _)| *at == number) {
                match act {
                    Act::Abort => acting.abort(),
                    Act::Steer => {
                        acting.steer(AgentMessage::user("queued", 0)).unwrap();
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Act::FollowUp => {
                        acting.follow_up(AgentMessage::user("queued", 0)).unwrap();
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        })
        .detach();

    // Somebody loses patience with replies and tools that never end.
    let impatient = agent.clone();
    let timer = clock.clone();
    let run = async {
        let patience = async move {
            timer.sleep(Duration::from_secs(60)).await;
            impatient.abort();
            std::future::pending::<()>().await;
        };
        let run = std::pin::pin!(agent.prompt("Go"));
        let patience = std::pin::pin!(patience);
        match futures_util::future::select(run, patience).await {
            futures_util::future::Either::Left((outcome, _)) => outcome,
            futures_util::future::Either::Right(_) => unreachable!("patience never ends"),
        }
    };
    clock.run(run).unwrap();
    let queued = queued.load(Ordering::Relaxed);
    (agent, recorder, queued)
}

fn results_of(messages: &[AgentMessage], reply: usize) -> Vec<String> {
    messages[reply + 1..]
        .iter()
        .map_while(|message| match message {
            AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
            _ => None,
        })
        .collect()
}

fn ids(reply: &AssistantMessage) -> Vec<String> {
    reply.tool_calls().map(|call| call.id.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_run_keeps_the_grammar_and_loses_nothing(script in script()) {
        let (agent, recorder, queued) = play(&script);

        let mut rules = grammar::Rules::new();
        if script.completion_order {
            rules = rules.completion_order();
        }
        let checked = rules.check(&recorder.events());
        prop_assert!(checked.is_ok(), "{:?}\n{}", checked, recorder.transcript());

        let state = agent.state();
        prop_assert!(!state.is_streaming && state.pending_tool_calls.is_empty());
        prop_assert!(state.stream_message.is_none());

        let messages = agent.messages();
        for (place, message) in messages.iter().enumerate() {
            if let AgentMessage::Assistant(reply) = message {
                let expected =
                    if reply.stop_reason.is_failure() { Vec::new() } else { ids(reply) };
                prop_assert_eq!(results_of(&messages, place), expected);
            }
        }
        let is_queued = |message: &&AgentMessage| matches!(message, AgentMessage::User(message)
            if message.content.text() == "queued");
        let delivered = messages.iter().filter(is_queued).count();
        let waiting = agent.queued_steering().len() + agent.queued_follow_ups().len();
        prop_assert_eq!(delivered + waiting, queued);
    }
}
