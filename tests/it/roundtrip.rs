//! Stored JSON survives being read and written, also what this version does not know.

use std::fmt::Debug;

use integration_tests::compare;
use pi_core::{AgentEvent, AgentMessage, AssistantEvent, Context, Model, StopReason};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a value, writes it, and returns what was read.
fn survives<T: DeserializeOwned + Serialize + Debug>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).expect("it can be read");
    let written = serde_json::to_value(&read).expect("it can be written");
    assert_eq!(compare::equal(value, &written), Ok(()));
    read
}

fn usage() -> Value {
    json!({
        "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": { "input": 0.1, "output": 0.2, "cacheRead": 0.3, "cacheWrite": 0.4, "total": 1.0 },
    })
}

fn reply() -> Value {
    json!({
        "role": "assistant",
        "content": [
            { "type": "thinking", "thinking": "Hm.", "thinkingSignature": "sig", "later": [1] },
            { "type": "thinking", "thinking": "", "thinkingSignature": "blob", "redacted": true },
            { "type": "text", "text": "Hello", "textSignature": "{\"v\":1}" },
            {
                "type": "toolCall", "id": "c1", "name": "read",
                "arguments": { "path": "a", "timestamp": 5, "z": null, "a": [{}] },
                "thoughtSignature": "t",
            },
            { "type": "hologram", "beam": { "on": true } },
        ],
        "api": "some-api", "provider": "p", "model": "m", "responseId": "r-1",
        "usage": usage(), "stopReason": "toolUse", "timestamp": 1_700_000_000_000_u64,
        "ofALaterVersion": { "kept": true },
    })
}

#[test]
fn messages_survive() {
    let messages = [
        json!({ "role": "system", "content": "Be brief.", "timestamp": 1 }),
        json!({ "role": "user", "content": "Hi", "timestamp": 2, "tag": "kept" }),
        json!({
            "role": "user",
            "content": [
                { "type": "text", "text": "Look:" },
                { "type": "image", "data": "aGk=", "mimeType": "image/png" },
                { "type": "video", "url": "somewhere" },
            ],
            "timestamp": 3,
        }),
        reply(),
        json!({
            "role": "toolResult", "toolCallId": "c1", "toolName": "read",
            "content": [{ "type": "text", "text": "A" }], "details": { "lines": 1 },
            "isError": false, "timestamp": 4,
        }),
        json!({ "role": "notification", "text": "saved", "level": 3, "timestamp": 5 }),
        json!({ "role": "bare" }),
    ];
    for message in &messages {
        let read: AgentMessage = survives(message);
        assert_eq!(read.role(), message["role"].as_str().expect("a role"));
    }
}

#[test]
fn a_failed_reply_survives() {
    let mut message = reply();
    message["stopReason"] = "error".into();
    message["errorMessage"] = "too much".into();
    message["errorInfo"] = json!({
        "kind": "rateLimited", "status": 429, "retryable": true, "retryAfterMs": 1500,
        "phase": "headers", "elapsedMs": 12, "requestId": "req-1", "later": 1,
    });
    let _: AgentMessage = survives(&message);
}

#[test]
fn unknown_words_survive() {
    let mut message = reply();
    message["stopReason"] = "coffeeBreak".into();
    let read: AgentMessage = survives(&message);
    let reply = read.as_assistant().expect("a reply");
    assert_eq!(reply.stop_reason, StopReason::Other("coffeeBreak".into()));
}

#[test]
fn models_survive() {
    let mut model = json!({
        "id": "m", "name": "M", "api": "an-api", "provider": "p", "baseUrl": "https://p.example/v1",
        "reasoning": true, "input": ["text", "image", "smell"],
        "cost": { "input": 1.25, "output": 10, "cacheRead": 0.125, "cacheWrite": 0 },
        "contextWindow": 200_000, "maxTokens": 32_000,
        "headers": { "x-a": "b" }, "later": "kept",
    });
    let _: Model = survives(&model);
    model["compat"] = json!({
        "supportsStore": false, "maxTokensField": "max_tokens", "thinkingFormat": "zai",
        "reasoningEffortMap": { "high": "max" }, "openRouterRouting": { "only": ["x"] },
        "flagOfALaterVersion": [1, 2],
    });
    let _: Model = survives(&model);
}

