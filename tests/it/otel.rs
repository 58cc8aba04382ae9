//! Spans around requests, runs, turns and tools, and what they say.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use integration_tests::fault_server::{FaultServer, Script};
use integration_tests::logs::{Logs, Span};
use pi_agent::Agent;
use pi_ai::{HttpClient, Providers, Timeouts, Traced};
use pi_core::{
    AgentTool, AssistantEvent, AssistantMessage, AssistantStream, CancellationToken, Context,
    ErrorKind, ImageContent, Message, Model, Provider, Request, ToolCall, ToolDefinition,
    ToolError, ToolOutput, ToolResultMessage, Usage, UserContent, UserMessage,
};
use pi_testkit::{ManualClock, ScriptedProvider, block_on};
use serde_json::{Value, json};

const SECRET: &str = "only for the model";

fn model() -> Model {
    Model::new("m-1", "scripted", "google", "https://models.test/v1?x=y")
}

fn request() -> Request {
    let context = Context::new(vec![UserMessage::new(SECRET, 0).into()]);
    let mut request = Request::new(model(), context.with_system_prompt(SECRET));
    request.options.max_tokens = Some(100);
    request.options.temperature = Some(0.5);
    request.options.session_id = Some("s-1".to_owned());
    request
}

/// Runs `work` and returns the spans and events that came of it.
fn logged<T>(work: impl FnOnce() -> T) -> (Logs, T) {
    let logs = Logs::new();
    let result = tracing::subscriber::with_default(logs.clone(), work);
    (logs, result)
}

fn chat(logs: &Logs) -> Span {
    let mut spans = logs.spans_named("chat");
    assert_eq!(spans.len(), 1, "{spans:#?}");
    spans.remove(0)
}

fn shown(span: &Span) -> String {
    let lines = span.fields.iter();
    let lines: Vec<String> = lines
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    lines.join("\n")
}

fn check(span: &Span, expected: &str) {
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let shown = shown(span).replace(' ', "_");
    let shown: Vec<&str> = shown.lines().collect();
    assert_eq!(shown, expected);
    assert!(span.is_closed && span.depth == 0);
}

#[test]
fn a_good_reply_has_the_attributes_of_the_conventions() {
    let clock = ManualClock::new();
    let provider = ScriptedProvider::new()
        .with_clock(clock.clone())
        .turn(|turn| {
            turn.pause(Duration::from_millis(250))
                .text(SECRET)
                .tool_call("c1", "t", json!({ "a": SECRET }))
                .usage(Usage::new(10, 20, 3, 4))
                .response_id("r-1")
        });
    // The stream is held beyond its end: the span is not.
    let (logs, _stream) = logged(|| {
        let traced = Traced::new(provider).with_clock(clock.clone());
        let mut stream = traced.stream(request());
        clock.run(async { stream.finish().await }).unwrap();
        stream
    });
    check(
        &chat(&logs),
        r#"
        gen_ai.conversation.id=s-1
        gen_ai.operation.name=chat
        gen_ai.provider.name=gcp.gemini
        gen_ai.request.max_tokens=100
        gen_ai.request.model=m-1
        gen_ai.request.stream=true
        gen_ai.request.temperature=0.5
        gen_ai.response.finish_reasons=["tool_call"]
        gen_ai.response.id=r-1
        gen_ai.response.time_to_first_chunk=0.25
        gen_ai.usage.cache_read.input_tokens=3
        gen_ai.usage.cache_write.input_tokens=4
        gen_ai.usage.input_tokens=17
        gen_ai.usage.output_tokens=20
        otel.kind=client
        otel.name=chat_m-1
        server.address=models.test
        server.port=443
        "#,
    );
    assert!(!logs.text().contains(SECRET));
}

