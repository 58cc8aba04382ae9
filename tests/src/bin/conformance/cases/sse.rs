//! Layer `sse`: bytes to events of the event stream.

use std::fs;

use anyhow::{Result, anyhow};
use bytes::Bytes;
use integration_tests::delivery::Delivery;
use integration_tests::matcher;
use pi_ai_wire::sse::SseDecoder;
use serde_json::{Value, json};

use super::{Case, deliveries, inputs};

pub(super) fn run(case: &Case<'_>) -> Result<()> {
    let setup = case.setup()?;
    for (input, _) in inputs(&setup, "response.sse") {
        let body = Bytes::from(fs::read(case.folder.join(&input))?);
        let expected = match case.expected.get("results").and_then(|all| all.get(&input)) {
            Some(expected) => expected.get("events"),
            None => case.expected.get("events"),
        };
        let expected = expected.ok_or_else(|| anyhow!("{input}: no events are expected"))?;
        for delivery in deliveries(&setup, body.len())? {
            let events = decode(&delivery.cut(&body), delivery)?;
            matcher::check(expected, Some(&events))
                .map_err(|difference| anyhow!("{input}, {delivery}: {difference}"))?;
        }
    }
    Ok(())
}

fn decode(pieces: &[Bytes], delivery: Delivery) -> Result<Value> {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    let shown =
        |frame: pi_ai_wire::sse::SseFrame| json!({ "event": frame.event(), "data": frame.data() });
    for piece in pieces {
        decoder.push(piece.clone());
        while let Some(frame) = decoder.next_frame()? {
            events.push(shown(frame));
        }
    }
    let last = decoder
        .finish()
        .map_err(|error| anyhow!("{delivery}: {error}"))?;
    events.extend(last.map(shown));
    Ok(Value::Array(events))
}
