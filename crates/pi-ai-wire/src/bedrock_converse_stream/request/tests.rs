use pi_core::{
    AssistantContent, AssistantMessage, Context, InputKind, Model, OutputSchema, StreamOptions,
    SystemMessage, TextContent, ThinkingContent, ToolCall, ToolResultMessage, UserContent,
    UserMessage,
};
use serde_json::json;

use super::*;

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NOVA: &str = "amazon.nova-pro-v1:0";

fn model(id: &str) -> Model {
    let base_url = "https://bedrock-runtime.us-east-1.amazonaws.com";
    let mut model = Model::new(id, "bedrock-converse-stream", "amazon-bedrock", base_url);
    model.reasoning = true;
    model.input = vec![InputKind::Text, InputKind::Image];
    model.max_tokens = 64_000;
    model
}

fn options(json: Value) -> StreamOptions {
    serde_json::from_value(json).expect("the options are upstream's")
}

fn sent(request: &Request) -> Value {
    serde_json::to_value(body(request)).expect("a body is JSON")
}

fn sent_messages(model: Model, messages: Vec<Message>) -> Value {
    let mut options = StreamOptions::default();
    options.cache_retention = Some(CacheRetention::None);
    let request = Request::new(model, Context::new(messages)).with_options(options);
    sent(&request)["messages"].take()
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
    ToolCall::new(id, "read", Map::new()).into()
}

fn result(id: &str, content: Vec<UserContent>, is_error: bool) -> Message {
    let mut result = ToolResultMessage::new(id, "read", content, 0);
    result.is_error = is_error;
    result.into()
}

fn tool() -> ToolDefinition {
    ToolDefinition::new("read", "Reads.", json!({ "type": "object" }))
}

fn wire_tool() -> Value {
    json!({ "toolSpec": {
        "name": "read", "description": "Reads.", "inputSchema": { "json": { "type": "object" } },
    } })
}

#[test]
fn the_whole_body() {
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("Be terse.")
        .with_tools(vec![tool().into()]);
    let options = options(json!({
        "temperature": 0.5, "maxTokens": 10, "requestMetadata": { "team": "a" },
    }));
    assert_eq!(
        sent(&Request::new(model(NOVA), context).with_options(options)),
        json!({
            "messages": [{ "role": "user", "content": [{ "text": "hi" }] }],
            "system": [{ "text": "Be terse." }],
            "inferenceConfig": { "maxTokens": 10, "temperature": 0.5 },
            "toolConfig": { "tools": [wire_tool()] },
            "requestMetadata": { "team": "a" },
        })
    );
}

#[test]
fn claude_is_told_what_to_cache() {
    for (retention, point) in [
        (json!("none"), None),
        (
            json!("short"),
            Some(json!({ "cachePoint": { "type": "default" } })),
        ),
        (
            json!("long"),
            Some(json!({ "cachePoint": { "type": "default", "ttl": "1h" } })),
        ),
    ] {
        let context = Context::new(vec![user("hi")]).with_system_prompt("Be terse.");
        let options = options(json!({ "cacheRetention": retention }));
        let body = sent(&Request::new(model(CLAUDE), context).with_options(options));
        for (blocks, text) in [
            (&body["system"], "Be terse."),
            (&body["messages"][0]["content"], "hi"),
        ] {
            let mut expected = vec![json!({ "text": text })];
            expected.extend(point.clone());
            assert_eq!(*blocks, Value::from(expected), "{retention}");
        }
    }
}

#[test]
fn a_reply_at_the_end_is_there_to_be_continued() {
    let model = model(CLAUDE);
    let start = reply(&model, vec![TextContent::new("Once").into()]);
    let body = sent(&Request::new(model, Context::new(vec![user("go"), start])));
    assert_eq!(body["messages"][1]["content"], json!([{ "text": "Once" }]));
}

