//! Which thinking level a model is asked for.

use pi_core::{Model, ThinkingLevel};

/// All levels at which a model thinks, from the highest down.
const LEVELS: [ThinkingLevel; 6] = [
    ThinkingLevel::Max,
    ThinkingLevel::XHigh,
    ThinkingLevel::High,
    ThinkingLevel::Medium,
    ThinkingLevel::Low,
    ThinkingLevel::Minimal,
];

/// Returns the highest level that the model has, up to `level`; a level that this version does not
/// know is taken as it is. `by_default` tells which levels a model has that says nothing of them.
pub(crate) fn supported(
    level: &ThinkingLevel,
    model: &Model,
    by_default: impl Fn(&ThinkingLevel) -> bool,
) -> Option<ThinkingLevel> {
    let is_supported = |level: &ThinkingLevel| match word(level, model) {
        Some(word) => word.is_some(),
        None => by_default(level),
    };
    let Some(from) = LEVELS.iter().position(|known| known == level) else {
        return Some(level.clone());
    };
    LEVELS.into_iter().skip(from).find(is_supported)
}

/// Returns the level at which a model of OpenAI's protocols is asked to think; `None` if it offers
/// none.
///
/// What a model says of its levels decides, as [`Model::clamp_thinking`] has it; one that says nothing
/// has `XHigh` if its name is among those that do.
#[cfg(feature = "openai")]
pub(crate) fn offered(level: &ThinkingLevel, model: &Model) -> Option<ThinkingLevel> {
    const WITH_XHIGH: [&str; 5] = ["gpt-5.2", "gpt-5.3", "gpt-5.4", "opus-4-6", "opus-4.6"];

    if model.thinking_level_map.is_some() {
        return Some(model.clamp_thinking(level)).filter(|level| *level != ThinkingLevel::Off);
    }
    supported(level, model, |level| match level {
        ThinkingLevel::Max => false,
        ThinkingLevel::XHigh => WITH_XHIGH.iter().any(|name| model.id.contains(name)),
        _ => true,
    })
}

/// Returns what the model says of a level: the provider's word for it, or that it has none.
pub(crate) fn word<'a>(level: &ThinkingLevel, model: &'a Model) -> Option<Option<&'a str>> {
    let words = model.thinking_level_map.as_ref()?;
    words.get(level).map(Option::as_deref)
}
