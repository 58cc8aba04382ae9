//! Models of the catalogue, their keys and their prices.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::runs::{Run, folder, pi, run};
use crate::server::{Answer, Server};

/// Points models of the catalogue to a server of the test.
pub(crate) fn own_models(dir: &Path, url: &str) {
    let text = format!(
        r#"[
            {{ "provider": "openai", "id": "gpt-4.1-mini", "api": "openai-completions",
               "baseUrl": "{url}/v1", "input": ["text", "image"],
               "cost": {{ "input": 2000, "output": 4000, "cacheRead": 0, "cacheWrite": 0 }} }},
            {{ "provider": "openai", "id": "gpt-5", "baseUrl": "{url}/v1" }},
            {{ "provider": "anthropic", "id": "claude-sonnet-4-5", "baseUrl": "{url}" }},
            {{ "provider": "lab", "id": "plain", "api": "openai-completions",
               "baseUrl": "{url}/v1" }}
        ]"#
    );
    std::fs::write(dir.join("models.json"), text).expect("write");
}

/// Asks a model of [`own_models`].
pub(crate) fn ask(dir: &Path, model: &str, options: &[&str]) -> Command {
    let mut command = pi(dir);
    command
        .args(["--models", "models.json", "--tools", "none", "-m", model])
        .args(options)
        .arg("hi");
    command
}

#[test]
fn a_model_is_asked_with_the_key_of_its_provider_and_its_price_is_told() {
    let dir = folder();
    for (options, key) in [
        (&[][..], "bearer sk-openai"),
        (&["--api-key-env", "MY_KEY"], "bearer my-key"),
    ] {
        let server = Server::start(vec![Answer::text_with_usage(&["Hi."], 10, 5)]);
        own_models(dir.path(), server.url());
        let mut command = ask(dir.path(), "openai/gpt-4.1-mini", options);
        let output = command
            .env("OPENAI_API_KEY", "sk-openai")
            .env("ANTHROPIC_API_KEY", "sk-other")
            .env("MY_KEY", "my-key")
            .output();
        let run = Run::from(output.unwrap());
        assert_eq!(
            (run.status, run.stdout.as_str()),
            (Some(0), "Hi.\n"),
            "{run:?}"
        );
        assert_eq!(run.stderr, "10 tokens in, 5 out, $0.0400\n");
        let request = server.requests().remove(0);
        let header = request
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "));
        assert_eq!(header, Some(key));
        assert!(!request.contains("sk-other"), "{request}");
    }
}

#[test]
fn a_model_of_another_protocol_is_asked_in_it() {
    let dir = folder();
    let body = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",",
        "\"usage\":{\"input_tokens\":1000,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
        "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi.\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",",
        "\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":100}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let server = Server::start(vec![Answer::new("200 OK", "text/event-stream", body)]);
    own_models(dir.path(), server.url());
    let mut command = ask(
        dir.path(),
        "anthropic/claude-sonnet-4-5",
        &["--thinking", "high"],
    );
    let run = Run::from(command.env("ANTHROPIC_API_KEY", "sk-ant").output().unwrap());
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "Hi.\n"),
        "{run:?}"
    );
    assert_eq!(run.stderr, "1000 tokens in, 100 out, $0.0045\n");
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /v1/messages "), "{request}");
    assert!(request.contains("x-api-key: sk-ant") && request.contains(r#""thinking":{"#));
}

/// What a server answers in the protocol `openai-responses`.
const RESPONSES: &str = concat!(
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,",
    "\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"content\":[]}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi.\"}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}\n\n",
);

#[test]
fn thinking_is_brought_to_what_the_model_offers() {
    let dir = folder();
    for (model, level, effort, said) in [
        ("openai/gpt-5", "high", Some("high"), ""),
        (
            "openai/gpt-5",
            "max",
            Some("high"),
            "note: gpt-5 does not offer max; it thinks at high\n",
        ),
        (
            "lab/plain",
            "low",
            None,
            "note: plain is not known to think; --thinking has no effect\n",
        ),
    ] {
        let answer = match model {
            "lab/plain" => Answer::text(&["Hi."]),
            _ => Answer::new("200 OK", "text/event-stream", RESPONSES),
        };
        let server = Server::start(vec![answer]);
        own_models(dir.path(), server.url());
        let mut command = ask(dir.path(), model, &["--thinking", level]);
        let run = Run::from(command.env("OPENAI_API_KEY", "sk").output().unwrap());
        assert_eq!(run.status, Some(0), "{run:?}");
        assert_eq!(run.stderr, said);
        let request = server.requests().remove(0);
        let body: Value = serde_json::from_str(request.lines().last().unwrap()).unwrap();
        assert_eq!(run.stdout, "Hi.\n");
        assert_eq!(body["reasoning"]["effort"].as_str(), effort, "{body}");
    }
}

#[test]
fn the_system_prompt_may_be_in_a_file() {
    let dir = folder();
    std::fs::write(dir.path().join("role.txt"), "You are a pear.").unwrap();
    for (option, expected) in [
        ("@role.txt", "You are a pear."),
        ("You are a plum.", "You are a plum."),
    ] {
        let server = Server::start(vec![Answer::text(&["Hi."])]);
        own_models(dir.path(), server.url());
        let output = ask(dir.path(), "lab/plain", &["--system", option]).output();
        assert!(output.unwrap().status.success());
        let request = server.requests().remove(0);
        assert!(request.contains(expected), "{request}");
    }
}

#[test]
fn models_are_listed_by_words() {
    let dir = folder();
    let table = run(dir.path(), &["--list-models", "anthropic/ SONNET-4-5"]);
    assert_eq!(
        (table.status, table.stderr.as_str()),
        (Some(0), ""),
        "{table:?}"
    );
    let mut lines = table.stdout.lines();
    assert!(lines.next().unwrap().starts_with("model "), "{table:?}");
    let line = table
        .stdout
        .lines()
        .find(|line| line.starts_with("anthropic/claude-sonnet-4-5 "));
    let cells: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(cells[1..4], ["200k", "3.00", "15.00"]);
    assert_eq!(cells.last(), Some(&"yes"));

    let json = run(dir.path(), &["--list-models", "groq/", "--json"]);
    for line in json.stdout.lines() {
        let model: pi_core::Model = serde_json::from_str(line).expect(line);
        assert!(
            model.id.contains("groq/") || model.provider == "groq",
            "{line}"
        );
    }
    assert!(json.stdout.lines().count() > 1, "{json:?}");

    let all = run(dir.path(), &["--list-models"]);
    assert!(all.stdout.lines().count() > 100);
    let none = run(dir.path(), &["--list-models", "no-such-model"]);
    assert_eq!(
        (none.status, none.stdout.as_str()),
        (Some(1), ""),
        "{none:?}"
    );
    assert!(none.stderr.contains("no model matches"), "{none:?}");
}
