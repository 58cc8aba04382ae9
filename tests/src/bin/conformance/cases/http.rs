//! Layer `http`: one call against scripted connections.

use std::fs;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use integration_tests::server::{Response, Server};
use pi_ai::{HttpClient, RetryPolicy, Timeouts};
use pi_core::{CancellationToken, Clock};
use pi_testkit::ManualClock;
use serde_json::{Map, Value};

use super::model::Target;
use super::{Case, Findings, provider};
use integration_tests::apis::{self, Access, Api};
use integration_tests::observe::Observation;

/// How often the clock is turned where somebody waits for it.
const TICK: Duration = Duration::from_millis(1);

/// A sentence about time that passes, and how much of it does.
const LOOK_AGAIN: (&str, Duration) = (
    "wait three seconds after the terminal event before counting requests",
    Duration::from_secs(3),
);

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
    for sentence in case.invariants().filter(|text| *text != LOOK_AGAIN.0) {
        findings.cannot(format!("the sentence \"{sentence}\""));
    }
    let runs = scenario.get("runs").and_then(Value::as_array);
    let runs = runs.into_iter().flatten();
    // Side by side, since some look once more after a while.
    let played = runs.map(|run| async {
        let name = run.get("name").and_then(Value::as_str).unwrap_or_default();
        Ok::<_, anyhow::Error>((name, play(case, api, &scenario, run).await?))
    });
    for (name, seen) in futures_util::future::try_join_all(played).await? {
        findings.compare(name, case.expected_of(name)?, &seen);
    }
    Ok(findings)
}

/// Plays one run and returns what the keys of `expected.json` look at.
async fn play(case: &Case, api: &Api, scenario: &Value, run: &Value) -> Result<Map<String, Value>> {
    let connections = run.get("connections").and_then(Value::as_array);
    let responses = connections.into_iter().flatten();
    let responses = responses.map(|connection| response(case, connection));
    let responses = responses.collect::<Result<Vec<_>>>()?;
    let number = |key: &str| scenario.get(key).and_then(Value::as_u64);
    let clock = match scenario.get("now").and_then(Value::as_str) {
        Some(now) => ManualClock::at(milliseconds_of(now).context("read the time now")?),
        None => ManualClock::new(),
    };
    let server = Server::start_with_clock(responses, clock.clone()).await?;
    let target = Target {
        api: api.name,
        fields: scenario.get("model"),
        ..Target::default()
    };
    let mut request = provider::request(&target, &server)?;
    request.options.max_retry_delay_ms = number("maxRetryDelayMs");
    let abort = CancellationToken::new();
    request.abort = Some(abort.clone());
    let provider = (api.provider)(Access::With(client(scenario, &clock)?))?;
    let reply = Observation::of_stream(provider.stream(request));
    let abort_at = run.get("abortAtMs").and_then(Value::as_u64);
    let reply = turning(&clock, reply, abort_at.map(Duration::from_millis), &abort);
    let observation = tokio::time::timeout(provider::LIMIT, reply)
        .await
        .context("no end in time")?;
    if case.invariants().any(|text| text == LOOK_AGAIN.0) {
        tokio::time::sleep(LOOK_AGAIN.1).await;
    }
    let received = server.received();
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).ok().map(Value::from);
    let at = |index: usize| milliseconds(received.get(index)?.at);
    let mut seen = provider::facts(&observation);
    for (key, value) in [
        ("requests", Some(received.len().into())),
        ("secondRequestAtMs", at(1)),
        ("thirdRequestAtMs", at(2)),
        ("virtualMs", milliseconds(clock.monotonic())),
    ] {
        seen.insert(key.to_owned(), value.unwrap_or_default());
    }
    Ok(seen)
}

/// Makes a client that looks at the clock for nothing but the waits before retries.
fn client(scenario: &Value, clock: &ManualClock) -> Result<HttpClient> {
    let number = |key: &str| scenario.get(key).and_then(Value::as_u64);
    let mut retry = RetryPolicy::default();
    retry.max_retries = u32::try_from(number("retries").unwrap_or(0))?;
    if let Some(delay) = number("baseDelayMs") {
        retry.base_delay = Duration::from_millis(delay);
    }
    Ok(HttpClient::builder()
        .timeouts(Timeouts::off())
        .retry(retry)
        .clock(clock.clone())
        .build())
}

/// Awaits a reply and turns the clock whenever the reply waits for it; aborts it at a time.
async fn turning(
    clock: &ManualClock,
    reply: impl Future<Output = Observation>,
    abort_at: Option<Duration>,
    abort: &CancellationToken,
) -> Observation {
    let mut reply = pin!(reply);
    let mut aborted = pin!(async {
        match abort_at {
            Some(at) => clock.sleep(at).await,
            None => pending().await,
        }
    });
    let mut others = usize::from(abort_at.is_some());
    loop {
        tokio::select! {
            observation = &mut reply => return observation,
            () = &mut aborted, if others > 0 => {
                others = 0;
                abort.cancel();
            }
            () = tokio::time::sleep(TICK) => {
                if clock.sleepers() > others {
                    clock.advance_to_next();
                }
            }
        }
    }
}

/// Returns the milliseconds since 1970 of a time such as `2030-01-01T00:00:00Z`.
fn milliseconds_of(time: &str) -> Option<u64> {
    let (date, time) = time.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, separator: char| -> Option<[u64; 3]> {
        let parts: Result<Vec<u64>, _> = text.split(separator).map(str::parse).collect();
        parts.ok()?.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    // Years begin in March, so that the leap day is their last.
    let (year, month) = match month {
        1 | 2 => (year.checked_sub(1)?, month + 9),
        3..=12 => (year, month - 3),
        _ => return None,
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:01Z", Some(951_825_601)),
            ("2030-01-01T00:00:00Z", Some(1_893_456_000)),
            ("1969-12-31T23:59:59Z", None),
            ("2030-13-01T00:00:00Z", None),
            ("2030-01-01", None),
        ] {
            assert_eq!(
                milliseconds_of(text),
                seconds.map(|s: u64| s * 1000),
                "{text}"
            );
        }
    }
}
