//! No secret leaves: every provider is run into success and failure with canaries for credentials, and
//! all that can be seen of it is searched for them.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::StreamExt;
use integration_tests::apis::{self, Access};
use integration_tests::fault_server::{FaultServer, Script};
use integration_tests::logs::{self, Logs};
use pi_agent::Agent;
use pi_ai::{Anthropic, Credential, HttpClient, OpenAiCompletions, Providers, RetryPolicy};
use pi_core::{
    AgentTool, AssistantStream, CancellationToken, Context, HookError, Model, PayloadHook,
    Provider, ProviderError, Request, ResponseHook, ToolDefinition, UserMessage,
};
use pi_testkit::{ManualClock, Recorder, ScriptedProvider};
use serde_json::json;

/// Letters whose forms in base64 and in addresses differ from the plain one.
const KEY: &str = "sk-canary-1f6e2b/+a:b";
const TOKEN: &str = "tok-canary-90c1d2+/x~y";
const PASSWORD: &str = "pw-canary-77aa51";

/// A credential in all forms in which it could be seen.
fn forms(secret: &str) -> Vec<String> {
    let encoded: String = secret.bytes().map(percent).collect();
    let mut forms = vec![
        secret.to_owned(),
        encoded.to_lowercase(),
        encoded,
        // The scheme `Basic` puts a name in front.
        base64(format!("me:{secret}").as_bytes()),
        json!(secret).to_string().trim_matches('"').to_owned(),
    ];
    // Inside other text, a letter of base64 begins at any of three places; its ends are not its own.
    for skip in 0..3 {
        let inner = secret.get(skip..).unwrap_or_default();
        let whole = inner.len() / 3 * 3;
        forms.push(base64(inner.get(..whole).unwrap_or_default().as_bytes()));
    }
    forms
}

fn percent(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |number: u32| char::from(LETTERS[usize::try_from(number % 64).unwrap()]);
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, place| {
            number << 8 | u32::from(group.get(place).copied().unwrap_or(0))
        });
        for place in 0..=group.len() {
            text.push(letter(number >> (18 - 6 * place)));
        }
    }
    text
}

/// All that was seen, by what it is.
#[derive(Default)]
struct Seen(Vec<(String, String)>);

impl Seen {
    fn add(&mut self, what: impl Into<String>, text: impl Into<String>) {
        self.0.push((what.into(), text.into()));
    }

    fn debug(&mut self, what: &str, value: &impl Debug) {
        self.add(what, format!("{value:?} {value:#?}"));
    }

    fn error(&mut self, what: &str, error: &ProviderError) {
        self.debug(what, error);
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            self.add(what, format!("{error} {error:?}"));
            cause = error.source();
        }
    }

    /// Reads a reply to its end.
    async fn reply(&mut self, what: &str, mut stream: AssistantStream) {
        self.debug(what, &stream);
        while let Some(event) = stream.next().await {
            self.debug(what, &event);
            self.add(what, json!(event).to_string());
        }
        let message = stream.partial();
        self.debug(what, &*message);
        self.add(what, json!(*message).to_string());
        if let Err(error) = stream.finish().await {
            self.error(what, &error);
        }
    }

    fn check(&self, what: &str) {
        for secret in [KEY, TOKEN, PASSWORD] {
            for form in forms(secret) {
                for (place, text) in &self.0 {
                    let at = text.find(&form);
                    let around = at.map(|at| &text[at.saturating_sub(200)..at]);
                    assert!(
                        at.is_none(),
                        "{what}: {place} shows {form} behind {around:?}"
                    );
                }
            }
        }
    }
}

/// A message that repeats the credentials that a server was sent, in the forms in which it sees them.
fn echo(way: &str) -> String {
    let encoded = |secret: &str| secret.bytes().map(percent).collect::<String>();
    let seen = match way {
        "by option" => format!("{KEY} or Bearer {KEY}"),
        "by credentials" => format!("Bearer {TOKEN}"),
        "by header" => format!("{KEY}, Bearer {TOKEN}"),
        _ => {
            let basic = base64(format!("me:{PASSWORD}").as_bytes());
            let query = format!("?key={}&access_token={}", encoded(KEY), encoded(TOKEN));
            format!("{query}, {KEY}, {TOKEN}, Basic {basic}, {PASSWORD}")
        }
    };
    format!("no access for {seen}")
}

