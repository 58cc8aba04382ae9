use std::sync::Arc;

use pi_core::{
    AssistantContent, AssistantMessage, CacheRetention, ConstrainedSampling, Context, ImageContent,
    InputKind, ModelCompat, OutputSchema, StreamOptions, Strictness, SystemMessage, TextContent,
    ThinkingContent, ThinkingLevel, ToolCall, ToolDefinition, ToolResultMessage, UserContent,
    UserMessage,
};
use serde_json::{Map, json};

use super::*;

fn model() -> Model {
    let mut model = Model::new(
        "m",
        "openai-completions",
        "custom",
        "https://llm.example/v1",
    );
    model.reasoning = true;
    model.max_tokens = 4096;
    model
}

fn with_flags(set: impl FnOnce(&mut ModelCompat)) -> Model {
    let mut model = model();
    set(model.compat.get_or_insert_default());
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

fn sent_messages(model: Model, messages: Vec<Message>) -> Value {
    sent(&Request::new(model, Context::new(messages)))["messages"].take()
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
fn the_plain_body_is_openais() {
    let parameters = json!({ "type": "object" });
    let tool = ToolDefinition::new("read", "Reads.", parameters.clone());
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("Be terse.")
        .with_tools(vec![tool.into()]);
    let options = options(json!({
        "temperature": 0.5, "maxTokens": 10, "reasoning": "low", "toolChoice": "required",
    }));
    assert_eq!(
        sent(&Request::new(model(), context).with_options(options)),
        json!({
            "model": "m",
            "messages": [
                { "role": "developer", "content": "Be terse." },
                { "role": "user", "content": "hi" },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
            "store": false,
            "max_completion_tokens": 10,
            "temperature": 0.5,
            "tools": [{
                "type": "function",
                "function": {
                    "name": "read", "description": "Reads.", "parameters": parameters,
                    "strict": false,
                },
            }],
            "tool_choice": "required",
            "reasoning_effort": "low",
        })
    );
}

#[test]
fn what_is_asked_for_beside_the_reply_is_passed_on() {
    let schema = json!({
        "type": "object", "properties": {}, "required": [], "additionalProperties": false,
    });
    let tool = |limit| {
        let tool = ToolDefinition::new("t", "", schema.clone());
        Arc::new(tool.with_constrained_sampling(limit))
    };
    let context = Context::default().with_tools(vec![
        tool(ConstrainedSampling::json_schema(Strictness::Require)),
        tool(ConstrainedSampling::lark("start: \"a\"")),
    ]);
    let mut options = options(json!({ "serviceTier": "flex" }));
    options.output = Some(OutputSchema::new("Answer", schema.clone()));
    let body = sent(&Request::new(model(), context).with_options(options));
    assert_eq!(body["tools"][0]["function"]["strict"], true);
    assert_eq!(body["tools"][1]["type"], "function");
    assert_eq!(body["service_tier"], "flex");
    assert_eq!(
        body["response_format"],
        json!({
            "type": "json_schema",
            "json_schema": { "name": "Answer", "schema": schema, "strict": true },
        })
    );
}

#[test]
fn a_tool_takes_the_reply_where_it_cannot_be_held_to_a_schema() {
    let mut model = model();
    model.provider = "deepseek".into();
    let mut request = Request::new(model, Context::default());
    let schema = json!({ "type": "object" });
    request.options.output = Some(OutputSchema::new("Answer", schema.clone()));
    let body = sent(&request);
    assert_eq!(body.get("response_format"), None);
    assert_eq!(body["tools"][0]["function"]["parameters"], schema);
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "function", "function": { "name": "Answer" } })
    );
}

#[test]
fn the_token_limit_is_the_models_up_to_32000() {
    for (of_model, asked, expected) in [
        (4096, None, Some(4096)),
        (64_000, None, Some(32_000)),
        (64_000, Some(50_000), Some(50_000)),
        (0, None, None),
        (4096, Some(0), Some(4096)),
    ] {
        let mut model = model();
        model.max_tokens = of_model;
        let mut options = StreamOptions::default();
        options.max_tokens = asked;
        let body = sent(&Request::new(model, Context::default()).with_options(options));
        assert_eq!(
            body.get("max_completion_tokens").and_then(Value::as_u64),
            expected
        );
    }
}

