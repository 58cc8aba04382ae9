//! The scenarios in the words of `openai-completions`.

use pi_testkit::conformance::Scenario;
use serde_json::{Value, json};

use super::{Answer, Wire};

pub(super) const WIRE: Wire = Wire {
    api: "openai-completions",
    answer,
};

fn answer(scenario: Scenario) -> Option<Answer> {
    let tool_calls = |calls| reply([calls, finish("tool_calls")]);
    Some(match scenario {
        Scenario::Text
        | Scenario::AbortBeforeStart
        | Scenario::NothingBeforePoll
        | Scenario::TwoStreams => reply([text(&["Hello", ", world"]), finish("stop")]),
        Scenario::EmptyText => reply([text(&[""]), finish("stop")]),
        Scenario::Thinking => {
            let thinking =
                ["Let me", " think."].map(|text| delta(json!({ "reasoning_content": text })));
            reply([thinking.into(), text(&["Hello"]), finish("stop")])
        }
        Scenario::OneToolCall => tool_calls(call(0, "call_1", &[r#"{"city":"Graz"}"#])),
        Scenario::SeveralToolCalls => reply([
            text(&["Looking."]),
            call(0, "call_1", &[r#"{"city":"Graz"}"#]),
            call(1, "call_2", &[r#"{"city":"Linz"}"#]),
            finish("tool_calls"),
        ]),
        Scenario::SplitArguments => tool_calls(call(0, "call_1", super::SPLIT)),
        Scenario::NoArguments => tool_calls(call(0, "call_1", &[])),
        Scenario::UnknownEvent => {
            let mut events = text(&["Hello", ", world"]);
            events.insert(1, "event: mood\ndata: {\"mood\":\"good\"}\n\n".to_owned());
            reply([events, finish("stop")])
        }
        Scenario::MalformedFrame => {
            let broken = "data: {\"choices\":[{\"index\":0,\n\n".to_owned();
            Answer::stream(text(&["Hel"]).into_iter().chain([broken]))
        }
        Scenario::ErrorInStream => {
            let error = json!({ "message": "busy", "code": "server_is_overloaded" });
            let error = event(&json!({ "error": error }));
            Answer::stream(text(&["Hel"]).into_iter().chain([error]))
        }
        Scenario::ErrorStatus => {
            let error = json!({ "message": "slow down", "type": "requests" });
            Answer::refused(429, &json!({ "error": error }))
                .expecting(scenario.expected().status(429))
        }
        Scenario::Truncation => Answer::stream(text(&["Hel"])),
        Scenario::EmptyBody => Answer::stream([]),
        Scenario::LengthInToolCall => {
            reply([call(0, "call_1", &[r#"{"city":"Gr"#]), finish("length")])
        }
        Scenario::Refusal => reply([finish("content_filter")]),
        Scenario::Usage => reply([text(&["Hello"]), finish("stop")]),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => Answer::held(text(&["Hel"])),
        _ => return None,
    })
}

pub(super) fn reply<const N: usize>(parts: [Vec<String>; N]) -> Answer {
    Answer::stream(parts.into_iter().flatten())
}

/// The end of a reply: the reason, the usage, and the mark.
fn finish(reason: &str) -> Vec<String> {
    let choice = json!({ "index": 0, "delta": {}, "finish_reason": reason });
    let usage = json!({ "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25 });
    vec![
        event(&json!({ "id": "chatcmpl-1", "choices": [choice] })),
        event(&json!({ "id": "chatcmpl-1", "choices": [], "usage": usage })),
        "data: [DONE]\n\n".to_owned(),
    ]
}

pub(super) fn text(deltas: &[&str]) -> Vec<String> {
    let deltas = deltas.iter();
    deltas
        .map(|text| delta(json!({ "content": text })))
        .collect()
}

pub(super) fn call(index: u64, id: &str, deltas: &[&str]) -> Vec<String> {
    let function = json!({ "name": "weather", "arguments": "" });
    let start = json!({ "index": index, "id": id, "type": "function", "function": function });
    let more = |json: &&str| json!({ "index": index, "function": { "arguments": json } });
    std::iter::once(start)
        .chain(deltas.iter().map(more))
        .map(|call| delta(json!({ "tool_calls": [call] })))
        .collect()
}

pub(super) fn delta(delta: Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
    event(&json!({ "id": "chatcmpl-1", "choices": [choice] }))
}

pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
