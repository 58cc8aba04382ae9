use std::collections::BTreeMap;

use super::{OUTPUT, compare, render, source};

const MODELS: &str = r#"{
    "source": { "package": "facts", "version": "1.2.3", "license": "MIT", "files": "*" },
    "providers": [
        { "id": "openrouter", "name": "OpenRouter", "apiKeyEnv": ["OPENROUTER_API_KEY"] },
        { "id": "a-b", "name": "A", "apiKeyEnv": ["A_KEY"], "otherEnv": ["A_REGION"] },
        { "id": "painter", "name": "Painter" }
    ],
    "models": [
        { "provider": "painter", "type": "image", "id": "p" },
        { "provider": "openrouter", "type": "chat", "id": "x/y:free", "name": "Y \"quoted\"",
          "api": "openai-completions", "baseUrl": "https://y.example/v1", "reasoning": true,
          "input": ["text", "image"], "contextWindow": 1000, "maxTokens": 100,
          "cost": { "input": 1, "output": 2.5, "cacheRead": 0.1, "cacheWrite": 0, "tiers": [
              { "inputTokensAbove": 500, "input": 2, "output": 5, "cacheRead": 0.2, "cacheWrite": 0 } ] },
          "thinkingLevelMap": { "off": null, "high": "max" }, "compat": { "supportsStore": false },
          "new": [1, 0.5, { "deep": "text" }] },
        { "provider": "a-b", "type": "chat", "id": "m2", "name": "M2", "api": "api", "baseUrl": "",
          "reasoning": false, "input": ["text"], "contextWindow": 1, "maxTokens": 1,
          "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 } },
        { "provider": "a-b", "type": "chat", "id": "m1", "name": "M1", "api": "api", "baseUrl": "",
          "reasoning": false, "input": ["text"], "contextWindow": 1, "maxTokens": 1,
          "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 } }
    ]
}"#;

fn files(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    render::files(&source::parse(text)?)
}

#[test]
fn each_provider_with_conversations_gets_a_file() {
    let files = files(MODELS).unwrap();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "a_b.generated.rs",
            "openrouter.generated.rs",
            "providers.generated.rs",
            "tables.generated.rs",
        ]
    );
    for text in files.values() {
        assert!(text.contains("from facts 1.2.3, licence MIT"), "{text}");
    }
}

#[test]
fn the_text_has_every_fact_and_depends_only_on_the_facts() {
    let files = files(MODELS).unwrap();
    for (file, expected) in [
        (
            "openrouter.generated.rs",
            r#"id: "x/y:free", name: "Y \"quoted\"", "#,
        ),
        ("openrouter.generated.rs", r#"input: &["text", "image"], "#),
        (
            "openrouter.generated.rs",
            "prices: Prices { input: 1.0, output: 2.5, cache_read: 0.1, cache_write: 0.0 }, \
             tiers: &[Tier { input_tokens_above: 500, prices: Prices { input: 2.0, ",
        ),
        (
            "openrouter.generated.rs",
            r#"thinking_levels: &[("off", None), ("high", Some("max"))], "#,
        ),
        (
            "openrouter.generated.rs",
            r#"compat: &[("supportsStore", Fact::Bool(false))], "#,
        ),
        (
            "openrouter.generated.rs",
            r#"extra: &[("new", Fact::List(&[Fact::Int(1), Fact::Float(0.5), Fact::Object(&[("deep", Fact::Text("text"))])]))] "#,
        ),
        (
            "providers.generated.rs",
            r#"apis: &["api"], base_urls: &[], key_variables: &["A_KEY"], other_variables: &["A_REGION"], feature: "catalog" "#,
        ),
        (
            "tables.generated.rs",
            "#[cfg(feature = \"catalog-aggregators\")]\nTable { provider: \"openrouter\"",
        ),
    ] {
        assert!(
            files[file].contains(expected),
            "{expected}\n{}",
            files[file]
        );
    }
    let a_b = &files["a_b.generated.rs"];
    assert!(a_b.find("\"m1\"") < a_b.find("\"m2\""), "{a_b}");
}

#[test]
fn what_cannot_be_taken_over_stops_the_generator() {
    for (old, new, expected) in [
        (
            "\"m2\", \"name\"",
            "\"m1\", \"name\"",
            "a-b/m1 is there twice",
        ),
        (
            "\"id\": \"a-b\"",
            "\"id\": \"a/b\"",
            "the model a-b/m2 has a provider that is not listed",
        ),
        (
            "\"id\": \"painter\"",
            "\"id\": \"a/b\"",
            "the provider a/b has a `/` in its id",
        ),
        (
            "\"cacheWrite\": 0,",
            "\"audio\": 0,",
            "unknown field `audio`",
        ),
        (
            "\"high\": \"max\"",
            "\"high\": 3",
            "the thinking level high has the value 3",
        ),
        (
            "\"supportsStore\": false",
            "\"supportsStore\": null",
            "`Fact` has no null",
        ),
    ] {
        let text = MODELS.replacen(old, new, 1);
        assert_ne!(text, MODELS, "{old}");
        let error = format!("{:#}", files(&text).unwrap_err());
        assert!(error.contains(expected), "{old}: {error}");
    }
}

#[test]
fn the_check_names_each_file_that_differs() {
    let of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        let owned = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        owned.collect()
    };
    let expected = of(&[("a", "1"), ("b", "2"), ("c", "3")]);
    assert_eq!(compare(&expected, &expected), []);
    let committed = of(&[("a", "1"), ("b", "0"), ("d", "4")]);
    let found: Vec<String> = compare(&expected, &committed)
        .iter()
        .map(ToString::to_string)
        .collect();
    let run = "run `cargo xtask codegen`";
    assert_eq!(
        found,
        [
            format!("{OUTPUT}/b: differs from crates/pi-ai/models/models.json; {run}"),
            format!("{OUTPUT}/c: is missing; {run}"),
            format!("{OUTPUT}/d: is not generated any more; {run}"),
        ]
    );
}
