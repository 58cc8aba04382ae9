//! How much a model is asked to think, and how long its reply may be.

use std::borrow::Cow;

use pi_core::{Model, Request, StreamOptions, ThinkingLevel};
use serde::Serialize;
use serde_json::Value;

use super::compat::{Compat, Version};
use crate::levels;

/// The most tokens of a reply that are asked for unless the options say more.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// The smallest budget that the API takes, and what a reply should have beside its thoughts.
const MIN_TOKENS: u64 = 1024;

/// What goes into a request about thinking.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The most tokens of the reply, thoughts included.
    pub(crate) max_tokens: u64,
    pub(crate) thinking: Option<WireThinking>,
    pub(crate) effort: Option<Cow<'a, str>>,
    /// Where the model thinks, it takes no temperature.
    pub(crate) is_thinking: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum WireThinking {
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    Enabled {
        budget_tokens: u64,
    },
    Disabled,
}

impl<'a> Plan<'a> {
    /// Goes by `options.reasoning`; where it is absent, by the options of this API: `thinkingEnabled`,
    /// `thinkingBudgetTokens` and `effort`.
    pub(crate) fn of(request: &'a Request, compat: &Compat) -> Self {
        let model = &*request.model;
        let options = &request.options;
        let max_tokens = max_tokens(model, options);
        let level = options.thinking();
        match level {
            Some(level) if model.reasoning && compat.adaptive_thinking => {
                Self::adaptive(max_tokens, Some(effort(level, model)), compat)
            }
            Some(level) => Self::budgeted(max_tokens, budget(level, options), model),
            None if !model.reasoning => Self::plain(max_tokens),
            None if options.reasoning.is_none() => Self::by_extra(max_tokens, options, compat),
            None => Self::off(max_tokens, compat),
        }
    }

    fn off(max_tokens: u64, compat: &Compat) -> Self {
        Self {
            thinking: compat
                .can_disable_thinking
                .then_some(WireThinking::Disabled),
            is_thinking: !compat.can_disable_thinking,
            ..Self::plain(max_tokens)
        }
    }

    fn plain(max_tokens: u64) -> Self {
        Self {
            max_tokens,
            thinking: None,
            effort: None,
            is_thinking: false,
        }
    }

    fn adaptive(max_tokens: u64, effort: Option<Cow<'a, str>>, compat: &Compat) -> Self {
        let display = compat.hides_thinking.then_some("summarized");
        Self {
            max_tokens,
            thinking: Some(WireThinking::Adaptive { display }),
            effort,
            is_thinking: true,
        }
    }

    /// Adds the budget to the limit, as far as the model goes; the reply keeps some tokens.
    fn budgeted(max_tokens: u64, budget: u64, model: &Model) -> Self {
        let limit = match model.max_tokens {
            0 => u64::MAX,
            limit => limit,
        };
        let max_tokens = max_tokens.saturating_add(budget).min(limit);
        let budget_tokens = match max_tokens > budget {
            true => budget,
            false => max_tokens.saturating_sub(MIN_TOKENS),
        };
        if !model.reasoning {
            return Self::plain(max_tokens);
        }
        let fits = budget_tokens >= MIN_TOKENS;
        Self {
            max_tokens,
            thinking: Some(match fits {
                true => WireThinking::Enabled { budget_tokens },
                false => WireThinking::Disabled,
            }),
            effort: None,
            is_thinking: fits,
        }
    }

    fn by_extra(max_tokens: u64, options: &'a StreamOptions, compat: &Compat) -> Self {
        match extra(options, "thinkingEnabled") {
            Some(Value::Bool(true)) => {}
            Some(Value::Null) => return Self::plain(max_tokens),
            _ => return Self::off(max_tokens, compat),
        }
        if compat.adaptive_thinking {
            let effort = extra(options, "effort").and_then(Value::as_str);
            return Self::adaptive(max_tokens, effort.map(Cow::Borrowed), compat);
        }
        let budget = extra(options, "thinkingBudgetTokens").and_then(Value::as_u64);
        let budget_tokens = budget.filter(|budget| *budget > 0).unwrap_or(MIN_TOKENS);
        Self {
            thinking: Some(WireThinking::Enabled { budget_tokens }),
            is_thinking: true,
            ..Self::plain(max_tokens)
        }
    }
}

fn extra<'a>(options: &'a StreamOptions, name: &str) -> Option<&'a Value> {
    options.extra.get(name)
}

/// Returns the limit that is asked for, which the API wants in every request.
fn max_tokens(model: &Model, options: &StreamOptions) -> u64 {
    let of_model = match model.max_tokens {
        0 => DEFAULT_MAX_TOKENS,
        limit => limit.min(DEFAULT_MAX_TOKENS),
    };
    options
        .max_tokens
        .filter(|tokens| *tokens > 0)
        .unwrap_or(of_model)
}

/// Returns the tokens that a level stands for at models that count them.
fn budget(level: &ThinkingLevel, options: &StreamOptions) -> u64 {
    let own = options.thinking_budgets.as_ref();
    let (own, default) = match level {
        ThinkingLevel::Minimal => (own.and_then(|own| own.minimal), 1024),
        ThinkingLevel::Low => (own.and_then(|own| own.low), 2048),
        ThinkingLevel::Medium => (own.and_then(|own| own.medium), 8192),
        _ => (own.and_then(|own| own.high), 16_384),
    };
    own.unwrap_or(default)
}

/// Returns the API's word for the highest effort that the model has, up to `level`.
fn effort<'a>(level: &ThinkingLevel, model: &'a Model) -> Cow<'a, str> {
    let version = Version::of(&model.id);
    let since = |minor| version.is_some_and(|version| version >= Version(4, minor));
    let is_opus_4_6 = version == Some(Version(4, 6)) && model.id.contains("opus");
    let level = levels::supported(level, model, |level| match level {
        ThinkingLevel::Max => since(6),
        ThinkingLevel::XHigh => since(7) || is_opus_4_6,
        _ => true,
    });
    // No level is below the lowest that the model has.
    let level = level.unwrap_or(ThinkingLevel::Low);
    if let Some(Some(word)) = levels::word(&level, model) {
        return Cow::Borrowed(word);
    }
    match level {
        ThinkingLevel::Minimal => Cow::Borrowed("low"),
        // Opus 4.6 has nothing between high and max.
        ThinkingLevel::XHigh if is_opus_4_6 => Cow::Borrowed("max"),
        level => Cow::Owned(level.as_str().to_owned()),
    }
}