#[test]
fn thinking_is_asked_for_in_the_services_way() {
    let format = |format: &str| with_flags(|flags| flags.thinking_format = Some(format.into()));
    let mapped = with_flags(|flags| {
        flags.reasoning_effort_map = Some([(ThinkingLevel::High, "most".to_owned())].into());
    });
    let mut groq = model();
    groq.provider = "groq".into();
    groq.id = "qwen/qwen3-32b".into();
    let mut gpt = model();
    gpt.id = "gpt-5.2".into();
    let mut listed = model();
    listed.thinking_level_map = Some(
        [
            (ThinkingLevel::Minimal, None),
            (ThinkingLevel::High, None),
            (ThinkingLevel::Medium, Some("mid".to_owned())),
        ]
        .into(),
    );
    let mut thoughtless = model();
    thoughtless.reasoning = false;
    let high = json!({ "reasoning": "high" });
    let cases = [
        (model(), json!({}), json!({})),
        (model(), json!({ "reasoning": "off" }), json!({})),
        (model(), high.clone(), json!({ "reasoning_effort": "high" })),
        (
            model(),
            json!({ "reasoning": "xhigh" }),
            json!({ "reasoning_effort": "high" }),
        ),
        (
            model(),
            json!({ "reasoning": "max" }),
            json!({ "reasoning_effort": "high" }),
        ),
        (
            model(),
            json!({ "reasoningEffort": "xhigh" }),
            json!({ "reasoning_effort": "xhigh" }),
        ),
        (
            gpt,
            json!({ "reasoning": "max" }),
            json!({ "reasoning_effort": "xhigh" }),
        ),
        (
            listed.clone(),
            json!({ "reasoning": "minimal" }),
            json!({ "reasoning_effort": "low" }),
        ),
        (listed, high.clone(), json!({ "reasoning_effort": "mid" })),
        (mapped, high.clone(), json!({ "reasoning_effort": "most" })),
        (groq, high.clone(), json!({ "reasoning_effort": "default" })),
        (thoughtless, high.clone(), json!({})),
        (
            format("zai"),
            high.clone(),
            json!({ "enable_thinking": true }),
        ),
        (
            format("qwen"),
            json!({}),
            json!({ "enable_thinking": false }),
        ),
        (
            format("qwen-chat-template"),
            high.clone(),
            json!({ "chat_template_kwargs": { "enable_thinking": true } }),
        ),
        (
            format("openrouter"),
            high,
            json!({ "reasoning": { "effort": "high" } }),
        ),
        (
            format("openrouter"),
            json!({}),
            json!({ "reasoning": { "effort": "none" } }),
        ),
    ];
    const FIELDS: [&str; 4] = [
        "reasoning_effort",
        "reasoning",
        "enable_thinking",
        "chat_template_kwargs",
    ];
    for (model, asked, expected) in cases {
        let name = format!("{} {asked}", model.id);
        let request = Request::new(model, Context::default()).with_options(options(asked));
        let Value::Object(mut body) = sent(&request) else {
            panic!("a body is an object")
        };
        body.retain(|field, _| FIELDS.contains(&field.as_str()));
        assert_eq!(Value::Object(body), expected, "{name}");
    }
}

#[test]
fn services_that_are_not_openai_are_known_by_name_or_address() {
    let fields = |provider: &str, address: &str| {
        let mut model = Model::new("m", "openai-completions", provider, address);
        model.reasoning = true;
        model.max_tokens = 9;
        let context = Context::default().with_system_prompt("s");
        let body = sent(&Request::new(model, context));
        let has = |field: &str| body.get(field).is_some();
        (
            has("store"),
            has("max_tokens"),
            body["messages"][0]["role"] == "developer",
        )
    };
    assert_eq!(
        fields("openai", "https://api.openai.com/v1"),
        (true, false, true)
    );
    assert_eq!(fields("xai", ""), (false, false, false));
    assert_eq!(
        fields("own", "https://api.deepseek.com/v1"),
        (false, false, false)
    );
    assert_eq!(
        fields("own", "https://llm.chutes.ai/v1"),
        (false, true, false)
    );
}

