use pi_core::{
    AssistantContent, AssistantMessage, Context, InputKind, Model, StreamOptions, SystemMessage,
    TextContent, ThinkingContent, ThinkingLevel, ToolCall, ToolResultMessage, UserContent,
    UserMessage,
};
use serde_json::{Map, json};

use super::*;

fn model(id: &str) -> Model {
    let mut model = Model::new(
        id,
        "google-generative-ai",
        "google",
        "https://llm.example/v1",
    );
    model.reasoning = true;
    model.input = vec![InputKind::Text, InputKind::Image];
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

fn contents_of(model: Model, messages: Vec<Message>) -> Value {
    sent(&Request::new(model, Context::new(messages)))["contents"].take()
}

fn user(text: &str) -> Message {
    UserMessage::new(text, 0).into()
}

fn reply(model: &Model, content: Vec<AssistantContent>) -> Message {
    let mut reply = AssistantMessage::empty(model, 0);
    reply.content = content;
    reply.into()
}

fn call(id: &str, signature: Option<&str>) -> AssistantContent {
    let mut arguments = Map::new();
    arguments.insert("path".to_owned(), json!("a"));
    let mut call = ToolCall::new(id, "read", arguments);
    call.thought_signature = signature.map(str::to_owned);
    call.into()
}

fn result(id: &str, content: Vec<UserContent>) -> Message {
    ToolResultMessage::new(id, "read", content, 0).into()
}

fn image() -> UserContent {
    UserContent::image("QUJD", "image/png")
}

fn inline() -> Value {
    json!({ "inlineData": { "mimeType": "image/png", "data": "QUJD" } })
}

#[test]
fn the_plain_body_is_geminis() {
    let parameters = json!({ "type": "object", "$defs": {} });
    let tool = ToolDefinition::new("read", "Reads.", parameters.clone());
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("Be terse.")
        .with_tools(vec![tool.into()]);
    let options = options(json!({
        "temperature": 0.5, "maxTokens": 10, "reasoning": "low", "toolChoice": "any",
    }));
    let request = Request::new(model("gemini-2.5-flash"), context).with_options(options);
    assert_eq!(
        sent(&request),
        json!({
            "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }],
            "systemInstruction": { "role": "user", "parts": [{ "text": "Be terse." }] },
            "tools": [{
                "functionDeclarations": [{
                    "name": "read", "description": "Reads.", "parametersJsonSchema": parameters,
                }],
            }],
            "toolConfig": { "functionCallingConfig": { "mode": "ANY" } },
            "generationConfig": {
                "temperature": 0.5,
                "maxOutputTokens": 10,
                "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 2048 },
            },
        })
    );
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    let mut plain = model("gemini-2.0-flash");
    plain.reasoning = false;
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("")
        .with_tools(Vec::new());
    let request =
        Request::new(plain, context).with_options(options(json!({ "toolChoice": "any" })));
    assert_eq!(
        sent(&request),
        json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] })
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
        let mut model = model("gemini-2.5-flash");
        model.max_tokens = of_model;
        let mut options = StreamOptions::default();
        options.max_tokens = asked;
        let body = sent(&Request::new(model, Context::default()).with_options(options));
        assert_eq!(
            body["generationConfig"]["maxOutputTokens"].as_u64(),
            expected
        );
    }
}

#[test]
fn the_choice_of_a_tool_is_a_mode_or_taken_as_it_is() {
    let own = json!({ "mode": "ANY", "allowedFunctionNames": ["read"] });
    for (choice, expected) in [
        (json!("any"), json!({ "mode": "ANY" })),
        (json!("required"), json!({ "mode": "ANY" })),
        (json!("none"), json!({ "mode": "NONE" })),
        (json!("validated"), json!({ "mode": "VALIDATED" })),
        (json!("auto"), json!({ "mode": "AUTO" })),
        (json!("odd"), json!({ "mode": "AUTO" })),
        (own.clone(), own),
        (json!(null), Value::Null),
        (json!(""), Value::Null),
    ] {
        let tool = ToolDefinition::new("read", "Reads.", json!({}));
        let context = Context::default().with_tools(vec![tool.into()]);
        let options = options(json!({ "toolChoice": choice }));
        let body = sent(&Request::new(model("gemini-2.5-flash"), context).with_options(options));
        assert_eq!(
            body["toolConfig"]["functionCallingConfig"], expected,
            "{choice}"
        );
    }
}

