//! Request cases: what is sent for a stored conversation.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use integration_tests::compare::{self as values, Difference};
use integration_tests::report::{Outcome, Report};
use integration_tests::server::{Received, Response, Server};
use integration_tests::{matcher, normalise, stored};
use pi_core::AssistantMessage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::dump::Dump;
use crate::stream::{Meta, read_request};
use integration_tests::apis::{self, Access, Api};
use integration_tests::observe::Observation;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A header that means nothing outside a browser.
const NOT_COMPARED: &str = "anthropic-dangerous-direct-browser-access";

/// Headers of the HTTP client, not of the library.
const OF_THE_CLIENT: [&str; 8] = [
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "proxy-connection",
    "transfer-encoding",
    "user-agent",
    NOT_COMPARED,
];

/// A request as it is compared.
pub(crate) struct Seen {
    method: String,
    /// Path and query, or the whole URL.
    target: String,
    headers: Map<String, Value>,
    body: Value,
}

impl Seen {
    pub(crate) fn of(received: &Received) -> Self {
        let headers = received
            .headers
            .iter()
            .filter(|(name, _)| !OF_THE_CLIENT.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let body = serde_json::from_slice(&received.body)
            .unwrap_or_else(|_| json!({ "not JSON": String::from_utf8_lossy(&received.body) }));
        Self {
            method: received.method.clone(),
            target: received.target.clone(),
            headers: headers.collect(),
            body,
        }
    }
}

/// The right result of a suspect.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Right {
    body: Option<Value>,
    sent: Option<bool>,
    error: Option<Value>,
}

/// Runs all request cases below a folder.
pub(crate) async fn run(folder: &Path, dump: &Dump, report: &mut Report) -> Result<()> {
    for file in stored::files_below(folder, &|name| name == "meta.json")? {
        let meta: Meta = stored::parse(&file)?;
        if meta.kind != "request" {
            continue;
        }
        let Some(api) = apis::find(&meta.api) else {
            let reason = format!("the api {} is not built yet", meta.api);
            report.add(meta.id, Outcome::Skipped(reason));
            continue;
        };
        if let Some(reason) = meta.skip_reason() {
            report.add(meta.id, Outcome::Skipped(reason));
            continue;
        }
        let folder = file.parent().context("a case without a folder")?.to_owned();
        let (name, dump) = (meta.id.clone(), dump.clone());
        // In a task of its own, a panic is the outcome of this case only.
        let task = tokio::spawn(async move { run_case(api, &folder, &name, &dump).await });
        let differences = match task.await {
            Ok(result) => result.unwrap_or_else(|error| vec![format!("{error:#}")]),
            Err(error) => vec![format!("the code under test: {error}")],
        };
        report.add(meta.id, Outcome::from_differences(differences));
    }
    Ok(())
}

async fn run_case(api: &Api, folder: &Path, name: &str, dump: &Dump) -> Result<Vec<String>> {
    let expected = stored::json(&folder.join("expected.request.json"))?;
    let right: Right = match stored::json_if_any(&folder.join("right.json"))? {
        Some(value) => Right::deserialize(value)?,
        None => Right::default(),
    };
    let (reply, received) = send(api, folder).await?;
    let mut seen = received.first().map(Seen::of);
    dump.write(
        &format!("{name}/actual.request.json"),
        &dumped(seen.as_ref(), &reply),
    )?;
    let meta = stored::json(&folder.join("meta.json"))?;
    if let (Some(seen), Some(Value::Bool(true))) = (&mut seen, meta.get("json_has_lone_surrogates"))
    {
        // The recorded body has nothing where a half of a surrogate pair was; a string here cannot
        // hold one, so it was read as U+FFFD.
        normalise::drop_replacement_characters(&mut seen.body);
    }

    let sent = right
        .sent
        .or(expected.get("sent").and_then(Value::as_bool))
        .unwrap_or(true);
    match (sent || right.body.is_some(), seen) {
        (true, Some(seen)) => Ok(compare(&expected, right.body.as_ref(), &seen)),
        (true, None) => Ok(vec![format!("nothing was sent: {}", error_text(&reply))]),
        (false, Some(_)) => Ok(vec!["something was sent".to_owned()]),
        (false, None) => Ok(compare_error(&expected, &right, &reply)),
    }
}

/// Asks through a local proxy, which sees the whole URL and refuses.
async fn send(api: &Api, folder: &Path) -> Result<(AssistantMessage, Vec<Received>)> {
    let server = Server::start(vec![refusal()]).await?;
    let mut model = stored::json(&folder.join("model.json"))?;
    let base = model
        .get("baseUrl")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // Without TLS the proxy can read the request; the scheme is put back before it is compared.
    model["baseUrl"] = Value::from(base.replacen("https://", "http://", 1));
    let request = read_request(folder, &model)?;
    let provider = (api.provider)(Access::Through(server.host()))?;
    let reply = Observation::of_stream(provider.stream(request));
    let reply = tokio::time::timeout(LIMIT, reply)
        .await
        .context("no end in time")?;
    Ok((reply.reply, server.received()))
}