#[test]
fn contexts_survive_and_keep_the_difference_between_no_tools_and_none_given() {
    let tool = json!({
        "name": "read", "description": "Reads.", "parameters": { "type": "object" }, "strict": true,
    });
    let contexts = [
        json!({ "messages": [] }),
        json!({ "systemPrompt": "", "messages": [reply()], "tools": [] }),
        json!({ "systemPrompt": "Be brief.", "messages": [], "tools": [tool], "later": null }),
    ];
    for context in &contexts {
        let _: Context = survives(context);
    }
}

#[test]
fn agent_events_survive() {
    let update = |event: Value| json!({ "type": "message_update", "assistantMessageEvent": event, "message": reply() });
    let result = json!({ "content": [{ "type": "text", "text": "A" }], "details": { "n": 1 } });
    let call = json!({ "type": "toolCall", "id": "c1", "name": "read" });
    let with = |extra: Value| {
        let mut event = json!({ "toolCallId": "c1", "toolName": "read", "args": { "path": "a" } });
        let fields = extra.as_object().cloned().unwrap_or_default();
        event.as_object_mut().expect("an object").extend(fields);
        event
    };
    let mut ended =
        with(json!({ "type": "tool_execution_end", "result": result, "isError": true }));
    ended
        .as_object_mut()
        .expect("an object")
        .shift_remove("args");
    let mut whole_call = call;
    whole_call["arguments"] = reply()["content"][3]["arguments"].clone();
    whole_call["thoughtSignature"] = "t".into();
    let events = [
        json!({ "type": "agent_start" }),
        json!({ "type": "turn_start" }),
        json!({ "type": "message_start", "message": reply() }),
        update(json!({ "type": "text_start", "contentIndex": 2 })),
        update(json!({ "type": "text_delta", "contentIndex": 2, "delta": "lo" })),
        update(json!({ "type": "text_end", "contentIndex": 2, "content": "Hello" })),
        update(json!({ "type": "thinking_end", "contentIndex": 0, "content": "Hm." })),
        update(json!({ "type": "toolcall_start", "contentIndex": 3 })),
        update(json!({ "type": "toolcall_end", "contentIndex": 3, "toolCall": whole_call })),
        json!({ "type": "message_end", "message": reply() }),
        with(json!({ "type": "tool_execution_start" })),
        with(json!({ "type": "tool_execution_update", "partialResult": result })),
        ended,
        json!({ "type": "turn_end", "message": reply(), "toolResults": [] }),
        json!({ "type": "agent_end", "messages": [reply()] }),
        json!({ "type": "of_a_later_version", "anything": [1, { "at": "all" }] }),
    ];
    for event in &events {
        let read: AgentEvent = survives(event);
        assert_eq!(read.type_name(), event["type"].as_str().expect("a type"));
    }
}

#[test]
fn events_of_the_proxy_wire_survive() {
    let events = [
        json!({ "type": "start" }),
        json!({ "type": "toolcall_start", "contentIndex": 0, "id": "c1", "toolName": "read" }),
        json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "{}" }),
        json!({ "type": "toolcall_end", "contentIndex": 0 }),
        json!({ "type": "thinking_end", "contentIndex": 1, "contentSignature": "s" }),
        json!({ "type": "done", "reason": "stop", "usage": usage() }),
        json!({
            "type": "error", "reason": "aborted", "errorMessage": "stopped", "usage": usage(),
        }),
        json!({ "type": "of_a_later_version", "contentIndex": 9 }),
    ];
    for event in &events {
        let read: AssistantEvent = survives(event);
        assert_eq!(read.type_name(), event["type"].as_str().expect("a type"));
    }
}