/// Returns the thinking that a model is asked for.
fn thinking(model: &Model, json: Value) -> Value {
    let request = Request::new(model.clone(), Context::default()).with_options(options(json));
    sent(&request)["generationConfig"]["thinkingConfig"].take()
}

#[test]
fn thinking_is_asked_for_by_level_or_budget() {
    for (id, level, expected) in [
        ("gemini-3-pro-preview", "minimal", json!("LOW")),
        ("gemini-3.1-pro-preview", "medium", json!("HIGH")),
        ("gemini-3-pro-preview", "xhigh", json!("HIGH")),
        ("gemini-3-flash-preview", "minimal", json!("MINIMAL")),
        ("gemini-3-flash-preview", "medium", json!("MEDIUM")),
        ("gemini-4-neon", "low", json!("LOW")),
        ("gemini-2.5-pro", "minimal", json!(128)),
        ("gemini-2.5-pro", "max", json!(32_768)),
        ("gemini-2.5-flash", "high", json!(24_576)),
        ("gemini-2.5-flash-lite", "minimal", json!(512)),
        ("gemini-flash-latest", "low", json!(-1)),
    ] {
        let field = match expected.is_string() {
            true => "thinkingLevel",
            false => "thinkingBudget",
        };
        assert_eq!(
            thinking(&model(id), json!({ "reasoning": level })),
            json!({ "includeThoughts": true, field: expected }),
            "{id} {level}"
        );
    }
    let own = json!({ "reasoning": "high", "thinkingBudgets": { "high": 777 } });
    assert_eq!(
        thinking(&model("gemini-2.5-pro"), own)["thinkingBudget"],
        777
    );
}

#[test]
fn no_thinking_is_as_little_as_the_model_can() {
    for (id, expected) in [
        ("gemini-3-pro-preview", json!({ "thinkingLevel": "LOW" })),
        (
            "gemini-3-flash-preview",
            json!({ "thinkingLevel": "MINIMAL" }),
        ),
        ("gemini-2.5-flash", json!({ "thinkingBudget": 0 })),
    ] {
        assert_eq!(thinking(&model(id), json!({})), expected, "{id}");
        assert_eq!(
            thinking(&model(id), json!({ "reasoning": "off" })),
            expected,
            "{id}"
        );
    }
    let mut always = model("gemini-2.5-pro");
    always.thinking_level_map = Some([(ThinkingLevel::Off, None)].into());
    assert_eq!(
        thinking(&always, json!({})),
        json!({ "thinkingBudget": 128 })
    );
}

#[test]
fn the_words_of_the_model_are_used() {
    let mut model = model("gemma-4-31b-it");
    let words = [
        (ThinkingLevel::Off, None),
        (ThinkingLevel::Minimal, None),
        (ThinkingLevel::Low, Some("low".to_owned())),
        (ThinkingLevel::Medium, None),
        (ThinkingLevel::High, Some("HIGH".to_owned())),
    ];
    model.thinking_level_map = Some(words.into());
    for (level, word) in [
        ("low", "LOW"),
        ("medium", "HIGH"),
        ("minimal", "LOW"),
        ("high", "HIGH"),
    ] {
        let sent = thinking(&model, json!({ "reasoning": level }));
        assert_eq!(sent["thinkingLevel"], word, "{level}");
    }
    assert_eq!(
        thinking(&model, json!({})),
        json!({ "thinkingLevel": "LOW" })
    );
}

