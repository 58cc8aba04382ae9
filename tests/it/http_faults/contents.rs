//! Faults of what a stream holds.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use integration_tests::fault_server::Script;
use pi_agent::Agent;
use pi_ai::{HttpClient, Limits, Providers, Timeouts};
use pi_core::{
    AgentTool, AssistantMessage, AssistantStream, ErrorKind, Model, ProviderError, ToolDefinition,
    ToolOutput,
};
use pi_testkit::ManualClock;
use serde_json::{Value, json};

use super::world::{END, OPENAI, World, good, serve, word};

const ANTHROPIC: &str = "anthropic-messages";

/// Serves a body and reads the reply of `api`.
async fn read(api: &str, body: impl Into<bytes::Bytes>) -> Reply {
    let headers = "content-type: text/event-stream\n";
    let script = Script::on_request()
        .head(200, headers)
        .send(body)
        .half_close();
    let (server, world) = (serve([script]).await, World::new(|_| {}));
    let mut stream = world.ask_at(api, &server.url("/v1"));
    let ended = world.end_of(&mut stream).await;
    let requests = server.received().len();
    Reply {
        ended,
        stream,
        requests,
    }
}

struct Reply {
    ended: Result<String, ProviderError>,
    stream: AssistantStream,
    requests: usize,
}

impl Reply {
    fn message(&self) -> Arc<AssistantMessage> {
        self.stream.partial()
    }

    #[track_caller]
    fn text(self) -> String {
        self.ended.expect("the reply is complete")
    }

    #[track_caller]
    fn error(self) -> ProviderError {
        self.ended.expect_err("the reply is broken")
    }
}

/// An event of Anthropic's API.
fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap();
    format!("event: {name}\ndata: {data}\n\n")
}

fn anthropic_start() -> String {
    event(&json!({ "type": "message_start", "message": { "id": "m1", "usage": {} } }))
}

fn anthropic_block(index: u64, text: &str) -> String {
    let block = json!({ "type": "text", "text": text });
    event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn anthropic_end() -> String {
    event(&json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }))
        + &event(&json!({ "type": "message_stop" }))
}

/// A chunk of the Chat Completions API with this delta.
fn delta(delta: &Value) -> String {
    let chunk = json!({ "id": "c1", "choices": [{ "index": 0, "delta": delta }] });
    format!("data: {chunk}\n\n")
}

fn finish(reason: &str) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

/// A call with its arguments in one piece.
fn call(id: &str, name: &str, arguments: &str) -> String {
    call_at(0, id, name, arguments)
}

fn call_at(index: u32, id: &str, name: &str, arguments: &str) -> String {
    let function = json!({ "name": name, "arguments": arguments });
    delta(
        &json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }),
    )
}

#[tokio::test]
async fn f23_bytes_that_come_one_by_one_make_the_same_reply() {
    let body = "\u{feff}".to_owned() + &(word("Grüß 🙂") + &word("x") + END).replace('\n', "\r\n");
    let mut script = Script::on_request().head(200, "content-type: text/event-stream\n");
    for byte in body.as_bytes() {
        script = script.send(vec![*byte]);
    }
    let (server, world) = (serve([script]).await, World::new(|_| {}));
    let text = world.end_of(&mut world.ask(&server)).await.unwrap();
    assert_eq!(text, "Grüß 🙂x");
    assert_eq!(read(OPENAI, body).await.text(), text);
}

#[tokio::test]
async fn f24_lines_are_read_by_the_standard() {
    let body = ": hello\r\nretry: 1\r\nid: 7\r\n\
        data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\r\
        data: {\"choices\":\ndata: [{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n\
        unknown: field\ndata\n\n"
        .to_owned()
        + END;
    let reply = read(OPENAI, body).await;
    assert_eq!(reply.requests, 1);
    assert_eq!(reply.text(), "ab");
}

#[tokio::test]
async fn f25_a_line_without_end_is_too_large() {
    let endless = "data: ".to_owned() + &"a".repeat(1024 * 1024);
    let script = Script::on_request()
        .event_stream(&[&word("hel")])
        .chunk(&endless)
        .hold();
    let server = serve([script]).await;
    let mut limits = Limits::default();
    assert_eq!(limits.line_bytes, 16 * 1024 * 1024);
    limits.line_bytes = 64 * 1024;
    let client = HttpClient::builder()
        .clock(ManualClock::at(0))
        .timeouts(Timeouts::off())
        .limits(limits)
        .build();
    let world = World {
        clock: ManualClock::at(0),
        providers: Providers::new().with_client(client),
    };
    let mut stream = world.ask(&server);
    let error = world.end_of(&mut stream).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TooLarge, "{error:?}");
    assert_eq!(stream.partial().text(), "hel");
    server.closed(1).await;
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn f26_invalid_utf8_is_replaced() {
    let mut body =
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\xc3b\"}}]}\n\n".to_vec();
    body.extend_from_slice(END.as_bytes());
    assert_eq!(read(OPENAI, body).await.text(), "a\u{fffd}\u{fffd}b");
}

