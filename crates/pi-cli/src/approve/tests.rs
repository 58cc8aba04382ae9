use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_agent::{Agent, RunEnd};
use pi_core::{AgentMessage, AgentTool, ToolDefinition, ToolOutput};
use pi_testkit::{ScriptedProvider, block_on, model};
use serde_json::{Value, json};

use super::*;
use crate::terminal::Colours;

/// Answers as it is told, and then never.
struct Scripted {
    answers: Mutex<Vec<Answer>>,
    asked: Arc<AtomicUsize>,
    on_silence: Box<dyn Fn() + Send + Sync>,
}

impl Asker for Scripted {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap();
        if answers.is_empty() {
            (self.on_silence)();
            return Box::pin(std::future::pending());
        }
        let answer = answers.remove(0);
        Box::pin(async move { answer })
    }
}

/// What came of calls of `write`, one a turn.
struct Played {
    results: Vec<String>,
    asked: usize,
    hints: usize,
    end: RunEnd,
}

fn play(calls: usize, answers: &[Answer]) -> Played {
    let mut provider = ScriptedProvider::new();
    for call in 0..calls {
        provider = provider.turn(|t| {
            t.tool_call(
                format!("c{call}"),
                "write",
                json!({ "path": "a", "content": "b" }),
            )
        });
    }
    let definition = ToolDefinition::new("write", "", json!({ "type": "object" }));
    let write = AgentTool::from_fn(definition, |_, _| async { Ok(ToolOutput::text("written")) });
    let (asked, hints) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let hinted = Arc::clone(&hints);
    let agent: Arc<Mutex<Option<Agent>>> = Arc::default();
    let running = Arc::clone(&agent);
    let asker = Scripted {
        answers: Mutex::new(answers.to_vec()),
        asked: Arc::clone(&asked),
        on_silence: Box::new(move || running.lock().unwrap().as_ref().unwrap().abort()),
    };
    let say: Say = Arc::new(move |_: &str| {
        hinted.fetch_add(1, Ordering::Relaxed);
    });
    let approver = Arc::new(Approver::new(Box::new(asker), say));
    let built = Agent::builder(provider.turn(|t| t.text("Done.")), model())
        .tool(write)
        .before_tool_call(move |call| {
            let approver = Arc::clone(&approver);
            async move { approver.decide(&call).await }
        })
        .build();
    *agent.lock().unwrap() = Some(built.clone());
    let outcome = block_on(built.prompt("go")).unwrap();
    let messages = built.messages();
    let results = messages.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) => {
            Some(pi_core::joined_text(&result.content).into_owned())
        }
        _ => None,
    });
    Played {
        results: results.collect(),
        asked: asked.load(Ordering::Relaxed),
        hints: hints.load(Ordering::Relaxed),
        end: outcome.end,
    }
}

#[test]
fn each_call_is_asked_about_unless_always_was_said() {
    let once = play(3, &[Answer::Yes, Answer::No(None), Answer::Yes]);
    assert_eq!(once.asked, 3);
    assert_eq!(
        (once.results[0].as_str(), once.results[2].as_str()),
        ("written", "written")
    );
    assert!(
        once.results[1].starts_with("The user said no"),
        "{:?}",
        once.results
    );

    let always = play(3, &[Answer::Yes, Answer::Always]);
    assert_eq!(always.asked, 2);
    assert_eq!(always.results, ["written"; 3]);
}

#[test]
fn the_model_reads_the_words_of_a_refusal() {
    let played = play(1, &[Answer::No(Some("use b.txt".to_owned()))]);
    assert!(
        played.results[0].ends_with("The user's words: use b.txt"),
        "{:?}",
        played.results
    );
}

#[test]
fn a_hint_is_given_once_where_nobody_can_be_asked() {
    let played = play(2, &[Answer::Nobody, Answer::Nobody]);
    assert_eq!(played.results, [NOBODY; 2]);
    assert_eq!(played.hints, 1);
}

#[test]
fn an_abort_ends_the_waiting() {
    let played = play(1, &[]);
    assert!(matches!(played.end, RunEnd::Aborted), "{:?}", played.end);
    assert_eq!(played.results, [ABORTED]);
}

#[test]
fn answers_are_read() {
    for (line, expected) in [
        ("", None),
        (" \n", None),
        ("y\n", Some(Answer::Yes)),
        ("YES", Some(Answer::Yes)),
        ("a", Some(Answer::Always)),
        ("n\r\n", Some(Answer::No(None))),
        ("not there", Some(Answer::No(Some("not there".to_owned())))),
    ] {
        assert_eq!(Answer::read(line), expected, "{line:?}");
    }
}

#[test]
fn a_question_shows_what_is_about_to_happen() {
    let long: String = (1..=60).map(|n| format!("{n}\n")).collect();
    for (tool, arguments, expected) in [
        (
            "bash",
            json!({ "command": "rm -r x\n\x1b[2Jls\u{202e}" }),
            "pi wants to run:\n  $ rm -r x\n  $  [2Jls".to_owned(),
        ),
        (
            "write",
            json!({ "path": "a.txt", "content": "one" }),
            "pi wants to write a.txt, 1 line:\n  +one".to_owned(),
        ),
        (
            "write",
            json!({ "path": "a.txt", "content": long }),
            format!(
                "pi wants to write a.txt, 60 lines:\n{}  … 45 lines\n  +58\n  +59\n  +60",
                (1..=12).map(|n| format!("  +{n}\n")).collect::<String>()
            ),
        ),
        (
            "edit",
            json!({ "path": "a.txt", "edits": [
                { "oldText": "one\ntwo", "newText": "three" },
                { "oldText": "four", "newText": "" },
            ] }),
            "pi wants to edit a.txt:\n  -one\n  -two\n  +three\n  -four".to_owned(),
        ),
    ] {
        let Value::Object(arguments) = arguments else {
            unreachable!("all cases are objects")
        };
        let question = Question::about(tool, &arguments);
        assert_eq!(question.lines(Colours::new(false)), expected);
        assert!(question.choice().contains(tool));
    }
}
