//! The scenarios in the words of `google-generative-ai`.

use pi_testkit::conformance::Scenario;
use serde_json::{Value, json};

use super::{Answer, Wire};

/// Vertex AI, at its address for who shows a key.
pub(super) const VERTEX: Wire = Wire {
    api: "google-vertex",
    answer,
};

pub(super) const WIRE: Wire = Wire {
    api: "google-generative-ai",
    answer,
};

fn answer(scenario: Scenario) -> Option<Answer> {
    let stop = || finish("STOP");
    let weather = |city: &str| call(json!({ "name": "weather", "args": { "city": city } }));
    Some(match scenario {
        Scenario::Text
        | Scenario::AbortBeforeStart
        | Scenario::NothingBeforePoll
        | Scenario::TwoStreams => reply([text("Hello"), text(", world"), stop()]),
        Scenario::EmptyText => reply([stop()]),
        Scenario::Thinking => {
            let thought = |text| part(json!({ "text": text, "thought": true }));
            reply([thought("Let me"), thought(" think."), text("Hello"), stop()])
        }
        Scenario::OneToolCall => reply([weather("Graz"), stop()]),
        Scenario::SeveralToolCalls => {
            reply([text("Looking."), weather("Graz"), weather("Linz"), stop()])
        }
        Scenario::SplitArguments => reply([
            call(json!({ "name": "weather", "willContinue": true })),
            argument("$.city", "Gr", true),
            argument("$.city", "az", false),
            argument("$.note", "a \"quo", true),
            argument("$.note", "ted\" ü", false),
            call(json!({})),
            stop(),
        ]),
        Scenario::NoArguments => reply([call(json!({ "name": "weather" })), stop()]),
        Scenario::UnknownEvent => reply([
            text("Hello"),
            "event: mood\ndata: {\"mood\":\"good\"}\n\n".to_owned(),
            text(", world"),
            stop(),
        ]),
        Scenario::MalformedFrame => reply([text("Hel"), "data: {\"candidates\":[{\n\n".to_owned()]),
        Scenario::ErrorInStream => {
            let error = json!({ "code": 503, "message": "busy", "status": "UNAVAILABLE" });
            reply([text("Hel"), event(&json!({ "error": error }))])
        }
        Scenario::ErrorStatus => {
            let status = "RESOURCE_EXHAUSTED";
            let error = json!({ "code": 429, "message": "slow down", "status": status });
            Answer::refused(429, &json!({ "error": error }))
                .expecting(scenario.expected().status(429))
        }
        Scenario::Truncation => reply([text("Hel")]),
        Scenario::EmptyBody => reply([]),
        Scenario::LengthInToolCall => reply([
            call(json!({ "name": "weather", "willContinue": true })),
            argument("$.city", "Gr", true),
            finish("MAX_TOKENS"),
        ]),
        Scenario::Refusal => reply([finish("SAFETY")]),
        Scenario::Usage => reply([text("Hello"), stop()]),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => Answer::held([text("Hel")]),
        _ => return None,
    })
}

fn reply<const N: usize>(events: [String; N]) -> Answer {
    Answer::stream(events)
}

fn text(text: &str) -> String {
    part(json!({ "text": text }))
}

/// A piece of one argument of a call.
fn argument(path: &str, text: &str, goes_on: bool) -> String {
    let piece = json!({ "jsonPath": path, "stringValue": text, "willContinue": goes_on });
    call(json!({ "partialArgs": [piece], "willContinue": true }))
}

fn call(call: Value) -> String {
    part(json!({ "functionCall": call }))
}

fn part(part: Value) -> String {
    let candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": 0 });
    event(&json!({ "candidates": [candidate], "responseId": "resp-1" }))
}

/// The end of a reply: the reason and the usage.
fn finish(reason: &str) -> String {
    let usage = json!({ "promptTokenCount": 20, "candidatesTokenCount": 5, "totalTokenCount": 25 });
    let candidate = json!({ "finishReason": reason, "index": 0 });
    event(&json!({ "candidates": [candidate], "usageMetadata": usage, "responseId": "resp-1" }))
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
