//! The scenarios in the words of `anthropic-messages`.

use pi_core::Usage;
use pi_testkit::conformance::{Expected, Scenario};
use serde_json::{Value, json};

use super::{Answer, Wire};

pub(super) const WIRE: Wire = Wire {
    api: "anthropic-messages",
    answer,
};

fn answer(scenario: Scenario) -> Option<Answer> {
    let end_turn = || stop("end_turn");
    let tool_use = |calls| reply([calls, stop("tool_use")]);
    Some(match scenario {
        Scenario::Text
        | Scenario::AbortBeforeStart
        | Scenario::NothingBeforePoll
        | Scenario::TwoStreams => reply([text(0, &["Hello", ", world"]), end_turn()]),
        Scenario::EmptyText => reply([end_turn()]),
        Scenario::Thinking => {
            let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
            let deltas = [
                json!({ "type": "thinking_delta", "thinking": "Let me" }),
                json!({ "type": "thinking_delta", "thinking": " think." }),
                json!({ "type": "signature_delta", "signature": "c2lnbmVk" }),
            ];
            reply([block(0, start, deltas), text(1, &["Hello"]), end_turn()])
        }
        Scenario::OneToolCall => tool_use(call(0, "toolu_1", &[r#"{"city":"Graz"}"#])),
        Scenario::SeveralToolCalls => reply([
            text(0, &["Looking."]),
            call(1, "toolu_1", &[r#"{"city":"Graz"}"#]),
            call(2, "toolu_2", &[r#"{"city":"Linz"}"#]),
            stop("tool_use"),
        ]),
        Scenario::SplitArguments => tool_use(call(0, "toolu_1", super::SPLIT)),
        Scenario::NoArguments => tool_use(call(0, "toolu_1", &[""])),
        Scenario::UnknownEvent => {
            let mut events = text(0, &["Hello", ", world"]);
            events.insert(2, json!({ "type": "mood", "mood": "good" }));
            reply([events, end_turn()])
        }
        Scenario::MalformedFrame => {
            let broken = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\n\n";
            Answer::stream(hel().chain([broken.to_owned()]))
        }
        Scenario::ErrorInStream => {
            let error = json!({ "type": "overloaded_error", "message": "Overloaded" });
            let error = event(&json!({ "type": "error", "error": error }));
            Answer::stream(hel().chain([error])).expecting(with_usage(scenario))
        }
        Scenario::ErrorStatus => {
            let error = json!({ "type": "rate_limit_error", "message": "slow down" });
            Answer::refused(429, &json!({ "type": "error", "error": error }))
                .expecting(scenario.expected().status(429))
        }
        Scenario::Truncation => Answer::stream(hel()).expecting(with_usage(scenario)),
        Scenario::EmptyBody => Answer::stream([]),
        Scenario::LengthInToolCall => {
            reply([call(0, "toolu_1", &[r#"{"city":"Gr"#]), stop("max_tokens")])
        }
        Scenario::Refusal => reply([stop("refusal")]),
        Scenario::Usage => reply([text(0, &["Hello"]), end_turn()]),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => {
            Answer::held(hel()).expecting(with_usage(scenario))
        }
        _ => return None,
    })
}

/// What is expected of a reply that breaks off: its start has told the usage so far.
fn with_usage(scenario: Scenario) -> Expected {
    scenario.expected().usage(Usage::new(20, 1, 0, 0))
}

fn reply<const N: usize>(parts: [Vec<Value>; N]) -> Answer {
    let events: Vec<Value> = std::iter::once(start())
        .chain(parts.into_iter().flatten())
        .collect();
    Answer::stream(events.iter().map(event))
}

/// The beginning of a reply.
fn hel() -> impl Iterator<Item = String> {
    let mut events = vec![start()];
    events.extend(text(0, &["Hel"]));
    // Without the end of its block.
    events.pop();
    events.into_iter().map(|data| event(&data))
}

fn start() -> Value {
    let usage = json!({ "input_tokens": 20, "output_tokens": 1 });
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage });
    json!({ "type": "message_start", "message": message })
}

fn stop(reason: &str) -> Vec<Value> {
    let usage = json!({ "output_tokens": 5 });
    vec![
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ]
}

fn text(index: u64, deltas: &[&str]) -> Vec<Value> {
    let deltas = deltas
        .iter()
        .map(|text| json!({ "type": "text_delta", "text": text }));
    block(index, json!({ "type": "text", "text": "" }), deltas)
}

fn call(index: u64, id: &str, deltas: &[&str]) -> Vec<Value> {
    let start = json!({ "type": "tool_use", "id": id, "name": "weather", "input": {} });
    let delta = |json: &&str| json!({ "type": "input_json_delta", "partial_json": json });
    block(index, start, deltas.iter().map(delta))
}

fn block(index: u64, start: Value, deltas: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut events =
        vec![json!({ "type": "content_block_start", "index": index, "content_block": start })];
    events.extend(
        deltas
            .into_iter()
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}

fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