#[test]
fn a_failed_reply_says_of_which_kind_it_is() {
    let provider = ScriptedProvider::new().turn(|turn| {
        turn.text(SECRET)
            .usage(Usage::new(10, 0, 0, 0))
            .error(ErrorKind::Overloaded, SECRET)
    });
    let (logs, ()) = logged(|| {
        let stream = &mut Traced::new(provider.clone()).stream(request());
        let error = block_on(stream.finish()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Overloaded);
        assert_eq!(stream.partial().text(), SECRET);
    });
    let span = chat(&logs);
    let field = |name: &str| span.fields.get(name).map(String::as_str);
    assert_eq!(field("error.type"), Some("overloaded"));
    assert_eq!(field("otel.status_code"), Some("ERROR"));
    assert_eq!(
        field("gen_ai.response.finish_reasons"),
        Some(r#"["error"]"#)
    );
    assert_eq!(field("gen_ai.usage.input_tokens"), Some("10"));
    assert!(span.is_closed && !logs.text().contains(SECRET), "{span:#?}");
}

#[test]
fn a_reply_that_nobody_wants_any_more_is_aborted_and_no_error() {
    for by_token in [false, true] {
        let provider = ScriptedProvider::new().turn(|turn| turn.text("begun").hang());
        let (logs, ()) = logged(|| {
            let token = CancellationToken::new();
            let stream = Traced::new(provider.clone()).stream(request());
            let mut stream = stream.abort_on(token.clone());
            while !matches!(stream.next().now_or_never(), None | Some(None)) {}
            if by_token {
                token.cancel();
                block_on(stream.finish()).unwrap_err();
            }
            drop(stream);
        });
        let span = chat(&logs);
        assert_eq!(span.fields["error.type"], "aborted");
        assert_eq!(
            span.fields["gen_ai.response.finish_reasons"],
            r#"["error"]"#
        );
        assert!(!span.fields.contains_key("otel.status_code"));
        assert!(span.is_closed && span.depth == 0);
        assert_eq!(provider.active_streams(), 0);
    }
}

/// A provider whose stream logs whenever it is polled.
struct Talkative;

impl Provider for Talkative {
    fn stream(&self, request: Request) -> AssistantStream {
        let events = [
            AssistantEvent::Start,
            AssistantEvent::TextStart { content_index: 0 },
            AssistantEvent::TextEnd {
                content_index: 0,
                content: None,
                content_signature: None,
            },
        ];
        let events = futures_util::stream::iter(events).inspect(|_| tracing::debug!("polled"));
        AssistantStream::new(AssistantMessage::empty(&request.model, 0), events)
    }
}

#[test]
fn the_span_is_entered_only_while_the_stream_is_polled() {
    let (logs, ()) = logged(|| {
        let outer = tracing::info_span!("outer");
        let mut stream = outer.in_scope(|| Traced::new(Talkative).stream(request()));
        // Nothing has happened yet.
        assert_eq!(tracing::Span::current().id(), None);
        while let Some(event) = block_on(stream.next()) {
            tracing::debug!("between");
            assert_eq!(tracing::Span::current().id(), None, "{event:?}");
        }
    });
    let spans = logs.spans();
    assert_eq!(spans[0].name, "outer");
    assert_eq!((spans[1].name, spans[1].parent), ("chat", Some(0)));
    for event in logs.events() {
        let expected = (event.fields["message"] == "polled").then_some(1);
        assert_eq!(event.span, expected, "{event:?}");
    }
    // A source that just ends is closed by the stream around it.
    assert_eq!(spans[1].fields["error.type"], "protocol");
}

#[test]
fn a_stream_that_is_never_polled_has_no_span() {
    let (logs, ()) = logged(|| drop(Traced::new(Talkative).stream(request())));
    assert!(logs.spans().is_empty());
}

/// A conversation with one of each kind of message.
fn conversation() -> Context {
    let mut reply = AssistantMessage::empty(&model(), 0);
    let arguments = json!({ "city": "Graz" });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    reply.content = vec![ToolCall::new("c0", "weather", arguments).into()];
    let image = ImageContent::new("aW1hZ2U=", "image/png");
    let parts = vec![UserContent::from("look"), UserContent::from(image)];
    let messages: Vec<Message> = vec![
        UserMessage::new(parts, 0).into(),
        reply.into(),
        ToolResultMessage::new("c0", "weather", vec!["sunny".into()], 0).into(),
    ];
    let tool = ToolDefinition::new("weather", "Tells it.", json!({ "type": "object" }));
    Context::new(messages)
        .with_system_prompt("be brief")
        .with_tools(vec![tool.into()])
}

#[test]
fn content_is_recorded_where_it_is_asked_for() {
    let provider = || {
        ScriptedProvider::new()
            .turn(|turn| turn.thinking("well").text("take a hat"))
            .turn(|turn| turn.error(ErrorKind::Server, "it broke"))
    };
    let (logs, ()) = logged(|| {
        let traced = Traced::new(provider()).with_content();
        for _ in 0..2 {
            let mut stream = traced.stream(Request::new(model(), conversation()));
            let _ = block_on(stream.finish());
        }
    });
    let spans = logs.spans_named("chat");
    let content = |name: &str| -> Value { serde_json::from_str(&spans[0].fields[name]).unwrap() };
    let text = |text: &str| json!({ "type": "text", "content": text });
    assert_eq!(
        content("gen_ai.system_instructions"),
        json!([text("be brief")])
    );
    let call = json!({
        "type": "tool_call", "id": "c0", "name": "weather", "arguments": { "city": "Graz" },
    });
    let response = json!({ "type": "tool_call_response", "id": "c0", "response": "sunny" });
    let image = json!({ "type": "image", "mime_type": "image/png" });
    assert_eq!(
        content("gen_ai.input.messages"),
        json!([
            { "role": "user", "parts": [text("look"), image] },
            { "role": "assistant", "parts": [call] },
            { "role": "tool", "parts": [response] },
        ])
    );
    let tools = json!([{ "type": "function", "name": "weather" }]);
    assert_eq!(content("gen_ai.tool.definitions"), tools);
    let thought = json!({ "type": "reasoning", "content": "well" });
    let said = json!({
        "role": "assistant", "parts": [thought, text("take a hat")], "finish_reason": "stop",
    });
    assert_eq!(content("gen_ai.output.messages"), json!([said]));
    assert_eq!(spans[1].fields["otel.status_description"], "it broke");
}

#[test]
fn a_run_has_spans_for_its_turns_and_tools() {
    let definition = |name: &str| ToolDefinition::new(name, "", json!({ "type": "object" }));
    let good = AgentTool::from_fn(definition("good"), |_, _| async {
        tracing::debug!("in the tool");
        Ok(ToolOutput::text(SECRET))
    });
    let bad = AgentTool::from_fn(definition("bad"), |_, _| async {
        Err::<ToolOutput, _>(ToolError::new(SECRET))
    });
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.tool_call("c1", "good", json!({}))
                .tool_call("c2", "bad", json!({}))
        })
        .turn(|t| t.error(ErrorKind::Server, SECRET));
    let (logs, ()) = logged(|| {
        let builder = Agent::builder(Traced::new(provider), model()).session_id("s-1");
        let agent = builder.tool(good).tool(bad).build();
        block_on(agent.prompt(SECRET)).unwrap();
    });
    let spans = logs.spans();
    let path = |span: &Span| {
        let parent = span.parent.map(|parent| spans[parent].name);
        format!("{}/{}", parent.unwrap_or_default(), span.name)
    };
    let paths: Vec<String> = spans.iter().map(path).collect();
    assert_eq!(
        paths,
        [
            "/run",
            "run/turn",
            "turn/chat",
            "turn/tool",
            "turn/tool",
            "run/turn",
            "turn/chat"
        ]
    );
    assert!(spans.iter().all(|span| span.is_closed && span.depth == 0));
    check(
        &spans[0],
        r#"
        error.type=server
        gen_ai.conversation.id=s-1
        gen_ai.operation.name=invoke_agent
        gen_ai.request.model=m-1
        otel.name=invoke_agent
        otel.status_code=ERROR
        "#,
    );
    check(
        &spans[4],
        r#"
        error.type=tool_error
        gen_ai.operation.name=execute_tool
        gen_ai.tool.call.id=c2
        gen_ai.tool.name=bad
        gen_ai.tool.type=function
        otel.name=execute_tool_bad
        otel.status_code=ERROR
        "#,
    );
    assert!(!spans[3].fields.contains_key("error.type"));
    assert_eq!(spans[5].fields["number"], "2");
    let inside = logs.events();
    let inside = inside.iter().find(|e| e.fields["message"] == "in the tool");
    assert_eq!(inside.unwrap().span, Some(3));
    assert!(!logs.text().contains(SECRET));
}

