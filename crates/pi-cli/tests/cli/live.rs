//! Runs against a server that speaks the protocol, well or badly.

use serde_json::Value;

use crate::runs::{folder, pi, run};
use crate::server::{Answer, Server, nobody};

const MODELS: &str = r#"{"object":"list","data":[{"id":"tiny","object":"model"},{"id":"other"}]}"#;

#[test]
fn the_first_model_of_the_server_answers() {
    let dir = folder();
    for suffix in ["", "/", "/v1", "/v1/"] {
        let server = Server::start(vec![Answer::json(MODELS), Answer::text(&["Hel", "lo."])]);
        let run = run(
            dir.path(),
            &[
                "--base-url",
                &format!("{}{suffix}", server.url()),
                "Say hello",
            ],
        );
        assert_eq!(
            (run.status, run.stdout.as_str()),
            (Some(0), "Hello.\n"),
            "{run:?}"
        );
        assert_eq!(run.stderr, "", "no usage was reported, so none is shown");
        let requests = server.requests();
        assert!(requests[0].starts_with("GET /v1/models "), "{requests:?}");
        assert!(
            requests[1].starts_with("POST /v1/chat/completions "),
            "{requests:?}"
        );
        assert!(requests[1].contains(r#""model":"tiny""#), "{requests:?}");
        assert!(
            requests[1].contains(r#""content":"Say hello""#),
            "{requests:?}"
        );
        assert!(!requests[1].contains("authorization:"), "{requests:?}");
    }
}

#[test]
fn a_named_model_is_asked_at_once_and_its_calls_are_run() {
    let dir = folder();
    let server = Server::start(vec![
        Answer::call("read", r#"{"path":"apple.txt"}"#),
        Answer::text(&["It is an apple."]),
    ]);
    let run = run(
        dir.path(),
        &[
            "--base-url",
            server.url(),
            "-m",
            "mine",
            "What is apple.txt?",
        ],
    );
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "It is an apple.\n"),
        "{run:?}"
    );
    assert_eq!(
        run.stderr,
        "→ read apple.txt\n← read: An apple. (+1 line)\n"
    );
    let requests = server.requests();
    assert!(requests[0].contains(r#""model":"mine""#) && requests[0].contains(r#""tools":"#));
    assert!(
        requests[1].contains("An apple.\\nA second line."),
        "{requests:?}"
    );
}

#[test]
fn keys_come_from_the_named_variable_only() {
    let dir = folder();
    for (options, expected) in [
        (&[][..], None),
        (&["--api-key-env", "MY_KEY"], Some("bearer my-key")),
    ] {
        let server = Server::start(vec![Answer::text(&["Hi."])]);
        let output = pi(dir.path())
            .env("OPENAI_API_KEY", "sk-openai")
            .env("MY_KEY", "my-key")
            .args(["--base-url", server.url(), "-m", "m", "--tools", "none"])
            .args(options)
            .arg("hi")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let request = server.requests().remove(0);
        assert!(
            !request.contains("sk-openai") && !request.contains("\"tools\":[{"),
            "{request}"
        );
        let header = request
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "));
        assert_eq!(header, expected);
    }
}

#[test]
fn a_reply_that_is_cut_keeps_its_text_and_fails() {
    let dir = folder();
    let closed_early =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello wor\"}}]}\n\n";
    for answer in [
        Answer::cut(&["Hello", " wor"]),
        Answer::new("200 OK", "text/event-stream", closed_early),
    ] {
        let server = Server::start(vec![answer]);
        let run = run(
            dir.path(),
            &["--base-url", server.url(), "-m", "m", "Say hello"],
        );
        assert_eq!(
            (run.status, run.stdout.as_str()),
            (Some(1), "Hello wor\n"),
            "{run:?}"
        );
        assert!(run.stderr.starts_with("error: "), "{run:?}");
        assert!(run.stderr.contains("\nhint: "), "{run:?}");
    }
}

#[test]
fn print_keeps_a_partial_text_too() {
    let dir = folder();
    let server = Server::start(vec![Answer::cut(&["Hello", " wor"])]);
    let run = run(
        dir.path(),
        &["--base-url", server.url(), "-m", "m", "-p", "Say hello"],
    );
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(1), "Hello wor\n"),
        "{run:?}"
    );
}

#[test]
fn errors_of_the_server_say_what_to_do() {
    let dir = folder();
    let page = "<html><body><h1>Not Found</h1></body></html>";
    for (answer, said, hint) in [
        (
            Answer::new(
                "401 Unauthorized",
                "application/json",
                r#"{"error":{"message":"bad key"}}"#,
            ),
            "bad key",
            "--api-key-env",
        ),
        (
            Answer::new("404 Not Found", "text/html", page),
            "404",
            "--base-url, now http://127",
        ),
        (
            Answer::new("500 Oops", "text/plain", "it broke"),
            "it broke",
            "log of the server",
        ),
        (
            Answer::new("200 OK", "text/html", page),
            "no event stream",
            "OpenAI-compatible",
        ),
        (Answer::json("{"), "no event stream", "OpenAI-compatible"),
    ] {
        let server = Server::start(vec![answer]);
        let run = run(dir.path(), &["--base-url", server.url(), "-m", "m", "hi"]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(
            run.stderr.starts_with("error: ") && run.stderr.contains(said),
            "{said}: {run:?}"
        );
        assert!(run.stderr.contains(hint), "{hint}: {run:?}");
    }
}

#[test]
fn a_server_that_does_not_run_is_named() {
    let dir = folder();
    let url = nobody();
    for model in [&[][..], &["-m", "m"]] {
        let args = [&["--base-url", &url, "hi"], model].concat();
        let run = run(dir.path(), &args);
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("connection refused"), "{run:?}");
        assert!(run.stderr.contains(&format!("(now {url})")), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
    }
}

#[test]
fn a_server_without_a_list_of_models_asks_for_a_name() {
    let dir = folder();
    for answer in [
        Answer::json(r#"{"object":"list","data":[]}"#),
        Answer::new(
            "404 Not Found",
            "application/json",
            r#"{"detail":"Not Found"}"#,
        ),
        Answer::json("[1]"),
    ] {
        let server = Server::start(vec![answer]);
        let run = run(dir.path(), &["--base-url", server.url(), "hi"]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("--model"), "{run:?}");
    }
}

#[test]
fn a_failed_run_is_complete_in_json() {
    let dir = folder();
    let server = Server::start(vec![Answer::cut(&["Hello", " wor"])]);
    let run = run(
        dir.path(),
        &["--base-url", server.url(), "-m", "m", "--json=deltas", "hi"],
    );
    assert_eq!(run.status, Some(1), "{run:?}");
    let end: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(end["type"], "agent_end");
    let reply = &end["messages"][1];
    assert_eq!(reply["stopReason"], "error");
    assert_eq!(reply["content"][0]["text"], "Hello wor");
    assert!(run.stderr.starts_with("error: "), "{run:?}");
}

#[test]
fn bad_addresses_are_mistakes_in_the_usage_and_not_repeated() {
    let dir = folder();
    for url in [
        "ftp://s3cret@host",
        "http://s3cret@host:99999",
        "http://",
        "http://s3cret host",
    ] {
        let run = run(dir.path(), &["--base-url", url, "hi"]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        assert!(
            run.stderr.contains("--base-url") && !run.stderr.contains("s3cret"),
            "{run:?}"
        );
    }
}