#[tokio::test]
async fn f27_broken_json_is_named_by_its_event_and_not_shown() {
    let broken = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"s3cret\n\n";
    let body = anthropic_start() + &anthropic_block(0, "hel") + broken + &anthropic_end();
    let reply = read(ANTHROPIC, body).await;
    assert_eq!(reply.message().text(), "hel");
    let error = reply.error();
    assert_eq!(*error.kind(), ErrorKind::Protocol);
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("content_block_delta") && !shown.contains("s3cret"),
        "{shown}"
    );
}

#[tokio::test]
async fn f28_what_is_not_known_is_skipped() {
    let unknown = event(&json!({ "type": "weather_report", "sky": "blue" }))
        + &event(
            &json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "hologram" } }),
        )
        + &event(
            &json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "hologram_delta" } }),
        )
        + &event(&json!({ "type": "content_block_stop", "index": 0 }));
    let text = event(&json!({
        "type": "content_block_start", "index": 1, "new": [1],
        "content_block": { "type": "text", "text": "ok", "new": { "a": null } },
    }));
    let body = anthropic_start() + &unknown + &text + &anthropic_end();
    let reply = read(ANTHROPIC, body).await;
    assert_eq!(reply.message().content.len(), 1);
    assert_eq!(reply.text(), "ok");
}

#[tokio::test]
async fn f29_a_piece_of_a_block_that_never_began_breaks_the_protocol() {
    let piece = json!({ "type": "text_delta", "text": "lost" });
    for strange in [
        json!({ "type": "content_block_delta", "index": 4, "delta": piece }),
        json!({ "type": "content_block_stop", "index": 4 }),
    ] {
        let body =
            anthropic_start() + &anthropic_block(0, "hel") + &event(&strange) + &anthropic_end();
        let reply = read(ANTHROPIC, body).await;
        assert_eq!(reply.message().text(), "hel");
        let error = reply.error();
        assert_eq!(*error.kind(), ErrorKind::Protocol, "{error:?}");
        assert!(error.message().contains("block 4"), "{error}");
    }
    // A block that begins where another is open ends that one: gateways use an index twice.
    let body =
        anthropic_start() + &anthropic_block(0, "a") + &anthropic_block(0, "b") + &anthropic_end();
    assert_eq!(read(ANTHROPIC, body).await.text(), "ab");
}

/// Lets an agent with the tool `read` run on these replies, the last one being good; returns its
/// transcript, how often the tool ran, and the second request.
async fn run_agent(first: String) -> (Vec<Value>, usize, Value) {
    let script = Script::on_request().answer(200, "content-type: text/event-stream\n", &first);
    let (server, world) = (serve([script, good()]).await, World::new(|_| {}));
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = AgentTool::from_fn(ToolDefinition::new("read", "Reads", schema), move |_, _| {
        counted.fetch_add(1, Relaxed);
        async { Ok(ToolOutput::text("read")) }
    });
    let mut model = Model::new("m", OPENAI, "local", server.url("/v1"));
    model.max_tokens = 1_000;
    let agent = Agent::builder(world.providers.clone(), model)
        .clock(world.clock.clone())
        .tool(tool)
        .build();
    world.turning(agent.prompt("go")).await.unwrap();
    let transcript = agent
        .state()
        .messages
        .iter()
        .map(|message| json!(message))
        .collect();
    let second = server
        .received()
        .get(1)
        .map(|request| serde_json::from_slice(&request.body).unwrap());
    (transcript, runs.load(Relaxed), second.unwrap_or_default())
}

/// The texts of the tool messages of a request.
fn results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .map(|message| message["content"].to_string())
        .collect()
}

#[tokio::test]
async fn f30_a_call_that_was_cut_is_kept_and_never_run() {
    let body = call("c1", "read", r#"{"path":"a.t"#) + &finish("length");
    let (transcript, runs, second) = run_agent(body).await;
    assert_eq!(runs, 0);
    let call = &transcript[1]["content"][0];
    assert_eq!(call["arguments"], json!({ "path": "a.t" }));
    assert!(call["argumentsError"].is_string(), "{call}");
    assert_eq!(transcript[2]["isError"], true);
    assert_eq!(results(&second).len(), 1);
}

#[tokio::test]
async fn f31_arguments_that_are_no_object_get_an_error_result() {
    for arguments in ["[1]", "7", "\"text\"", "{\"path\":", "{} {}", "no JSON"] {
        let body = call("c1", "read", arguments) + &finish("tool_calls");
        let (transcript, runs, second) = run_agent(body).await;
        assert_eq!(runs, 0, "{arguments}");
        assert_eq!(transcript[2]["isError"], true, "{arguments}");
        assert_eq!(results(&second).len(), 1, "{arguments}");
    }
}

#[tokio::test]
async fn f31_long_arguments_come_in_small_pieces() {
    let text = "abc\\n".repeat(20 * 1024);
    let arguments = format!("{{\"path\":\"{text}\"}}");
    let mut body = call("c1", "read", "");
    for piece in arguments.as_bytes().chunks(4) {
        let piece = std::str::from_utf8(piece).unwrap();
        body +=
            &delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] }));
    }
    let reply = read(OPENAI, body + &finish("tool_calls")).await;
    let message = reply.message();
    let call = message.tool_calls().next().unwrap();
    assert_eq!(call.arguments_error, None);
    assert_eq!(call.arguments["path"], text.replace("\\n", "\n"));
}

