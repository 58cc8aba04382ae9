//! The tables against the JSON that they were made from, and the ways to find a model.

use std::error::Error as _;

use pi_core::{Model, Usage};
use serde_json::{Map, Value, json};

use super::*;

/// The chat models and the providers of `models.json`.
fn facts() -> (Vec<Map<String, Value>>, Vec<Value>) {
    let mut file: Value = serde_json::from_str(include_str!("../../models/models.json")).unwrap();
    let models: Vec<Map<String, Value>> = serde_json::from_value(file["models"].take()).unwrap();
    let models = models.into_iter().filter(|model| model["type"] == "chat");
    let providers = serde_json::from_value(file["providers"].take()).unwrap();
    (models.collect(), providers)
}

fn is_in_this_build(id: &str) -> bool {
    cfg!(feature = "catalog-aggregators") || provider(id).unwrap().feature == "catalog"
}

/// Makes one of two ways to write a number, so that `1` and `1.0` are equal.
fn as_floats(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64().unwrap()),
        Value::Array(values) => values.iter_mut().for_each(as_floats),
        Value::Object(fields) => fields.values_mut().for_each(as_floats),
        _ => {}
    }
}

#[test]
fn every_model_has_the_facts_of_the_json() {
    let mut count = 0;
    for mut fact in facts().0 {
        fact.shift_remove("type");
        let mut fact = Value::Object(fact);
        let text = |key: &str| fact[key].as_str().unwrap();
        let (provider, id) = (text("provider"), text("id"));
        if !is_in_this_build(provider) {
            continue;
        }
        let model = get(provider, id).unwrap();
        let read: Model = serde_json::from_value(fact.clone()).unwrap();
        assert_eq!(model, read, "{provider}/{id}");
        assert_eq!(find(&format!("{provider}/{id}")).unwrap(), model);

        let mut written = serde_json::to_value(&model).unwrap();
        as_floats(&mut written);
        as_floats(&mut fact);
        assert_eq!(written, fact);
        count += 1;
    }
    assert_eq!(models().count(), count);
    assert!(count > 400, "{count}");
}

#[test]
fn flags_without_a_field_and_unknown_fields_are_kept() {
    let model = get("anthropic", "claude-fable-5").unwrap();
    let compat = serde_json::to_value(model.compat.unwrap()).unwrap();
    assert_eq!(compat["forceAdaptiveThinking"], true);
    assert_eq!(compat["allowedFallbackModels"][0]["cost"]["cacheRead"], 0.5);
    assert_eq!(model.extra.get("promptCache").unwrap()["long"], 3600);
    assert!(model.extra.get("inputLimits").unwrap()["images"].is_object());
}

#[test]
fn models_and_providers_are_sorted_so_that_they_are_found() {
    let names: Vec<_> = models().map(|model| (model.provider, model.id)).collect();
    assert!(names.is_sorted_by(|a, b| a < b));
    assert!(providers().is_sorted_by(|a, b| a.id < b.id));
}

#[test]
fn every_provider_has_the_facts_of_the_json() {
    let (models, facts) = facts();
    for fact in facts {
        let id = fact["id"].as_str().unwrap();
        let of_provider = || models.iter().filter(|model| model["provider"] == id);
        let Some(known) = provider(id) else {
            assert_eq!(of_provider().count(), 0, "{id}");
            continue;
        };
        let other = fact.get("otherEnv").cloned().unwrap_or(json!([]));
        assert_eq!(
            json!([known.name, known.key_variables, known.other_variables]),
            json!([fact["name"], fact["apiKeyEnv"], other]),
        );
        for model in of_provider() {
            let (api, base_url) = (model["api"].as_str(), model["baseUrl"].as_str());
            assert!(known.apis.contains(&api.unwrap()), "{id}");
            let base_url = base_url.unwrap();
            assert!(
                base_url.is_empty() || known.base_urls.contains(&base_url),
                "{id}"
            );
        }
    }
    assert!(provider("typesafe").is_none() && provider("").is_none());
}

