//! Layer `replay`: the body of a request for stored messages.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use integration_tests::server::{Response, Server};
use pi_core::{Context, Message, Request, UserMessage};
use serde_json::{Map, Value, json};

use super::model::Target;
use super::{Case, Findings, invariants};
use integration_tests::apis::{self, Access};
use integration_tests::observe::Observation;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(20);

pub(super) async fn run(case: &Case) -> Result<Findings> {
    let stored = case.json("context.json")?;
    let mut findings = Findings::default();
    let target = Target {
        target: stored.get("target"),
        compat: stored.get("compat"),
        input: stored.get("modelInput"),
        ..Target::default()
    };
    if apis::find(target.api()).is_none() {
        findings.cannot(format!("the api {}", target.api()));
        return Ok(findings);
    }
    let messages = stored.get("messages").cloned().context("no messages")?;
    let messages: Vec<Message> = serde_json::from_value(messages).context("read messages")?;
    let body = send(&target, messages.clone()).await?;
    if case
        .invariants()
        .any(|text| text == invariants::TWICE_THE_SAME)
        && send(&target, messages.clone()).await? != body
    {
        findings.differ(format!("does not hold: {}", invariants::TWICE_THE_SAME));
    }
    let body: Value = serde_json::from_slice(&body).context("read the body")?;
    let mut seen = facts(&body);
    // Looked at below, with another model.
    seen.insert("textOnlyModel".to_owned(), Value::Null);
    let mut expected = case.expected.clone();
    let text_only = expected
        .as_object_mut()
        .and_then(|all| all.shift_remove("textOnlyModel"));
    findings.compare("body", &expected, &seen);
    for sentence in case.invariants() {
        match invariants::of_body(sentence, &body) {
            Some(Ok(())) => {}
            Some(Err(text)) => findings.differ(text),
            None => findings.cannot(format!("the sentence \"{sentence}\"")),
        }
    }
    if let Some(expected) = text_only {
        let text = json!(["text"]);
        let body = send(
            &Target {
                input: Some(&text),
                ..target
            },
            messages,
        )
        .await?;
        let body = serde_json::from_slice(&body).context("read the body")?;
        findings.compare("body for a model of text only", &expected, &facts(&body));
    }
    Ok(findings)
}

/// Returns the body for a user message and `messages` behind it.
pub(super) async fn body(target: &Target<'_>, messages: Vec<Message>) -> Result<Value> {
    let mut all: Vec<Message> = vec![UserMessage::new("go", 0).into()];
    all.extend(messages);
    let body = send(target, all).await?;
    serde_json::from_slice(&body).context("read the body")
}

/// Returns the bytes of the body.
async fn send(target: &Target<'_>, messages: Vec<Message>) -> Result<Bytes> {
    let api = apis::find(target.api()).context("the api is not built yet")?;
    let refusal = Response {
        status: 400,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        pieces: vec![Bytes::from_static(
            br#"{"error":{"message":"only recorded"}}"#,
        )],
        ..Response::default()
    };
    let server = Server::start(vec![refusal]).await?;
    let mut request = Request::new(target.model(&server.host())?, Context::new(messages));
    request.options.api_key = Some("test-key".to_owned().into());
    let provider = (api.provider)(Access::Direct)?;
    let reply = Observation::of_stream(provider.stream(request));
    let reply = tokio::time::timeout(LIMIT, reply)
        .await
        .context("no end in time")?;
    let received = server.received();
    let received = received
        .first()
        .with_context(|| format!("nothing was sent: {:?}", reply.reply.error_message))?;
    Ok(received.body.clone())
}

/// Returns what the keys of `expected.json` look at.
pub(super) fn facts(body: &Value) -> Map<String, Value> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let of_role = |role: &str| -> Vec<&Value> {
        messages
            .iter()
            .filter(|message| message["role"] == role)
            .collect()
    };
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    let images: Vec<String> = of_role("user")
        .last()
        .map(|message| images(message))
        .unwrap_or_default();
    let ids: Vec<&str> = of_role("assistant")
        .into_iter()
        .flat_map(call_ids)
        .collect();
    let different: std::collections::BTreeSet<&&str> = ids.iter().collect();
    let facts = json!({
        "wire": body,
        "body": body.to_string(),
        "roles": roles,
        "assistantMessages": of_role("assistant"),
        "toolMessages": of_role("tool"),
        "lastUserImages": images,
        "toolUseIds": ids,
        "toolUseIdCount": ids.len(),
        "distinct": different.len() == ids.len(),
    });
    facts.as_object().cloned().unwrap_or_default()
}

/// The images of a message: URLs, or the data.
fn images(message: &Value) -> Vec<String> {
    let blocks = message
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let places = ["/image_url/url", "/source/data"];
    let found = blocks.filter_map(|block| places.iter().find_map(|place| block.pointer(place)));
    found.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The ids of the calls of an assistant message.
pub(super) fn call_ids(message: &Value) -> impl Iterator<Item = &str> {
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let blocks = message
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let uses = blocks.filter(|block| block["type"] == "tool_use");
    calls
        .chain(uses)
        .filter_map(|call| call.get("id")?.as_str())
}