#[test]
fn claude_thinks_by_budget_or_by_effort() {
    let sonnet_4_6 = "anthropic.claude-sonnet-4-6";
    let beta = ["interleaved-thinking-2025-05-14"];
    let enabled = |budget: u64| json!({ "type": "enabled", "budget_tokens": budget });
    let adaptive = |effort: &str| json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": effort } });
    for (id, given, max_tokens, fields) in [
        (CLAUDE, json!({}), 32_000, None),
        (CLAUDE, json!({ "reasoning": "off" }), 32_000, None),
        (
            CLAUDE,
            json!({ "reasoning": "low" }),
            34_048,
            Some(json!({ "thinking": enabled(2048), "anthropic_beta": beta })),
        ),
        (
            CLAUDE,
            json!({ "reasoning": "low", "interleavedThinking": false, "thinkingBudgets": { "low": 4000 } }),
            36_000,
            Some(json!({ "thinking": enabled(4000) })),
        ),
        (
            sonnet_4_6,
            json!({ "reasoning": "minimal" }),
            32_000,
            Some(adaptive("low")),
        ),
        (
            sonnet_4_6,
            json!({ "reasoning": "xhigh" }),
            32_000,
            Some(adaptive("high")),
        ),
        (
            "anthropic.claude-opus-4-6-v1",
            json!({ "reasoning": "xhigh" }),
            32_000,
            Some(adaptive("max")),
        ),
        (NOVA, json!({ "reasoning": "high" }), 32_000, None),
    ] {
        let request =
            Request::new(model(id), Context::default()).with_options(options(given.clone()));
        let body = sent(&request);
        assert_eq!(
            body["inferenceConfig"]["maxTokens"], max_tokens,
            "{id} {given}"
        );
        assert_eq!(
            body.get("additionalModelRequestFields"),
            fields.as_ref(),
            "{id} {given}"
        );
    }
}

#[test]
fn a_model_without_a_limit_is_given_none() {
    let mut model = model(NOVA);
    model.max_tokens = 0;
    let body = sent(&Request::new(model, Context::default()));
    assert_eq!(body["inferenceConfig"], json!({}));
}

#[test]
fn temperature_goes_only_to_models_that_take_it_and_do_not_think() {
    for (id, given, expected) in [
        (CLAUDE, json!({ "temperature": 0.5 }), Some(0.5)),
        (
            CLAUDE,
            json!({ "temperature": 0.5, "reasoning": "low" }),
            None,
        ),
        (
            "anthropic.claude-opus-4-7",
            json!({ "temperature": 0.5 }),
            None,
        ),
        (
            NOVA,
            json!({ "temperature": 0.5, "reasoning": "low" }),
            Some(0.5),
        ),
    ] {
        let request =
            Request::new(model(id), Context::default()).with_options(options(given.clone()));
        let body = sent(&request);
        assert_eq!(
            body["inferenceConfig"]
                .get("temperature")
                .and_then(Value::as_f64),
            expected,
            "{id} {given}"
        );
    }
}

#[test]
fn the_choice_of_tool_has_the_apis_form() {
    for (choice, expected) in [
        (json!(null), Some(json!(null))),
        (json!("auto"), Some(json!({ "auto": {} }))),
        (json!("any"), Some(json!({ "any": {} }))),
        (
            json!({ "type": "tool", "name": "read" }),
            Some(json!({ "tool": { "name": "read" } })),
        ),
        (
            json!({ "tool": { "name": "read" } }),
            Some(json!({ "tool": { "name": "read" } })),
        ),
        (json!("none"), None),
    ] {
        let context = Context::default().with_tools(vec![tool().into()]);
        let options = options(json!({ "toolChoice": choice }));
        let body = sent(&Request::new(model(NOVA), context).with_options(options));
        let config = body.get("toolConfig");
        assert_eq!(
            config.map(|config| config["toolChoice"].clone()),
            expected,
            "{choice}"
        );
    }
}

#[test]
fn output_by_a_schema_is_the_call_of_a_tool() {
    let schema = json!({ "type": "object", "properties": {} });
    for (given, choice) in [
        (json!({}), json!({ "tool": { "name": "answer" } })),
        (json!({ "reasoning": "low" }), json!(null)),
    ] {
        let mut options = options(given);
        options.output = Some(OutputSchema::new("answer", schema.clone()));
        let body = sent(&Request::new(model(CLAUDE), Context::default()).with_options(options));
        let spec = &body["toolConfig"]["tools"][0]["toolSpec"];
        assert_eq!(
            (&spec["name"], &spec["inputSchema"]["json"]),
            (&json!("answer"), &schema)
        );
        assert_eq!(body["toolConfig"]["toolChoice"], choice);
    }
}

