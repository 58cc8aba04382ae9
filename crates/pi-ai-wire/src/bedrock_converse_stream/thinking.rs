//! How much a model is asked to think, and how long its reply may be.

use std::borrow::Cow;

use pi_core::Request;
use serde::Serialize;
use serde_json::Value;

use super::compat::Compat;
use crate::anthropic_messages::compat::Compat as ClaudeCompat;
use crate::anthropic_messages::thinking::{Plan, WireThinking};
use crate::limit::max_tokens;

/// Models with a budget for thoughts think between calls too.
const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";

/// What goes into a request about thinking.
pub(super) struct Effort<'a> {
    pub(super) max_tokens: Option<u64>,
    pub(super) takes_temperature: bool,
    pub(super) fields: Option<ModelFields<'a>>,
}

/// Fields that the API hands to the model as they are.
#[derive(Serialize)]
pub(super) struct ModelFields<'a> {
    thinking: WireThinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_beta: Option<[&'static str; 1]>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    effort: Cow<'a, str>,
}

impl<'a> Effort<'a> {
    /// Models that are not Claude think, or do not, without being asked.
    pub(super) fn of(request: &'a Request, compat: Compat) -> Self {
        let plain = Self {
            max_tokens: max_tokens(request),
            takes_temperature: true,
            fields: None,
        };
        if !compat.is_claude {
            return plain;
        }
        let claude = ClaudeCompat::resolve(&request.model);
        let takes_temperature = claude.supports_temperature;
        if request.options.thinking().is_none() {
            return Self {
                takes_temperature,
                ..plain
            };
        }
        let plan = Plan::of(request, &claude);
        let asked = plan.thinking.filter(|_| plan.is_thinking);
        Self {
            max_tokens: Some(plan.max_tokens),
            takes_temperature: takes_temperature && !plan.is_thinking,
            fields: asked.map(|thinking| ModelFields {
                anthropic_beta: is_interleaved(request, &thinking)
                    .then_some([INTERLEAVED_THINKING]),
                thinking,
                output_config: plan.effort.map(|effort| OutputConfig { effort }),
            }),
        }
    }
}

fn is_interleaved(request: &Request, thinking: &WireThinking) -> bool {
    let asked = request.options.extra.get("interleavedThinking");
    matches!(thinking, WireThinking::Enabled { .. })
        && asked.and_then(Value::as_bool).unwrap_or(true)
}