#[test]
fn the_option_of_this_api_counts_where_no_level_is_asked_for() {
    let model = model("gemini-2.5-flash");
    for (own, expected) in [
        (json!(null), json!(null)),
        (
            json!({ "enabled": true }),
            json!({ "includeThoughts": true }),
        ),
        (
            json!({ "enabled": true, "budgetTokens": 99 }),
            json!({ "includeThoughts": true, "thinkingBudget": 99 }),
        ),
        (
            json!({ "enabled": true, "level": "HIGH", "budgetTokens": 99 }),
            json!({ "includeThoughts": true, "thinkingLevel": "HIGH" }),
        ),
        (json!({ "enabled": false }), json!({ "thinkingBudget": 0 })),
        (json!("odd"), json!({ "thinkingBudget": 0 })),
    ] {
        assert_eq!(
            thinking(&model, json!({ "thinking": own })),
            expected,
            "{own}"
        );
    }
    let both = json!({ "reasoning": "low", "thinking": null });
    assert_eq!(thinking(&model, both)["thinkingBudget"], 2048);
}

#[test]
fn signatures_go_back_to_the_model_that_gave_them() {
    let own = model("gemini-3-pro-preview");
    let mut text = TextContent::new("So.");
    text.text_signature = Some("dGV4dA==".to_owned());
    let content = vec![
        ThinkingContent::new("Hm.").with_signature("c2ln").into(),
        text.into(),
        TextContent::new(" ").into(),
        call("c1", Some("Y2FsbA==")),
        call("c2", None),
        call("c3", Some("no base64")),
    ];
    let parts = |model: Model, by: &Model| {
        contents_of(model, vec![reply(by, content.clone())])[0]["parts"].take()
    };
    let read = json!({ "name": "read", "args": { "path": "a" } });
    let skip = "skip_thought_signature_validator";
    assert_eq!(
        parts(own.clone(), &own),
        json!([
            { "text": "Hm.", "thought": true, "thoughtSignature": "c2ln" },
            { "text": "So.", "thoughtSignature": "dGV4dA==" },
            { "functionCall": read, "thoughtSignature": "Y2FsbA==" },
            { "functionCall": read, "thoughtSignature": skip },
            { "functionCall": read, "thoughtSignature": skip },
        ])
    );
    let plain = json!([
        { "text": "Hm." },
        { "text": "So." },
        { "functionCall": read },
        { "functionCall": read },
        { "functionCall": read },
    ]);
    assert_eq!(parts(model("gemini-2.5-pro"), &own), plain);
    let mut elsewhere = model("gemini-2.5-pro");
    elsewhere.api = "google-vertex".to_owned();
    assert_eq!(parts(model("gemini-2.5-pro"), &elsewhere), plain);
}

#[test]
fn only_models_of_other_vendors_are_sent_ids() {
    let messages = |by: &Model| {
        vec![
            reply(by, vec![call("call|a b", None)]),
            result("call|a b", vec!["A".into()]),
        ]
    };
    let gemini = model("gemini-2.5-pro");
    let sent = contents_of(gemini.clone(), messages(&gemini));
    assert!(!sent.to_string().contains("\"id\""), "{sent}");
    let sent = contents_of(model("claude-opus-4"), messages(&gemini));
    assert_eq!(sent[0]["parts"][0]["functionCall"]["id"], "call_a_b");
    assert_eq!(sent[1]["parts"][0]["functionResponse"]["id"], "call_a_b");
}

#[test]
fn results_of_one_reply_share_a_content() {
    let model = model("gemini-2.5-pro");
    let mut failed = ToolResultMessage::new("c2", "read", vec!["no".into(), "file".into()], 0);
    failed.is_error = true;
    let sent = contents_of(
        model.clone(),
        vec![
            reply(
                &model,
                vec![call("c1", None), call("c2", None), call("c3", None)],
            ),
            result("c1", vec!["A".into()]),
            failed.into(),
            user("go"),
        ],
    );
    let response =
        |response: Value| json!({ "functionResponse": { "name": "read", "response": response } });
    assert_eq!(
        sent[1],
        json!({
            "role": "user",
            "parts": [
                response(json!({ "output": "A" })),
                response(json!({ "error": "no\nfile" })),
                response(json!({ "error": "No result provided" })),
            ],
        })
    );
    assert_eq!(sent[2]["parts"], json!([{ "text": "go" }]));
}

