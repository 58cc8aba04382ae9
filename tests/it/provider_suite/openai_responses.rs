//! The scenarios in the words of `openai-responses`, which Azure speaks too.

use pi_testkit::conformance::Scenario;
use serde_json::{Value, json};

use super::{Answer, Wire};

pub(super) const WIRE: Wire = Wire {
    api: "openai-responses",
    answer,
};

pub(super) const AZURE: Wire = Wire {
    api: "azure-openai-responses",
    answer,
};

fn answer(scenario: Scenario) -> Option<Answer> {
    let graz = || call(0, &[r#"{"city":"Graz"}"#]);
    Some(match scenario {
        Scenario::Text
        | Scenario::AbortBeforeStart
        | Scenario::NothingBeforePoll
        | Scenario::TwoStreams => reply([text(0, &["Hello", ", world"]), completed()]),
        Scenario::EmptyText => reply([text(0, &[]), completed()]),
        Scenario::Thinking => reply([
            thinking(0, &["Let me", " think."]),
            text(1, &["Hello"]),
            completed(),
        ]),
        Scenario::OneToolCall => reply([graz(), completed()]),
        Scenario::SeveralToolCalls => reply([
            text(0, &["Looking."]),
            call(1, &[r#"{"city":"Graz"}"#]),
            call(2, &[r#"{"city":"Linz"}"#]),
            completed(),
        ]),
        Scenario::SplitArguments => reply([call(0, super::SPLIT), completed()]),
        Scenario::NoArguments => reply([call(0, &[]), completed()]),
        Scenario::UnknownEvent => {
            let mut events = text(0, &["Hello", ", world"]);
            events.insert(2, json!({ "type": "response.mood", "mood": "good" }));
            reply([events, completed()])
        }
        Scenario::MalformedFrame => {
            let broken = "data: {\"type\":\"response.output_text.delta\",\n\n".to_owned();
            Answer::stream(hel().chain([broken]))
        }
        Scenario::ErrorInStream => {
            let error = json!({ "code": "server_is_overloaded", "message": "busy" });
            let failed = json!({ "id": "resp_1", "status": "failed", "error": error });
            let failed = event(&json!({ "type": "response.failed", "response": failed }));
            Answer::stream(hel().chain([failed]))
        }
        Scenario::ErrorStatus => {
            let error = json!({ "message": "slow down", "type": "requests" });
            Answer::refused(429, &json!({ "error": error }))
                .expecting(scenario.expected().status(429))
        }
        Scenario::Truncation => Answer::stream(hel()),
        Scenario::EmptyBody => Answer::stream([]),
        Scenario::LengthInToolCall => {
            let mut call = call(0, &[r#"{"city":"Gr"#]);
            // Without the end of its item.
            call.pop();
            reply([call, incomplete("max_output_tokens")])
        }
        Scenario::Refusal => reply([incomplete("content_filter")]),
        Scenario::Usage => reply([text(0, &["Hello"]), completed()]),
        Scenario::AbortInMidStream | Scenario::DropInMidStream => Answer::held(hel()),
        _ => return None,
    })
}

fn reply<const N: usize>(parts: [Vec<Value>; N]) -> Answer {
    let events = std::iter::once(created()).chain(parts.into_iter().flatten());
    Answer::stream(events.map(|data| event(&data)))
}

/// The beginning of a reply.
fn hel() -> impl Iterator<Item = String> {
    let mut events = vec![created()];
    events.extend(text(0, &["Hel"]));
    // Without the end of its item.
    events.pop();
    events.into_iter().map(|data| event(&data))
}

fn created() -> Value {
    let response = json!({ "id": "resp_1", "status": "in_progress" });
    json!({ "type": "response.created", "response": response })
}

fn completed() -> Vec<Value> {
    let response = json!({ "id": "resp_1", "status": "completed", "usage": usage() });
    vec![json!({ "type": "response.completed", "response": response })]
}

fn incomplete(reason: &str) -> Vec<Value> {
    let details = json!({ "reason": reason });
    let response = json!({
        "id": "resp_1", "status": "incomplete", "incomplete_details": details, "usage": usage(),
    });
    vec![json!({ "type": "response.incomplete", "response": response })]
}

fn usage() -> Value {
    json!({ "input_tokens": 20, "output_tokens": 5, "total_tokens": 25 })
}

fn text(index: u64, deltas: &[&str]) -> Vec<Value> {
    let item = |content: Value| json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": content });
    let whole = json!([{ "type": "output_text", "text": deltas.concat() }]);
    let kind = "response.output_text.delta";
    block(index, kind, "msg_1", deltas, [item(json!([])), item(whole)])
}

fn thinking(index: u64, deltas: &[&str]) -> Vec<Value> {
    let item = |summary: Value| json!({ "id": "rs_1", "type": "reasoning", "summary": summary });
    let whole = json!([{ "type": "summary_text", "text": deltas.concat() }]);
    let kind = "response.reasoning_summary_text.delta";
    block(index, kind, "rs_1", deltas, [item(json!([])), item(whole)])
}

fn call(index: u64, deltas: &[&str]) -> Vec<Value> {
    let (id, call_id) = (format!("fc_{index}"), format!("call_{index}"));
    let item = |arguments: String| json!({ "id": id, "type": "function_call", "call_id": call_id, "name": "weather", "arguments": arguments });
    let kind = "response.function_call_arguments.delta";
    block(
        index,
        kind,
        &id,
        deltas,
        [item(String::new()), item(deltas.concat())],
    )
}

/// An item: how it begins, its deltas, and how it ends.
fn block(index: u64, kind: &str, id: &str, deltas: &[&str], items: [Value; 2]) -> Vec<Value> {
    let [start, end] = items;
    let mut events =
        vec![json!({ "type": "response.output_item.added", "output_index": index, "item": start })];
    events.extend(deltas.iter().map(
        |delta| json!({ "type": kind, "item_id": id, "output_index": index, "delta": delta }),
    ));
    events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": end }));
    events
}

fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
