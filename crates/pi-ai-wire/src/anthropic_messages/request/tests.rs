use pi_core::{
    AssistantContent, AssistantMessage, Context, InputKind, Model, OutputSchema, StreamOptions,
    SystemMessage, TextContent, ThinkingContent, ThinkingLevel, ToolCall, ToolResultMessage,
    UserContent, UserMessage,
};
use serde_json::{Map, json};

use super::*;

fn model() -> Model {
    let mut model = Model::new(
        "claude-sonnet-4-5",
        "anthropic-messages",
        "anthropic",
        "https://api.anthropic.com",
    );
    model.reasoning = true;
    model.max_tokens = 64_000;
    model
}

fn named(id: &str) -> Model {
    let mut model = model();
    model.id = id.to_owned();
    model
}

fn with_flag(name: &str) -> Model {
    let mut model = model();
    let flags = model.compat.get_or_insert_default();
    flags.extra.insert(name, json!(true));
    model
}

fn options(json: Value) -> StreamOptions {
    serde_json::from_value(json).expect("the options are upstream's")
}

fn sent(request: &Request) -> Value {
    let body = body(request);
    let value = serde_json::to_value(&body).expect("a body is JSON");
    let text = serde_json::to_string(&body).expect("a body is JSON");
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("a body is JSON"),
        value
    );
    value
}

/// Returns what is sent of messages, without the mark of the cache.
fn sent_messages(model: Model, messages: Vec<Message>) -> Value {
    let options = options(json!({ "cacheRetention": "none" }));
    sent(&Request::new(model, Context::new(messages)).with_options(options))["messages"].take()
}

fn user(text: &str) -> Message {
    UserMessage::new(text, 0).into()
}

fn reply(model: &Model, content: Vec<AssistantContent>) -> Message {
    let mut reply = AssistantMessage::empty(model, 0);
    reply.content = content;
    reply.into()
}

fn call(id: &str) -> AssistantContent {
    let mut arguments = Map::new();
    arguments.insert("path".to_owned(), json!("a"));
    ToolCall::new(id, "read", arguments).into()
}

fn result(id: &str, content: Vec<UserContent>) -> Message {
    ToolResultMessage::new(id, "read", content, 0).into()
}

#[test]
fn the_whole_body_is_anthropics() {
    let parameters = json!({
        "type": "object",
        "properties": { "path": { "$ref": "#/$defs/path" } },
        "$defs": { "path": { "type": "string" } },
        "additionalProperties": false,
    });
    let tools = vec![
        ToolDefinition::new("read", "Reads.", parameters).into(),
        ToolDefinition::new("list", "Lists.", json!({})).into(),
    ];
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("Be terse.")
        .with_tools(tools);
    let options = options(json!({
        "temperature": 0.5, "maxTokens": 10, "toolChoice": "any",
        "metadata": { "user_id": "u1", "other": 1 },
    }));
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        sent(&Request::new(model(), context).with_options(options)),
        json!({
            "model": "claude-sonnet-4-5",
            "messages": [{
                "role": "user",
                "content": [{ "type": "text", "text": "hi", "cache_control": mark }],
            }],
            "max_tokens": 10,
            "stream": true,
            "system": [{ "type": "text", "text": "Be terse.", "cache_control": mark }],
            "temperature": 0.5,
            "tools": [
                { "name": "read", "description": "Reads.", "input_schema": {
                    "type": "object",
                    "properties": { "path": { "$ref": "#/$defs/path" } },
                    "required": [],
                    "$defs": { "path": { "type": "string" } },
                } },
                { "name": "list", "description": "Lists.", "input_schema": {
                    "type": "object", "properties": {}, "required": [],
                } },
            ],
            "thinking": { "type": "disabled" },
            "metadata": { "user_id": "u1" },
            "tool_choice": { "type": "any" },
        })
    );
}

