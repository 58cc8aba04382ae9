//! How much a model is asked to think.

use std::borrow::Cow;

use pi_core::{Model, Request, StreamOptions, ThinkingBudgets, ThinkingLevel};
use serde::Serialize;
use serde_json::Value;

use super::family::{Family, Kind};
use crate::levels;

/// Lets the model decide how much it thinks.
const DYNAMIC: i64 = -1;

/// What goes into a request about thinking. Gemini 3 and later models take a level, earlier ones a
/// budget of tokens; each refuses the other.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<Cow<'a, str>>,
}

impl<'a> ThinkingConfig<'a> {
    /// Goes by `options.reasoning`; where it is absent, by the option `thinking` of this API.
    /// `None` leaves it to the model.
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let model = &*request.model;
        let options = &request.options;
        if !model.reasoning {
            return None;
        }
        match options.thinking() {
            Some(level) => Some(Self::asked(level, model, options)),
            None if options.reasoning.is_some() => Some(Self::least(model)),
            None => match options.extra.get("thinking") {
                Some(Value::Null) => None,
                Some(own) if own.get("enabled") == Some(&Value::Bool(true)) => Some(Self::own(own)),
                _ => Some(Self::least(model)),
            },
        }
    }

    fn asked(level: &ThinkingLevel, model: &'a Model, options: &StreamOptions) -> Self {
        let level = model.clamp_thinking(level);
        if level == ThinkingLevel::Off {
            return Self::least(model);
        }
        let family = Family::of(&model.id);
        let mut config = Self {
            include_thoughts: Some(true),
            ..Self::default()
        };
        match takes_level(model, family) {
            true => config.thinking_level = Some(word(&level, model, family)),
            false => {
                config.thinking_budget = Some(budget(
                    &level,
                    options.thinking_budgets.as_ref(),
                    family.kind,
                ))
            }
        }
        config
    }

    /// Asks for no thinking, or for as little as the model can, without its thoughts.
    fn least(model: &'a Model) -> Self {
        let family = Family::of(&model.id);
        let level = model.clamp_thinking(&ThinkingLevel::Off);
        let mut config = Self::default();
        match (takes_level(model, family), level) {
            (true, ThinkingLevel::Off) => {
                config.thinking_level = Some(word(&ThinkingLevel::Minimal, model, family));
            }
            (true, level) => config.thinking_level = Some(word(&level, model, family)),
            (false, ThinkingLevel::Off) => config.thinking_budget = Some(0),
            // Gemini 2.5 Pro refuses a budget of zero.
            (false, level) => config.thinking_budget = Some(budget(&level, None, family.kind)),
        }
        config
    }

    fn own(thinking: &'a Value) -> Self {
        let level = thinking.get("level").and_then(Value::as_str);
        let budget = thinking.get("budgetTokens").and_then(Value::as_i64);
        Self {
            include_thoughts: Some(true),
            thinking_budget: budget.filter(|_| level.is_none()),
            thinking_level: level.map(Cow::Borrowed),
        }
    }
}

/// Returns true for a model that is asked by level. Those that are not Gemini tell by their words.
fn takes_level(model: &Model, family: Family) -> bool {
    let words = model.thinking_level_map.iter().flatten();
    family.is_new() || (!family.is_old() && words.map(|(_, word)| word).any(Option::is_some))
}

/// Returns the service's word for a level.
fn word<'a>(level: &ThinkingLevel, model: &'a Model, family: Family) -> Cow<'a, str> {
    if let Some(Some(word)) = levels::word(level, model) {
        return Cow::Owned(word.to_ascii_uppercase());
    }
    match level {
        // Gemini 3 Pro knows these two.
        ThinkingLevel::Minimal | ThinkingLevel::Low if family.is_pro => Cow::Borrowed("LOW"),
        _ if family.is_pro => Cow::Borrowed("HIGH"),
        level => Cow::Owned(level.as_str().to_ascii_uppercase()),
    }
}

/// Returns the tokens that a level stands for.
fn budget(level: &ThinkingLevel, own: Option<&ThinkingBudgets>, kind: Kind) -> i64 {
    let (own, place) = match level {
        ThinkingLevel::Minimal => (own.and_then(|own| own.minimal), 0),
        ThinkingLevel::Low => (own.and_then(|own| own.low), 1),
        ThinkingLevel::Medium => (own.and_then(|own| own.medium), 2),
        _ => (own.and_then(|own| own.high), 3),
    };
    if let Some(own) = own {
        return i64::try_from(own).unwrap_or(i64::MAX);
    }
    let budgets = match kind {
        Kind::Pro25 => [128, 2048, 8192, 32_768],
        Kind::Flash25 => [128, 2048, 8192, 24_576],
        // It refuses less than 512.
        Kind::FlashLite25 => [512, 2048, 8192, 24_576],
        Kind::Foreign | Kind::Other => return DYNAMIC,
    };
    budgets.get(place).copied().unwrap_or(DYNAMIC)
}
