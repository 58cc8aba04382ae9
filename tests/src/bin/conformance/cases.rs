//! Cases made from bug reports: one folder each, with what is right in `expected.json`.

mod sse;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use integration_tests::delivery::Delivery;
use integration_tests::report::{Outcome, Report};
use integration_tests::stored;
use serde_json::Value;

/// One case.
pub(crate) struct Case<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) expected: Value,
}

impl Case<'_> {
    /// Reads `setup.json`.
    pub(crate) fn setup(&self) -> Result<Value> {
        stored::json(&self.folder.join("setup.json"))
    }
}

/// Runs the cases below a folder; only those of `layers`, if any are named.
pub(crate) async fn run(folder: &Path, layers: &[String], report: &mut Report) -> Result<()> {
    for file in stored::files_below(folder, &|name| name == "expected.json")? {
        let folder = file.parent().context("a case without a folder")?;
        let expected = stored::json(&file)?;
        let text = |key: &str| {
            expected
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (name, layer) = (text("case").to_owned(), text("layer").to_owned());
        if !layers.is_empty() && !layers.contains(&layer) {
            continue;
        }
        let case = Case { folder, expected };
        let outcome = match layer.as_str() {
            "sse" => sse::run(&case).into(),
            other => Outcome::Skipped(format!("the layer {other} is not built yet")),
        };
        report.add(name, outcome);
    }
    Ok(())
}

/// Lists the input files of a `setup.json`, with the api that it names for each.
pub(crate) fn inputs(setup: &Value, default: &str) -> Vec<(String, Option<String>)> {
    let api = setup.get("api").and_then(Value::as_str).map(str::to_owned);
    match setup.get("inputs") {
        Some(Value::Array(files)) => {
            let names = files.iter().filter_map(Value::as_str);
            names.map(|name| (name.to_owned(), api.clone())).collect()
        }
        Some(Value::Object(files)) => {
            let named = |api: &Value| api.as_str().map(str::to_owned);
            files
                .iter()
                .map(|(name, api)| (name.clone(), named(api)))
                .collect()
        }
        _ => vec![(default.to_owned(), api)],
    }
}

/// Lists the ways in which a `setup.json` wants a body of this size to be handed over.
pub(crate) fn deliveries(setup: &Value, body_bytes: usize) -> Result<Vec<Delivery>> {
    let names = setup
        .get("delivery")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut deliveries = Vec::new();
    for name in &names {
        match name.as_str().unwrap_or_default() {
            "whole" => deliveries.push(Delivery::Whole),
            "byteByByte" => deliveries.push(Delivery::Pieces(1)),
            "anySingleCut" => deliveries.extend((1..body_bytes).map(Delivery::Cut)),
            other => bail!("the delivery {other} is not known"),
        }
    }
    if deliveries.is_empty() {
        deliveries.push(Delivery::Whole);
    }
    Ok(deliveries)
}
