use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use pi_core::{
    AssistantEvent, AssistantMessage, AssistantStream, ErrorKind, ModelCost, Provider,
    ProviderError, Request, StopReason, ToolCall, Usage,
};
use serde_json::{Map, json};

use super::*;
use crate::{ScriptedProvider, Turn, model};

/// The provider of this crate, whose wire is the script.
struct Scripted;

impl Subject for Scripted {
    fn prepare(&self, scenario: Scenario) -> Setup {
        let provider = ScriptedProvider::new().otherwise(move |_, turn| script(scenario, turn));
        let (requests, open) = (provider.clone(), provider.clone());
        Case::new(provider, request(priced()))
            .with_requests(move || requests.requests().len())
            .with_open_replies(move || open.active_streams())
            .into()
    }
}

fn priced() -> pi_core::Model {
    let mut model = model();
    model.cost = ModelCost::new(1.0, 2.0, 0.0, 0.0);
    model
}

fn script(scenario: Scenario, turn: Turn) -> Turn {
    let hello = |t: Turn| t.text_deltas(["Hello", ", world"]);
    let graz = || json!({ "city": "Graz" });
    match scenario {
        Scenario::EmptyText => turn.text(""),
        Scenario::Thinking => turn.thinking_deltas(["Let me", " think."]).text("Hello"),
        Scenario::OneToolCall => turn.tool_call("c1", "weather", graz()),
        Scenario::SeveralToolCalls => turn
            .text("Looking.")
            .tool_call("c1", "weather", graz())
            .tool_call("c2", "weather", json!({ "city": "Linz" })),
        Scenario::SplitArguments => {
            let arguments = json!({ "city": "Graz", "note": "a \"quoted\" ü" }).to_string();
            turn.tool_call_deltas("c1", "weather", arguments.chars())
        }
        Scenario::NoArguments => turn.tool_call_deltas("c1", "weather", [""]),
        Scenario::UnknownEvent => {
            let unknown = json!({ "type": "mood", "mood": "good" });
            hello(turn.event(AssistantEvent::Other(unknown)))
        }
        Scenario::MalformedFrame => turn
            .text("Hel")
            .cut()
            .event(AssistantEvent::Other(json!({ "type": "text_delta" }))),
        Scenario::ErrorInStream => turn.text("Hel").cut().error(ErrorKind::Overloaded, "busy"),
        Scenario::ErrorStatus => turn.error(ErrorKind::RateLimited, "too many requests"),
        Scenario::Truncation => turn.text("Hel").cut().end_without_terminal(),
        Scenario::EmptyBody => turn.end_without_terminal(),
        Scenario::LengthInToolCall => turn
            .tool_call_deltas("c1", "weather", [r#"{"city":"Gr"#])
            .stop_reason(StopReason::Length),
        Scenario::Refusal => turn.error(ErrorKind::Refused, "no"),
        Scenario::Usage => turn.text("Hello").usage(Usage::new(20, 5, 0, 0)),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => turn.text("Hel").cut().hang(),
        _ => hello(turn),
    }
}

#[test]
fn the_scripted_provider_conforms() {
    let report = run(&Scripted);
    report.assert();
    assert_eq!(report.skipped().count(), 0, "{report}");
}

#[test]
fn every_scenario_is_reported_once() {
    let report = run(&Scripted);
    let reported: Vec<Scenario> = report.outcomes().map(|(scenario, _)| scenario).collect();
    assert_eq!(reported, Scenario::ALL);
    let names: BTreeSet<&str> = Scenario::ALL
        .iter()
        .map(|scenario| scenario.name())
        .collect();
    assert_eq!(names.len(), Scenario::ALL.len());
}

/// A provider that yields these events, whatever it is asked.
struct Yields(fn() -> Vec<AssistantEvent>);

impl Provider for Yields {
    fn stream(&self, request: Request) -> AssistantStream {
        let seed = AssistantMessage::empty(&request.model, 0);
        AssistantStream::new(seed, stream::iter((self.0)()))
    }
}

/// A subject that is the same case in each scenario.
struct Only<F>(F);

impl<F: Fn() -> Setup> Subject for Only<F> {
    fn prepare(&self, _: Scenario) -> Setup {
        (self.0)()
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(700)
    }
}

/// Runs one scenario and demands these problems, and no others.
#[track_caller]
fn check(scenario: Scenario, setup: impl Fn() -> Setup, problems: &[&str]) {
    let outcome = run_scenario(&Only(setup), scenario);
    assert_eq!(outcome.problems(), problems, "{scenario}");
}

#[track_caller]
fn check_events(scenario: Scenario, events: fn() -> Vec<AssistantEvent>, problems: &[&str]) {
    let case = || Case::new(Yields(events), request(priced())).into();
    check(scenario, case, problems);
}

#[track_caller]
fn check_turn(scenario: Scenario, build: fn(Turn) -> Turn, problems: &[&str]) {
    let case = || {
        let provider = ScriptedProvider::new().turn(build).turn(build);
        Case::new(provider, request(priced())).into()
    };
    check(scenario, case, problems);
}

fn text_start(content_index: usize) -> AssistantEvent {
    AssistantEvent::TextStart { content_index }
}

fn text_delta(content_index: usize, delta: &str) -> AssistantEvent {
    AssistantEvent::TextDelta {
        content_index,
        delta: delta.to_owned(),
    }
}

fn text_end(content_index: usize, content: Option<&str>) -> AssistantEvent {
    AssistantEvent::TextEnd {
        content_index,
        content: content.map(str::to_owned),
        content_signature: None,
    }
}

fn done(usage: Usage) -> AssistantEvent {
    AssistantEvent::Done {
        reason: StopReason::Stop,
        usage,
        response_id: None,
    }
}

#[test]
fn a_wrong_order_is_named() {
    check_events(
        Scenario::Text,
        || {
            vec![
                text_start(0),
                text_delta(0, "Hello, world"),
                done(Usage::default()),
            ]
        },
        &["event 2 (done stop) does not fit: expected the end of block #0"],
    );
    check_events(
        Scenario::EmptyText,
        || {
            vec![
                AssistantEvent::Start,
                AssistantEvent::Start,
                done(Usage::default()),
            ]
        },
        &["event 1 (start) does not fit: expected start only as the first event"],
    );
}

#[test]
fn a_wrong_end_is_named() {
    check_turn(
        Scenario::Truncation,
        |t| t.text("Hel"),
        &["it ended with done stop, expected an error of kind protocol"],
    );
    check_turn(
        Scenario::Text,
        |t| t.text("Hello, world").error(ErrorKind::Server, "tired"),
        &["it ended with an error of kind server (tired), expected done stop"],
    );
    check_turn(
        Scenario::OneToolCall,
        |t| {
            t.tool_call("c1", "weather", json!({ "city": "Graz" }))
                .stop_reason(StopReason::Stop)
        },
        &["it ended with done stop, expected done toolUse"],
    );
}

#[test]
fn wrong_content_is_named() {
    check_turn(
        Scenario::MalformedFrame,
        |t| t.error(ErrorKind::Protocol, "broken"),
        &[r#"it holds nothing, expected text "Hel""#],
    );
    check_turn(
        Scenario::Thinking,
        |t| t.text("Hello").thinking("Let me think."),
        &[
            r#"it holds text "Hello", thinking "Let me think.", expected thinking "Let me think.", text "Hello""#,
        ],
    );
    check_turn(
        Scenario::NoArguments,
        |t| t.tool_call_deltas("c1", "weather", ["none"]),
        &["it holds toolcall weather cut off, expected toolcall weather {}"],
    );
}

#[test]
fn an_error_that_programs_or_people_cannot_read_is_named() {
    fn error(error: Option<ProviderError>) -> Vec<AssistantEvent> {
        vec![AssistantEvent::Error {
            reason: StopReason::Error,
            error_message: String::new(),
            usage: Usage::default(),
            response_id: None,
            error_info: error.map(|error| Box::new(error.info().clone())),
        }]
    }
    check_events(
        Scenario::EmptyBody,
        || error(None),
        &[
            "it ended with an error without a kind (), expected an error of kind protocol",
            "its error has no text",
        ],
    );
    check_events(
        Scenario::EmptyBody,
        || error(Some(ProviderError::new("odd".into(), ""))),
        &[
            "it ended with an error of kind odd (), expected an error of kind protocol",
            "its error has no text",
            "its error has the unknown kind odd",
        ],
    );
    check(
        Scenario::ErrorStatus,
        || {
            let provider = ScriptedProvider::new().error(ErrorKind::RateLimited, "later");
            let expected = Scenario::ErrorStatus.expected().status(429);
            Case::new(provider, request(model()))
                .with_expected(expected)
                .into()
        },
        &["its error has the status none, expected 429"],
    );
}

#[test]
fn usage_that_is_lost_is_named() {
    check_turn(
        Scenario::Usage,
        |t| t.text("Hello"),
        &["its usage is 0 in, 0 out, 0 read, 0 written, 0 in all, \
           expected 20 in, 5 out, 0 read, 0 written, 25 in all"],
    );
    check_events(
        Scenario::Usage,
        || {
            vec![
                text_start(0),
                text_delta(0, "Hello"),
                text_end(0, None),
                done(Usage::new(20, 5, 0, 0)),
            ]
        },
        &["its usage has no cost: see Model::price"],
    );
}

#[test]
fn calls_that_cannot_be_told_apart_are_named() {
    check_turn(
        Scenario::SeveralToolCalls,
        |t| {
            t.text("Looking.")
                .tool_call("c1", "weather", json!({ "city": "Graz" }))
                .tool_call("c1", "weather", json!({ "city": "Linz" }))
        },
        &["two calls have the id c1"],
    );
    check_turn(
        Scenario::OneToolCall,
        |t| t.tool_call("", "weather", json!({ "city": "Graz" })),
        &["a call of weather has no id"],
    );
    check_turn(
        Scenario::OneToolCall,
        |t| t.tool_call("c1", "", json!({ "city": "Graz" })),
        &[
            r#"it holds toolcall  {"city":"Graz"}, expected toolcall weather {"city":"Graz"}"#,
            "a call has no name",
        ],
    );
}

#[test]
fn an_end_that_repeats_its_deltas_is_named() {
    check_events(
        Scenario::Text,
        || {
            vec![
                text_start(0),
                text_delta(0, "Hello, world"),
                text_end(0, Some("Hello, world")),
                done(Usage::default()),
            ]
        },
        &["the text_end of block #0 repeats its deltas"],
    );
    fn call(deltas: &[&str]) -> Vec<AssistantEvent> {
        let content_index = 0;
        let mut events = vec![AssistantEvent::ToolCallStart {
            content_index,
            id: "c1".to_owned(),
            tool_name: "weather".to_owned(),
        }];
        events.extend(deltas.iter().map(|delta| AssistantEvent::ToolCallDelta {
            content_index,
            delta: (*delta).to_owned(),
        }));
        let mut arguments = Map::new();
        arguments.insert("city".to_owned(), json!("Graz"));
        events.push(AssistantEvent::ToolCallEnd {
            content_index,
            thought_signature: None,
            tool_call: Some(Box::new(ToolCall::new("c1", "weather", arguments))),
        });
        events.push(AssistantEvent::Done {
            reason: StopReason::ToolUse,
            usage: Usage::default(),
            response_id: None,
        });
        events
    }
    check_events(
        Scenario::OneToolCall,
        || call(&[r#"{"city":"Graz"}"#]),
        &["the toolcall_end of block #0 repeats its deltas"],
    );
    // It says what no delta has said.
    check_events(Scenario::OneToolCall, || call(&[]), &[]);
}

#[test]
fn a_message_of_another_origin_is_named() {
    /// A provider that begins with a message of its own.
    struct Seeded(fn(&Request) -> AssistantMessage);
    impl Provider for Seeded {
        fn stream(&self, request: Request) -> AssistantStream {
            let events = [done(Usage::default())];
            AssistantStream::new((self.0)(&request), stream::iter(events))
        }
    }
    #[track_caller]
    fn check_seed(seed: fn(&Request) -> AssistantMessage, problems: &[&str]) {
        let case = || Case::new(Seeded(seed), request(model())).into();
        check(Scenario::EmptyText, case, problems);
    }
    check_seed(
        |_| AssistantMessage::empty(&pi_core::Model::new("m", "a", "p", ""), 0),
        &[
            r#"its message is of ["a", "p", "m"], the request was to ["scripted", "testkit", "scripted-1"]"#,
        ],
    );
    check_seed(
        |request| {
            let mut seed = AssistantMessage::empty(&request.model, 0);
            seed.content.push(pi_core::TextContent::new("").into());
            seed
        },
        &["its message is not what its events build from an empty one"],
    );
}

#[test]
fn an_abort_that_does_nothing_is_named() {
    /// A provider that never looks at the token.
    struct Deaf(ScriptedProvider);
    impl Provider for Deaf {
        fn stream(&self, mut request: Request) -> AssistantStream {
            request.abort = None;
            self.0.stream(request)
        }
    }
    let case = |scenario| {
        move || {
            let provider = ScriptedProvider::new().turn(|turn| script(scenario, turn));
            let counter = provider.clone();
            Case::new(Deaf(provider), request(priced()))
                .with_requests(move || counter.requests().len())
                .into()
        }
    };
    check(
        Scenario::AbortInMidStream,
        case(Scenario::AbortInMidStream),
        &["the abort did not end the stream within 0.5 s"],
    );
    check(
        Scenario::AbortBeforeStart,
        case(Scenario::AbortBeforeStart),
        &[
            "1 requests were sent after the abort",
            "it ended with done stop, expected an error of kind aborted",
            r#"it holds text "Hello, world", expected nothing"#,
        ],
    );
    check_turn(
        Scenario::AbortInMidStream,
        |t| t.text("Hello"),
        &[
            "it ended before it could be aborted",
            "it ended with done stop, expected an error of kind aborted",
            r#"it holds text "Hello", expected text "Hel""#,
        ],
    );
}

#[test]
fn what_a_dropped_stream_leaves_behind_is_named() {
    let case = |open: Option<usize>| {
        move || {
            let provider = ScriptedProvider::new().turn(|t| t.text("Hel").cut().hang());
            let case = Case::new(provider, request(model()));
            match open {
                Some(open) => case.with_open_replies(move || open).into(),
                None => case.into(),
            }
        }
    };
    for (open, problem) in [
        (
            Some(1),
            "the reply was still open after its stream was dropped, within 0.5 s",
        ),
        (Some(0), "no reply was counted as open in mid-reply"),
        (
            None,
            "nobody counts open replies: see Case::with_open_replies",
        ),
    ] {
        check(Scenario::DropInMidStream, case(open), &[problem]);
    }
}

#[test]
fn work_before_the_first_poll_is_named() {
    /// A provider that asks as soon as it is called.
    struct Eager(ScriptedProvider);
    impl Provider for Eager {
        fn stream(&self, request: Request) -> AssistantStream {
            let mut stream = self.0.stream(request);
            let first = crate::block_on(futures_util::StreamExt::next(&mut stream));
            let seed = (*stream.partial()).clone();
            let rest = stream::iter(first);
            AssistantStream::new(seed, futures_util::StreamExt::chain(rest, stream))
        }
    }
    let case = |is_counted: bool| {
        move || {
            let provider = ScriptedProvider::new()
                .otherwise(|_, turn| script(Scenario::NothingBeforePoll, turn));
            let counter = provider.clone();
            let case = Case::new(Eager(provider), request(model()));
            match is_counted {
                true => case.with_requests(move || counter.requests().len()).into(),
                false => case.into(),
            }
        }
    };
    let early = "1 requests were sent before the first poll";
    check(Scenario::NothingBeforePoll, case(true), &[early]);
    let uncounted = "nobody counts requests: see Case::with_requests";
    check(Scenario::NothingBeforePoll, case(false), &[uncounted]);
    let blind = || {
        let provider = ScriptedProvider::new().otherwise(|_, turn| script(Scenario::Text, turn));
        Case::new(provider, request(model()))
            .with_requests(|| 0)
            .into()
    };
    let problem = "no request was counted when the stream was polled";
    check(Scenario::NothingBeforePoll, blind, &[problem]);
}

#[test]
fn streams_that_mix_are_named() {
    /// A provider that keeps in itself what belongs to a stream: the number of the next block.
    struct Mixing(AtomicUsize);
    impl Provider for Mixing {
        fn stream(&self, request: Request) -> AssistantStream {
            let index = self.0.fetch_add(1, Ordering::Relaxed);
            let seed = AssistantMessage::empty(&request.model, 0);
            let events = [
                text_start(index),
                text_delta(index, "Hello, world"),
                text_end(index, None),
                done(Usage::default()),
            ];
            AssistantStream::new(seed, stream::iter(events))
        }
    }
    check(
        Scenario::TwoStreams,
        || Case::new(Mixing(AtomicUsize::new(0)), request(model())).into(),
        &[
            "stream 2: it ended with an error of kind protocol (Received a block start at index 1 \
             of a message with 0 blocks), expected done stop",
            r#"stream 2: it holds nothing, expected text "Hello, world""#,
        ],
    );
}

#[test]
fn two_streams_are_read_in_turns() {
    /// Notes which stream yields.
    struct Noting(Arc<Mutex<Vec<usize>>>, AtomicUsize);
    impl Provider for Noting {
        fn stream(&self, request: Request) -> AssistantStream {
            let (notes, number) = (Arc::clone(&self.0), self.1.fetch_add(1, Ordering::Relaxed));
            let events = [
                text_start(0),
                text_delta(0, "Hello, world"),
                text_end(0, None),
            ];
            let events = events.into_iter().chain([done(Usage::default())]);
            let events = stream::iter(events.inspect(move |_| notes.lock().unwrap().push(number)));
            AssistantStream::new(AssistantMessage::empty(&request.model, 0), events)
        }
    }
    let notes = Arc::default();
    let provider = || Noting(Arc::clone(&notes), AtomicUsize::new(0));
    let case = || Case::new(provider(), request(model())).into();
    check(Scenario::TwoStreams, case, &[]);
    assert_eq!(*notes.lock().unwrap(), [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_panic_and_a_hang_are_failures_with_what_came_before() {
    check_turn(
        Scenario::Text,
        |t| t.text("Hello").panics("out of paper"),
        &["it panics: out of paper"],
    );
    check_turn(
        Scenario::Text,
        |t| t.text("Hello").hang(),
        &["it has not ended after 0.7 s"],
    );
}

#[test]
fn a_scenario_cannot_get_lost() {
    check(
        Scenario::Refusal,
        || Setup::Missing,
        &["it is not prepared: set it up, or skip it with a reason"],
    );
    check(
        Scenario::Refusal,
        || Setup::skip(" "),
        &["it is skipped without a reason"],
    );
    check(
        Scenario::Text,
        || Setup::skip("it is mute"),
        &["every provider owes this, so it cannot be skipped (it is mute)"],
    );
    check(Scenario::Refusal, || Setup::skip("it never refuses"), &[]);
}

/// What the stream itself rules out is checked all the same.
#[test]
fn what_a_stream_does_after_its_end_is_named() {
    let mut shown = reading::Shown {
        events: vec![done(Usage::default())],
        is_ended: true,
        ..reading::Shown::default()
    };
    let mut message = AssistantMessage::empty(&model(), 0);
    message.stop_reason = StopReason::Stop;
    shown.message = Some(Arc::new(message));
    let expected = Scenario::EmptyText.expected();
    let none: [&str; 0] = [];
    assert_eq!(checks::problems(&shown, &expected, &model()), none);
    shown.after_end = Some("text_delta".to_owned());
    shown.copies = 2;
    assert_eq!(
        checks::problems(&shown, &expected, &model()),
        [
            "after its end the stream gives text_delta",
            "the message was copied by 2 events",
        ]
    );
}

#[test]
fn a_report_has_a_line_for_each_scenario_and_the_events_of_failures() {
    let report = Report::new(vec![
        (Scenario::Text, Outcome::Pass),
        (
            Scenario::Thinking,
            Outcome::Skip {
                reason: "the API shows no reasoning".to_owned(),
            },
        ),
        (
            Scenario::Truncation,
            run_scenario(
                &Only(|| {
                    let provider = ScriptedProvider::new().turn(|t| t.text("He"));
                    Case::new(provider, request(model())).into()
                }),
                Scenario::Truncation,
            ),
        ),
    ]);
    let expected = r#"1 passed, 1 skipped, 1 failed
pass  text
skip  thinking: the API shows no reasoning
FAIL  truncation: it ended with done stop, expected an error of kind protocol
      and it holds text "He", expected text "Hel"
      | start
      | #0 text +"He"
      | done stop"#;
    assert_eq!(report.to_string(), expected);
    let panic = std::panic::catch_unwind(|| report.assert()).unwrap_err();
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let expected = format!("the provider does not conform: {expected}");
    assert_eq!(text, Some(expected.as_str()));
}
