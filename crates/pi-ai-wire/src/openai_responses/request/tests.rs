use pi_core::{
    AssistantContent, AssistantMessage, ConstrainedSampling, Context, ImageContent, InputKind,
    Model, OutputSchema, StreamOptions, Strictness, SystemMessage, TextContent, ThinkingContent,
    ThinkingLevel, ToolCall, ToolDefinition, ToolResultMessage, UserContent, UserMessage,
};
use serde_json::{Map, json};

use super::*;

fn model() -> Model {
    let mut model = Model::new(
        "m",
        "openai-responses",
        "openai",
        "https://api.openai.com/v1",
    );
    model.reasoning = true;
    model.max_tokens = 4096;
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

fn sent_input(model: Model, messages: Vec<Message>) -> Value {
    sent(&Request::new(model, Context::new(messages)))["input"].take()
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

fn signed_text(text: &str, signature: &str) -> AssistantContent {
    let mut text = TextContent::new(text);
    text.text_signature = Some(signature.to_owned());
    text.into()
}

fn thought(signature: &str) -> AssistantContent {
    ThinkingContent::new("hm").with_signature(signature).into()
}

#[test]
fn the_plain_body_is_openais() {
    let parameters = json!({ "type": "object" });
    let tool = ToolDefinition::new("read", "Reads.", parameters.clone());
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("Be terse.")
        .with_tools(vec![tool.into()]);
    let options = options(json!({
        "temperature": 0.5, "maxTokens": 100, "reasoning": "low", "toolChoice": "required",
        "sessionId": "s1", "cacheRetention": "long", "serviceTier": "flex",
    }));
    assert_eq!(
        sent(&Request::new(model(), context).with_options(options)),
        json!({
            "model": "m",
            "input": [
                { "role": "developer", "content": "Be terse." },
                { "role": "user", "content": [{ "type": "input_text", "text": "hi" }] },
            ],
            "stream": true,
            "prompt_cache_key": "s1",
            "prompt_cache_retention": "24h",
            "store": false,
            "max_output_tokens": 100,
            "temperature": 0.5,
            "service_tier": "flex",
            "tools": [{
                "type": "function", "name": "read", "description": "Reads.",
                "parameters": parameters, "strict": false,
            }],
            "tool_choice": "required",
            "reasoning": { "effort": "low", "summary": "auto" },
            "include": ["reasoning.encrypted_content"],
        })
    );
}

#[test]
fn the_prompt_is_cached_as_far_as_the_service_does() {
    let fields = |base_url: &str, asked: Value| {
        let mut model = model();
        model.base_url = base_url.to_owned();
        let body = sent(&Request::new(model, Context::default()).with_options(options(asked)));
        (
            body.get("prompt_cache_key").cloned(),
            body.get("prompt_cache_retention").is_some(),
        )
    };
    let openai = "https://api.openai.com/v1";
    let asked = |retention: &str| json!({ "sessionId": "s1", "cacheRetention": retention });
    assert_eq!(fields(openai, asked("none")), (None, false));
    assert_eq!(fields(openai, asked("short")), (Some(json!("s1")), false));
    assert_eq!(fields(openai, asked("long")), (Some(json!("s1")), true));
    assert_eq!(
        fields("https://api.x.ai/v1", asked("long")),
        (Some(json!("s1")), false)
    );
    let long = json!({ "sessionId": "x".repeat(65) });
    let key = fields(openai, long).0.expect("there is a key");
    assert!(key.as_str().is_some_and(|key| key.len() <= 64));
}

#[test]
fn thinking_is_asked_for_by_effort() {
    let with_levels = |levels: &[(ThinkingLevel, Option<&str>)]| {
        let mut model = model();
        let levels = levels.iter();
        let levels = levels.map(|(level, word)| (level.clone(), word.map(str::to_owned)));
        model.thinking_level_map = Some(levels.collect());
        model
    };
    let mut gpt = model();
    gpt.id = "gpt-5.2".into();
    let always = || with_levels(&[(ThinkingLevel::Off, None), (ThinkingLevel::Minimal, None)]);
    let mut copilot = model();
    copilot.provider = "github-copilot".into();
    let mut thoughtless = model();
    thoughtless.reasoning = false;
    let mut without_effort = model();
    let flags = without_effort.compat.get_or_insert_default();
    flags.supports_reasoning_effort = Some(false);
    let high = json!({ "reasoning": "high" });
    let effort = |effort: &str| json!([effort, "auto", true]);
    for (model, asked, expected) in [
        (model(), json!({}), json!(["none", null, false])),
        (
            model(),
            json!({ "reasoning": "off" }),
            json!(["none", null, false]),
        ),
        (model(), high.clone(), effort("high")),
        (model(), json!({ "reasoning": "xhigh" }), effort("high")),
        (gpt, json!({ "reasoning": "xhigh" }), effort("xhigh")),
        (
            model(),
            json!({ "reasoningSummary": "detailed" }),
            json!(["medium", "detailed", true]),
        ),
        (model(), json!({ "reasoningEffort": "odd" }), effort("odd")),
        // What it thinks anyway has to go back.
        (always(), json!({}), json!([null, null, true])),
        (always(), json!({ "reasoning": "minimal" }), effort("low")),
        (
            with_levels(&[(ThinkingLevel::Off, Some("zero"))]),
            json!({}),
            json!(["zero", null, false]),
        ),
        (
            with_levels(&[(ThinkingLevel::High, Some("most"))]),
            high.clone(),
            effort("most"),
        ),
        (copilot, json!({}), json!([null, null, false])),
        (without_effort, high.clone(), json!([null, null, true])),
        (thoughtless, high, json!([null, null, false])),
    ] {
        let name = format!("{} {asked}", model.id);
        let body = sent(&Request::new(model, Context::default()).with_options(options(asked)));
        let reasoning = &body["reasoning"];
        let has_include = body.get("include").is_some();
        let asked = json!([reasoning["effort"], reasoning["summary"], has_include]);
        assert_eq!(asked, expected, "{name}");
    }
}

#[test]
fn its_own_reply_goes_back_as_it_came() {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}"#;
    let blocks = || {
        vec![
            thought(item),
            signed_text(
                "Let me look.",
                r#"{"v":1,"id":"msg_1","phase":"commentary"}"#,
            ),
            call("call_1|fc_1"),
        ]
    };
    let messages = |by: &Model| {
        vec![
            reply(by, blocks()),
            result("call_1|fc_1", vec!["A".into()]),
            reply(by, vec![signed_text("Done.", "msg_2")]),
        ]
    };
    let text = |text: &str| json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    let arguments = "{\"path\":\"a\"}";
    assert_eq!(
        sent_input(model(), messages(&model())),
        json!([
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" },
            {
                "type": "message", "role": "assistant", "content": text("Let me look."),
                "status": "completed", "id": "msg_1", "phase": "commentary",
            },
            {
                "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read",
                "arguments": arguments,
            },
            { "type": "function_call_output", "call_id": "call_1", "output": "A" },
            {
                "type": "message", "role": "assistant", "content": text("Done."),
                "status": "completed", "id": "msg_2",
            },
        ])
    );
    // Another model gets the words, and no ids that belong to the thoughts.
    let mut other = model();
    other.id = "other".into();
    let ids = |input: &Value| {
        let items = input.as_array().expect("a list").iter();
        items.map(|item| item["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&sent_input(other, messages(&model()))),
        [
            json!("msg_0"),
            json!("msg_0_1"),
            json!(null),
            json!(null),
            json!("msg_2")
        ]
    );
}

#[test]
fn no_two_items_have_the_same_id() {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    let turn = || {
        let long = "x".repeat(70);
        let content = vec![
            thought(item),
            signed_text("a", "msg_1"),
            signed_text("b", &long),
            call("call_1|fc_1"),
        ];
        [
            reply(&model(), content),
            result("call_1|fc_1", vec!["A".into()]),
        ]
    };
    let input = sent_input(model(), turn().into_iter().chain(turn()).collect());
    let items = input.as_array().expect("a list");
    let mut ids: Vec<&str> = items
        .iter()
        .filter_map(|item| item["id"].as_str())
        .collect();
    assert_eq!(ids.len(), 6, "{ids:?}");
    assert!(ids.iter().all(|id| id.len() <= 64));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    let calls: Vec<&Value> = items
        .iter()
        .filter_map(|item| item.get("call_id"))
        .collect();
    assert_eq!(calls, ["call_1", "call_1", "call_1_1", "call_1_1"]);
}

#[test]
fn thoughts_that_cannot_go_back_do_not() {
    let blocks = vec![
        thought("reasoning_content"),
        thought("{broken"),
        ThinkingContent::new("unsigned").into(),
        TextContent::new("said").into(),
        // Nothing came of it: the reply ended at its limit.
        thought(r#"{"type":"reasoning","id":"rs_1"}"#),
    ];
    let input = sent_input(model(), vec![reply(&model(), blocks)]);
    let kinds: Vec<&Value> = input
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| &item["type"])
        .collect();
    assert_eq!(kinds, ["message"]);
    let nothing = vec![thought(r#"{"type":"reasoning","id":"rs_1"}"#)];
    assert_eq!(
        sent_input(model(), vec![reply(&model(), nothing)]),
        json!([])
    );
}

#[test]
fn images_go_to_models_that_see() {
    let image = || UserContent::Image(ImageContent::new("QUJD", "image/png"));
    let messages = || {
        vec![
            UserMessage::new(vec!["look".into(), image()], 0).into(),
            UserMessage::new(vec![image()], 0).into(),
            reply(&model(), vec![call("a"), call("b"), call("c")]),
            result("a", vec!["one".into(), image(), "two".into()]),
            result("b", vec![image()]),
            result("c", Vec::new()),
        ]
    };
    let url = json!({
        "type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD",
    });
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let outputs = |input: &Value| {
        let items = input.as_array().expect("a list").iter();
        items
            .filter_map(|item| item.get("output").cloned())
            .collect::<Vec<_>>()
    };
    let blind = sent_input(model(), messages());
    assert_eq!(blind[0]["content"], json!([text("look")]));
    assert_eq!(blind[1]["type"], "function_call");
    let none = json!("(see attached image)");
    assert_eq!(
        outputs(&blind),
        [json!("one\ntwo"), none.clone(), none.clone()]
    );

    let mut seeing = model();
    seeing.input.push(InputKind::Image);
    let sent = sent_input(seeing, messages());
    assert_eq!(sent[0]["content"], json!([text("look"), url]));
    assert_eq!(sent[1]["content"], json!([url]));
    assert_eq!(
        outputs(&sent),
        [json!([text("one\ntwo"), url]), json!([url]), none]
    );
}

#[test]
fn instructions_have_the_role_that_the_model_knows() {
    let role = |model: Model| {
        let messages = vec![user("hi"), SystemMessage::new("Rhyme.", 0).into()];
        let context = Context::new(messages).with_system_prompt("s");
        let input = sent(&Request::new(model, context))["input"].take();
        assert_eq!(input[2]["content"], "Rhyme.");
        assert_eq!(input[0]["role"], input[2]["role"]);
        input[0]["role"].clone()
    };
    let mut plain = model();
    plain.reasoning = false;
    let mut old = model();
    let flags = old.compat.get_or_insert_default();
    flags.supports_developer_role = Some(false);
    assert_eq!(role(model()), "developer");
    assert_eq!(role(plain), "system");
    assert_eq!(role(old), "system");
}

/// A tool with a grammar, and a model that knows grammars.
fn with_grammar() -> (Model, ToolDefinition) {
    let mut model = model();
    let flags = model.compat.get_or_insert_default();
    flags
        .extra
        .insert("supportsOpenAIGrammarTools", json!(true));
    let parameters = json!({
        "type": "object", "properties": { "input": { "type": "string" } }, "required": ["input"],
    });
    let tool = ToolDefinition::new("query", "Asks.", parameters)
        .with_constrained_sampling(ConstrainedSampling::lark("start: \"a\""));
    (model, tool)
}

#[test]
fn a_tool_with_a_grammar_is_offered_and_called_as_one() {
    let (model, tool) = with_grammar();
    let mut arguments = Map::new();
    arguments.insert("input".to_owned(), json!("SELECT 1"));
    let call = |id: &str| ToolCall::new(id, "query", arguments.clone()).into();
    let other = Model::new("o", "anthropic-messages", "anthropic", "");
    let messages = vec![
        reply(&model, vec![call("call_1|ctc_1")]),
        result("call_1|ctc_1", vec!["1".into()]),
        reply(&other, vec![call("toolu_1")]),
    ];
    let offered = tool.clone();
    let context = Context::new(messages.clone()).with_tools(vec![offered.into()]);
    let choice = json!({ "toolChoice": { "type": "function", "function": { "name": "query" } } });
    let request = Request::new(model.clone(), context).with_options(options(choice));
    let body = sent(&request);
    assert_eq!(
        body["tools"],
        json!([{
            "type": "custom", "name": "query", "description": "Asks.",
            "format": { "type": "grammar", "syntax": "lark", "definition": "start: \"a\"" },
        }])
    );
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "custom", "name": "query" })
    );
    assert_eq!(
        body["input"],
        json!([
            {
                "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "query",
                "input": "SELECT 1",
            },
            { "type": "custom_tool_call_output", "call_id": "call_1", "output": "1" },
            {
                "type": "custom_tool_call", "call_id": "toolu_1", "name": "query",
                "input": "SELECT 1",
            },
            {
                "type": "custom_tool_call_output", "call_id": "toolu_1",
                "output": "No result provided",
            },
        ])
    );
    // A model without grammars writes JSON, and so it is told of the calls of others.
    let mut plain = model;
    plain.compat = None;
    plain.id = "plain".into();
    let context = Context::new(messages).with_tools(vec![tool.into()]);
    let body = sent(&Request::new(plain, context));
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(body["input"][0]["arguments"], "{\"input\":\"SELECT 1\"}");
    assert_eq!(body["input"][1]["type"], "function_call_output");
}

#[test]
fn a_strict_tool_says_so() {
    let parameters = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tool = ToolDefinition::new("t", "", parameters)
        .with_constrained_sampling(ConstrainedSampling::json_schema(Strictness::Prefer));
    let context = Context::default().with_tools(vec![tool.into()]);
    let body = sent(&Request::new(model(), context));
    assert_eq!(body["tools"][0]["strict"], true);
}

#[test]
fn the_tool_to_use_is_named_as_the_api_wants_it() {
    let named = json!({ "type": "function", "name": "read" });
    for (choice, expected) in [
        (json!("required"), json!("required")),
        (named.clone(), named.clone()),
        (
            json!({ "type": "function", "function": { "name": "read" } }),
            named,
        ),
        (
            json!({ "type": "mcp", "server_label": "x", "name": "y" }),
            json!({ "type": "mcp", "server_label": "x", "name": "y" }),
        ),
    ] {
        let options = options(json!({ "toolChoice": choice }));
        let request = Request::new(model(), Context::default()).with_options(options);
        assert_eq!(sent(&request)["tool_choice"], expected);
    }
}

#[test]
fn a_reply_that_must_fit_a_schema_has_it_as_its_format() {
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
        "additionalProperties": false,
    });
    let mut request = Request::new(model(), Context::default());
    request.options.output = Some(OutputSchema::new("Answer", schema.clone()));
    assert_eq!(
        sent(&request)["text"],
        json!({ "format": {
            "type": "json_schema", "name": "Answer", "schema": schema, "strict": true,
        } })
    );
}