#[test]
fn a_long_request_has_the_prices_of_its_tier() {
    let model = get("openai", "gpt-5.4").unwrap();
    let tier = model.cost.tiers.first().unwrap();
    assert_eq!((model.cost.input, model.cost.output), (2.5, 15.0));
    assert_eq!(
        (tier.input_tokens_above, tier.input, tier.output),
        (272_000, 5.0, 22.5)
    );
    let dollars = |input| {
        let mut usage = Usage::default();
        usage.input = input;
        usage.output = 1_000_000;
        model.price(&mut usage);
        (usage.cost.input, usage.cost.output)
    };
    assert_eq!(dollars(200_000), (0.5, 15.0));
    assert_eq!(dollars(400_000), (2.0, 22.5));
}

/// Two providers with models of one name, and nothing that is built in.
fn own() -> Catalog {
    [
        ("lab", "tiny-1"),
        ("lab", "a/b:free"),
        ("lab", "medium-2"),
        ("den", "tiny-1"),
    ]
    .into_iter()
    .map(|(provider, id)| Model::new(id, "api", provider, ""))
    .fold(Catalog::empty(), Catalog::with_model)
}

#[test]
fn a_name_is_split_at_the_provider_and_nowhere_else() {
    for (name, provider, id) in [
        ("lab/tiny-1", "lab", "tiny-1"),
        ("lab/a/b:free", "lab", "a/b:free"),
        ("a/b:free", "lab", "a/b:free"),
        ("medium-2", "lab", "medium-2"),
    ] {
        let model = own().find(name).unwrap();
        assert_eq!((&*model.provider, &*model.id), (provider, id), "{name}");
    }
}

