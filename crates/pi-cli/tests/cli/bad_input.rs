//! What goes wrong with models of the catalogue: a clear error, and the right status.

use crate::models::{ask, own_models};
use crate::runs::{Run, folder, pi, run};
use crate::server::{Answer, Server, nobody};

#[test]
fn names_and_keys_that_are_wrong_are_mistakes_in_the_usage() {
    let dir = folder();
    std::fs::write(dir.path().join("bad.json"), "[{}]").unwrap();
    let odd = r#"[{ "provider": "lab", "id": "odd", "api": "smoke-signals" }]"#;
    std::fs::write(dir.path().join("odd.json"), odd).unwrap();
    for (args, said) in [
        (&["-m", "openai/gtp-5"][..], "did you mean openai/gpt-5"),
        (&["-m", "opnai/gpt-5"], "openai/gpt-5"),
        (&["-m", "gpt-5"], "name one of "),
        (&["-m", "claude-sonet-4-5"], "did you mean "),
        (
            &["-m", "openai/gpt-5"],
            "set the environment variable OPENAI_API_KEY",
        ),
        (&["-m", "anthropic/claude-sonnet-4-5"], "ANTHROPIC_API_KEY"),
        (&["--models", "odd.json", "-m", "lab/odd"], "smoke-signals"),
        (&["--thinking", "deep"], "minimal, low"),
        (
            &["--system", "@missing.txt"],
            "cannot read missing.txt of --system",
        ),
        (
            &["--models", "missing.json"],
            "cannot read missing.json of --models",
        ),
        (&["--models", "bad.json"], "bad.json of --models: entry 1"),
    ] {
        let run = run(dir.path(), &[args, &["hi"]].concat());
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains(said), "{said}: {run:?}");
    }
}

#[test]
fn failures_of_a_provider_say_what_to_do() {
    let dir = folder();
    let page = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";
    for (answer, said, hint) in [
        (
            Answer::new(
                "401 Unauthorized",
                "application/json",
                r#"{"error":{"message":"bad key"}}"#,
            ),
            "bad key",
            "OPENAI_API_KEY",
        ),
        (
            Answer::new(
                "404 Not Found",
                "application/json",
                r#"{"error":{"message":"no model"}}"#,
            ),
            "no model",
            "--list-models",
        ),
        (
            Answer::new("404 Not Found", "text/html", page),
            "404",
            "--list-models",
        ),
        (
            Answer::new("403 Forbidden", "text/html", page),
            "403",
            "OPENAI_API_KEY",
        ),
        (
            Answer::new("200 OK", "text/html", page),
            "no event stream",
            "",
        ),
        (Answer::json("{\"id\":"), "no event stream", ""),
        (
            Answer::new("200 OK", "text/event-stream", "data: {\"choices\":[{\n\n"),
            "",
            "",
        ),
    ] {
        let server = Server::start(vec![answer]);
        own_models(dir.path(), server.url());
        let mut command = ask(dir.path(), "openai/gpt-4.1-mini", &[]);
        let run = Run::from(command.env("OPENAI_API_KEY", "sk-secret").output().unwrap());
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.starts_with("error: "), "{run:?}");
        assert!(
            run.stderr.contains(said) && run.stderr.contains(hint),
            "{said}: {run:?}"
        );
        assert!(!run.stderr.contains("sk-secret"), "{run:?}");
        // Markup of a page helps nobody.
        assert!(run.stderr.lines().count() <= 2, "{run:?}");
    }
}

#[test]
fn a_provider_that_cannot_be_reached_is_named() {
    let dir = folder();
    own_models(dir.path(), nobody().trim_end_matches("/v1"));
    let mut command = ask(dir.path(), "openai/gpt-4.1-mini", &[]);
    let run = Run::from(command.env("OPENAI_API_KEY", "sk").output().unwrap());
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("connection refused"), "{run:?}");
    assert!(run.stderr.contains("is this machine online?"), "{run:?}");
}

#[test]
fn an_address_may_end_as_people_write_it() {
    let dir = folder();
    for suffix in ["", "/", "/v1", "/v1/", "/v1/chat/completions"] {
        let server = Server::start(vec![Answer::text(&["Hi."])]);
        let url = format!("{}{suffix}", server.url());
        let output = pi(dir.path())
            .args(["--base-url", &url, "-m", "org/model:tag", "hi"])
            .output();
        let run = Run::from(output.unwrap());
        assert_eq!(
            (run.status, run.stdout.as_str()),
            (Some(0), "Hi.\n"),
            "{run:?}"
        );
        let request = server.requests().remove(0);
        assert!(
            request.starts_with("POST /v1/chat/completions "),
            "{request}"
        );
        assert!(request.contains(r#""model":"org/model:tag""#), "{request}");
    }
}
