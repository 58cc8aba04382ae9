//! The stored responses below `tests/fixtures`, and how a reply is written down.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bytes::Bytes;
use integration_tests::apis::{self, Api};
use integration_tests::observe::{Observation, to_value};
use pi_core::Model;
use serde_json::json;

/// The APIs that are built only with a feature of their name.
const OPTIONAL: [&str; 1] = ["bedrock-converse-stream"];

/// One stored response.
pub(crate) struct Fixture {
    pub(crate) api: String,
    pub(crate) case: String,
    pub(crate) body: Bytes,
}

impl Fixture {
    /// Compares a reply with the snapshot of this response; it is one for all ways to read it.
    pub(crate) fn assert_snapshot(&self, observation: &Observation) {
        let name = format!("{}__{}", self.api, self.case);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, shown(observation));
        });
    }
}

/// All fixtures, in the order of their names.
pub(crate) static ALL: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut fixtures = Vec::new();
    let known = |api: &PathBuf| apis::find(&name(api)).is_some();
    for api in folders(&root).into_iter().filter(known) {
        for case in folders(&api) {
            let files = ["response.sse", "response.bin"].map(|name| case.join(name));
            let body = files.iter().find_map(|file| fs::read(file).ok());
            let body = body.expect("a case has a response");
            fixtures.push(Fixture {
                api: name(&api),
                case: name(&case),
                body: body.into(),
            });
        }
    }
    assert!(!fixtures.is_empty(), "no fixtures below {}", root.display());
    fixtures
});

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn name(path: &Path) -> String {
    path.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

/// Returns the model of the fixtures: one dollar per thousand input tokens, two per thousand output
/// tokens.
pub(crate) fn model(api: &str, base_url: &str) -> Model {
    let model = json!({
        "id": "test-model",
        "name": "Test",
        "api": api,
        "provider": "test",
        "baseUrl": base_url,
        "reasoning": true,
        "input": ["text"],
        "cost": { "input": 1000, "output": 2000, "cacheRead": 100, "cacheWrite": 1250 },
        "contextWindow": 100_000,
        "maxTokens": 1000,
    });
    serde_json::from_value(model).expect("a model")
}

/// Returns how to talk the api of a fixture.
pub(crate) fn api(fixture: &Fixture) -> &'static Api {
    apis::find(&fixture.api).expect("only fixtures of known apis are read")
}

#[test]
fn every_api_with_fixtures_can_be_talked() {
    let unknown: Vec<String> = folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"))
        .iter()
        .map(|api| name(api))
        .filter(|api| apis::find(api).is_none() && !OPTIONAL.contains(&api.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "no entry in tests/src/apis.rs for {unknown:?}"
    );
}

/// Writes a reply down: a line for each event, then the message, then the typed failure.
pub(crate) fn shown(observation: &Observation) -> String {
    let mut lines: Vec<String> = observation.events.iter().map(ToString::to_string).collect();
    lines.push(format!("{:#}", observation.message));
    if let Some(info) = &observation.reply.error_info {
        let (kind, retryable) = (to_value(&info.kind), info.retryable);
        lines.push(format!("error {kind}, retryable: {retryable}"));
    }
    for call in observation.reply.tool_calls() {
        if let Some(error) = &call.arguments_error {
            lines.push(format!("arguments of {} not usable: {error}", call.id));
        }
    }
    lines.join("\n")
}
