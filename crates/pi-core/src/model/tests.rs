use serde_json::{Value, json};

use super::{Model, ThinkingLevel};

fn model(reasoning: bool, thinking_level_map: Value) -> Model {
    let mut model = Model::new("m", "api", "provider", "");
    model.reasoning = reasoning;
    model.thinking_level_map = serde_json::from_value(thinking_level_map).unwrap();
    model
}

fn levels(model: &Model) -> String {
    let levels = model.thinking_levels();
    let levels: Vec<&str> = levels.iter().map(ThinkingLevel::as_str).collect();
    levels.join(" ")
}

#[test]
fn a_model_offers_what_its_map_says_and_by_default_all_up_to_high() {
    for (reasoning, map, expected) in [
        (false, Value::Null, "off"),
        (false, json!({ "off": null, "high": "high" }), "off"),
        (true, Value::Null, "off minimal low medium high"),
        (true, json!({}), "off minimal low medium high"),
        (
            true,
            json!({ "max": "max" }),
            "off minimal low medium high max",
        ),
        (
            true,
            json!({ "xhigh": null, "off": null }),
            "minimal low medium high",
        ),
        (
            true,
            json!({ "ultra": "u", "minimal": "low" }),
            "off minimal low medium high",
        ),
        (
            true,
            json!({ "off": null, "minimal": null, "low": null, "medium": null, "high": null }),
            "",
        ),
    ] {
        assert_eq!(
            levels(&model(reasoning, map.clone())),
            expected,
            "{reasoning} {map}"
        );
    }
}

#[test]
fn a_level_that_is_not_offered_becomes_the_next_higher_one_else_the_next_lower_one() {
    let plain = model(true, Value::Null);
    let always = model(true, json!({ "off": null, "minimal": null }));
    let top = model(true, json!({ "max": "max", "medium": null, "ultra": "u" }));
    let none = model(
        true,
        json!({ "off": null, "minimal": null, "low": null, "medium": null, "high": null }),
    );
    let cannot = model(false, Value::Null);
    for (model, level, expected) in [
        (&plain, "low", "low"),
        (&plain, "xhigh", "high"),
        (&plain, "max", "high"),
        (&plain, "ultra", "off"),
        (&always, "off", "low"),
        (&always, "ultra", "low"),
        (&top, "xhigh", "max"),
        (&top, "medium", "high"),
        (&top, "ultra", "ultra"),
        (&none, "high", "off"),
        (&cannot, "high", "off"),
        (&cannot, "off", "off"),
    ] {
        let clamped = model.clamp_thinking(&ThinkingLevel::from(level));
        assert_eq!(
            clamped.as_str(),
            expected,
            "{level} {:?}",
            model.thinking_level_map
        );
    }
}
