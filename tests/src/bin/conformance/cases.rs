//! Cases made from bug reports: one folder each, with what is right in `expected.json`.
//!
//! A case with a key, a sentence or a step that this runner does not know is skipped, and the skip
//! names it: it is never counted as passed by half.

mod agent;
mod http;
mod invariants;
mod model;
mod provider;
mod replay;
mod sse;
mod tool;
mod validation;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use integration_tests::compare::Difference;
use integration_tests::delivery::Delivery;
use integration_tests::report::{Outcome, Report};
use integration_tests::{matcher, stored};
use serde_json::{Map, Value};

/// One case.
pub(crate) struct Case {
    folder: std::path::PathBuf,
    expected: Value,
}

impl Case {
    /// Reads a JSON file of the case.
    fn json(&self, name: &str) -> Result<Value> {
        stored::json(&self.folder.join(name))
    }

    /// Returns what is expected of one of several inputs, or of the only one.
    fn expected_of(&self, input: &str) -> Result<&Value> {
        match self.expected.get("results") {
            Some(results) => results
                .get(input)
                .with_context(|| format!("nothing is expected of {input}")),
            None => Ok(&self.expected),
        }
    }

    /// Returns the sentences that must hold.
    fn invariants(&self) -> impl Iterator<Item = &str> {
        let list = self.expected.get("invariants").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// What a layer finds out about a case.
#[derive(Default)]
struct Findings {
    differences: Vec<String>,
    /// What could not be looked at.
    unknown: Vec<String>,
}

impl Findings {
    fn note(&mut self, place: &str, result: Result<(), Difference>) {
        if let Err(difference) = result {
            self.differences.push(difference.below(place).to_string());
        }
    }

    fn differ(&mut self, text: impl Into<String>) {
        self.differences.push(text.into());
    }

    fn cannot(&mut self, text: impl Into<String>) {
        self.unknown.push(text.into());
    }

    /// Compares the observed facts with the expected ones; `free` lists keys that say nothing about
    /// the result.
    fn compare(&mut self, place: &str, expected: &Value, seen: &Map<String, Value>) {
        const FREE: [&str; 7] = [
            "case",
            "layer",
            "variantsBeyondReport",
            "invariants",
            "withinMs",
            "results",
            "replays",
        ];
        let alternatives = expected.get("$oneOf").and_then(Value::as_array);
        let keys = match alternatives {
            Some(list) => list
                .iter()
                .filter_map(Value::as_object)
                .flat_map(Map::keys)
                .collect(),
            None => expected
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .collect::<Vec<_>>(),
        };
        let known = |key: &&&String| !FREE.contains(&key.as_str());
        for key in keys.iter().filter(known) {
            // A key may be known and have no value, such as the kind of an error without one.
            if !seen.contains_key(*key) {
                self.cannot(format!("the key {key}"));
            }
        }
        let mut pattern = expected.clone();
        if let Some(fields) = pattern.as_object_mut() {
            fields.retain(|key, _| !FREE.contains(&key.as_str()));
        }
        let seen: Map<String, Value> = seen
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(clone_pair)
            .collect();
        self.note(place, matcher::check(&pattern, Some(&Value::Object(seen))));
    }

    fn outcome(self) -> Outcome {
        if self.differences.is_empty() && !self.unknown.is_empty() {
            let mut unknown = self.unknown;
            unknown.dedup();
            return Outcome::Skipped(format!("not known: {}", unknown.join("; ")));
        }
        Outcome::from_differences(self.differences)
    }
}

fn clone_pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// Runs the cases below a folder; only those of `layers`, if any are named.
pub(crate) async fn run(folder: &Path, layers: &[String], report: &mut Report) -> Result<()> {
    for file in stored::files_below(folder, &|name| name == "expected.json")? {
        let folder = file.parent().context("a case without a folder")?.to_owned();
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
        // In a task of its own, a panic is the outcome of this case only.
        let outcome = tokio::spawn(async move { run_case(&case, &layer).await }).await;
        report.add(
            name,
            match outcome {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => Outcome::Failed(vec![format!("{error:#}")]),
                Err(error) => Outcome::Failed(vec![format!("the code under test: {error}")]),
            },
        );
    }
    Ok(())
}

async fn run_case(case: &Case, layer: &str) -> Result<Outcome> {
    Ok(match layer {
        "sse" => sse::run(case).into(),
        "validation" => validation::run(case)?.outcome(),
        "provider" => provider::run(case).await?.outcome(),
        "replay" => replay::run(case).await?.outcome(),
        "http" => http::run(case).await?.outcome(),
        "agent" => agent::run(case).await?.outcome(),
        "tool" => tool::run(case).await?.outcome(),
        other => Outcome::Skipped(format!("the layer {other} is not built yet")),
    })
}

/// Lists the input files of a `setup.json`, with the api that it names for each.
fn inputs(setup: &Value) -> Vec<(String, String)> {
    let api = setup
        .get("api")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match setup.get("inputs") {
        Some(Value::Array(files)) => {
            let names = files.iter().filter_map(Value::as_str);
            names.map(|name| (name.to_owned(), api.clone())).collect()
        }
        Some(Value::Object(files)) => {
            let named = |api: &Value| api.as_str().unwrap_or_default().to_owned();
            files
                .iter()
                .map(|(name, api)| (name.clone(), named(api)))
                .collect()
        }
        _ => vec![("response.sse".to_owned(), api)],
    }
}

/// Lists the ways in which a `setup.json` wants a body of this size to be handed over.
fn deliveries(setup: &Value, body_bytes: usize) -> Result<Vec<Delivery>> {
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
