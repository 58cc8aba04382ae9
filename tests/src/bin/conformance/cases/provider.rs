//! Layer `provider`: the bytes of a response to events and message, and the message sent back.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use integration_tests::delivery::Delivery;
use integration_tests::server::{End, Response, Server};
use pi_core::{AgentMessage, Context, Message, Request, UserMessage};
use serde_json::{Map, Value, json};

use super::model::Target;
use super::{Case, Findings, deliveries, inputs, invariants, replay};
use integration_tests::apis::{self, Access, Api};
use integration_tests::observe::Observation;

/// How long one reply may take.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

pub(super) async fn run(case: &Case) -> Result<Findings> {
    let setup = case.json("setup.json")?;
    let mut findings = Findings::default();
    for (input, api) in inputs(&setup) {
        let Some(api) = apis::find(&api) else {
            findings.cannot(format!("the api {api}"));
            continue;
        };
        let target = Target {
            target: answering(case, &setup),
            api: api.name,
            fields: setup.get("model"),
            ..Target::default()
        };
        let body = Bytes::from(
            fs::read(case.folder.join(&input)).with_context(|| format!("read {input}"))?,
        );
        let expected = case.expected_of(&input)?;
        let mut last = None;
        for delivery in deliveries(&setup, body.len())? {
            for observation in observe(api, &setup, &target, &body, delivery).await? {
                let place = format!("{input}, {delivery}");
                judge(case, &place, expected, &observation, &mut findings).await?;
                last = Some(observation);
            }
        }
        if let Some(observation) = last {
            send_back(case, &setup, &input, &target, &observation, &mut findings).await?;
        }
    }
    Ok(findings)
}

/// Returns the target that gives the answer, where the case says which one does.
fn answering<'a>(case: &Case, setup: &'a Value) -> Option<&'a Value> {
    let is_told = case
        .invariants()
        .any(|sentence| sentence == invariants::SAME_MODEL_ANSWERS);
    let replays = setup.get("thenReplay")?.as_array()?;
    let same = replays.iter().find(|replay| replay["name"] == "same-model");
    same.filter(|_| is_told)?.get("target")
}

/// Reads a body straight with the codec where it simply ends, and over HTTP.
async fn observe(
    api: &Api,
    setup: &Value,
    target: &Target<'_>,
    body: &Bytes,
    delivery: Delivery,
) -> Result<Vec<Observation>> {
    let mut observations = Vec::new();
    let end = end(setup.get("end"))?;
    let pieces = delivery.cut(body);
    if end == End::Clean {
        let request = Request::new(target.model("127.0.0.1")?, context());
        let decoder = (api.decoder)(&request);
        observations.push(Observation::of_decoder(decoder, &request.model, &pieces));
    }
    // Every cut of a body would be as many connections; the codec has seen them all.
    if !matches!(delivery, Delivery::Cut(_)) {
        let response = event_stream(pieces, end);
        observations.push(ask(api, target, vec![response]).await?.0);
    }
    Ok(observations)
}

pub(super) fn event_stream(pieces: Vec<Bytes>, end: End) -> Response {
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Response {
        status: 200,
        headers,
        pieces,
        end,
    }
}

/// Asks a server with these responses; returns the reply and the number of requests.
pub(super) async fn ask(
    api: &Api,
    target: &Target<'_>,
    responses: Vec<Response>,
) -> Result<(Observation, usize)> {
    let server = Server::start(responses).await?;
    let provider = (api.provider)(Access::Direct)?;
    let request = request(target, &server)?;
    let reply = Observation::of_stream(provider.stream(request));
    let reply = tokio::time::timeout(LIMIT, reply)
        .await
        .context("no end in time")?;
    Ok((reply, server.received().len()))
}

/// Makes the one request of a case.
pub(super) fn request(target: &Target<'_>, server: &Server) -> Result<Request> {
    let mut request = Request::new(target.model(&server.host())?, context());
    request.options.api_key = Some("test-key".to_owned().into());
    Ok(request)
}