/// Ways to answer, each of which repeats the credentials.
fn answers(way: &str) -> Vec<(String, Script)> {
    let mut answers = Vec::new();
    let echo = || echo(way);
    let document = json!({
        "type": "error",
        "error": { "type": "some_error", "code": "some_code", "message": echo() },
    });
    let headers = format!("content-type: application/json\nx-request-id: {}\n", echo());
    for status in [200, 400, 401, 403, 404, 429, 500, 529] {
        let script = Script::on_request().answer(status, &headers, &document.to_string());
        answers.push((format!("JSON with status {status}"), script));
    }
    let html = format!("<html>{}</html>", echo());
    let long = format!("{}{}", " .".repeat(180), echo());
    for (what, body) in [("text", echo()), ("long text", long), ("HTML", html)] {
        answers.push((what.to_owned(), Script::on_request().answer(403, "", &body)));
    }
    let location = format!("location: http://127.0.0.1:1/?a={}\n", echo());
    answers.push((
        "redirect".to_owned(),
        Script::on_request().answer(307, &location, &echo()),
    ));
    let event = format!("event: error\ndata: {document}\n\n");
    let broken = format!("event: error\ndata: {{\"error\": \"{}\n\n", echo());
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
    let odd = format!(
        "event: message_start\ndata: {}\n\n",
        json!({ "type": "message_start", "message": echo(), "choices": echo() })
    );
    for (what, body) in [
        ("error event", event),
        ("broken event", broken),
        ("odd event", odd),
        ("cut stream", start.to_owned()),
    ] {
        let headers = "content-type: text/event-stream\n";
        let script = Script::on_request().answer(200, headers, &body);
        answers.push((what.to_owned(), script));
    }
    answers.push(("reset".to_owned(), Script::on_request().reset()));
    answers
}

/// Ways to bring the credentials.
const WAYS: [&str; 4] = ["by option", "by credentials", "by header", "by address"];

fn request(api: &str, host: &str, way: &str) -> Request {
    let mut base_url = format!("http://{host}/v1");
    if way == "by address" {
        let key: String = KEY.bytes().map(percent).collect();
        let token: String = TOKEN.bytes().map(percent).collect();
        base_url = format!("http://me:{PASSWORD}@{host}/v1?key={key}&access_token={token}");
    }
    let mut model = Model::new("m", api, "tests", base_url);
    model.max_tokens = 1_000;
    let context = Context::new(vec![UserMessage::new("go", 0).into()]);
    let mut request = Request::new(model, context);
    let options = &mut request.options;
    // Tokens are good for a project of Vertex AI.
    for part in ["project", "location"] {
        options.extra.insert(part, json!("tests"));
    }
    match way {
        "by option" => options.api_key = Some(KEY.into()),
        "by header" => {
            let bearer = format!("Bearer {TOKEN}");
            let headers = [("authorization", bearer), ("x-api-key", KEY.to_owned())];
            let headers = headers.map(|(name, value)| (name.to_owned(), value));
            options.headers.extend(headers);
        }
        _ => {}
    }
    request
}

/// The providers, with credentials of the application where those are the way.
fn providers(way: &str) -> Providers {
    let client = HttpClient::builder()
        .clock(ManualClock::new())
        .retry(RetryPolicy::off())
        .build();
    let providers = Providers::new().with_client(client);
    match way {
        "by credentials" => {
            providers.with_credentials(|_| async { Ok(Some(Credential::token(TOKEN))) })
        }
        _ => providers,
    }
}

/// Runs a future while all that is logged is kept, and checks that and what the future has seen.
async fn checked(what: &str, run: impl AsyncFnOnce(&mut Seen)) {
    logs::keep_records();
    let collected = Logs::new();
    let guard = tracing::subscriber::set_default(collected.clone());
    let mut seen = Seen::default();
    run(&mut seen).await;
    drop(guard);
    // What the connections say of themselves is among it.
    let of_transport = |record: &String| record.starts_with("reqwest");
    assert!(what == "an agent" || logs::records().iter().any(of_transport));
    seen.add("the log", collected.text());
    seen.add("the records", logs::records().join("\n"));
    seen.check(what);
}

#[tokio::test]
async fn p8_what_a_server_repeats_is_not_shown() {
    for api in apis::ALL {
        // A key that might be another service's does not go to AWS.
        let is_sent = |way: &&str| !(api.name.starts_with("bedrock") && *way == "by option");
        for way in WAYS.into_iter().filter(is_sent) {
            checked(&format!("{} {way}", api.name), async |seen| {
                let providers = providers(way);
                seen.debug("the providers", &providers);
                for (what, script) in answers(way) {
                    let server = FaultServer::start([script]).await.unwrap();
                    let request = request(api.name, &server.host(), way);
                    seen.debug("the request", &request);
                    seen.reply(&what, providers.stream(request)).await;
                    let sent = format!("{:?}", server.received());
                    assert!(!server.received().is_empty(), "{what}");
                    let shown = forms(KEY).into_iter().chain(forms(TOKEN));
                    let is_shown = shown.into_iter().any(|form| sent.contains(&form));
                    assert!(is_shown, "{way}: {sent}");
                }
            })
            .await;
        }
    }
}