#[test]
fn a_name_that_leads_nowhere_says_what_may_have_been_meant() {
    for (name, expected) in [
        (
            "tiny-1",
            "2 providers have a model \"tiny-1\"; name one of den/tiny-1, lab/tiny-1",
        ),
        (
            "lab/tniy-1",
            "unknown model \"tniy-1\" of lab; did you mean lab/tiny-1?",
        ),
        (
            "lab/TINY_1",
            "unknown model \"TINY_1\" of lab; did you mean lab/tiny-1?",
        ),
        (
            "lab/medium",
            "unknown model \"medium\" of lab; did you mean lab/medium-2?",
        ),
        (
            "den/medium-2",
            "unknown model \"medium-2\" of den; did you mean lab/medium-2?",
        ),
        (
            "lba/tiny-1",
            "unknown model \"lba/tiny-1\"; did you mean lab/tiny-1?",
        ),
        (
            "medium-3",
            "unknown model \"medium-3\"; did you mean lab/medium-2?",
        ),
        ("lab/", "unknown model \"\" of lab"),
        ("", "unknown model \"\""),
        ("something else", "unknown model \"something else\""),
    ] {
        assert_eq!(
            own().find(name).unwrap_err().to_string(),
            expected,
            "{name}"
        );
    }
    for (provider, id, expected) in [
        (
            "openia",
            "gpt",
            "unknown provider \"openia\"; did you mean openai?",
        ),
        (
            "???",
            "tiny-1",
            "unknown provider \"???\"; did you mean den, lab?",
        ),
        ("???", "tiny-2", "unknown provider \"???\""),
    ] {
        let error = own().get(provider, id).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let long = "x".repeat(1_000_000);
    assert!(own().find(&long).is_err());
}

#[test]
fn the_built_in_models_are_suggested_too() {
    for (name, expected) in [
        ("openai/gpt5-mini", "openai/gpt-5-mini"),
        ("anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"),
        ("antropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        (
            "claude-sonet-4-5-20250929",
            "anthropic/claude-sonnet-4-5-20250929",
        ),
        ("mistral/devstral", "mistral/devstral-2512"),
    ] {
        let Err(LookupError::UnknownModel { suggestions, .. }) = find(name) else {
            panic!("{name} is known or means many");
        };
        assert!(
            suggestions.iter().any(|found| found == expected),
            "{name}: {suggestions:?}"
        );
        assert!(suggestions.len() <= 5, "{suggestions:?}");
    }
}

#[test]
fn a_provider_whose_models_are_left_out_names_the_feature() {
    let id = "anthropic/claude-sonnet-4.5";
    let found = get("openrouter", id);
    if cfg!(feature = "catalog-aggregators") {
        assert_eq!(found.unwrap().id, id);
    } else {
        let expected = LookupError::NotBuiltIn {
            provider: "openrouter".to_owned(),
            feature: "catalog-aggregators",
        };
        assert_eq!(found, Err(expected));
        let added = Catalog::builtin().with_model(Model::new(id, "api", "openrouter", ""));
        assert_eq!(added.get("openrouter", id).unwrap().api, "api");
    }
}

#[test]
fn what_is_added_last_wins_and_is_listed_once() {
    let mut model = get("openai", "gpt-4.1").unwrap();
    model.name = "Mine".to_owned();
    let new = Model::new("new", "api", "openai", "");
    let catalog = Catalog::builtin().with_model(model.clone()).with_model(new);
    assert_eq!(catalog.get("openai", "gpt-4.1").unwrap(), model);
    assert_eq!(catalog.find("openai/gpt-4.1").unwrap(), model);
    assert_eq!(catalog.models().count(), models().count() + 1);
    let of_id = |model: &Model| model.provider == "openai" && model.id == "gpt-4.1";
    let listed: Vec<Model> = catalog.models().filter(of_id).collect();
    assert_eq!(listed, [model]);

    let again = catalog.with_json(r#"[{ "provider": "openai", "id": "gpt-4.1", "name": "Last" }]"#);
    assert_eq!(
        again.unwrap().get("openai", "gpt-4.1").unwrap().name,
        "Last"
    );
}

#[test]
fn json_adds_whole_models_and_changes_fields_of_known_ones() {
    let before = get("openai", "gpt-5").unwrap();
    let text = json!({ "schemaVersion": 9, "models": [
        { "provider": "openai", "id": "gpt-5", "cost": { "input": 1.0 }, "lab": "kept" },
        { "provider": "openai", "id": "gpt-4.1", "type": "chat", "api": "new-api" },
        { "provider": "openai", "id": "painter", "type": "image" },
        { "provider": "den", "id": "x", "api": "new-api", "compat": { "newFlag": true },
          "thinkingLevelMap": { "high": null, "ultra": "u" }, "input": ["text", "smell"] },
    ] });
    let catalog = Catalog::builtin().with_json(&text.to_string()).unwrap();

    let mut expected = before;
    expected.cost = Default::default();
    expected.cost.input = 1.0;
    expected.extra.insert("lab", json!("kept"));
    assert_eq!(catalog.get("openai", "gpt-5").unwrap(), expected);

    let mut whole = Model::new("gpt-4.1", "new-api", "openai", "");
    whole.input.clear();
    assert_eq!(catalog.get("openai", "gpt-4.1").unwrap(), whole);
    assert!(catalog.get("openai", "painter").is_err());

    let written = serde_json::to_value(catalog.find("den/x").unwrap()).unwrap();
    for field in ["compat", "thinkingLevelMap", "input"] {
        assert_eq!(written[field], text["models"][3][field]);
    }
}

#[test]
fn models_survive_being_written_and_read() {
    let all: Vec<Model> = models().collect();
    let text = serde_json::to_string(&all).unwrap();
    let read = Catalog::empty().with_json(&text).unwrap();
    assert_eq!(read.models().collect::<Vec<_>>(), all);
    let (facts, _) = facts();
    let file = json!({ "models": facts }).to_string();
    let read = Catalog::empty().with_json(&file).unwrap();
    assert_eq!(read.models().count(), facts.len());
}

#[test]
fn json_that_is_no_list_of_models_is_refused_with_the_place() {
    for (text, place, reason) in [
        ("{", "the list of models", "EOF"),
        ("3", "the list of models", "expected a sequence"),
        ("{}", "the list of models", "expected a sequence"),
        ("[3]", "the list of models", "invalid type"),
        ("[{}]", "entry 1 of the models", "missing field `id`"),
        (
            r#"[{ "provider": "den", "id": "x" }]"#,
            "the model den/x",
            "missing field `api`",
        ),
        (
            r#"[{ "provider": "openai", "id": "gpt-5", "maxTokens": "many" }]"#,
            "the model openai/gpt-5",
            "invalid type: string \"many\", expected u64",
        ),
    ] {
        let error = Catalog::builtin().with_json(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{place} cannot be read"),
            "{text}"
        );
        let source = error.source().unwrap().to_string();
        assert!(source.contains(reason), "{text}: {source}");
    }
}

#[test]
fn the_debug_form_is_short() {
    let text = format!("{:?}", Catalog::builtin());
    assert_eq!(
        text,
        format!("Catalog {{ builtin: {}, added: {{}} }}", models().count())
    );
}