#[test]
fn thinking_is_asked_for_in_the_models_way() {
    let mut small = model();
    small.max_tokens = 8000;
    let mut tiny = model();
    tiny.max_tokens = 1500;
    let mut thoughtless = model();
    thoughtless.reasoning = false;
    thoughtless.max_tokens = 8192;
    let mut always = named("claude-opus-5-5");
    always.thinking_level_map = Some(
        [
            (ThinkingLevel::Off, None),
            (ThinkingLevel::Minimal, None),
            (ThinkingLevel::Low, Some("low".to_owned())),
        ]
        .into(),
    );
    let enabled = |budget: u64| json!({ "type": "enabled", "budget_tokens": budget });
    let adaptive = json!({ "type": "adaptive" });
    let shown = json!({ "type": "adaptive", "display": "summarized" });
    let off = json!({ "type": "disabled" });
    let opus = || named("claude-opus-4-6");
    let high = json!({ "reasoning": "high" });
    let budgets = json!({ "reasoning": "low", "thinkingBudgets": { "low": 5000 } });
    let own = json!({ "thinkingEnabled": true, "thinkingBudgetTokens": 2000 });
    let own_effort = json!({ "thinkingEnabled": true, "effort": "medium" });
    let cases = [
        (model(), json!({}), Some(&off), None, 32_000),
        (
            model(),
            json!({ "reasoning": "off" }),
            Some(&off),
            None,
            32_000,
        ),
        (model(), high.clone(), Some(&enabled(16_384)), None, 48_384),
        (
            model(),
            json!({ "reasoning": "max" }),
            Some(&enabled(16_384)),
            None,
            48_384,
        ),
        (model(), budgets, Some(&enabled(5000)), None, 37_000),
        (small, high.clone(), Some(&enabled(6976)), None, 8000),
        (tiny, high.clone(), Some(&off), None, 1500),
        (thoughtless, high.clone(), None, None, 8192),
        (model(), own, Some(&enabled(2000)), None, 32_000),
        (
            model(),
            json!({ "thinkingEnabled": null }),
            None,
            None,
            32_000,
        ),
        (opus(), high, Some(&adaptive), Some("high"), 32_000),
        (
            opus(),
            json!({ "reasoning": "minimal" }),
            Some(&adaptive),
            Some("low"),
            32_000,
        ),
        (
            opus(),
            json!({ "reasoning": "xhigh" }),
            Some(&adaptive),
            Some("max"),
            32_000,
        ),
        (opus(), own_effort, Some(&adaptive), Some("medium"), 32_000),
        (
            named("claude-sonnet-4-6"),
            json!({ "reasoning": "xhigh" }),
            Some(&adaptive),
            Some("high"),
            32_000,
        ),
        (
            named("claude-opus-4-7"),
            json!({ "reasoning": "xhigh" }),
            Some(&shown),
            Some("xhigh"),
            32_000,
        ),
        (
            with_flag("forceAdaptiveThinking"),
            json!({ "reasoning": "max" }),
            Some(&adaptive),
            Some("high"),
            32_000,
        ),
        (always.clone(), json!({}), None, None, 32_000),
        (
            always,
            json!({ "reasoning": "minimal" }),
            Some(&shown),
            Some("low"),
            32_000,
        ),
    ];
    for (model, asked, thinking, effort, max_tokens) in cases {
        let name = format!("{} {asked}", model.id);
        let body = sent(&Request::new(model, Context::default()).with_options(options(asked)));
        assert_eq!(body.get("thinking"), thinking, "{name}");
        let word = body
            .pointer("/output_config/effort")
            .and_then(Value::as_str);
        assert_eq!(word, effort, "{name}");
        assert_eq!(body["max_tokens"], max_tokens, "{name}");
    }
}

#[test]
fn temperature_goes_only_to_models_that_take_it_and_do_not_think() {
    let temperature = |model: Model, asked: Value| {
        let request = Request::new(model, Context::default()).with_options(options(asked));
        sent(&request).get("temperature").and_then(Value::as_f64)
    };
    let plain = json!({ "temperature": 0.3 });
    let thinking = json!({ "temperature": 0.3, "reasoning": "low" });
    assert_eq!(temperature(model(), plain.clone()), Some(0.3));
    assert_eq!(temperature(model(), thinking), None);
    assert_eq!(temperature(named("claude-opus-4-7"), plain), None);
}

