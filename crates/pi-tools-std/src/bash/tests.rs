//! Real commands, as the agent loop runs them.

mod ends;
mod faults;
mod output;

use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pi_core::{ProgressReceiver, ToolContext, ToolOutput, progress_channel};
use serde_json::{Value, json};

use crate::testing::{Answered, Place, call_set_in};
use crate::{BashConfig, Limits, ToolSetBuilder};

fn place() -> Place {
    with(BashConfig::unsandboxed(), |set| set)
}

fn with(config: BashConfig, change: impl FnOnce(ToolSetBuilder) -> ToolSetBuilder) -> Place {
    Place::with(|set| change(set.bash(config)))
}

fn small() -> Limits {
    Limits {
        output_lines: 5,
        output_bytes: 200,
        ..Limits::default()
    }
}

impl Place {
    async fn bash(&self, command: &str) -> Answered {
        self.call("bash", json!({ "command": command })).await
    }
}

/// Takes an update that is there.
fn next(receiver: &mut ProgressReceiver) -> Option<ToolOutput> {
    std::future::poll_fn(|cx| receiver.poll_next(cx)).now_or_never()
}

/// Runs a command and collects its updates.
async fn updates(place: &Place, command: &str) -> (Answered, Vec<ToolOutput>) {
    let (sender, mut receiver) = progress_channel();
    let cx = ToolContext::new("c1", pi_core::CancellationToken::new(), sender);
    let answered = call_set_in(&place.set, "bash", json!({ "command": command }), cx).await;
    let mut updates = Vec::new();
    while let Some(update) = next(&mut receiver) {
        updates.push(update);
    }
    (answered, updates)
}

/// Runs a command and aborts it once its output holds a word.
async fn aborted_at(place: &Place, command: &str, word: &str) -> (Answered, Duration) {
    let (sender, mut receiver) = progress_channel();
    let token = pi_core::CancellationToken::new();
    let cx = ToolContext::new("c1", token.clone(), sender);
    let running = call_set_in(&place.set, "bash", json!({ "command": command }), cx);
    tokio::pin!(running);
    loop {
        tokio::select! {
            answered = &mut running => panic!("it ended before: {}", answered.text),
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
        let said = next(&mut receiver).map(|update| update.content);
        let said = said.map(|content| pi_core::joined_text(&content).into_owned());
        if said.is_some_and(|said| said.contains(word)) {
            break;
        }
    }
    let start = Instant::now();
    token.cancel();
    let answered = running.await;
    (answered, start.elapsed())
}

/// Counts the processes that carry a variable in their environment.
fn running(variable: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux has it").flatten();
    processes
        .filter(|process| {
            let environ = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environ
                .split(|byte| *byte == 0)
                .any(|found| found == variable.as_bytes())
        })
        .count()
}

/// Waits for something that must come about.
async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(10), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn details(answered: &Answered, key: &str) -> Value {
    answered.details.get(key).cloned().unwrap_or_default()
}
