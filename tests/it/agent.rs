//! The stateful agent: prompts, queues, subscribers, abort and misuse.

use std::sync::{Arc, Mutex};

use pi_agent::{Agent, AgentBuilder, AgentError, QueueMode, RunEnd};
use pi_core::{
    AgentEvent, AgentMessage, AgentTool, AssistantMessage, ErrorKind, ImageContent, MessageContent,
    StopReason, ToolDefinition, ToolOutput, UserContent,
};
use pi_testkit::{
    ManualClock, Recorder, ScriptedProvider, Stepper, assert_transcript, block_on, grammar, model,
};
use serde_json::json;

/// Begins an agent whose time stands still.
pub(crate) fn builder(provider: &ScriptedProvider) -> AgentBuilder {
    Agent::builder(provider.clone(), model()).clock(ManualClock::new())
}

/// A tool that answers with its argument `text`.
pub(crate) fn echo() -> AgentTool {
    let parameters = json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"]
    });
    let definition = ToolDefinition::new("echo", "Answers with its argument.", parameters);
    AgentTool::from_fn(definition, |arguments, _cx| async move {
        Ok(ToolOutput::text(
            arguments["text"].as_str().unwrap_or_default(),
        ))
    })
}

/// Records all events of an agent for the rest of its life.
pub(crate) fn record(agent: &Agent) -> Recorder {
    let recorder = Recorder::new();
    agent.subscribe(recorder.listener()).detach();
    recorder
}

/// The roles of the transcript with the text or the call id of each message.
pub(crate) fn summary(agent: &Agent) -> Vec<String> {
    let one = |message: &AgentMessage| match message {
        AgentMessage::User(message) => format!("user:{}", message.content.text()),
        AgentMessage::Assistant(reply) => {
            format!("assistant({}):{}", reply.stop_reason, reply.text())
        }
        AgentMessage::ToolResult(result) => {
            format!(
                "{}:{}",
                result.tool_call_id,
                pi_core::joined_text(&result.content)
            )
        }
        other => other.role().to_owned(),
    };
    agent.messages().iter().map(one).collect()
}

#[test]
fn a_prompt_is_one_turn() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.thinking("A greeting.").text_deltas(["Hello ", "there!"]));
    let agent = builder(&provider).build();
    let recorder = record(&agent);

    let outcome = block_on(agent.prompt("Hi")).unwrap();

    assert!(matches!(outcome.end, RunEnd::Completed));
    assert_eq!(outcome.text(), "Hello there!");
    assert_transcript!(recorder, @r##"
        agent_start
        turn_start
        message        user "Hi"
        message_start  assistant
        message_update #0 thinking +"A greeting."
        message_update #1 text +"Hello there!"
        message_end    assistant stop
        turn_end       results=0
        agent_end      messages=2
    "##);
}

#[test]
fn a_tool_run_is_two_turns() {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.text("Looking.")
                .tool_call("c1", "echo", json!({ "text": "hi" }))
        })
        .turn(|t| t.text("It says hi."));
    let agent = builder(&provider).tool(echo()).build();
    let recorder = record(&agent);

    block_on(agent.prompt("What does it say?")).unwrap();

    assert_transcript!(recorder, @r##"
        agent_start
        turn_start
        message        user "What does it say?"
        message_start  assistant
        message_update #0 text +"Looking."
        message_update #1 toolcall c1 echo {"text":"hi"}
        message_end    assistant tool_use
        tool_start     c1 echo
        tool_end       c1 ok
        message        tool_result c1 "hi"
        turn_end       results=1
        turn_start
        message_start  assistant
        message_update #0 text +"It says hi."
        message_end    assistant stop
        turn_end       results=0
        agent_end      messages=4
    "##);
    recorder.check_grammar().unwrap();
    let second = &provider.requests()[1];
    assert_eq!(second.roles(), ["user", "assistant", "toolResult"]);
}