#[test]
fn the_cache_ends_with_the_last_message_of_the_user() {
    let marks = |model: Model, retention: &str, messages: Vec<Message>| {
        let context = Context::new(messages).with_system_prompt("s");
        let options = options(json!({ "cacheRetention": retention }));
        let body = sent(&Request::new(model, context).with_options(options));
        let last = body["messages"].as_array().and_then(|all| all.last());
        let block = last.and_then(|message| message["content"].as_array()?.last());
        let of =
            |block: Option<&Value>| block.and_then(|block| block.get("cache_control").cloned());
        (of(body.pointer("/system/0")), of(block))
    };
    let short = Some(json!({ "type": "ephemeral" }));
    let long = Some(json!({ "type": "ephemeral", "ttl": "1h" }));
    let hi = || vec![user("hi")];
    assert_eq!(
        marks(model(), "short", hi()),
        (short.clone(), short.clone())
    );
    assert_eq!(marks(model(), "long", hi()), (long.clone(), long));
    assert_eq!(marks(model(), "none", hi()), (None, None));
    let mut gateway = model();
    gateway.base_url = "https://llm.example".to_owned();
    assert_eq!(marks(gateway, "long", hi()), (short.clone(), short.clone()));
    let results = vec![
        reply(&model(), vec![call("a")]),
        result("a", vec!["A".into()]),
    ];
    assert_eq!(
        marks(model(), "short", results),
        (short.clone(), short.clone())
    );
    let unfinished = vec![reply(&model(), vec![TextContent::new("so").into()])];
    assert_eq!(marks(model(), "short", unfinished), (short, None));
}

#[test]
fn thoughts_go_back_to_their_own_model_as_they_came() {
    let mut hidden = ThinkingContent::new("[Reasoning redacted]").with_signature("b3BhcXVl");
    hidden.redacted = true;
    let blocks = || -> Vec<AssistantContent> {
        vec![
            ThinkingContent::new("one \n").with_signature("s1").into(),
            ThinkingContent::new("").with_signature("s2").into(),
            ThinkingContent::new(" ").with_signature("s3").into(),
            hidden.clone().into(),
            ThinkingContent::new("cut").with_signature("").into(),
            TextContent::new("said").into(),
        ]
    };
    let content = |model: Model, of: &Model| {
        sent_messages(model, vec![reply(of, blocks())])[0]["content"].take()
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let thought = |text: &str, signature: &str| json!({ "type": "thinking", "thinking": text, "signature": signature });
    let redacted = json!({ "type": "redacted_thinking", "data": "b3BhcXVl" });
    assert_eq!(
        content(model(), &model()),
        json!([
            thought("one \n", "s1"),
            thought("", "s2"),
            redacted,
            text("cut"),
            text("said")
        ])
    );
    assert_eq!(
        content(model(), &named("other")),
        json!([text("one \n"), text("cut"), text("said")])
    );
    let lenient = with_flag("allowEmptySignature");
    assert_eq!(content(lenient, &model())[3], thought("cut", ""));
}

#[test]
fn results_of_one_reply_share_a_message() {
    let mut seeing = model();
    seeing.input.push(InputKind::Image);
    let image = || UserContent::image("QUJD", "image/png");
    let messages = || {
        vec![
            reply(&model(), vec![call("a"), call("b"), call("c"), call("d")]),
            result("a", vec!["see".into(), " ".into(), image()]),
            result("b", vec![image()]),
            result("c", vec!["".into()]),
            result("d", Vec::new()),
            user("and?"),
        ]
    };
    let picture = json!({
        "type": "image",
        "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" },
    });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let sent = sent_messages(seeing, messages());
    assert_eq!(
        sent[1],
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "is_error": false,
              "content": [text("see"), picture] },
            { "type": "tool_result", "tool_use_id": "b", "is_error": false,
              "content": [text("(see attached image)"), picture] },
            { "type": "tool_result", "tool_use_id": "c", "is_error": false },
            { "type": "tool_result", "tool_use_id": "d", "is_error": false, "content": "" },
        ] })
    );
    assert_eq!(sent[2], json!({ "role": "user", "content": "and?" }));
    let blind = sent_messages(model(), messages());
    let texts: Vec<Option<&str>> = blind[1]["content"]
        .as_array()
        .expect("results are a list")
        .iter()
        .map(|result| result["content"].as_str())
        .collect();
    assert_eq!(
        texts,
        [Some("see\n "), Some("(see attached image)"), None, Some("")]
    );
}

