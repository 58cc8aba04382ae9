//! Layer `sse`: bytes to events of the event stream.

use std::fs;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use integration_tests::delivery::Delivery;
use integration_tests::matcher;
use pi_ai_wire::sse::{SseDecoder, SseFrame};
use serde_json::{Value, json};

use super::{Case, deliveries, inputs};

pub(super) fn run(case: &Case) -> Result<()> {
    let setup = case.json("setup.json")?;
    for (input, _) in inputs(&setup) {
        let body = Bytes::from(fs::read(case.folder.join(&input))?);
        let expected = case
            .expected_of(&input)?
            .get("events")
            .context("no events are expected")?;
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
    let shown = |frame: SseFrame| json!({ "event": frame.event(), "data": frame.data() });
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