#[test]
fn images_follow_the_text_of_a_prompt() {
    let provider = ScriptedProvider::new().turn(|t| t.text("A cat."));
    let agent = builder(&provider).build();
    let image = ImageContent::new("aGk=", "image/png");

    block_on(agent.prompt(pi_agent::Prompt::with_images("What is it?", vec![image]))).unwrap();

    let AgentMessage::User(message) = &agent.messages()[0] else {
        panic!("no user message")
    };
    let expected = vec![
        UserContent::text("What is it?"),
        UserContent::image("aGk=", "image/png"),
    ];
    assert_eq!(message.content, MessageContent::Blocks(expected));
}

#[test]
fn state_is_current_when_a_subscriber_sees_an_event() {
    let provider = ScriptedProvider::new().turn(|t| t.text_deltas(["a", "b"]));
    let agent = builder(&provider).build();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (observed, log) = (agent.clone(), Arc::clone(&seen));
    agent
        .subscribe(move |event| {
            let state = observed.state();
            let partial = state.stream_message.as_ref().map(|message| match message {
                AgentMessage::Assistant(reply) => reply.text(),
                other => other.role().to_owned(),
            });
            let messages = state.messages.len();
            log.lock()
                .unwrap()
                .push((event.type_name().to_owned(), partial, messages));
        })
        .detach();

    block_on(agent.prompt("Hi")).unwrap();

    let seen = seen.lock().unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|(t, p, n)| (t.as_str(), p.as_deref(), *n))
        .collect();
    assert_eq!(
        seen,
        [
            ("agent_start", None, 0),
            ("turn_start", None, 0),
            ("message_start", Some("user"), 0),
            ("message_end", None, 1),
            ("message_start", Some(""), 1),
            ("message_update", Some(""), 1),
            ("message_update", Some("a"), 1),
            ("message_update", Some("ab"), 1),
            ("message_update", Some("ab"), 1),
            ("message_end", None, 2),
            ("turn_end", None, 2),
            ("agent_end", None, 2),
        ]
    );
}

#[test]
fn a_partial_reply_is_shown_between_polls_and_grows_in_place() {
    let provider =
        ScriptedProvider::new().turn(|t| t.text_deltas(["one "]).gate("more").text("two"));
    let agent = builder(&provider).build();
    let addresses = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&addresses);
    agent
        .subscribe(move |event| {
            if let AgentEvent::MessageUpdate { message, .. } = event {
                log.lock().unwrap().push(Arc::as_ptr(message) as usize);
            }
        })
        .detach();

    let mut run = Stepper::new(agent.prompt("Count"));
    assert!(run.step().is_pending());
    let text = |message: &AgentMessage| message.as_assistant().map(|reply| reply.text());
    assert_eq!(
        agent
            .state()
            .stream_message
            .as_ref()
            .and_then(text)
            .as_deref(),
        Some("one ")
    );
    provider.gates().open("more");
    run.finish().unwrap();

    let mut addresses = addresses.lock().unwrap().clone();
    addresses.dedup();
    assert_eq!(
        addresses.len(),
        1,
        "a subscriber that keeps nothing must not cause copies"
    );
}

#[test]
fn steering_waits_for_the_calls_of_the_reply() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "echo", json!({ "text": "x" })))
        .turn(|t| t.text("ok"));
    let agent = builder(&provider).tool(echo()).build();
    let steering = agent.clone();
    agent
        .subscribe(move |event| {
            if matches!(event, AgentEvent::ToolExecutionStart { .. }) {
                steering.steer(AgentMessage::user("Be brief.", 0)).unwrap();
            }
        })
        .detach();

    block_on(agent.prompt("Go")).unwrap();

    assert_eq!(
        summary(&agent),
        [
            "user:Go",
            "assistant(toolUse):",
            "c1:x",
            "user:Be brief.",
            "assistant(stop):ok"
        ]
    );
    assert!(!agent.has_queued_messages());
}

