//! What the tests of all decoders have in common.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use pi_core::{Assembler, AssistantEvent, AssistantMessage, Model, ModelCost, Progress};
use proptest::prelude::*;

use crate::codec::Decoder;
use crate::framing::{FrameReader, Framing};

/// Declares the fixtures of an api that the tests of its decoder go through, how to read one, and the
/// properties that hold for every decoder.
macro_rules! codec_tests {
    ($api:literal; $($name:literal,)+) => {
        const FIXTURES: &[(&str, &str)] = &[$((
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../tests/fixtures/",
                $api,
                "/",
                $name,
                "/response.sse"
            )),
        ),)+];

        fn decode(body: &str, cuts: &[usize]) -> (Vec<AssistantEvent>, Progress) {
            testing::decode(Decoder::new(testing::model()), body, cuts)
        }

        fn fixture(name: &str) -> &'static str {
            let found = FIXTURES.iter().find(|(known, _)| *known == name);
            found.expect("the fixture is in the list").1
        }

        #[track_caller]
        fn check(name: &str, expected: &str) {
            testing::check_outline(name, &decode(fixture(name), &[]).0, expected);
        }

        proptest! {
            #[test]
            fn where_the_body_is_cut_never_shows(
                (_, body) in prop::sample::select(FIXTURES),
                cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
            ) {
                let mut cuts: Vec<usize> =
                    cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
                cuts.sort_unstable();
                prop_assert_eq!(decode(body, &cuts), decode(body, &[]));
            }

            #[test]
            fn any_events_fold_and_end(body in testing::any_body(FIXTURES)) {
                let (events, _) = decode(&body, &[]);
                fold(&events);
                prop_assert_eq!(events.iter().filter(|event| event.is_terminal()).count(), 1);
                prop_assert!(events.last().is_some_and(AssistantEvent::is_terminal));
            }
        }
    };
}
pub(crate) use codec_tests;

/// A model with prices.
pub(crate) fn model() -> Arc<Model> {
    let mut model = Model::new("test-model", "test-api", "test", "http://127.0.0.1");
    model.cost = ModelCost::new(1.0, 10.0, 0.1, 2.0);
    Arc::new(model)
}

/// Decodes a body of server-sent events that comes in pieces which end at `cuts`.
pub(crate) fn decode(
    decoder: impl Decoder,
    body: &str,
    cuts: &[usize],
) -> (Vec<AssistantEvent>, Progress) {
    decode_framed(Framing::Sse, decoder, body.as_bytes(), cuts)
}

/// Decodes a body that comes in pieces which end at `cuts`.
pub(crate) fn decode_framed(
    framing: Framing,
    mut decoder: impl Decoder,
    body: &[u8],
    cuts: &[usize],
) -> (Vec<AssistantEvent>, Progress) {
    let body = Bytes::copy_from_slice(body);
    let mut frames = FrameReader::new(framing);
    let mut events = VecDeque::new();
    let mut from = 0;
    let mut run = || {
        for to in cuts.iter().copied().chain([body.len()]) {
            frames.push(body.slice(from..to));
            from = to;
            while let Some(frame) = frames.next_frame()? {
                decoder.frame(&frame, &mut events)?;
            }
        }
        while let Some(frame) = frames.finish()? {
            decoder.frame(&frame, &mut events)?;
        }
        decoder.finish(&mut events)
    };
    let result = run();
    // Nobody looks at what is broken behind the end.
    let result = result.or_else(|error| match events.back() {
        Some(event) if event.is_terminal() => Ok(()),
        _ => Err(error),
    });
    assert!(decoder.is_ended() || result.is_err());
    let progress = decoder.progress();
    if let Err(error) = result {
        let Progress {
            usage, response_id, ..
        } = progress.clone();
        events.push_back(AssistantEvent::from_error(&error, usage, response_id));
    }
    (events.into(), progress)
}

/// Folds events, which must fit each other.
pub(crate) fn fold(events: &[AssistantEvent]) -> Arc<AssistantMessage> {
    let mut assembler = Assembler::new(AssistantMessage::empty(&model(), 0));
    for event in events {
        assembler
            .push(event)
            .expect("the decoder keeps the order of events");
    }
    assembler.into_message()
}