#[tokio::test]
async fn f32_every_call_gets_an_id_of_its_own() {
    let ids = ["", "", "x", "x"];
    let calls = (0..)
        .zip(ids)
        .map(|(index, id)| call_at(index, id, "read", "{}"));
    let body = calls.collect::<String>() + &finish("tool_calls");
    let (transcript, runs, second) = run_agent(body).await;
    let calls = transcript[1]["content"].as_array().unwrap();
    let ids: Vec<&str> = calls
        .iter()
        .filter_map(|call| call["id"].as_str())
        .collect();
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len(), runs), (4, 4, 4));
    assert!(ids.iter().all(|id| !id.is_empty()));
    assert_eq!(results(&second).len(), calls.len());
}

#[tokio::test]
async fn f33_a_tool_that_is_not_there_gets_an_error_result() {
    let body = call("c1", "write", "{}") + &finish("tool_calls");
    let (transcript, runs, second) = run_agent(body).await;
    assert_eq!(runs, 0);
    assert_eq!(transcript[2]["isError"], true);
    assert_eq!(results(&second), [r#""Tool write not found""#]);
}

#[tokio::test]
async fn f34_an_error_in_the_middle_ends_the_reply_with_the_provider_s_words() {
    let error =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "too busy" } });
    let body = anthropic_start() + &anthropic_block(0, "hel") + &event(&error);
    let reply = read(ANTHROPIC, body).await;
    assert_eq!(
        (reply.message().text().as_str(), reply.requests),
        ("hel", 1)
    );
    let error = reply.error();
    assert_eq!(*error.kind(), ErrorKind::Overloaded);
    assert!(
        error.is_retryable() && error.message().contains("too busy"),
        "{error}"
    );
}

#[tokio::test]
async fn f35_odd_usage_never_breaks_the_counts() {
    for (usage, expected) in [
        ("null", (0, 0, 0)),
        (r#"{"prompt_tokens":-5,"completion_tokens":3}"#, (0, 3, 3)),
        (
            r#"{"prompt_tokens":"many","completion_tokens":2.9}"#,
            (0, 2, 2),
        ),
        (
            r#"{"prompt_tokens":18446744073709551615,"completion_tokens":18446744073709551615}"#,
            (u64::MAX, u64::MAX, u64::MAX),
        ),
        (
            r#"{"prompt_tokens":1e300,"completion_tokens":1}"#,
            (u64::MAX, 1, u64::MAX),
        ),
    ] {
        let late = format!("data: {{\"choices\":[],\"usage\":{usage}}}\n\ndata: [DONE]\n\n");
        let finish =
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        let reply = read(OPENAI, word("ok") + finish + &late).await;
        let used = reply.message().usage.clone();
        assert_eq!(reply.text(), "ok");
        assert_eq!(
            (used.input, used.output, used.total_tokens),
            expected,
            "{usage}"
        );
    }
}

#[tokio::test]
async fn f36_a_flood_of_blocks_is_too_large() {
    let mut body = anthropic_start();
    for index in 0..100_000 {
        body += &anthropic_block(index, "");
    }
    let reply = read(ANTHROPIC, body + &anthropic_end()).await;
    assert_eq!(reply.message().content.len(), 10_000);
    let error = reply.error();
    assert_eq!(*error.kind(), ErrorKind::TooLarge, "{error:?}");
}

#[tokio::test]
async fn f37_deeply_nested_json_is_an_error() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let chunk = format!("data: {{\"choices\":[],\"new\":{deep}}}\n\n");
    let reply = read(OPENAI, word("hel") + &chunk + END).await;
    // What is skipped may be as deep as it likes; what is read may not.
    match reply.ended {
        Ok(text) => assert_eq!(text, "hel"),
        Err(error) => assert_eq!(*error.kind(), ErrorKind::Protocol, "{error:?}"),
    }
    let mut body = String::new();
    body += &call("c1", "read", &format!("{{\"path\":{deep}}}"));
    let (transcript, runs, _) = run_agent(body + &finish("tool_calls")).await;
    assert_eq!(runs, 0);
    assert!(transcript[1]["content"][0]["argumentsError"].is_string());
}

#[tokio::test]
async fn f38_lone_surrogates_are_replaced() {
    let body = word(r"a\ud83d") + &word(r"\ude00b") + END;
    assert_eq!(read(OPENAI, body).await.text(), "a\u{fffd}\u{fffd}b");
}

#[tokio::test]
async fn f39_nothing_is_read_behind_the_end() {
    let body = word("hello") + END + &word("more") + END;
    let reply = read(OPENAI, body).await;
    assert_eq!(reply.text(), "hello");
    let body = anthropic_start() + &anthropic_block(0, "hello") + &anthropic_end();
    let twice = body.clone() + &anthropic_end() + &body;
    assert_eq!(read(ANTHROPIC, twice).await.text(), "hello");
}
