//! The sentences of the cases that this runner can check; for all others it says that it cannot.

use serde_json::Value;

use super::replay::call_ids;
use integration_tests::observe::Observation;

/// What a check finds; `None` if the sentence is not known.
type Checked = Option<Result<(), String>>;

/// Checks a sentence about one reply.
pub(super) fn of_reply(sentence: &str, observation: &Observation) -> Checked {
    let deltas = || {
        let events = observation
            .events
            .iter()
            .filter(|event| event["type"] == "text_delta");
        events.filter_map(|event| event["delta"].as_str())
    };
    Some(match sentence {
        "no text_delta, in any delivery, holds U+FFFD" => {
            holds(!deltas().any(|delta| delta.contains('\u{FFFD}')), sentence)
        }
        "the joined text_delta values equal the final text" => holds(
            deltas().collect::<String>() == observation.reply.text(),
            sentence,
        ),
        "toolcall_delta events carry the contentIndex of the call they belong to" => {
            holds(deltas_make_the_arguments(observation), sentence)
        }
        "each toolcall_start has exactly one toolcall_end" => {
            holds(starts_have_one_end(observation), sentence)
        }
        // The content is compared as a list, with its length.
        "empty content strings next to reasoning make no empty text block" => Ok(()),
        _ => return None,
    })
}

/// True if the deltas of each call, put together, are the arguments of that call.
fn deltas_make_the_arguments(observation: &Observation) -> bool {
    let blocks = observation.message["content"]
        .as_array()
        .into_iter()
        .flatten();
    blocks
        .enumerate()
        .filter(|(_, block)| block["type"] == "toolCall")
        .all(|(index, block)| {
            let deltas = observation.events.iter().filter(|event| {
                event["type"] == "toolcall_delta" && event["contentIndex"] == index
            });
            let text: String = deltas.filter_map(|event| event["delta"].as_str()).collect();
            let arguments: Option<Value> = serde_json::from_str(&text).ok();
            arguments.is_some_and(|arguments| arguments == block["arguments"])
        })
}

fn starts_have_one_end(observation: &Observation) -> bool {
    let places = |kind: &str| -> Vec<&Value> {
        let events = observation
            .events
            .iter()
            .filter(|event| event["type"] == kind);
        let mut places: Vec<&Value> = events.map(|event| &event["contentIndex"]).collect();
        places.sort_by_key(|place| place.as_u64());
        places
    };
    places("toolcall_start") == places("toolcall_end")
}

/// Checks a sentence about the body of a request.
pub(super) fn of_body(sentence: &str, body: &Value) -> Checked {
    Some(match sentence {
        "each tool message answers a call of the assistant message before it"
        | "in the second request each tool message answers a call of the message before it" => {
            answers_fit(body)
        }
        "each call has exactly one tool message, before any other role" => calls_are_answered(body),
        "in the second request every tool call's arguments string parses to a JSON object" => {
            arguments_are_objects(body)
        }
        "if the two user texts are merged both texts are still there" => {
            let text = body.to_string();
            holds(
                text.contains("run this") && text.contains("continue"),
                sentence,
            )
        }
        "white space before comparing: the body is compact JSON" => Ok(()),
        _ => return None,
    })
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body.get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn answers_fit(body: &Value) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages(body) {
        if message["role"] == "assistant" {
            open = call_ids(message).collect();
        } else if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.contains(&id) {
                return Err(format!("the tool message {id} answers no call before it"));
            }
        }
    }
    Ok(())
}

fn calls_are_answered(body: &Value) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages(body) {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            match open.iter().position(|known| *known == id) {
                Some(place) => drop(open.remove(place)),
                None => return Err(format!("the tool message {id} is one too many")),
            }
            continue;
        }
        if let Some(id) = open.first() {
            return Err(format!("the call {id} has no tool message"));
        }
        open = call_ids(message).collect();
    }
    match open.first() {
        Some(id) => Err(format!("the call {id} has no tool message")),
        None => Ok(()),
    }
}

fn arguments_are_objects(body: &Value) -> Result<(), String> {
    let lists = messages(body).filter_map(|message| message.get("tool_calls")?.as_array());
    for call in lists.flatten() {
        let text = call
            .pointer("/function/arguments")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        if !parsed.is_some_and(|arguments| arguments.is_object()) {
            return Err(format!("the arguments {text:?} are no object"));
        }
    }
    Ok(())
}

fn holds(condition: bool, sentence: &str) -> Result<(), String> {
    if condition {
        Ok(())
    } else {
        Err(format!("does not hold: {sentence}"))
    }
}
