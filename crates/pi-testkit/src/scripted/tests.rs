use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use pi_core::{
    AgentMessage, AssistantEvent, CancellationToken, Context, ModelCost, StopReason, StreamOptions,
    Usage,
};
use serde_json::json;

use super::*;
use crate::{ManualClock, Stepper, StreamRecorder, TranscriptOptions, block_on, grammar, model};

fn request() -> Request {
    Request::new(model(), Context::default())
}

/// Plays the next turn and returns its transcript, every event on its own line.
fn play(provider: &ScriptedProvider) -> String {
    let options = TranscriptOptions::new().with_join_deltas(false);
    let recorder = StreamRecorder::new().with_options(options);
    block_on(recorder.read_to_end(&mut provider.stream(request())));
    grammar::check_stream(&recorder.events()).unwrap();
    recorder.transcript().to_string()
}

#[track_caller]
fn check(build: impl FnOnce(Turn) -> Turn, expected: &[&str]) {
    let played = play(&ScriptedProvider::new().turn(build));
    assert_eq!(played.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_turn_streams_its_blocks_in_order() {
    check(
        |t| {
            t.thinking("Hm.").text_deltas(["Look", "ing."]).tool_call(
                "c1",
                "read_file",
                json!({ "path": "a.txt" }),
            )
        },
        &[
            "start",
            "#0 thinking_start",
            "#0 thinking_delta +\"Hm.\"",
            "#0 thinking_end",
            "#1 text_start",
            "#1 text_delta +\"Look\"",
            "#1 text_delta +\"ing.\"",
            "#1 text_end",
            "#2 toolcall_start c1 read_file",
            "#2 toolcall_delta +\"{\\\"path\\\":\\\"a.txt\\\"}\"",
            "#2 toolcall_end",
            "done tool_use",
        ],
    );
}

#[test]
fn the_stop_reason_follows_from_the_content_unless_it_is_set() {
    check(|t| t, &["start", "done stop"]);
    check(
        |t| t.stop_reason(StopReason::Length),
        &["start", "done length"],
    );
}

#[test]
fn an_error_comes_at_the_start_or_in_mid_turn() {
    check(
        |t| t.error(ErrorKind::Overloaded, "busy"),
        &["error error overloaded \"busy\""],
    );
    check(
        |t| {
            t.text("Loo")
                .cut()
                .error(ErrorKind::RateLimited, "slow down")
        },
        &[
            "start",
            "#0 text_start",
            "#0 text_delta +\"Loo\"",
            "error error rate_limited \"slow down\"",
        ],
    );
}

#[test]
fn a_stream_without_an_end_is_a_protocol_error() {
    check(
        |t| t.text("Hi").end_without_terminal(),
        &[
            "start",
            "#0 text_start",
            "#0 text_delta +\"Hi\"",
            "#0 text_end",
            "error error protocol \"stream ended before its closing event\"",
        ],
    );
}

#[test]
fn raw_events_take_part_in_the_numbering() {
    check(
        |t| {
            t.event(AssistantEvent::TextStart { content_index: 0 })
                .event(AssistantEvent::TextEnd {
                    content_index: 0,
                    content: Some("whole".into()),
                    content_signature: None,
                })
                .text("next")
        },
        &[
            "start",
            "#0 text_start",
            "#0 text_end =\"whole\"",
            "#1 text_start",
            "#1 text_delta +\"next\"",
            "#1 text_end",
            "done stop",
        ],
    );
}

#[test]
fn the_message_holds_what_the_turn_says() {
    let mut priced = model();
    priced.cost = ModelCost::new(1.0, 2.0, 0.0, 0.0);
    let provider = ScriptedProvider::new()
        .with_clock(ManualClock::at(7))
        .turn(|t| {
            t.text("Hi")
                .signature("sig")
                .usage(Usage::new(1_000_000, 500_000, 0, 0))
                .response_id("r1")
        });
    let mut stream = provider.stream(Request::new(priced, Context::default()));
    let message = block_on(stream.finish()).unwrap();
    assert_eq!(
        serde_json::to_value(&message).unwrap(),
        json!({
            "role": "assistant",
            "content": [{ "type": "text", "text": "Hi", "textSignature": "sig" }],
            "api": "scripted", "provider": "testkit", "model": "scripted-1",
            "responseId": "r1",
            "usage": {
                "input": 1_000_000, "output": 500_000, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": 1_500_000,
                "cost": {
                    "input": 1.0, "output": 1.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 2.0
                },
            },
            "stopReason": "stop",
            "timestamp": 7,
        })
    );
}

#[test]
fn nothing_happens_before_the_first_poll() {
    let provider = ScriptedProvider::new().turn(|t| t.hang());
    let stream = provider.stream(request());
    assert_eq!((provider.remaining(), provider.requests().len()), (1, 0));
    drop(stream);

    let mut stream = provider.stream(request());
    let mut reading = Stepper::new(async move { stream.next().await });
    assert_eq!(reading.step(), Poll::Pending);
    assert_eq!((provider.remaining(), provider.requests().len()), (0, 1));
    assert_eq!(provider.active_streams(), 1);
    drop(reading);
    assert_eq!(
        provider.active_streams(),
        0,
        "a dropped reply leaves nothing behind"
    );
}

#[test]
fn a_gate_holds_the_stream_until_the_test_opens_it() {
    let provider = ScriptedProvider::new().turn(|t| t.text("before").gate("middle").text("after"));
    let gates = provider.gates();
    let mut stream = provider.stream(request());
    let mut reading = Stepper::new(async { stream.finish().await });
    assert!(reading.step().is_pending());
    assert!(gates.is_reached("middle"));
    gates.open("middle");
    let Poll::Ready(Ok(message)) = reading.step() else {
        panic!("the gate is open")
    };
    assert_eq!(message.text(), "beforeafter");
}

#[test]
fn a_hanging_reply_ends_when_it_is_aborted_and_keeps_its_text() {
    let provider = ScriptedProvider::new().turn(|t| t.text("Once upon").cut().hang());
    let abort = CancellationToken::new();
    let mut stream = provider.stream(request().with_abort(abort.clone()));
    let mut reading = Stepper::new(async {
        let result = stream.finish().await;
        (
            result.map_err(|error| error.kind().clone()),
            stream.partial(),
        )
    });
    assert!(reading.step().is_pending());
    abort.cancel();
    let Poll::Ready((result, message)) = reading.step() else {
        panic!("the abort ends it")
    };
    assert_eq!(result.unwrap_err(), ErrorKind::Aborted);
    assert_eq!(
        (message.text().as_str(), &message.stop_reason),
        ("Once upon", &StopReason::Aborted)
    );
    assert_eq!(provider.active_streams(), 0);
}

#[test]
fn a_request_that_is_aborted_before_it_begins_takes_no_turn() {
    let provider = ScriptedProvider::new().turn(|t| t.text("never"));
    let abort = CancellationToken::new();
    abort.cancel();
    let result = block_on(provider.stream(request().with_abort(abort)).finish());
    assert_eq!(*result.unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!((provider.remaining(), provider.requests().len()), (1, 0));
}

#[test]
fn a_pause_goes_by_the_given_clock() {
    let clock = ManualClock::new();
    let provider = ScriptedProvider::new()
        .with_clock(clock.clone())
        .turn(|t| t.pause(Duration::from_secs(60)).text("late"));
    let mut stream = provider.stream(request());
    let message = clock.run(stream.finish()).unwrap();
    assert_eq!(message.text(), "late");
    assert_eq!(clock.now(), 60_000);

    check(
        |t| t.pause(Duration::from_secs(1)),
        &[
            "error error invalid_request \"the script pauses, but the provider has no clock: give \
             it one by `with_clock`\"",
        ],
    );
}

#[test]
fn a_turn_can_panic() {
    let provider = ScriptedProvider::new().turn(|t| t.panics("boom"));
    let caught = catch_unwind(AssertUnwindSafe(|| play(&provider)));
    let text = caught.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*text, "boom");
    assert_eq!(provider.active_streams(), 0);
}

#[test]
fn a_script_that_is_used_up_says_so() {
    let provider = ScriptedProvider::new().turn(|t| t.text("only"));
    play(&provider);
    assert_eq!(
        play(&provider),
        "error error invalid_request \"the script has no turn for request 2: it ended after 1\""
    );
}

#[test]
fn a_turn_may_depend_on_its_request() {
    let provider = ScriptedProvider::new()
        .respond(|request, t| t.text(format!("{} messages", request.roles().len())))
        .otherwise(|_, t| t.text("again"));
    assert!(play(&provider).contains("0 messages"));
    assert!(play(&provider).contains("again"));
    assert!(play(&provider).contains("again"));
}

#[test]
fn requests_are_recorded_without_secrets() {
    let provider = ScriptedProvider::new().turn(|t| t.text("ok"));
    let agent_side = provider.clone();

    let mut model = model();
    model.headers = Some([("X-Api-Key".into(), "sk-model".into())].into());
    let mut options = StreamOptions::default();
    options.api_key = Some("sk-option".into());
    options.temperature = Some(0.5);
    options
        .headers
        .insert("Authorization".into(), "Bearer sk-header".into());
    options.headers.insert("x-trace".into(), "kept".into());
    let user = AgentMessage::user("hi", 0).to_message().unwrap();
    let request = Request::new(model, Context::new(vec![user])).with_options(options);
    block_on(agent_side.stream(request).finish()).unwrap();

    let requests = provider.requests();
    let [request] = requests.as_slice() else {
        panic!("one request was made")
    };
    assert_eq!(request.roles(), ["user"]);
    assert_eq!(request.options.temperature, Some(0.5));
    assert!(request.has_api_key("sk-option") && !request.has_api_key("other"));
    let printed = format!("{request:?} {provider:?}");
    assert!(!printed.contains("sk-"), "{printed}");
    assert_eq!(request.options.headers["x-trace"], "kept");
}
