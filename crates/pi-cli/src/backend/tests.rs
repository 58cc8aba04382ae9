//! What is chosen, and where keys go.

use clap::Parser;
use pi_core::ExposeSecret;

use super::*;

/// Says what is chosen: `demo`, the address with the key, or the error.
fn chosen(line: &str, variables: &[(&str, &str)]) -> String {
    let args = Args::try_parse_from(line.split_whitespace()).unwrap();
    let env = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let models = Models::load(None).unwrap();
    let shown = |key: Option<SecretString>| {
        key.map_or("-".to_owned(), |key| key.expose_secret().to_owned())
    };
    match decide(&args, &models, args.model.as_deref(), env) {
        Ok(Choice::Demo) => "demo".to_owned(),
        Ok(Choice::Server { base_url, key }) => {
            format!("{base_url} {}", shown(key))
        }
        Ok(Choice::Known { model, key, .. }) => {
            format!("{}/{} {}", model.provider, model.id, shown(key))
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn keys_go_only_where_they_belong() {
    let openai = &[("OPENAI_API_KEY", "sk")][..];
    let anthropic = &[("ANTHROPIC_API_KEY", "an")][..];
    let both = &[("OPENAI_API_KEY", "sk"), ("MINE", "my")][..];
    for (line, env, expected) in [
        ("pi x", &[][..], "demo"),
        ("pi x", &[("OPENAI_API_KEY", " ")], "demo"),
        ("pi --model demo x", openai, "demo"),
        ("pi x", openai, "openai/gpt-4.1-mini sk"),
        ("pi --model gpt-5 x", openai, "openai/gpt-5 sk"),
        ("pi x", anthropic, "anthropic/claude-sonnet-4-5 an"),
        (
            "pi -m anthropic/claude-opus-4-5 x",
            anthropic,
            "anthropic/claude-opus-4-5 an",
        ),
        (
            "pi -m groq/openai/gpt-oss-20b --api-key-env MINE x",
            both,
            "groq/openai/gpt-oss-20b my",
        ),
        ("pi --api-key-env MINE x", both, "openai/gpt-4.1-mini my"),
        (
            "pi --base-url https://api.openai.com x",
            openai,
            "https://api.openai.com/v1 sk",
        ),
        (
            "pi --base-url http://127.0.0.1:8080/v1/ x",
            openai,
            "http://127.0.0.1:8080/v1 -",
        ),
        (
            "pi --base-url localhost:11434 x",
            openai,
            "http://localhost:11434/v1 -",
        ),
        (
            "pi --base-url https://llm.example x",
            openai,
            "https://llm.example/v1 -",
        ),
        (
            "pi --base-url https://api.openai.com.evil.example x",
            openai,
            "https://api.openai.com.evil.example/v1 -",
        ),
        (
            "pi --base-url http://api.openai.com x",
            openai,
            "http://api.openai.com/v1 -",
        ),
        (
            "pi --base-url https://llm.example --api-key-env MINE x",
            both,
            "https://llm.example/v1 my",
        ),
    ] {
        assert_eq!(chosen(line, env), expected, "{line}");
    }
}

#[test]
fn what_cannot_work_is_refused_before_a_request() {
    for (line, expected) in [
        ("pi --model gpt-5 x", "openai/gpt-5"),
        (
            "pi -m openai/gpt-5 x",
            "set the environment variable OPENAI_API_KEY",
        ),
        ("pi -m openai/gtp-5 x", "did you mean openai/gpt-5"),
        (
            "pi --api-key-env NONE x",
            "NONE of --api-key-env is not set",
        ),
        (
            "pi --base-url https://api.openai.com x",
            "OpenAI needs a key",
        ),
        ("pi --base-url ftp://host x", "cannot be used"),
        ("pi --base-url http://host:99999 x", "cannot be used"),
        ("pi --base-url http:// x", "cannot be used"),
        ("pi --base-url= x", "cannot be used"),
    ] {
        let said = chosen(line, &[]);
        assert!(said.contains(expected), "{line}: {said}");
    }
}