#[test]
fn follow_ups_go_in_when_the_run_would_end() {
    for (mode, expected) in [
        (
            QueueMode::OneAtATime,
            vec!["user:a", "assistant(stop):1", "user:b", "assistant(stop):2"],
        ),
        (
            QueueMode::All,
            vec!["user:a", "user:b", "assistant(stop):1"],
        ),
    ] {
        let provider = ScriptedProvider::new()
            .turn(|t| t.text("0"))
            .turn(|t| t.text("1"))
            .turn(|t| t.text("2"));
        let agent = builder(&provider).follow_up_mode(mode).build();
        agent.follow_up(AgentMessage::user("a", 0)).unwrap();
        agent.follow_up(AgentMessage::user("b", 0)).unwrap();

        block_on(agent.prompt("Go")).unwrap();

        assert_eq!(summary(&agent)[2..], expected, "{mode:?}");
    }
}

#[test]
fn what_is_queued_while_agent_end_is_delivered_runs_in_the_same_prompt() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("first"))
        .turn(|t| t.text("second"));
    let agent = builder(&provider).build();
    let recorder = record(&agent);
    let queueing = agent.clone();
    let once = Mutex::new(Some(AgentMessage::user("More", 0)));
    agent
        .subscribe(move |event| {
            if matches!(event, AgentEvent::AgentEnd { .. })
                && let Some(message) = once.lock().unwrap().take()
            {
                queueing.follow_up(message).unwrap();
            }
        })
        .detach();

    let outcome = block_on(agent.prompt("Go")).unwrap();

    assert_eq!(outcome.text(), "second");
    assert_eq!(outcome.messages.len(), 4);
    let starts = recorder
        .events()
        .iter()
        .filter(|e| **e == AgentEvent::AgentStart)
        .count();
    assert_eq!(starts, 2);
    recorder.check_grammar().unwrap();
}

#[test]
fn abort_keeps_the_partial_reply_and_the_queues() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("Half a").hang())
        .turn(|t| t.text("Whole."));
    let agent = builder(&provider).build();
    let recorder = record(&agent);

    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    agent.steer(AgentMessage::user("Also this", 0)).unwrap();
    agent.abort();
    let outcome = run.finish().unwrap();

    assert!(matches!(outcome.end, RunEnd::Aborted));
    assert_eq!(summary(&agent), ["user:Go", "assistant(aborted):Half a"]);
    assert_eq!(agent.queued_steering().len(), 1);
    assert_eq!(agent.state().error.as_deref(), Some("Request was aborted"));
    assert_eq!(provider.active_streams(), 0);
    recorder.check_grammar().unwrap();

    block_on(agent.continue_run()).unwrap();
    assert_eq!(
        summary(&agent)[2..],
        ["user:Also this", "assistant(stop):Whole."]
    );
    assert!(!agent.has_queued_messages());
}

#[test]
fn an_aborted_reply_is_tried_again_without_being_sent() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("Half a").hang())
        .turn(|t| t.text("Whole."));
    let agent = builder(&provider).build();
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    agent.abort();
    run.finish().unwrap();
    block_on(agent.continue_run()).unwrap();
    assert_eq!(provider.requests()[1].roles(), ["user"]);
    assert_eq!(
        summary(&agent)[1..],
        ["assistant(aborted):Half a", "assistant(stop):Whole."]
    );
}

#[test]
fn a_dropped_run_leaves_an_idle_agent_and_the_partial_reply() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("Half a").hang())
        .turn(|t| t.text("Whole."));
    let agent = builder(&provider).build();
    agent.steer(AgentMessage::user("Also this", 0)).unwrap();

    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    drop(run);

    assert!(!agent.is_streaming());
    assert_eq!(
        summary(&agent),
        ["user:Go", "user:Also this", "assistant(aborted):Half a"]
    );
    assert_eq!(provider.active_streams(), 0);
    block_on(agent.wait_for_idle());
    block_on(agent.prompt("Again")).unwrap();
    assert_eq!(
        summary(&agent)[3..],
        ["user:Again", "assistant(stop):Whole."]
    );
}

