use std::collections::BTreeMap;

use pi_core::{
    AssistantContent, AssistantMessage, Context, InputKind, Model, StreamOptions, SystemMessage,
    TextContent, ThinkingContent, ToolCall, ToolDefinition, ToolResultMessage, UserContent,
    UserMessage,
};
use serde_json::json;

use super::*;

fn model() -> Model {
    let mut model = Model::new(
        "m",
        "mistral-conversations",
        "mistral",
        "https://api.mistral.ai",
    );
    model.reasoning = true;
    model.input = vec![InputKind::Text, InputKind::Image];
    model
}

fn options(json: Value) -> StreamOptions {
    serde_json::from_value(json).expect("the options are upstream's")
}

fn sent(request: &Request) -> Value {
    serde_json::to_value(body(request)).expect("a body is JSON")
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
    ToolCall::new(id, "read", serde_json::Map::new()).into()
}

fn result(id: &str, content: Vec<UserContent>, is_error: bool) -> Message {
    let mut result = ToolResultMessage::new(id, "read", content, 0);
    result.is_error = is_error;
    result.into()
}

fn image() -> UserContent {
    UserContent::image("QUJD", "image/png")
}

#[test]
fn the_whole_body() {
    let parameters = json!({ "type": "object" });
    let tool = ToolDefinition::new("read", "Reads.", parameters.clone());
    let context = Context::new(vec![user("hi")])
        .with_system_prompt("Be terse.")
        .with_tools(vec![tool.into()]);
    let options = options(json!({ "temperature": 0.5, "maxTokens": 10, "toolChoice": "any" }));
    assert_eq!(
        sent(&Request::new(model(), context).with_options(options)),
        json!({
            "model": "m",
            "max_tokens": 10,
            "temperature": 0.5,
            "stream": true,
            "messages": [
                { "role": "system", "content": "Be terse." },
                { "role": "user", "content": "hi" },
            ],
            "tools": [{
                "type": "function",
                "function": {
                    "name": "read", "description": "Reads.", "parameters": parameters,
                    "strict": false,
                },
            }],
            "tool_choice": "any",
        })
    );
}

#[test]
fn thinking_is_asked_for_in_the_models_way() {
    let words = |words: &[(&str, Option<&str>)]| -> BTreeMap<ThinkingLevel, Option<String>> {
        let words = words.iter();
        words
            .map(|(level, word)| ((*level).into(), word.map(str::to_owned)))
            .collect()
    };
    let only_high = words(&[
        ("off", Some("none")),
        ("minimal", None),
        ("low", None),
        ("medium", None),
        ("high", Some("high")),
    ]);
    for (map, given, mode, effort) in [
        (None, json!({}), None, None),
        (None, json!({ "reasoning": "off" }), None, None),
        (None, json!({ "reasoning": "low" }), Some("reasoning"), None),
        (
            None,
            json!({ "promptMode": "reasoning" }),
            Some("reasoning"),
            None,
        ),
        (
            Some(&only_high),
            json!({ "reasoning": "low" }),
            None,
            Some("high"),
        ),
        (
            Some(&only_high),
            json!({ "reasoning": "xhigh" }),
            None,
            Some("high"),
        ),
        (Some(&only_high), json!({ "reasoning": "off" }), None, None),
    ] {
        let mut model = model();
        model.thinking_level_map = map.cloned();
        let request = Request::new(model, Context::default()).with_options(options(given.clone()));
        let body = sent(&request);
        let word = |field: &str| body.get(field).and_then(Value::as_str);
        assert_eq!(word("prompt_mode"), mode, "{given}");
        assert_eq!(word("reasoning_effort"), effort, "{given}");
    }
}

#[test]
fn replies_go_back_as_parts() {
    let model = model();
    let blocks = vec![
        ThinkingContent::new("hm").into(),
        TextContent::new(" ").into(),
        TextContent::new("a").into(),
        call("aaaaaaaa1"),
    ];
    let content = vec![UserContent::text("AAA\n")];
    let messages = vec![reply(&model, blocks), result("aaaaaaaa1", content, false)];
    assert_eq!(
        sent_messages(model, messages),
        json!([
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "thinking",
                        "thinking": [{ "type": "text", "text": "hm" }],
                        "closed": true,
                    },
                    { "type": "text", "text": "a" },
                ],
                "tool_calls": [{
                    "id": "aaaaaaaa1",
                    "type": "function",
                    "function": { "name": "read", "arguments": "{}" },
                    "index": 0,
                }],
                "prefix": false,
            },
            {
                "role": "tool",
                "content": [{ "type": "text", "text": "AAA" }],
                "tool_call_id": "aaaaaaaa1",
                "name": "read",
            },
        ])
    );
}

#[test]
fn a_blank_reply_is_left_out() {
    let model = model();
    let blank = reply(&model, vec![TextContent::new("").into()]);
    assert_eq!(
        sent_messages(model, vec![user("a"), blank]),
        json!([{ "role": "user", "content": "a" }])
    );
}

