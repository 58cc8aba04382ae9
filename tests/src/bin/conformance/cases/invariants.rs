//! The sentences of the cases that this runner can check; for all others it says that it cannot.

use serde_json::Value;

use super::replay::call_ids;
use integration_tests::observe::Observation;

/// What a check finds; `None` if the sentence is not known.
type Checked = Option<Result<(), String>>;

/// The answer comes from the target that it is sent back to; so it is set up.
pub(super) const SAME_MODEL_ANSWERS: &str =
    "the model name in the answer is the one of the same-model target";

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
        SAME_MODEL_ANSWERS => Ok(()),
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

/// A sentence that takes two bodies.
pub(super) const TWICE_THE_SAME: &str = "building the body twice gives the same bytes";

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
        // `replay` builds it once more.
        TWICE_THE_SAME => Ok(()),
        "every text block in the body has at least one character that is not white space"
        | "no text block is empty or blank" => {
            holds(texts(body).all(|text| !text.trim().is_empty()), sentence)
        }
        "tool_use toolu_E1 is there with its tool_result in the next user message" => {
            holds(is_answered_next(body, "toolu_E1"), sentence)
        }
        "the texts list, again and really are there in this order" => holds(
            in_order(texts(body), &["list", "again", "really"]),
            sentence,
        ),
        "the tool_result ids are the tool_use ids in the same order" => holds(
            block_ids(body, "tool_result", "tool_use_id").eq(block_ids(body, "tool_use", "id")),
            sentence,
        ),
        "the third id is toolu_ok-1" => holds(
            block_ids(body, "tool_use", "id").nth(2) == Some("toolu_ok-1"),
            sentence,
        ),
        "the second request sends each cut call with an object as input" => {
            holds(calls_have_objects(body), sentence)
        }
        "each block of type thinking in the body has a non-empty signature" => {
            let mut signatures = blocks(body, "thinking").map(|block| block["signature"].as_str());
            holds(
                signatures.all(|signature| signature.is_some_and(|s| !s.is_empty())),
                sentence,
            )
        }
        "the five answers and six user texts are all there, in order" => {
            let talk = [
                "one",
                "Answer one",
                "two",
                "Answer two",
                "three",
                "Answer three",
                "four",
                "Answer four",
                "five",
                "Answer five",
                "six",
            ];
            holds(in_order(texts(body), &talk), sentence)
        }
        _ => return None,
    })
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body.get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The blocks of all messages that are of one type.
fn blocks<'a>(body: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let contents = messages(body).filter_map(|message| message["content"].as_array());
    contents
        .flatten()
        .filter(move |block| block["type"] == kind)
}

fn block_ids<'a>(body: &'a Value, kind: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    blocks(body, kind).filter_map(move |block| block[key].as_str())
}

/// The texts of all messages: those of blocks, and contents that are only a text.
fn texts(body: &Value) -> impl Iterator<Item = &str> {
    messages(body).flat_map(|message| {
        let content = &message["content"];
        let blocks = content.as_array().into_iter().flatten();
        let blocks = blocks.filter(|block| block["type"] == "text");
        let texts = blocks.filter_map(|block| block["text"].as_str());
        content.as_str().into_iter().chain(texts)
    })
}

/// True if all of `wanted` are among the texts in this order.
fn in_order<'a>(mut texts: impl Iterator<Item = &'a str>, wanted: &[&str]) -> bool {
    wanted
        .iter()
        .all(|wanted| texts.any(|text| text == *wanted))
}

/// True if the message behind the call is the user's and holds the call's result.
fn is_answered_next(body: &Value, id: &str) -> bool {
    let mut messages = messages(body);
    let is_called = messages.any(|message| call_ids(message).any(|known| known == id));
    let Some(next) = messages.next().filter(|_| is_called) else {
        return false;
    };
    let blocks = next["content"].as_array().into_iter().flatten();
    next["role"] == "user"
        && blocks
            .filter(|block| block["type"] == "tool_result")
            .any(|block| block["tool_use_id"] == id)
}

/// True if there are calls, as many as results, and the input of each is an object.
fn calls_have_objects(body: &Value) -> bool {
    let mut calls = blocks(body, "tool_use").peekable();
    let results = blocks(body, "tool_result").count();
    calls.peek().is_some()
        && blocks(body, "tool_use").count() == results
        && calls.all(|call| call["input"].is_object())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sentences_about_a_request_to_anthropic_can_fail() {
        let user = |content: Value| json!({ "role": "user", "content": content });
        let reply = |content: Value| json!({ "role": "assistant", "content": content });
        let text = |text: &str| json!({ "type": "text", "text": text });
        let call = |id: &str| json!([{ "type": "tool_use", "id": id, "input": {} }]);
        let result = |id: &str| json!([{ "type": "tool_result", "tool_use_id": id }]);
        let signed = |signature: &str| json!([{ "type": "thinking", "signature": signature }]);
        for (sentence, right, wrong) in [
            (
                "no text block is empty or blank",
                json!([user(json!("a")), reply(json!([text("b")]))]),
                json!([user(json!("a")), reply(json!([text(" \n")]))]),
            ),
            (
                "tool_use toolu_E1 is there with its tool_result in the next user message",
                json!([reply(call("toolu_E1")), user(result("toolu_E1"))]),
                json!([
                    reply(call("toolu_E1")),
                    user(json!("a")),
                    user(result("toolu_E1"))
                ]),
            ),
            (
                "the texts list, again and really are there in this order",
                json!([
                    user(json!("list")),
                    user(json!([text("again"), text("really")]))
                ]),
                json!([
                    user(json!("again")),
                    user(json!([text("list"), text("really")]))
                ]),
            ),
            (
                "the tool_result ids are the tool_use ids in the same order",
                json!([reply(call("a")), user(result("a"))]),
                json!([reply(call("a")), user(result("b"))]),
            ),
            (
                "each block of type thinking in the body has a non-empty signature",
                json!([reply(signed("s"))]),
                json!([reply(signed("s")), reply(signed(""))]),
            ),
            (
                "the second request sends each cut call with an object as input",
                json!([reply(call("a")), user(result("a"))]),
                json!([reply(json!([])), user(result("a"))]),
            ),
        ] {
            let check = |messages: Value| of_body(sentence, &json!({ "messages": messages }));
            assert_eq!(check(right), Some(Ok(())), "{sentence}");
            assert!(matches!(check(wrong), Some(Err(_))), "{sentence}");
        }
    }
}
