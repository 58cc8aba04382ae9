//! What a turn costs beside the model: the provider answers at once.
//!
//! `cargo bench -p pi-agent --bench turn`

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::stream;
use pi_agent::Agent;
use pi_core::{
    AgentMessage, AgentTool, AssistantEvent, AssistantMessage, AssistantStream, Message, Provider,
    Request, StopReason, ToolDefinition, ToolExecutionMode, ToolOutput, Usage,
};
use pi_testkit::{block_on, model};
use serde_json::json;

/// A provider that answers a user with calls, and results with a word.
#[derive(Clone)]
struct Instant {
    /// The calls of the first reply.
    calls: usize,
    /// The turns that call a tool before the last one.
    turns: usize,
    /// The text deltas of the last reply.
    deltas: usize,
}

impl Provider for Instant {
    fn stream(&self, request: Request) -> AssistantStream {
        let results = request
            .context
            .messages
            .iter()
            .rev()
            .take_while(|message| !matches!(message, Message::User(_)))
            .filter(|message| matches!(message, Message::Assistant(_)))
            .count();
        let mut events = vec![AssistantEvent::Start];
        let calls = if results < self.turns { self.calls } else { 0 };
        for content_index in 0..calls {
            events.extend([
                AssistantEvent::ToolCallStart {
                    content_index,
                    id: format!("c{content_index}"),
                    tool_name: "noop".to_owned(),
                },
                AssistantEvent::ToolCallDelta {
                    content_index,
                    delta: "{}".to_owned(),
                },
                AssistantEvent::ToolCallEnd {
                    content_index,
                    thought_signature: None,
                    tool_call: None,
                },
            ]);
        }
        if calls == 0 {
            events.push(AssistantEvent::TextStart { content_index: 0 });
            for _ in 0..self.deltas {
                events.push(AssistantEvent::TextDelta {
                    content_index: 0,
                    delta: "word ".into(),
                });
            }
            events.push(AssistantEvent::TextEnd {
                content_index: 0,
                content: None,
                content_signature: None,
            });
        }
        let reason = if calls == 0 {
            StopReason::Stop
        } else {
            StopReason::ToolUse
        };
        events.push(AssistantEvent::Done {
            reason,
            usage: Usage::default(),
            response_id: None,
        });
        AssistantStream::new(
            AssistantMessage::empty(&request.model, 0),
            stream::iter(events),
        )
    }
}

fn agent(provider: Instant, history: usize, mode: ToolExecutionMode) -> Agent {
    let definition = ToolDefinition::new("noop", "Does nothing.", json!({ "type": "object" }));
    let noop = AgentTool::from_fn(definition, |_, _| async { Ok(ToolOutput::text("ok")) });
    let messages = (0..history).map(|number| {
        if number % 2 == 0 {
            AgentMessage::user("A question of some length, as people ask them.", 0)
        } else {
            AssistantMessage::empty(&model(), 0).into()
        }
    });
    let agent = Agent::builder(provider, model())
        .tool(noop)
        .tool_execution(mode)
        .messages(messages.collect())
        .build();
    agent
        .subscribe(|event| {
            black_box(event.type_name());
        })
        .detach();
    agent
}

fn run(agent: &Agent, history: &Arc<Vec<AgentMessage>>) {
    agent
        .replace_messages(history.to_vec())
        .expect("no run is on");
    block_on(agent.prompt("Go")).expect("the agent is idle");
}

fn history(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a turn with history");
    for messages in [10, 1_000, 10_000] {
        let provider = Instant {
            calls: 0,
            turns: 0,
            deltas: 1,
        };
        let agent = agent(provider, messages, ToolExecutionMode::Parallel);
        let start = agent.messages();
        group.bench_function(BenchmarkId::from_parameter(messages), |bencher| {
            bencher.iter(|| run(&agent, &start));
        });
    }
    group.finish();
}

fn tools(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("100 instant tools");
    let cases = [
        (
            "in one turn, side by side",
            100,
            1,
            ToolExecutionMode::Parallel,
        ),
        (
            "in one turn, one by one",
            100,
            1,
            ToolExecutionMode::Sequential,
        ),
        ("in 100 turns", 1, 100, ToolExecutionMode::Parallel),
    ];
    for (name, calls, turns, mode) in cases {
        let agent = agent(
            Instant {
                calls,
                turns,
                deltas: 1,
            },
            0,
            mode,
        );
        let start = agent.messages();
        group.bench_function(name, |bencher| bencher.iter(|| run(&agent, &start)));
    }
    group.finish();
}

fn deltas(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("text deltas through an agent");
    for deltas in [1_000, 10_000, 100_000] {
        let provider = Instant {
            calls: 0,
            turns: 0,
            deltas,
        };
        let agent = agent(provider, 0, ToolExecutionMode::Parallel);
        let start = agent.messages();
        group.throughput(Throughput::Elements(deltas as u64));
        group.bench_function(BenchmarkId::from_parameter(deltas), |bencher| {
            bencher.iter(|| run(&agent, &start));
        });
    }
    group.finish();
}

criterion_group!(benches, history, tools, deltas);
criterion_main!(benches);