/// A response that nobody tries again.
fn refusal() -> Response {
    Response {
        status: 400,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        pieces: vec![Bytes::from_static(
            br#"{"error":{"message":"only recorded"}}"#,
        )],
        ..Response::default()
    }
}

/// Compares a request with the expected one; `body` is a matcher that takes the place of its body.
pub(crate) fn compare(expected: &Value, body: Option<&Value>, seen: &Seen) -> Vec<String> {
    let mut differences = Vec::new();
    let mut note = |part: &str, result: Result<(), Difference>| {
        if let Err(difference) = result {
            differences.push(difference.below(part).to_string());
        }
    };
    let text = |key: &str| expected.get(key).and_then(Value::as_str);
    if let Some(method) = text("method") {
        note(
            "request.method",
            values::equal(&method.into(), &seen.method.as_str().into()),
        );
    }
    if let Some(path) = text("path") {
        note(
            "request.path",
            values::equal(&path.into(), &seen.target.as_str().into()),
        );
    }
    if let Some(url) = text("url") {
        let url = url.replacen("https://", "http://", 1);
        note(
            "request.url",
            values::equal(&url.into(), &seen.target.as_str().into()),
        );
    }
    for (name, value) in expected
        .get("headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if name != NOT_COMPARED {
            note(
                &format!("request.headers.{name}"),
                header(value, seen.headers.get(name)),
            );
        }
    }
    match (body, expected.get("body")) {
        (Some(pattern), _) => note("request.body", matcher::check(pattern, Some(&seen.body))),
        (None, Some(body)) => note("request.body", values::equal(body, &seen.body)),
        (None, None) => {}
    }
    differences.extend(repeated_id(&seen.body).map(|id| format!("request.body: id {id} twice")));
    differences
}

/// Compares a header; a name in double braces stands for any text.
fn header(expected: &Value, actual: Option<&Value>) -> Result<(), Difference> {
    let Some(actual) = actual else {
        return Err(Difference::new("$", Some(expected), None));
    };
    let (pattern, text) = (
        expected.as_str().unwrap_or(""),
        actual.as_str().unwrap_or(""),
    );
    match (pattern.split_once("{{"), pattern.rsplit_once("}}")) {
        (Some((start, _)), Some((_, end))) if text.starts_with(start) && text.ends_with(end) => {
            Ok(())
        }
        _ => values::equal(expected, actual),
    }
}

/// Returns an id that two items of the request share where they must not: items of a Responses
/// request, calls of one assistant message.
fn repeated_id(body: &Value) -> Option<String> {
    let list = |key: &str| {
        body.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let calls = list("messages").filter_map(|message| message.get("tool_calls")?.as_array());
    let groups = calls.map(|calls| calls.iter().collect());
    let items: Vec<&Value> = list("input").collect();
    groups.chain([items]).find_map(|group: Vec<&Value>| {
        let mut seen = std::collections::BTreeSet::new();
        let ids = group
            .into_iter()
            .filter_map(|item| item.get("id")?.as_str());
        ids.filter(|id| !seen.insert(*id)).map(str::to_owned).next()
    })
}

fn compare_error(expected: &Value, right: &Right, reply: &AssistantMessage) -> Vec<String> {
    let pattern = right.error.as_ref().or(expected.get("error"));
    let Some(pattern) = pattern else {
        return Vec::new();
    };
    let text = Value::from(error_text(reply));
    match matcher::check(pattern, Some(&text)) {
        Ok(()) => Vec::new(),
        Err(difference) => vec![difference.below("error").to_string()],
    }
}

fn error_text(reply: &AssistantMessage) -> &str {
    reply.error_message.as_deref().unwrap_or_default()
}

fn dumped(seen: Option<&Seen>, reply: &AssistantMessage) -> Value {
    match seen {
        Some(seen) => json!({
            "sent": true,
            "method": seen.method,
            "url": seen.target.replacen("http://", "https://", 1),
            "headers": seen.headers,
            "body": seen.body,
        }),
        None => json!({ "sent": false, "error": error_text(reply) }),
    }
}

/// Returns what a server received, in the shape of the expected requests of stream cases.
pub(crate) fn received_in_stream_case(received: &[Received]) -> Value {
    match received.first().map(Seen::of) {
        Some(seen) => json!({
            "attempts": received.len(),
            "method": seen.method,
            "path": seen.target,
            "headers": seen.headers,
            "body": seen.body,
        }),
        None => json!({ "attempts": 0 }),
    }
}