/// One line for each event; those of a block begin with its index.
fn outline(events: &[AssistantEvent]) -> String {
    let message = fold(events);
    let lines = events.iter().map(|event| match event {
        AssistantEvent::TextDelta {
            content_index,
            delta,
        }
        | AssistantEvent::ThinkingDelta {
            content_index,
            delta,
        }
        | AssistantEvent::ToolCallDelta {
            content_index,
            delta,
        } => {
            format!("{content_index} +{delta}")
        }
        AssistantEvent::ThinkingStart {
            content_index,
            content_signature,
        } => {
            format!(
                "{content_index} thinking {}",
                shown(content_signature.as_deref())
            )
        }
        AssistantEvent::ToolCallStart {
            content_index,
            id,
            tool_name,
        } => {
            format!("{content_index} toolcall {id} {tool_name}")
        }
        AssistantEvent::TextStart { content_index } => format!("{content_index} text"),
        AssistantEvent::TextEnd { content_index, .. }
        | AssistantEvent::ThinkingEnd { content_index, .. }
        | AssistantEvent::ToolCallEnd { content_index, .. } => {
            format!("{content_index} end{}", end_of_block(event))
        }
        AssistantEvent::Done { reason, .. } => format!("done {reason}{}", counts(&message)),
        AssistantEvent::Error { error_message, .. } => {
            let info = message
                .error_info
                .as_deref()
                .expect("errors of a codec are typed");
            format!("error {} {error_message:?}{}", info.kind, counts(&message))
        }
        other => other.type_name().to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A signature that a block begins with.
fn shown(signature: Option<&str>) -> &str {
    match signature {
        None => "-",
        Some("") => "unsigned",
        Some(signature) => signature,
    }
}

/// What the end of a block has: all of it where that is not the sum of its deltas, else what goes
/// back with it.
fn end_of_block(event: &AssistantEvent) -> String {
    match event {
        AssistantEvent::TextEnd {
            content: Some(content),
            ..
        }
        | AssistantEvent::ThinkingEnd {
            content: Some(content),
            redacted: false,
            ..
        } => format!(" = {content}"),
        AssistantEvent::ToolCallEnd {
            tool_call: Some(call),
            ..
        } => {
            let arguments = serde_json::Value::Object(call.arguments.clone());
            format!(" = {arguments}")
        }
        AssistantEvent::TextEnd {
            content_signature: Some(signature),
            ..
        }
        | AssistantEvent::ToolCallEnd {
            thought_signature: Some(signature),
            ..
        } => format!(" {signature}"),
        AssistantEvent::ThinkingEnd {
            content_signature: Some(signature),
            redacted,
            ..
        } if !signature.is_empty() => {
            let redacted = if *redacted { " redacted" } else { "" };
            format!(" {signature}{redacted}")
        }
        _ => String::new(),
    }
}

/// The counts that are not zero.
fn counts(message: &AssistantMessage) -> String {
    let usage = &message.usage;
    [
        ("input", usage.input),
        ("output", usage.output),
        ("read", usage.cache_read),
        ("write", usage.cache_write),
        ("total", usage.total_tokens),
    ]
    .iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!(" {name}={count}"))
    .collect()
}

/// Compares events with their outline: one line for each, white space in front of it skipped.
#[track_caller]
pub(crate) fn check_outline(name: &str, events: &[AssistantEvent], expected: &str) {
    let expected: Vec<&str> = expected.trim().lines().map(str::trim_start).collect();
    assert_eq!(outline(events), expected.join("\n"), "{name}");
}

/// The data lines of fixtures, shuffled together.
pub(crate) fn any_body(fixtures: &[(&str, &'static str)]) -> impl Strategy<Value = String> + use<> {
    let lines: Vec<&str> = fixtures
        .iter()
        .flat_map(|(_, body)| body.lines())
        .filter(|line| line.starts_with("data:"))
        .collect();
    prop::collection::vec(prop::sample::select(lines), 0..12)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\n\n")).collect())
}