#[tokio::test]
async fn p8_a_request_that_is_not_sent_shows_nothing() {
    for api in apis::ALL {
        for way in WAYS {
            checked(&format!("{} {way}", api.name), async |seen| {
                let providers = providers(way);
                let nobody = "127.0.0.1:1";
                let good = || request(api.name, nobody, way);
                seen.reply("refused", providers.stream(good())).await;
                seen.reply(
                    "no name",
                    providers.stream(request(api.name, "no.test", way)),
                )
                .await;

                let no_tls = Script::on_connect().answer(400, "", "");
                let server = FaultServer::start([no_tls]).await.unwrap();
                let mut over_tls = request(api.name, &server.host(), way);
                let base_url = &mut Arc::make_mut(&mut over_tls.model).base_url;
                *base_url = base_url.replace("http://", "https://");
                seen.reply("no TLS", providers.stream(over_tls)).await;

                let mut bad_header = good();
                let value = format!("{KEY}\n{TOKEN}");
                bad_header
                    .options
                    .headers
                    .insert("x-token".to_owned(), value);
                seen.debug("bad header", &bad_header);
                seen.reply("bad header", providers.stream(bad_header)).await;

                for address in [
                    format!("htp://{KEY}"),
                    format!("http:// {KEY}"),
                    KEY.to_owned(),
                ] {
                    let mut bad_address = good();
                    Arc::make_mut(&mut bad_address.model).base_url = address;
                    seen.reply("bad address", providers.stream(bad_address))
                        .await;
                }

                let mut failing = good();
                failing.options.on_payload = Some(PayloadHook::new(|_, _| async {
                    Err(HookError::new("the payload hook"))
                }));
                seen.debug("payload hook", &failing);
                seen.reply("payload hook", providers.stream(failing)).await;

                let aborted = CancellationToken::new();
                aborted.cancel();
                let stream = providers.stream(good().with_abort(aborted));
                seen.reply("aborted", stream).await;
                drop(providers.stream(good()));
            })
            .await;
        }
    }
}

#[tokio::test]
async fn p8_a_response_hook_that_fails_shows_nothing() {
    for api in apis::ALL {
        for way in WAYS {
            checked(&format!("{} {way}", api.name), async |seen| {
                let server = FaultServer::start([Script::on_request().answer(200, "", "")]);
                let server = server.await.unwrap();
                let mut request = request(api.name, &server.host(), way);
                request.options.on_response = Some(ResponseHook::new(|_, _| async {
                    Err(HookError::new("the response hook"))
                }));
                seen.reply("response hook", providers(way).stream(request))
                    .await;
            })
            .await;
        }
    }
}

#[tokio::test]
async fn p8_an_agent_whose_tool_panics_shows_nothing() {
    checked("an agent", async |seen| {
        let definition = ToolDefinition::new("bad", "Panics.", json!({ "type": "object" }));
        let tool = AgentTool::from_fn(definition, |_, _| async { panic!("on purpose") });
        let provider = ScriptedProvider::new()
            .turn(|t| t.tool_call("c1", "bad", json!({})))
            .turn(|t| t.text("well"));
        let mut options = request("any", "host", "by header").options;
        options.api_key = Some(KEY.into());
        let builder = Agent::builder(provider, pi_testkit::model()).tool(tool);
        seen.debug("the builder", &builder);
        let agent = builder
            .stream_options(options)
            .api_key(|_| async { Ok::<_, HookError>(Some(KEY.into())) })
            .build();
        let recorder = Recorder::new();
        let _recording = agent.subscribe(recorder.listener());
        let outcome = agent.prompt("go").await.unwrap();
        assert_eq!(outcome.text(), "well");
        seen.debug("the outcome", &outcome);
        seen.debug("the agent", &agent);
        seen.debug("the state", &agent.state());
        seen.add("the events", recorder.transcript().to_string());
    })
    .await;
}

#[test]
fn p8_values_that_hold_a_key_do_not_show_it() {
    let mut seen = Seen::default();
    let address = format!("http://me:{PASSWORD}@host/v1?key={KEY}#{TOKEN}");
    seen.debug("key", &Credential::from(KEY));
    seen.debug("token", &Credential::token(TOKEN));
    seen.debug(
        "provider",
        &Anthropic::new().with_key(KEY).with_base_url(&*address),
    );
    seen.debug(
        "provider",
        &OpenAiCompletions::new()
            .with_key(KEY)
            .with_base_url(&*address),
    );
    let mut model = Model::new("m", "a", "p", address);
    model.headers = Some([("x-custom".to_owned(), KEY.to_owned())].into());
    seen.debug("model", &model);
    let mut request = Request::new(model, Context::default());
    request.options.api_key = Some(KEY.into());
    request
        .options
        .headers
        .insert("x-custom".to_owned(), TOKEN.to_owned());
    seen.debug("request", &request);
    for api in apis::ALL {
        let provider = (api.provider)(Access::Direct).unwrap();
        seen.debug("stream", &provider.stream(request.clone()));
    }
    seen.check("values");
}

#[test]
fn the_search_finds_what_it_looks_for() {
    for text in [
        format!("a {KEY} b"),
        format!("Basic {}", base64(format!("me:{PASSWORD}").as_bytes())),
        format!("x {}", base64(format!("12345{TOKEN}6").as_bytes())),
        format!("?key={}", KEY.bytes().map(percent).collect::<String>()),
    ] {
        let mut seen = Seen::default();
        seen.add("a text", text.clone());
        let checked = std::panic::catch_unwind(|| seen.check("on purpose"));
        assert!(checked.is_err(), "{text}");
    }
}
