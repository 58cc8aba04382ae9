//! How much a model is asked to think, and what of it comes back.

use std::borrow::Cow;

use pi_core::{Model, Request, ThinkingLevel};
use serde::Serialize;
use serde_json::Value;

use crate::levels;

/// What asks for the thoughts in a form that can go back.
const ENCRYPTED: &[&str] = &["reasoning.encrypted_content"];

/// What goes into a request about thinking.
#[derive(Debug, Default, Serialize)]
pub(super) struct Plan<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<WireReasoning<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
}

#[derive(Debug, Serialize)]
struct WireReasoning<'a> {
    effort: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

impl<'a> Plan<'a> {
    /// Goes by `options.reasoning`; where it is absent, by the options of this API: `reasoningEffort`
    /// and `reasoningSummary`.
    pub(super) fn of(request: &'a Request) -> Self {
        let model = &*request.model;
        if !model.reasoning {
            return Self::default();
        }
        match effort(request) {
            Some(_) if !takes_effort(model) => Self::thinking_anyway(),
            Some(effort) => Self {
                reasoning: Some(WireReasoning {
                    effort,
                    summary: Some(extra(request, "reasoningSummary").unwrap_or("auto")),
                }),
                include: ENCRYPTED,
            },
            None => Self::off(model),
        }
    }

    fn off(model: &'a Model) -> Self {
        // Copilot takes nothing here.
        if model.provider == "github-copilot" {
            return Self::default();
        }
        match levels::word(&ThinkingLevel::Off, model) {
            Some(None) => Self::thinking_anyway(),
            _ if !takes_effort(model) => Self::thinking_anyway(),
            word => Self {
                reasoning: Some(WireReasoning {
                    effort: Cow::Borrowed(word.flatten().unwrap_or("none")),
                    summary: None,
                }),
                include: &[],
            },
        }
    }

    /// The plan for a model that thinks whatever it is told: what it thinks has to go back to it.
    fn thinking_anyway() -> Self {
        Self {
            reasoning: None,
            include: ENCRYPTED,
        }
    }
}

/// Returns the service's word for the effort, `None` for no thinking.
fn effort(request: &Request) -> Option<Cow<'_, str>> {
    let model = &*request.model;
    let level = match request.options.thinking() {
        Some(level) => levels::offered(level, model)?,
        None if request.options.reasoning.is_some() => return None,
        None => match extra(request, "reasoningEffort") {
            Some(effort) => effort.into(),
            None => {
                extra(request, "reasoningSummary")?;
                ThinkingLevel::Medium
            }
        },
    };
    match levels::word(&level, model) {
        Some(Some(word)) => Some(Cow::Borrowed(word)),
        _ => Some(Cow::Owned(level.as_str().to_owned())),
    }
}

fn takes_effort(model: &Model) -> bool {
    let flags = model.compat.as_deref();
    flags.and_then(|flags| flags.supports_reasoning_effort) != Some(false)
}

fn extra<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let text = request.options.extra.get(name).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}