#[test]
fn thoughts_go_back_as_their_model_takes_them() {
    let thoughts = || {
        let signed = |text: &str| ThinkingContent::new(text).with_signature("c2ln");
        let mut hidden = signed("[Reasoning redacted]");
        hidden.redacted = true;
        vec![
            signed("a").into(),
            signed("").into(),
            signed(" ").into(),
            hidden.into(),
            ThinkingContent::new("b").into(),
            AssistantContent::from(ThinkingContent::new("c").with_signature("")),
        ]
    };
    let text = |text: &str, signature: Option<&str>| match signature {
        Some(signature) => {
            json!({ "reasoningContent": { "reasoningText": { "text": text, "signature": signature } } })
        }
        None => json!({ "reasoningContent": { "reasoningText": { "text": text } } }),
    };
    let hidden = json!({ "reasoningContent": { "redactedContent": "c2ln" } });
    let sent = |id: &str| {
        let model = model(id);
        let message = reply(&model, thoughts());
        sent_messages(model, vec![message])[0]["content"].take()
    };
    assert_eq!(
        sent(CLAUDE),
        json!([text("a", Some("c2ln")), text("", Some("c2ln")), hidden, { "text": "b" }, { "text": "c" }])
    );
    assert_eq!(
        sent(NOVA),
        json!([text("a", None), hidden, text("b", None), text("c", None)])
    );
}

#[test]
fn results_of_one_reply_share_a_message() {
    let model = model(NOVA);
    let image = UserContent::image("QUJD", "image/jpg");
    let messages = vec![
        reply(&model, vec![call("a"), call("b"), call("c")]),
        result(
            "a",
            vec![
                UserContent::text("A"),
                UserContent::text(" "),
                image.clone(),
            ],
            false,
        ),
        result("b", vec![UserContent::text("no")], true),
        result("c", vec![], false),
        user("go on"),
    ];
    let use_of = |id: &str| json!({ "toolUse": { "toolUseId": id, "name": "read", "input": {} } });
    let result_of = |id: &str, status: &str, content: Value| json!({ "toolResult": { "toolUseId": id, "content": content, "status": status } });
    let wire_image = json!({ "image": { "format": "jpeg", "source": { "bytes": "QUJD" } } });
    assert_eq!(
        sent_messages(model, messages),
        json!([
            { "role": "assistant", "content": [use_of("a"), use_of("b"), use_of("c")] },
            { "role": "user", "content": [
                result_of("a", "success", json!([{ "text": "A" }, wire_image])),
                result_of("b", "error", json!([{ "text": "no" }])),
                result_of("c", "success", json!([])),
            ] },
            { "role": "user", "content": [{ "text": "go on" }] },
        ])
    );
}

#[test]
fn models_that_take_no_images_are_sent_none() {
    let mut model = model(NOVA);
    model.input = vec![InputKind::Text];
    let image = || UserContent::image("QUJD", "image/png");
    let messages = vec![
        UserMessage::new(vec![image()], 0).into(),
        UserMessage::new(vec![UserContent::text("a"), image()], 0).into(),
        reply(&model, vec![call("a")]),
        result("a", vec![image()], false),
    ];
    let messages = sent_messages(model, messages);
    assert_eq!(messages[0]["content"], json!([{ "text": "a" }]));
    let result = &messages[2]["content"][0]["toolResult"];
    assert_eq!(
        result["content"],
        json!([{ "text": "(see attached image)" }])
    );
}

#[test]
fn nothing_blank_is_sent() {
    let model = model(NOVA);
    let messages = vec![
        user(" "),
        UserMessage::new(vec![UserContent::text("")], 0).into(),
        reply(&model, vec![TextContent::new("\n").into()]),
        user("a"),
    ];
    let context = Context::new(messages).with_system_prompt(" ");
    let body = sent(&Request::new(model, context));
    assert_eq!(
        body["messages"],
        json!([{ "role": "user", "content": [{ "text": "a" }] }])
    );
    assert_eq!(body.get("system"), None);
}

#[test]
fn instructions_in_mid_conversation_are_the_users() {
    let system = Message::from(SystemMessage::new("b", 0));
    assert_eq!(
        sent_messages(model(NOVA), vec![user("a"), system]),
        json!([
            { "role": "user", "content": [{ "text": "a" }] },
            { "role": "user", "content": [{ "text": "b" }] },
        ])
    );
}

#[test]
fn foreign_ids_fit_and_differ() {
    let other = Model::new("other", "openai-responses", "openai", "");
    let ids = [
        "call|1".to_owned(),
        "call:1".to_owned(),
        "x".repeat(80),
        "x".repeat(90),
    ];
    let calls = reply(&other, ids.iter().map(|id| call(id)).collect());
    let messages = sent_messages(model(NOVA), vec![calls]);
    let blocks = messages[0]["content"].as_array().expect("blocks").iter();
    let sent: Vec<&str> = blocks
        .filter_map(|block| block["toolUse"]["toolUseId"].as_str())
        .collect();
    assert_eq!(sent.first(), Some(&"call_1"));
    let different: std::collections::BTreeSet<&&str> = sent.iter().collect();
    assert_eq!(different.len(), ids.len(), "{sent:?}");
    assert!(sent.iter().all(|id| id.len() <= 64));
}
