//! The scenarios in the words of `bedrock-converse-stream`.

use integration_tests::aws_frames::{event, exception};
use integration_tests::fault_server::Script;
use pi_testkit::conformance::Scenario;
use serde_json::{Value, json};

use super::{Answer, Wire};

pub(super) const WIRE: Wire = Wire {
    api: "bedrock-converse-stream",
    answer,
};

type Frames = Vec<Vec<u8>>;

fn answer(scenario: Scenario) -> Option<Answer> {
    let text = |pieces: &[&str]| block(0, pieces.iter().map(|text| json!({ "text": text })));
    let calls = |calls: Frames| reply([calls, stop("tool_use")]);
    Some(match scenario {
        Scenario::Text
        | Scenario::AbortBeforeStart
        | Scenario::NothingBeforePoll
        | Scenario::TwoStreams => reply([text(&["Hello", ", world"]), stop("end_turn")]),
        Scenario::EmptyText => reply([text(&[""]), stop("end_turn")]),
        Scenario::Thinking => {
            let thoughts = ["Let me", " think."];
            let thinking = thoughts.map(|text| json!({ "reasoningContent": { "text": text } }));
            let text = block(1, [json!({ "text": "Hello" })]);
            reply([block(0, thinking), text, stop("end_turn")])
        }
        Scenario::OneToolCall => calls(call(0, &[r#"{"city":"Graz"}"#])),
        Scenario::SeveralToolCalls => reply([
            text(&["Looking."]),
            call(1, &[r#"{"city":"Graz"}"#]),
            call(2, &[r#"{"city":"Linz"}"#]),
            stop("tool_use"),
        ]),
        Scenario::SplitArguments => calls(call(0, super::SPLIT)),
        Scenario::NoArguments => calls(call(0, &[])),
        Scenario::UnknownEvent => {
            let mut frames = text(&["Hello", ", world"]);
            frames.insert(1, event("mood", &json!({ "mood": "good" })));
            reply([frames, stop("end_turn")])
        }
        Scenario::MalformedFrame => {
            let mut broken = event("messageStop", &json!({ "stopReason": "end_turn" }));
            if let Some(last) = broken.last_mut() {
                *last ^= 1;
            }
            stream([text(&["Hel"]), vec![broken]])
        }
        Scenario::ErrorInStream => {
            let busy = exception("serviceUnavailableException", &json!({ "message": "busy" }));
            stream([text(&["Hel"]), vec![busy]])
        }
        Scenario::ErrorStatus => Answer::refused(429, &json!({ "message": "slow down" }))
            .expecting(scenario.expected().status(429)),
        Scenario::Truncation => stream([text(&["Hel"])]),
        Scenario::EmptyBody => stream([]),
        Scenario::LengthInToolCall => reply([call(0, &[r#"{"city":"Gr"#]), stop("max_tokens")]),
        Scenario::Refusal => reply([stop("content_filtered")]),
        Scenario::Usage => reply([text(&["Hello"]), stop("end_turn")]),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => {
            Answer::script(begun([text(&["Hel"])]).hold())
        }
        _ => return None,
    })
}

fn reply<const PARTS: usize>(parts: [Frames; PARTS]) -> Answer {
    let start = event("messageStart", &json!({ "role": "assistant" }));
    stream([vec![start], parts.concat()])
}

fn stream<const PARTS: usize>(parts: [Frames; PARTS]) -> Answer {
    Answer::script(begun(parts).last_chunk())
}

fn begun<const PARTS: usize>(parts: [Frames; PARTS]) -> Script {
    let frames = parts.concat();
    let head = Script::on_request().event_stream(&[]);
    frames.iter().fold(head, Script::chunk)
}

fn block(index: u64, deltas: impl IntoIterator<Item = Value>) -> Frames {
    let mut frames: Frames = deltas
        .into_iter()
        .map(|delta| json!({ "contentBlockIndex": index, "delta": delta }))
        .map(|payload| event("contentBlockDelta", &payload))
        .collect();
    frames.push(event(
        "contentBlockStop",
        &json!({ "contentBlockIndex": index }),
    ));
    frames
}

fn call(index: u64, arguments: &[&str]) -> Frames {
    let call = json!({ "toolUseId": format!("tooluse_{index}"), "name": "weather" });
    let start = json!({ "contentBlockIndex": index, "start": { "toolUse": call } });
    let pieces = arguments
        .iter()
        .map(|piece| json!({ "toolUse": { "input": piece } }));
    let mut frames = block(index, pieces);
    frames.insert(0, event("contentBlockStart", &start));
    frames
}

/// The end of a reply, and the usage.
fn stop(reason: &str) -> Frames {
    let usage = json!({ "inputTokens": 20, "outputTokens": 5, "totalTokens": 25 });
    vec![
        event("messageStop", &json!({ "stopReason": reason })),
        event("metadata", &json!({ "usage": usage })),
    ]
}
