//! A client on a clock of the test, and scripts that it is served.

use futures_util::StreamExt;
use integration_tests::fault_server::{FaultServer, Script};
use pi_ai::{HttpClient, Providers, RetryPolicy, Timeouts};
use pi_core::{
    AssistantStream, Clock, Context, ErrorKind, Model, Provider, ProviderError, Request,
    UserMessage,
};
use pi_testkit::ManualClock;

/// 2030-01-01 00:00:00 UTC, in milliseconds.
const NOW: u64 = 1_893_456_000_000;

pub(crate) const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                   data: [DONE]\n\n";

pub(crate) const OPENAI: &str = "openai-completions";

pub(crate) fn word(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// A reply of one word that goes well.
pub(crate) fn good() -> Script {
    let body = word("hello") + END;
    Script::on_request().answer(200, "content-type: text/event-stream\n", &body)
}

pub(crate) fn refused(status: u16, headers: &str) -> Script {
    let headers = format!("content-type: application/json\n{headers}");
    Script::on_request().answer(status, &headers, r#"{"error":{"message":"not now"}}"#)
}

/// A client on a clock of the test, whose own waits do not vary.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) providers: Providers,
}

impl World {
    pub(crate) fn new(set: impl FnOnce(&mut Timeouts)) -> Self {
        Self::with(set, RetryPolicy::default())
    }

    pub(crate) fn with(set: impl FnOnce(&mut Timeouts), policy: RetryPolicy) -> Self {
        let clock = ManualClock::at(NOW);
        let mut timeouts = Timeouts::off();
        set(&mut timeouts);
        let client = HttpClient::builder()
            .clock(clock.clone())
            .timeouts(timeouts)
            .retry(policy)
            .random(|| 0.0)
            .build();
        let providers = Providers::new().with_client(client);
        Self { clock, providers }
    }

    /// A world whose connections are made by this client.
    pub(crate) fn over(client: reqwest::Client) -> Self {
        let clock = ManualClock::at(NOW);
        let client = HttpClient::builder()
            .clock(clock.clone())
            .timeouts(Timeouts::off())
            .random(|| 0.0)
            .reqwest(client)
            .build();
        let providers = Providers::new().with_client(client);
        Self { clock, providers }
    }

    pub(crate) fn ask_at(&self, api: &str, base_url: &str) -> AssistantStream {
        self.providers.stream(request_to(api, base_url))
    }

    pub(crate) fn ask(&self, server: &FaultServer) -> AssistantStream {
        self.ask_at(OPENAI, &server.url("/v1"))
    }

    /// Runs a future and turns the clock to whatever is waited for.
    pub(crate) async fn turning<T>(&self, future: impl Future<Output = T>) -> T {
        let turning = async {
            loop {
                tokio::task::yield_now().await;
                self.clock.advance_to_next();
            }
        };
        tokio::select! {
            output = future => output,
            () = turning => unreachable!("the clock is turned for ever"),
        }
    }

    pub(crate) async fn end_of(
        &self,
        stream: &mut AssistantStream,
    ) -> Result<String, ProviderError> {
        let ended = self.turning(stream.finish()).await;
        ended.map(|message| message.text())
    }

    /// Returns the milliseconds that have passed.
    pub(crate) fn passed(&self) -> u128 {
        self.clock.monotonic().as_millis()
    }
}

pub(crate) fn request_to(api: &str, base_url: &str) -> Request {
    let mut model = Model::new("m", api, "tests", base_url);
    model.max_tokens = 1_000;
    let context = Context::new(vec![UserMessage::new("go", 0).into()]);
    let mut request = Request::new(model, context);
    request.options.api_key = Some("s3cret".to_owned().into());
    request
}

pub(crate) async fn serve(scripts: impl IntoIterator<Item = Script>) -> FaultServer {
    FaultServer::start(scripts).await.expect("a local port")
}

/// Asks a server; returns how it ended, the number of requests and the milliseconds of all waits.
pub(crate) async fn outcome(
    scripts: impl IntoIterator<Item = Script>,
) -> (Result<String, ProviderError>, usize, u128) {
    let (server, world) = (serve(scripts).await, World::new(|_| {}));
    let ended = world.end_of(&mut world.ask(&server)).await;
    (ended, server.received().len(), world.passed())
}

pub(crate) fn done() -> Result<String, ErrorKind> {
    Ok("hello".to_owned())
}

/// Reads the next word.
pub(crate) async fn next_word(stream: &mut AssistantStream) -> String {
    loop {
        let event = stream.next().await.expect("the stream goes on");
        assert!(!event.is_terminal(), "{event:?}");
        if let Some(text) = event.text_delta() {
            return text.to_owned();
        }
    }
}
