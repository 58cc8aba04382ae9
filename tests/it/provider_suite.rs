//! The conformance suite of `pi-testkit` on our own providers, over a socket.
//!
//! Each API says in a file of its own how it spells the scenarios. So far each can spell them all.

mod anthropic_messages;
#[cfg(feature = "bedrock")]
mod bedrock_converse_stream;
mod google_generative_ai;
mod mistral_conversations;
mod openai_completions;
mod openai_responses;

use std::collections::BTreeSet;
use std::sync::Arc;

use integration_tests::apis::{self, Access};
use integration_tests::fault_server::{FaultServer, Script};
use pi_ai::{HttpClient, RetryPolicy};
use pi_core::BoxFuture;
use pi_testkit::conformance::{self, Case, Expected, Scenario, Setup, Subject};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::fixtures;

const WIRES: &[Wire] = &[
    anthropic_messages::WIRE,
    #[cfg(feature = "bedrock")]
    bedrock_converse_stream::WIRE,
    google_generative_ai::VERTEX,
    google_generative_ai::WIRE,
    mistral_conversations::WIRE,
    openai_completions::WIRE,
    openai_responses::AZURE,
    openai_responses::WIRE,
];

/// The arguments of [`Scenario::SplitArguments`] in pieces, cut in a key, a text and an escape.
const SPLIT: &[&str] = &[
    r#"{"ci"#,
    r#"ty":"Gr"#,
    r#"az","note":"a \"#,
    r#""quo"#,
    r#"ted\" ü"#,
    r#""}"#,
];

/// How an API spells the scenarios.
struct Wire {
    /// The name in `tests/src/apis.rs`.
    api: &'static str,
    /// What its server says; none for a scenario that nobody has thought of.
    answer: fn(Scenario) -> Option<Answer>,
}

/// What a server says in one scenario.
struct Answer {
    script: Script,
    expected: Option<Expected>,
}

impl Answer {
    /// A body of events, and its end.
    fn stream(events: impl IntoIterator<Item = String>) -> Self {
        Self::script(Self::begun(events).last_chunk())
    }

    /// A body of events that goes silent.
    fn held(events: impl IntoIterator<Item = String>) -> Self {
        Self::script(Self::begun(events).hold())
    }

    /// A status, and a document.
    fn refused(status: u16, document: &Value) -> Self {
        let headers = "content-type: application/json\n";
        Self::script(Script::on_request().answer(status, headers, &document.to_string()))
    }

    fn expecting(mut self, expected: Expected) -> Self {
        self.expected = Some(expected);
        self
    }

    fn begun(events: impl IntoIterator<Item = String>) -> Script {
        let head = Script::on_request().event_stream(&[]);
        events
            .into_iter()
            .fold(head, |script, event| script.chunk(&event))
    }

    fn script(script: Script) -> Self {
        Self {
            script,
            expected: None,
        }
    }
}

/// Our provider of an API, and a server that speaks it.
struct OverHttp {
    wire: &'static Wire,
    runtime: Runtime,
}

impl Subject for OverHttp {
    fn prepare(&self, scenario: Scenario) -> Setup {
        let Some(answer) = (self.wire.answer)(scenario) else {
            return Setup::Missing;
        };
        let server = self.runtime.block_on(FaultServer::start([answer.script]));
        let server = Arc::new(server.expect("a local port"));
        let client = HttpClient::builder().retry(RetryPolicy::off()).build();
        let api = apis::find(self.wire.api).expect("an API that can be talked");
        let provider = (api.provider)(Access::With(client)).expect("a provider");

        let model = fixtures::model(self.wire.api, &server.url("/v1"));
        let mut request = conformance::request(model);
        request.options.api_key = Some("test-key".to_owned().into());
        let expected = answer.expected.unwrap_or_else(|| scenario.expected());
        let open = Arc::clone(&server);
        Case::new(provider, request)
            .with_expected(expected)
            .with_requests(move || server.received().len())
            .with_open_replies(move || open.open_requests())
            .into()
    }

    fn block_on(&self, future: BoxFuture<'_, ()>) {
        self.runtime.block_on(future);
    }
}

#[test]
fn our_providers_conform() {
    for wire in WIRES {
        let runtime = Runtime::new().expect("a runtime");
        let report = conformance::run(&OverHttp { wire, runtime });
        assert_eq!(report.failed().count(), 0, "{}: {report}", wire.api);
    }
}

#[test]
fn every_api_has_a_suite() {
    let with_suite: BTreeSet<&str> = WIRES.iter().map(|wire| wire.api).collect();
    let known: BTreeSet<&str> = apis::ALL.iter().map(|api| api.name).collect();
    assert_eq!(
        with_suite, known,
        "tests/it/provider_suite.rs and tests/src/apis.rs"
    );
}