#[tokio::test]
async fn retries_are_inside_the_span_and_an_aborted_reply_keeps_its_usage() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"r-1\",\
                 \"usage\":{\"input_tokens\":7}}}\n\n\
                 event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
                 \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    let scripts = [
        Script::on_request().answer(500, "", ""),
        Script::on_request().event_stream(&[start]).hold(),
    ];
    let server = FaultServer::start(scripts).await.unwrap();
    let logs = Logs::new();
    let guard = tracing::subscriber::set_default(logs.clone());
    let clock = ManualClock::new();
    let builder = HttpClient::builder().timeouts(Timeouts::off());
    let client = builder.clock(clock.clone()).build();
    let traced = Traced::new(Providers::new().with_client(client));
    let model = Model::new("m", "anthropic-messages", "tests", server.url(""));
    let token = CancellationToken::new();
    let mut stream = traced
        .stream(Request::new(model, Context::default()))
        .abort_on(token.clone());
    let until_content = async { while !stream.next().await.unwrap().is_content() {} };
    let turning = async {
        loop {
            tokio::task::yield_now().await;
            clock.advance(Duration::from_millis(1));
        }
    };
    tokio::select! {
        () = until_content => {}
        () = turning => {}
    }
    token.cancel();
    stream.finish().await.unwrap_err();
    assert_eq!(stream.partial().usage.input, 7);
    drop((stream, guard));
    let span = chat(&logs);
    assert_eq!(span.fields["gen_ai.usage.input_tokens"], "7");
    assert_eq!(span.fields["gen_ai.response.id"], "r-1");
    assert_eq!(span.fields["server.address"], "127.0.0.1");
    let events = logs.events();
    let retry = events
        .iter()
        .find(|event| event.fields.get("retry").is_some_and(|retry| retry == "1"));
    let place = logs.spans().iter().position(|span| span.name == "chat");
    assert_eq!(retry.unwrap().span, place);
}