pub(super) fn end(word: Option<&Value>) -> Result<End> {
    Ok(match word.and_then(Value::as_str) {
        None | Some("eof") => End::Clean,
        Some("reset") => End::Reset,
        Some("open") => End::Open,
        Some(other) => anyhow::bail!("the end {other} is not known"),
    })
}

fn context() -> Context {
    Context::new(vec![UserMessage::new("go", 0).into()])
}

/// Returns what the keys of `expected.json` look at.
pub(super) fn facts(observation: &Observation) -> Map<String, Value> {
    let terminal = observation
        .events
        .last()
        .and_then(|event| event.get("type"))
        .cloned();
    let failure = observation.failure.as_ref();
    let length = observation
        .reply
        .error_message
        .as_ref()
        .map(|text| text.chars().count());
    let facts = json!({
        "terminal": terminal,
        "message": observation.message,
        "errorKind": failure.and_then(|failure| failure.kind),
        "retryable": failure.map(|failure| failure.retryable),
        "messageLength": length,
    });
    facts.as_object().cloned().unwrap_or_default()
}

async fn judge(
    case: &Case,
    place: &str,
    expected: &Value,
    observation: &Observation,
    findings: &mut Findings,
) -> Result<()> {
    let mut seen = facts(observation);
    if let Some(wanted) = expected.get("replayed") {
        // Checked with what is sent back; here it is only known.
        seen.insert("replayed".to_owned(), wanted.clone());
    }
    let mut expected = expected.clone();
    if let Some(fields) = expected.as_object_mut() {
        fields.shift_remove("replayed");
    }
    findings.compare(place, &expected, &seen);
    if let Err(text) = observation.check_ids() {
        findings.differ(format!("{place}: {text}"));
    }
    for sentence in case.invariants() {
        match invariants::of_reply(sentence, observation) {
            Some(Ok(())) => {}
            Some(Err(text)) => findings.differ(format!("{place}: {text}")),
            None => findings.cannot(format!("the sentence \"{sentence}\"")),
        }
    }
    Ok(())
}

/// Sends a reply back where the case asks for it.
async fn send_back(
    case: &Case,
    setup: &Value,
    input: &str,
    answering: &Target<'_>,
    observation: &Observation,
    findings: &mut Findings,
) -> Result<()> {
    let reply: Message = observation.reply.clone().into();
    if let Some(wanted) = case.expected_of(input)?.get("replayed") {
        let body = replay::body(answering, vec![reply.clone()]).await?;
        let call = body.pointer("/messages/1/tool_calls/0").or_else(|| {
            let blocks = body.pointer("/messages/1/content")?.as_array()?;
            blocks.iter().find(|block| block["type"] == "tool_use")
        });
        let checked = integration_tests::matcher::check(wanted, call);
        findings.note(&format!("{input}, sent back"), checked);
    }
    let replays = match setup.get("thenReplay") {
        Some(Value::Object(by_file)) => by_file.get(input).and_then(Value::as_array).cloned(),
        Some(Value::Array(list)) => Some(list.clone()),
        _ => None,
    };
    for script in replays.unwrap_or_default() {
        let name = script
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let target = Target {
            target: script.get("target"),
            api: answering.api,
            compat: script.get("compat"),
            fields: answering.fields,
            input: None,
        };
        if apis::find(target.api()).is_none() {
            findings.cannot(format!("the api {}", target.api()));
            continue;
        }
        let mut messages = vec![reply.clone()];
        for message in script
            .get("append")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let message: AgentMessage = serde_json::from_value(message.clone())?;
            messages.extend(message.to_message());
        }
        let body = replay::body(&target, messages).await?;
        let mut seen = replay::facts(&body);
        let replies = seen.get("assistantMessages").and_then(Value::as_array);
        let first = replies.and_then(|replies| replies.first()).cloned();
        seen.insert("assistant".to_owned(), first.unwrap_or_default());
        let expected = case
            .expected
            .get("replays")
            .and_then(|replays| replays.get(name));
        let expected = expected.with_context(|| format!("no replay {name} is expected"))?;
        findings.compare(&format!("{input}, replay {name}"), expected, &seen);
    }
    Ok(())
}