#[test]
fn reasoning_goes_back_in_its_field_to_its_own_model() {
    let blocks = || {
        vec![
            ThinkingContent::new("one")
                .with_signature("reasoning")
                .into(),
            ThinkingContent::new(" ").with_signature("reasoning").into(),
            TextContent::new("said").into(),
            ThinkingContent::new("two")
                .with_signature("reasoning")
                .into(),
        ]
    };
    let assistant = |model: &Model| sent_messages(model.clone(), vec![reply(model, blocks())]);
    assert_eq!(
        assistant(&model()),
        json!([{ "role": "assistant", "content": "said", "reasoning": "one\ntwo" }])
    );
    let silent = with_flags(|flags| {
        flags.extra.insert("echoReasoning", json!(false));
    });
    assert_eq!(
        assistant(&silent),
        json!([{ "role": "assistant", "content": "said" }])
    );
    let as_text = with_flags(|flags| flags.requires_thinking_as_text = Some(true));
    assert_eq!(
        assistant(&as_text),
        json!([{ "role": "assistant", "content": [
            { "type": "text", "text": "one\n\ntwo" }, { "type": "text", "text": "said" },
        ] }])
    );
    let mut other = model();
    other.id = "other".into();
    assert_eq!(
        sent_messages(model(), vec![reply(&other, blocks())]),
        json!([{ "role": "assistant", "content": "onesaidtwo" }])
    );
}

#[test]
fn text_goes_out_as_one_string_where_a_server_needs_it() {
    let parts = vec![UserContent::text("one"), UserContent::text("two")];
    let message = || vec![Message::from(UserMessage::new(parts.clone(), 0))];
    let sent = sent_messages(
        with_flags(|flags| flags.requires_string_content = Some(true)),
        message(),
    );
    assert_eq!(sent, json!([{ "role": "user", "content": "one\ntwo" }]));
    let sent = sent_messages(model(), message());
    assert!(sent[0]["content"].is_array());
}

#[test]
fn a_signature_that_names_no_reasoning_field_is_not_made_a_field() {
    let block = ThinkingContent::new("hm").with_signature("content").into();
    assert_eq!(
        sent_messages(model(), vec![reply(&model(), vec![block, call("c")])])[0],
        json!({ "role": "assistant", "content": null, "tool_calls": [{
            "id": "c", "type": "function",
            "function": { "name": "read", "arguments": "{\"path\":\"a\"}" },
        }] })
    );
}