#[test]
fn what_is_blank_is_left_out() {
    let blank = || TextContent::new(" \n").into();
    let messages = vec![
        user("  "),
        UserMessage::new(vec![" ".into(), UserContent::image("QUJD", "image/png")], 0).into(),
        reply(&model(), Vec::new()),
        reply(&model(), vec![blank()]),
        UserMessage::new(vec!["".into(), "really".into()], 0).into(),
    ];
    assert_eq!(
        sent_messages(model(), messages),
        json!([{ "role": "user", "content": [{ "type": "text", "text": "really" }] }])
    );
    let context = Context::default().with_system_prompt(" ");
    assert_eq!(sent(&Request::new(model(), context)).get("system"), None);
}

#[test]
fn instructions_in_mid_conversation_are_placed_where_the_model_takes_them() {
    let messages = || {
        vec![
            SystemMessage::new("first", 0).into(),
            user("hi"),
            SystemMessage::new("rhyme", 0).into(),
            reply(&model(), vec![TextContent::new("ok").into()]),
            SystemMessage::new("not behind a user", 0).into(),
            user("go"),
            SystemMessage::new("last", 0).into(),
        ]
    };
    let roles = |model: Model| -> Vec<String> {
        let sent = sent_messages(model, messages());
        let list = sent.as_array().expect("messages are a list").iter();
        list.map(|message| message["role"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        roles(with_flag("supportsMidConvoSystemMessages")),
        [
            "user",
            "user",
            "system",
            "assistant",
            "user",
            "user",
            "system"
        ]
    );
    assert_eq!(
        roles(model()),
        ["user", "user", "user", "assistant", "user", "user", "user"]
    );
}

#[test]
fn ids_of_other_models_are_made_to_fit() {
    let long = "x".repeat(70);
    for (id, attempt, expected) in [
        ("toolu_ok-1", 0, "toolu_ok-1".to_owned()),
        ("functions.write:0", 0, "functions_write_0".to_owned()),
        ("a|é", 1, "a___1".to_owned()),
        (&long, 0, "x".repeat(64)),
        (&long, 12, "x".repeat(61) + "_12"),
        ("", 1, "_1".to_owned()),
    ] {
        assert_eq!(ids::restricted(id, attempt, MAX_ID_CHARS), expected);
        assert_eq!(ids::restricted(&expected, 0, MAX_ID_CHARS), expected);
    }
}

#[test]
fn a_choice_of_tool_may_be_a_word_or_anthropics_own() {
    let choice = |choice: Value| {
        let options = options(json!({ "toolChoice": choice }));
        let request = Request::new(model(), Context::default()).with_options(options);
        sent(&request).get("tool_choice").cloned()
    };
    assert_eq!(choice(json!("auto")), Some(json!({ "type": "auto" })));
    let own = json!({ "type": "tool", "name": "read" });
    assert_eq!(choice(own.clone()), Some(own));
    assert_eq!(choice(Value::Null), None);
}

#[test]
fn output_that_must_fit_a_schema_is_asked_for_as_the_call_of_a_tool() {
    let schema = json!({ "type": "object", "properties": { "town": { "type": "string" } } });
    let asked = |options: Value| {
        let mut options: StreamOptions = serde_json::from_value(options).unwrap();
        options.output = Some(OutputSchema::new("Answer", schema.clone()));
        let tool = ToolDefinition::new("read", "Reads", json!({ "type": "object" }));
        let context = Context::default().with_tools(vec![tool.into()]);
        let body = sent(&Request::new(model(), context).with_options(options));
        let names: Vec<Value> = body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        assert_eq!(names, ["read", "Answer"]);
        assert_eq!(
            body["tools"][1]["input_schema"]["properties"],
            schema["properties"]
        );
        body.get("tool_choice").cloned()
    };
    let forced = Some(json!({ "type": "tool", "name": "Answer" }));
    assert_eq!(asked(json!({})), forced);
    assert_eq!(asked(json!({ "toolChoice": "none" })), forced);
    // A model that thinks cannot be forced.
    assert_eq!(asked(json!({ "reasoning": "high" })), None);
}
