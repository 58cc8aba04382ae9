use pi_core::{CancellationToken, ToolDefinition, UserMessage};
use pi_testkit::block_on;
use serde_json::json;
use std::sync::Arc;

use super::*;

fn request(prompt: &str) -> Request {
    let tool = |name: &str| Arc::new(ToolDefinition::new(name, "", json!({ "type": "object" })));
    let context = Context::new(vec![UserMessage::new(prompt, 0).into()])
        .with_tools(vec![tool("ls"), tool("read")]);
    Request::new(model(), context)
}

#[test]
fn a_call_is_streamed_in_pieces_behind_a_word() {
    let mut stream = DemoModel::new(false).stream(request("Read Cargo.toml"));
    let reply = block_on(stream.finish()).unwrap();
    assert_eq!(reply.text(), "Let me read Cargo.toml.");
    let call = reply.tool_calls().next().unwrap();
    assert_eq!(
        (call.name.as_str(), &call.arguments["path"]),
        ("read", &json!("Cargo.toml"))
    );
    assert_eq!(reply.stop_reason, StopReason::ToolUse);
    assert!(reply.usage.input > 0 && reply.usage.output > 0);
}

#[test]
fn without_tools_it_says_so() {
    let mut asked = request("What is in this folder?");
    asked.context.tools = None;
    let reply = block_on(DemoModel::new(false).stream(asked).finish()).unwrap();
    assert_eq!(reply.tool_calls().count(), 0);
    assert!(reply.text().contains("not offered"), "{}", reply.text());
}

#[tokio::test(start_paused = true)]
async fn an_abort_keeps_what_was_said() {
    let abort = CancellationToken::new();
    let mut stream = DemoModel::new(true).stream(request("hello").with_abort(abort.clone()));
    for _ in 0..10 {
        stream.next().await.unwrap();
    }
    abort.cancel();
    stream.finish().await.unwrap_err();
    let partial = stream.partial();
    assert_eq!(partial.stop_reason, StopReason::Aborted);
    assert!(
        partial.text().starts_with("Hello! I am "),
        "{}",
        partial.text()
    );
}