#[test]
fn encrypted_reasoning_goes_back_with_its_call() {
    let mut signed = ToolCall::new("c", "read", Map::new());
    signed.thought_signature = Some(r#"{"type":"reasoning.encrypted","id":"c"}"#.into());
    let mut broken = ToolCall::new("d", "read", Map::new());
    broken.thought_signature = Some("opaque".into());
    let messages = vec![reply(&model(), vec![signed.into(), broken.into()])];
    assert_eq!(
        sent_messages(model(), messages)[0]["reasoning_details"],
        json!([{ "type": "reasoning.encrypted", "id": "c" }])
    );
}

#[test]
fn images_of_tool_results_follow_the_last_of_them() {
    let image = || UserContent::Image(ImageContent::new("QUJD", "image/png"));
    let messages = || {
        vec![
            reply(&model(), vec![call("a"), call("b")]),
            result("a", vec!["see".into(), image()]),
            result("b", vec![image()]),
            user("and?"),
        ]
    };
    let roles = |messages: &Value| -> Vec<String> {
        let list = messages.as_array().expect("messages are a list").iter();
        list.map(|message| message["role"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let mut seeing = with_flags(|flags| {
        flags.requires_assistant_after_tool_result = Some(true);
        flags.requires_tool_result_name = Some(true);
    });
    let blind = sent_messages(seeing.clone(), messages());
    assert_eq!(
        roles(&blind),
        ["assistant", "tool", "tool", "assistant", "user"]
    );
    seeing.input.push(InputKind::Image);
    let sent = sent_messages(seeing, messages());
    assert_eq!(
        roles(&sent),
        ["assistant", "tool", "tool", "assistant", "user", "user"]
    );
    assert_eq!(sent[0]["content"], "");
    assert_eq!(
        sent[2],
        json!({
            "role": "tool", "content": "(see attached image)", "tool_call_id": "b", "name": "read",
        })
    );
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    assert_eq!(
        sent[4]["content"],
        json!([{ "type": "text", "text": "Attached image(s) from tool result:" }, url, url])
    );
}

#[test]
fn replies_and_messages_with_nothing_in_them_are_left_out() {
    let blank = TextContent::new(" \n").into();
    let picture = UserContent::image("QUJD", "image/png");
    let messages = vec![
        reply(&model(), Vec::new()),
        reply(&model(), vec![blank]),
        UserMessage::new(vec![picture], 0).into(),
        SystemMessage::new("From now on, rhyme.", 0).into(),
    ];
    assert_eq!(
        sent_messages(model(), messages),
        json!([{ "role": "developer", "content": "From now on, rhyme." }])
    );
}

#[test]
fn a_history_with_calls_has_a_list_of_tools() {
    let tools = |messages| {
        sent(&Request::new(model(), Context::new(messages)))
            .get("tools")
            .cloned()
    };
    assert_eq!(
        tools(vec![reply(&model(), vec![call("a")])]),
        Some(json!([]))
    );
    assert_eq!(tools(vec![user("hi")]), None);
}

#[test]
fn anthropic_behind_openrouter_caches_up_to_the_last_text() {
    let mut model = model();
    model.provider = "openrouter".into();
    model.id = "anthropic/claude".into();
    let mark = json!({ "type": "ephemeral" });
    let messages = vec![
        user("hi"),
        reply(&model, vec![call("a")]),
        result("a", Vec::new()),
    ];
    assert_eq!(
        sent_messages(model.clone(), messages.clone())[0]["content"],
        json!([{ "type": "text", "text": "hi", "cache_control": mark }])
    );
    let mut options = StreamOptions::default();
    options.cache_retention = Some(CacheRetention::None);
    let request = Request::new(model, Context::new(messages)).with_options(options);
    assert_eq!(sent(&request)["messages"][0]["content"], "hi");
}

#[test]
fn routing_goes_to_the_gateway_that_knows_it() {
    let routing = json!({ "only": ["a"], "extra": 1 });
    let at = |address: &str| {
        let mut model = with_flags(|flags| {
            flags.open_router_routing = Some(routing.clone());
            flags.vercel_gateway_routing = Some(routing.clone());
        });
        model.base_url = address.into();
        let body = sent(&Request::new(model, Context::default()));
        (
            body.get("provider").cloned(),
            body.get("providerOptions").cloned(),
        )
    };
    assert_eq!(at("https://llm.example/v1"), (None, None));
    assert_eq!(
        at("https://openrouter.ai/api/v1"),
        (Some(routing.clone()), None)
    );
    let gateway = json!({ "gateway": { "only": ["a"] } });
    assert_eq!(at("https://ai-gateway.vercel.sh/v1"), (None, Some(gateway)));
}

#[test]
fn ids_of_other_models_are_cut_for_openai_and_lose_their_item() {
    let long = "x".repeat(50);
    let cases = [
        ("openai", long.as_str(), 0, "x".repeat(40)),
        ("openai", long.as_str(), 12, "x".repeat(37) + "_12"),
        ("other", long.as_str(), 0, long.clone()),
        ("other", "call_é+1|fc_2", 0, "call___1".to_owned()),
        ("other", "", 1, "_1".to_owned()),
    ];
    for (provider, id, attempt, expected) in cases {
        let model = Model::new("m", "openai-completions", provider, "");
        assert_eq!(call_id(&model, id, attempt), expected);
        assert_eq!(call_id(&model, &expected, 0), expected);
    }
}
