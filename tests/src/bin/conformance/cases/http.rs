//! Layer `http`: one call against scripted connections.

use std::fs;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use integration_tests::server::Response;
use serde_json::Value;

use super::model::Target;
use super::{Case, Findings, provider};
use integration_tests::apis;

pub(super) async fn run(case: &Case) -> Result<Findings> {
    let scenario = case.json("scenario.json")?;
    let mut findings = Findings::default();
    let name = scenario
        .get("api")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(api) = apis::find(name) else {
        findings.cannot(format!("the api {name}"));
        return Ok(findings);
    };
    if scenario.get("retries").and_then(Value::as_u64).unwrap_or(0) > 0 {
        findings.cannot("retries");
        return Ok(findings);
    }
    if scenario.get("clock").is_some() {
        findings.cannot("a virtual clock");
        return Ok(findings);
    }
    for sentence in case.invariants() {
        findings.cannot(format!("the sentence \"{sentence}\""));
    }
    let target = Target {
        api: api.name,
        fields: scenario.get("model"),
        ..Target::default()
    };
    for run in scenario
        .get("runs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = run.get("name").and_then(Value::as_str).unwrap_or_default();
        if run.get("abortAtMs").is_some() {
            findings.cannot("abortAtMs");
            continue;
        }
        let connections = run
            .get("connections")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let responses = connections.map(|connection| response(case, connection));
        let responses = responses.collect::<Result<Vec<_>>>()?;
        let (observation, requests) = provider::ask(api, &target, responses).await?;
        let mut seen = provider::facts(&observation);
        seen.insert("requests".to_owned(), requests.into());
        findings.compare(name, case.expected_of(name)?, &seen);
    }
    Ok(findings)
}

fn response(case: &Case, connection: &Value) -> Result<Response> {
    let text = |key: &str| connection.get(key).and_then(Value::as_str);
    let body = match (connection.get("json"), text("text"), text("body")) {
        (Some(json), _, _) => Bytes::from(json.to_string()),
        (None, Some(text), _) => Bytes::from(text.to_owned()),
        (None, None, Some(file)) => {
            Bytes::from(fs::read(case.folder.join(file)).with_context(|| format!("read {file}"))?)
        }
        (None, None, None) => Bytes::new(),
    };
    let headers = connection.get("headers").and_then(Value::as_object);
    let mut headers: Vec<(String, String)> = headers
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    if headers.is_empty() {
        headers.push(("content-type".to_owned(), "text/event-stream".to_owned()));
    }
    let status = connection
        .get("status")
        .and_then(Value::as_u64)
        .unwrap_or(200);
    Ok(Response {
        status: u16::try_from(status)?,
        headers,
        pieces: vec![body],
        end: provider::end(connection.get("end"))?,
    })
}