#[test]
fn images_of_results_go_where_the_model_takes_them() {
    let parts = |id: &str, takes_images: bool| {
        let mut model = model(id);
        if !takes_images {
            model.input = vec![InputKind::Text];
        }
        let messages = vec![
            reply(&model, vec![call("c1", None), call("c2", None)]),
            result("c1", vec![image()]),
            result("c2", vec!["see".into(), image()]),
        ];
        let mut sent = contents_of(model, messages);
        let contents = sent.as_array_mut().expect("a list");
        let rest = contents.split_off(1).into_iter();
        Value::from_iter(rest.map(|mut content| content["parts"].take()))
    };
    let response = |output: &str| json!({ "functionResponse": { "name": "read", "response": { "output": output } } });
    assert_eq!(
        parts("gemini-2.5-flash", true),
        json!([
            [response("(see attached image)"), response("see")],
            [{ "text": "Tool result image:" }, inline(), inline()],
        ])
    );
    assert_eq!(
        parts("gemini-2.5-flash", false),
        json!([[response(""), response("see")]])
    );
    let nested = parts("gemini-3-flash-preview", true);
    let first = &nested[0][0]["functionResponse"];
    assert_eq!(
        first["response"],
        json!({ "output": "(see attached image)" })
    );
    assert_eq!(first["parts"], json!([inline()]));
    assert_eq!(nested[0][1]["functionResponse"]["parts"], json!([inline()]));
    assert_eq!(nested.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_user_sends_text_and_images_and_instructions_are_the_users() {
    let blocks = vec![UserContent::text("look"), image()];
    let messages = || {
        vec![
            UserMessage::new(blocks.clone(), 0).into(),
            Message::from(SystemMessage::new("Now be brief.", 0)),
            UserMessage::new(vec![image()], 0).into(),
        ]
    };
    let system = json!({ "role": "user", "parts": [{ "text": "Now be brief." }] });
    assert_eq!(
        contents_of(model("gemini-2.5-pro"), messages()),
        json!([
            { "role": "user", "parts": [{ "text": "look" }, inline()] },
            system,
            { "role": "user", "parts": [inline()] },
        ])
    );
    let mut text_only = model("gemma-3");
    text_only.input = vec![InputKind::Text];
    assert_eq!(
        contents_of(text_only, messages()),
        json!([{ "role": "user", "parts": [{ "text": "look" }] }, system])
    );
}

#[test]
fn output_that_must_fit_a_schema_is_asked_for_by_the_api_or_by_a_tool() {
    let schema = json!({ "type": "object", "properties": { "town": { "type": "string" } } });
    let asked = |tools: Option<Vec<std::sync::Arc<ToolDefinition>>>| {
        let mut context = Context::default();
        context.tools = tools;
        let mut request = Request::new(
            Model::new("gemini-2.5-flash", "google-generative-ai", "google", ""),
            context,
        );
        request.options.output = Some(pi_core::OutputSchema::new("Answer", schema.clone()));
        serde_json::to_value(body(&request)).unwrap()
    };
    let native = asked(None);
    assert_eq!(
        native["generationConfig"]["responseMimeType"],
        "application/json"
    );
    assert_eq!(native["generationConfig"]["responseJsonSchema"], schema);
    assert_eq!(native.get("tools"), None);

    let tool = ToolDefinition::new("read", "Reads", json!({ "type": "object" }));
    let forced = asked(Some(vec![tool.into()]));
    assert_eq!(forced["generationConfig"].get("responseJsonSchema"), None);
    assert_eq!(
        forced["tools"][0]["functionDeclarations"][1]["name"],
        "Answer"
    );
    assert_eq!(
        forced["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "ANY", "allowedFunctionNames": ["Answer"] })
    );
}