#[test]
fn a_queued_message_that_was_taken_and_never_added_goes_back() {
    let provider = ScriptedProvider::new().turn(|t| t.text("ok"));
    let agent = builder(&provider).steering_mode(QueueMode::All).build();
    agent.steer(AgentMessage::user("one", 0)).unwrap();
    agent.steer(AgentMessage::user("two", 0)).unwrap();
    let _holding = agent.subscribe_async(|event| async move {
        let is_one = matches!(&event, AgentEvent::MessageEnd { message: AgentMessage::User(message) }
            if message.content.text() == "one");
        if is_one {
            std::future::pending::<()>().await;
        }
    });

    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    drop(run);

    assert_eq!(summary(&agent), ["user:Go", "user:one"]);
    assert_eq!(agent.queued_steering(), [AgentMessage::user("two", 0)]);
}

#[test]
fn misuse_is_refused_without_events() {
    let provider = ScriptedProvider::new().turn(|t| t.text("x").hang());
    let agent = builder(&provider).build();
    let recorder = record(&agent);
    let refused =
        |result: Result<_, AgentError>| result.map(|_: pi_agent::RunOutcome| ()).unwrap_err();
    assert_eq!(
        refused(block_on(agent.continue_run())),
        AgentError::NothingToContinue
    );
    assert_eq!(
        refused(block_on(agent.prompt(Vec::new()))),
        AgentError::EmptyPrompt
    );
    assert!(recorder.events().is_empty());

    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    let events = recorder.events().len();
    assert_eq!(refused(block_on(agent.prompt("Again"))), AgentError::Busy);
    assert_eq!(
        refused(block_on(agent.continue_run())),
        AgentError::BusyContinuing
    );
    assert_eq!(agent.reset(), Err(AgentError::BusyResetting));
    assert_eq!(agent.clear_messages(), Err(AgentError::BusyEditing));
    assert_eq!(recorder.events().len(), events);
    agent.abort();
    run.finish().unwrap();
    assert_eq!(agent.reset(), Ok(()));

    let without_model = Agent::builder_without_model(provider).build();
    assert_eq!(
        refused(block_on(without_model.prompt("Go"))),
        AgentError::NoModel
    );
}

#[test]
fn a_complete_reply_is_continued_only_by_what_is_queued() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("one"))
        .turn(|t| t.text("two"));
    let agent = builder(&provider).build();
    block_on(agent.prompt("Go")).unwrap();
    let error = block_on(agent.continue_run()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Cannot continue from message role: assistant"
    );

    agent.follow_up(AgentMessage::user("And?", 0)).unwrap();
    block_on(agent.continue_run()).unwrap();
    assert_eq!(summary(&agent)[2..], ["user:And?", "assistant(stop):two"]);
}

#[test]
fn a_failed_reply_ends_the_run_and_can_be_retried() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.text("Half").error(ErrorKind::Overloaded, "too busy"))
        .turn(|t| t.text("Whole."));
    let agent = builder(&provider).build();
    let recorder = record(&agent);

    let outcome = block_on(agent.prompt("Go")).unwrap();
    let RunEnd::Failed(error) = outcome.end else {
        panic!("the run did not fail")
    };
    assert_eq!(error.kind(), &ErrorKind::Overloaded);
    assert!(error.is_retryable());
    assert_eq!(agent.state().error.as_deref(), Some("too busy"));

    let outcome = block_on(agent.continue_run()).unwrap();
    assert_eq!(outcome.text(), "Whole.");
    assert_eq!(agent.state().error, None);
    assert_eq!(
        summary(&agent),
        ["user:Go", "assistant(error):Half", "assistant(stop):Whole."]
    );
    assert_eq!(provider.requests()[1].roles(), ["user"]);
    recorder.check_grammar().unwrap();
}