#[test]
fn foreign_ids_fit_and_differ() {
    let other = Model::new("other", "anthropic-messages", "anthropic", "");
    let ids = [
        "toolu_1|a",
        "toolu_1:a",
        "aaaaaaaa1",
        "a_aaaaaaa1",
        "",
        "日本",
    ];
    let calls = reply(&other, ids.iter().map(|id| call(id)).collect());
    let messages = sent_messages(model(), vec![calls]);
    let calls = messages[0]["tool_calls"].as_array().expect("calls").iter();
    let sent: Vec<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
    assert_eq!(sent.len(), ids.len());
    let different: std::collections::BTreeSet<&&str> = sent.iter().collect();
    assert_eq!(different.len(), ids.len(), "{sent:?}");
    for id in sent {
        assert!(
            id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{id}"
        );
    }
}

#[test]
fn results_say_what_the_api_has_no_field_for() {
    let text = || vec![UserContent::text(" a "), UserContent::text("b ")];
    let with_image = || [text(), vec![image()]].concat();
    for (content, is_error, takes_images, expected, images) in [
        (text(), false, true, "a \nb", 0),
        (text(), true, true, "[tool error] a \nb", 0),
        (with_image(), false, true, "a \nb", 1),
        (
            with_image(),
            false,
            false,
            "a \nb\n[tool image omitted: model does not support images]",
            0,
        ),
        (
            vec![image()],
            true,
            true,
            "[tool error] (see attached image)",
            1,
        ),
        (
            vec![image()],
            false,
            false,
            "(image omitted: model does not support images)",
            0,
        ),
        (vec![], false, true, "(no tool output)", 0),
    ] {
        let mut model = model();
        if !takes_images {
            model.input = vec![InputKind::Text];
        }
        let calls = reply(&model, vec![call("aaaaaaaa1")]);
        let messages = vec![calls, result("aaaaaaaa1", content, is_error)];
        let mut messages = sent_messages(model, messages);
        let parts = messages[1]["content"].take();
        let parts = parts.as_array().expect("parts");
        assert_eq!(parts[0], json!({ "type": "text", "text": expected }));
        let image = json!({ "type": "image_url", "image_url": "data:image/png;base64,QUJD" });
        assert_eq!(parts[1..], vec![image; images], "{expected}");
    }
}

#[test]
fn images_are_replaced_for_models_that_take_none() {
    let mut blind = model();
    blind.input = vec![InputKind::Text];
    let only_image = || Message::from(UserMessage::new(vec![image()], 0));
    let both = || Message::from(UserMessage::new(vec![UserContent::text("a"), image()], 0));
    let nothing = || Message::from(UserMessage::new(Vec::new(), 0));
    assert_eq!(
        sent_messages(blind, vec![only_image(), both(), nothing()]),
        json!([
            { "role": "user", "content": "(image omitted: model does not support images)" },
            { "role": "user", "content": [{ "type": "text", "text": "a" }] },
        ])
    );
    assert_eq!(
        sent_messages(model(), vec![only_image()]),
        json!([{
            "role": "user",
            "content": [{ "type": "image_url", "image_url": "data:image/png;base64,QUJD" }],
        }])
    );
}

#[test]
fn later_instructions_are_the_users() {
    let system = |text: &str| Message::from(SystemMessage::new(text, 0));
    assert_eq!(
        sent_messages(model(), vec![system("a"), user("b"), system("c")]),
        json!([
            { "role": "system", "content": "a" },
            { "role": "user", "content": "b" },
            { "role": "user", "content": "c" },
        ])
    );
}

#[test]
fn a_reply_stands_between_results_and_the_user_where_the_model_wants_one() {
    for wants_one in [false, true] {
        let mut model = model();
        let flags = model.compat.get_or_insert_default();
        flags.requires_assistant_after_tool_result = Some(wants_one);
        let messages = vec![
            reply(&model, vec![call("aaaaaaaa1")]),
            result("aaaaaaaa1", vec![UserContent::text("A")], false),
            user("b"),
        ];
        let messages = sent_messages(model, messages);
        let roles = messages.as_array().expect("messages").iter();
        let roles: Vec<&str> = roles
            .filter_map(|message| message["role"].as_str())
            .collect();
        let expected: &[&str] = match wants_one {
            false => &["assistant", "tool", "user"],
            true => &["assistant", "tool", "assistant", "user"],
        };
        assert_eq!(roles, expected);
    }
}

#[test]
fn output_that_must_fit_a_schema_is_asked_for_by_the_api_or_by_a_tool() {
    let schema = json!({ "type": "object", "properties": { "town": { "type": "string" } } });
    let asked = |tools: Option<Vec<std::sync::Arc<ToolDefinition>>>| {
        let mut context = Context::default();
        context.tools = tools;
        let model = Model::new("m", "mistral-conversations", "mistral", "");
        let mut request = Request::new(model, context);
        request.options.output = Some(pi_core::OutputSchema::new("Answer", schema.clone()));
        serde_json::to_value(body(&request)).unwrap()
    };
    let native = asked(None);
    let format = json!({ "name": "Answer", "schema": schema, "strict": false });
    assert_eq!(
        native["response_format"],
        json!({ "type": "json_schema", "json_schema": format })
    );
    assert_eq!(native.get("tools"), None);

    let tool = ToolDefinition::new("read", "Reads", json!({ "type": "object" }));
    let forced = asked(Some(vec![tool.into()]));
    assert_eq!(forced.get("response_format"), None);
    assert_eq!(forced["tools"][1]["function"]["name"], "Answer");
    assert_eq!(
        forced["tool_choice"],
        json!({ "type": "function", "function": { "name": "Answer" } })
    );
}
