use serde_json::{Value, json};

use super::{Model, ModelCost, ThinkingLevel};
use crate::usage::Usage;

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

#[test]
fn an_hour_in_the_cache_costs_more_than_five_minutes() {
    let mut cost = ModelCost::new(3.0, 15.0, 0.3, 3.75);
    let mut usage = Usage::new(0, 0, 0, 3_000_000);
    usage.cache_write_1h = 1_000_000;
    assert_eq!(cost.of(&usage).cache_write, 2.0 * 3.75 + 6.0);
    assert_eq!(cost.of(&usage).total, 2.0 * 3.75 + 6.0);
    cost.cache_write_1h = Some(5.0);
    assert_eq!(cost.of(&usage).cache_write, 2.0 * 3.75 + 5.0);
    // More than all that was written cannot have been.
    usage.cache_write_1h = 3_000_000;
    let all = cost.of(&usage);
    usage.cache_write_1h = 9_000_000;
    assert_eq!(cost.of(&usage), all);
}

#[test]
fn what_the_provider_charges_wins() {
    let model = Model {
        cost: ModelCost::new(1.0, 1.0, 0.0, 0.0),
        ..Model::default()
    };
    let mut usage = Usage::new(1_000_000, 0, 0, 0);
    model.price(&mut usage);
    assert_eq!(usage.cost.usd(), 1.0);
    let mut reported = usage.clone();
    reported.cost.reported = Some(0.25);
    model.price(&mut reported);
    assert_eq!((reported.cost.total, reported.cost.usd()), (1.0, 0.25));
    usage.add(&reported);
    assert_eq!((usage.cost.total, usage.cost.usd()), (2.0, 1.25));
}