#[test]
fn subscribers_come_and_go_while_an_event_is_delivered() {
    let provider = ScriptedProvider::new().turn(|t| t.text("x"));
    let agent = builder(&provider).build();
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let log = Arc::clone(&log);
        move |event: &AgentEvent| {
            log.lock()
                .unwrap()
                .push(format!("{name}:{}", event.type_name()))
        }
    };
    let second = Arc::new(Mutex::new(None));
    let (doomed, subscribing, late) = (Arc::clone(&second), agent.clone(), note("late"));
    let late = Mutex::new(Some(late));
    agent
        .subscribe(move |event| {
            if *event == AgentEvent::TurnStart {
                doomed.lock().unwrap().take();
                if let Some(late) = late.lock().unwrap().take() {
                    subscribing.subscribe(late).detach();
                }
            }
        })
        .detach();
    *second.lock().unwrap() = Some(agent.subscribe(note("second")));

    block_on(agent.prompt("Go")).unwrap();

    let log = log.lock().unwrap();
    assert_eq!(log[..2], ["second:agent_start", "late:turn_start"]);
    assert!(log[1..].iter().all(|entry| entry.starts_with("late:")));
}

#[test]
fn asynchronous_subscribers_are_part_of_the_run() {
    let provider = ScriptedProvider::new().turn(|t| t.text("x"));
    let clock = ManualClock::new();
    let agent = Agent::builder(provider, model())
        .clock(clock.clone())
        .build();
    let timer = clock.clone();
    let done = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&done);
    agent
        .subscribe_async(move |event| {
            let (timer, log) = (timer.clone(), Arc::clone(&log));
            async move {
                pi_core::Clock::sleep(&timer, std::time::Duration::from_secs(1)).await;
                log.lock().unwrap().push(event.type_name().to_owned());
            }
        })
        .detach();

    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    assert!(done.lock().unwrap().is_empty());
    assert!(agent.is_streaming());
    while run.step().is_pending() {
        assert!(
            clock.advance_to_next(),
            "the run waits for something else than the clock"
        );
    }
    assert_eq!(
        done.lock().unwrap().first().map(String::as_str),
        Some("agent_start")
    );
    assert_eq!(
        done.lock().unwrap().last().map(String::as_str),
        Some("agent_end")
    );
}

#[test]
fn settings_act_from_the_next_run_on() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.gate("go").text("1"))
        .turn(|t| t.text("2"));
    let agent = builder(&provider).system_prompt("old").build();
    let mut run = Stepper::new(agent.prompt("Go"));
    assert!(run.step().is_pending());
    agent.set_system_prompt("new");
    agent.set_session_id(Some("s1".to_owned()));
    agent.follow_up(AgentMessage::user("More", 0)).unwrap();
    provider.gates().open("go");
    run.finish().unwrap();
    let prompts: Vec<_> = provider
        .requests()
        .iter()
        .map(|r| r.context.system_prompt.clone())
        .collect();
    assert_eq!(prompts, [Some("old".to_owned()), Some("old".to_owned())]);
    assert_eq!(agent.state().system_prompt, "new");
}

#[test]
fn any_transcript_of_an_agent_survives_json() {
    let provider = ScriptedProvider::new()
        .turn(|t| t.tool_call("c1", "echo", json!({ "text": "x" })))
        .turn(|t| t.text("ok"));
    let agent = builder(&provider).tool(echo()).build();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    agent
        .subscribe(move |event| {
            log.lock()
                .unwrap()
                .push(serde_json::to_string(event).unwrap())
        })
        .detach();
    block_on(agent.prompt("Go")).unwrap();

    let text = serde_json::to_string(&*agent.messages()).unwrap();
    let back: Vec<AgentMessage> = serde_json::from_str(&text).unwrap();
    assert_eq!(back, *agent.messages());
    let mut events = Vec::new();
    for line in lines.lock().unwrap().iter() {
        let event: AgentEvent = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), *line);
        events.push(event);
    }
    grammar::check(&events).unwrap();
}

#[test]
fn an_agent_and_its_runs_can_move_between_threads() {
    fn check<T: Send + 'static>(value: T) -> T {
        value
    }
    let provider = ScriptedProvider::new().turn(|t| t.text("ok"));
    let agent = check(builder(&provider).build());
    let run = check(agent.prompt("Go"));
    let outcome = std::thread::spawn(move || block_on(run))
        .join()
        .unwrap()
        .unwrap();
    assert_eq!(
        outcome
            .reply()
            .map(|r: &Arc<AssistantMessage>| r.stop_reason.clone()),
        Some(StopReason::Stop)
    );
}
