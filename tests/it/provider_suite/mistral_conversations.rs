//! The scenarios in the words of `mistral-conversations`.

use pi_testkit::conformance::Scenario;
use serde_json::json;

use super::openai_completions::{call, delta, event, reply, text};
use super::{Answer, Wire};

pub(super) const WIRE: Wire = Wire {
    api: "mistral-conversations",
    answer,
};

fn answer(scenario: Scenario) -> Option<Answer> {
    let tool_calls = |calls| reply([calls, finish("tool_calls")]);
    let (first, second) = ("aaaaaaaa1", "aaaaaaaa2");
    Some(match scenario {
        Scenario::Text
        | Scenario::AbortBeforeStart
        | Scenario::NothingBeforePoll
        | Scenario::TwoStreams => reply([text(&["Hello", ", world"]), finish("stop")]),
        Scenario::EmptyText => reply([text(&[""]), finish("stop")]),
        Scenario::Thinking => {
            let thinking = ["Let me", " think."].map(|text| {
                let said = json!([{ "type": "text", "text": text }]);
                delta(json!({ "content": [{ "type": "thinking", "thinking": said }] }))
            });
            reply([thinking.into(), text(&["Hello"]), finish("stop")])
        }
        Scenario::OneToolCall => tool_calls(call(0, first, &[r#"{"city":"Graz"}"#])),
        Scenario::SeveralToolCalls => reply([
            text(&["Looking."]),
            call(0, first, &[r#"{"city":"Graz"}"#]),
            call(1, second, &[r#"{"city":"Linz"}"#]),
            finish("tool_calls"),
        ]),
        Scenario::SplitArguments => tool_calls(call(0, first, super::SPLIT)),
        Scenario::NoArguments => tool_calls(call(0, first, &[])),
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
            let kind = "service_tier_capacity_exceeded";
            let error = json!({ "object": "error", "message": "busy", "type": kind });
            Answer::stream(text(&["Hel"]).into_iter().chain([event(&error)]))
        }
        Scenario::ErrorStatus => {
            let error = json!({ "object": "error", "message": "slow down", "code": "1300" });
            Answer::refused(429, &error).expecting(scenario.expected().status(429))
        }
        Scenario::Truncation => Answer::stream(text(&["Hel"])),
        Scenario::EmptyBody => Answer::stream([]),
        Scenario::LengthInToolCall => {
            reply([call(0, first, &[r#"{"city":"Gr"#]), finish("length")])
        }
        Scenario::Refusal => reply([finish("content_filter")]),
        Scenario::Usage => reply([text(&["Hello"]), finish("stop")]),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => Answer::held(text(&["Hel"])),
        _ => return None,
    })
}

/// The end of a reply: the reason with the usage, and the mark.
fn finish(reason: &str) -> Vec<String> {
    let choice = json!({ "index": 0, "delta": { "content": "" }, "finish_reason": reason });
    let usage = json!({ "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25 });
    vec![
        event(&json!({ "id": "cmpl-1", "choices": [choice], "usage": usage })),
        "data: [DONE]\n\n".to_owned(),
    ]
}
