//! Stream cases: a stored response, and the events, message and request that belong to it.

mod case;
mod judge;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::StreamExt;
use integration_tests::delivery::Delivery;
use integration_tests::report::{Outcome, Report};
use integration_tests::server::{Received, Response, Server};
use integration_tests::stored;

use crate::dump::Dump;
use crate::request::received_in_stream_case;
use case::StreamCase;
pub(crate) use case::{Meta, read_request};
use integration_tests::apis::{self, Access, Api};
use integration_tests::observe::Observation;

/// How long one reply may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The number of cases that run side by side.
const SIDE_BY_SIDE: usize = 6;

/// Runs all stream cases below a folder.
pub(crate) async fn run(folder: &Path, dump: &Dump, report: &mut Report) -> Result<()> {
    let files = stored::files_below(folder, &|name| name == "meta.json")?;
    let cases = futures_util::stream::iter(files).map(|file| {
        let dump = dump.clone();
        async move {
            let case = match StreamCase::read(&file) {
                Ok(Some(case)) => case,
                Ok(None) => return None,
                Err(error) => return Some((file.display().to_string(), Err(error).into())),
            };
            let name = case.name.clone();
            // In a task of its own, a panic is the outcome of this case only.
            let outcome = tokio::spawn(async move { run_case(&case, &dump).await });
            let outcome = outcome.await.unwrap_or_else(|error| {
                Outcome::Failed(vec![format!("the code under test: {error}")])
            });
            Some((name, outcome))
        }
    });
    let mut cases = cases.buffered(SIDE_BY_SIDE);
    while let Some(done) = cases.next().await {
        if let Some((name, outcome)) = done {
            report.add(name, outcome);
        }
    }
    Ok(())
}

async fn run_case(case: &StreamCase, dump: &Dump) -> Outcome {
    let Some(api) = apis::find(&case.api) else {
        return Outcome::Skipped(format!("the api {} is not built yet", case.api));
    };
    if let Some(reason) = &case.skip {
        return Outcome::Skipped(reason.clone());
    }
    let mut differences = Vec::new();
    if let Some(body) = case.plain_body() {
        for delivery in Delivery::ALL {
            let model = &case.request.model;
            let decoder = (api.decoder)(&case.request);
            let observation = Observation::of_decoder(decoder, model, &delivery.cut(body));
            let found = judge::reply(case, &observation);
            differences.extend(
                found
                    .into_iter()
                    .map(|text| format!("codec, {delivery}: {text}")),
            );
        }
    }
    for delivery in Delivery::ALL {
        if !delivery.suits_socket(case.body_bytes()) {
            continue;
        }
        let found = match over_http(api, case, delivery).await {
            Ok((observation, received)) => {
                if delivery == Delivery::Whole
                    && let Err(error) = write(dump, case, &observation, &received)
                {
                    return Outcome::Failed(vec![format!("{error:#}")]);
                }
                let mut found = judge::reply(case, &observation);
                found.extend(judge::request(case, &observation, &received));
                found
            }
            Err(error) => vec![format!("{error:#}")],
        };
        differences.extend(
            found
                .into_iter()
                .map(|text| format!("http, {delivery}: {text}")),
        );
        if case.is_slow() {
            break;
        }
    }
    Outcome::from_differences(differences)
}

/// Serves the responses of a case and asks the provider.
async fn over_http(
    api: &Api,
    case: &StreamCase,
    delivery: Delivery,
) -> Result<(Observation, Vec<Received>)> {
    let responses = case.responses.iter().map(|response| Response {
        status: response.status,
        headers: response.headers.clone(),
        pieces: delivery.cut(&response.body),
        end: response.end,
    });
    let server = Server::start(responses.collect()).await?;
    let provider = (api.provider)(Access::Direct)?;
    let stream = provider.stream(case.request_to(&server.host())?);
    let observation = tokio::time::timeout(LIMIT, Observation::of_stream(stream))
        .await
        .context("the reply did not end in time")?;
    Ok((observation, server.received()))
}

fn write(
    dump: &Dump,
    case: &StreamCase,
    observation: &Observation,
    received: &[Received],
) -> Result<()> {
    let name = &case.name;
    let events = serde_json::Value::Array(observation.events.clone());
    dump.write(&format!("{name}/actual.events.json"), &events)?;
    dump.write(&format!("{name}/actual.message.json"), &observation.message)?;
    dump.write(
        &format!("{name}/actual.request.json"),
        &received_in_stream_case(received),
    )?;
    if let Some(failure) = &observation.failure {
        dump.write(&format!("{name}/actual.error.json"), &failure.to_value())?;
    }
    Ok(())
}

/// One stored response.
struct StoredResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    end: integration_tests::server::End,
}

impl StoredResponse {
    fn is_event_stream(&self) -> bool {
        let content_type = self.headers.iter().find(|(name, _)| name == "content-type");
        let types = ["text/event-stream", "application/vnd.amazon.eventstream"];
        let is_one = |value: &str| types.iter().any(|known| value.starts_with(known));
        content_type.is_none_or(|(_, value)| is_one(value))
    }
}
