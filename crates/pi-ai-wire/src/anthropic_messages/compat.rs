//! How a service or a model differs from the API.

use pi_core::{Model, ThinkingLevel};

use crate::levels;

/// How a service or a model differs from the API, all questions answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compat {
    /// The model decides itself how much it thinks, guided by an effort and not by a budget of
    /// tokens (flag `forceAdaptiveThinking`).
    pub adaptive_thinking: bool,
    /// The model hides its thoughts unless it is asked for a summary of them.
    pub hides_thinking: bool,
    /// The model can answer without thinking.
    pub can_disable_thinking: bool,
    /// The field `temperature` is known (flag `supportsTemperature`).
    pub supports_temperature: bool,
    /// The prompt can be kept for an hour (flag `supportsLongCacheRetention`).
    pub supports_long_cache_retention: bool,
    /// Instructions may stand in mid-conversation (flag `supportsMidConvoSystemMessages`).
    pub supports_mid_convo_system_messages: bool,
    /// Thoughts without a signature are taken back as thoughts (flag `allowEmptySignature`).
    pub allows_empty_signature: bool,
    /// The name of the conversation goes into a header (flag `sendSessionAffinityHeaders`).
    pub sends_session_affinity_headers: bool,
}

impl Compat {
    /// Answers all questions: by the model's flags, else by its id and address.
    #[must_use]
    pub fn resolve(model: &Model) -> Self {
        let version = Version::of(&model.id);
        let since = |major, minor| version.is_some_and(|version| version >= Version(major, minor));
        let flag = |name: &str, default: bool| {
            let flags = model.compat.as_deref();
            flags
                .and_then(|flags| flags.extra.get(name)?.as_bool())
                .unwrap_or(default)
        };
        Self {
            adaptive_thinking: flag("forceAdaptiveThinking", since(4, 6)),
            hides_thinking: since(4, 7),
            can_disable_thinking: levels::word(&ThinkingLevel::Off, model) != Some(None),
            supports_temperature: flag("supportsTemperature", !since(4, 7)),
            supports_long_cache_retention: flag(
                "supportsLongCacheRetention",
                model.base_url.contains("api.anthropic.com"),
            ),
            supports_mid_convo_system_messages: flag("supportsMidConvoSystemMessages", false),
            allows_empty_signature: flag("allowEmptySignature", false),
            sends_session_affinity_headers: flag("sendSessionAffinityHeaders", false),
        }
    }
}

/// The version of a Claude model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl Version {
    /// Reads the version behind the name of the family: `claude-opus-4-6`, `claude-sonnet-4.5`.
    ///
    /// Ids that have it in front (`claude-3-7-sonnet-20250219`) are older than all that is asked for.
    pub(crate) fn of(id: &str) -> Option<Self> {
        const FAMILIES: [&str; 5] = ["opus-", "sonnet-", "haiku-", "fable-", "mythos-"];

        let id = id.rsplit('/').next()?;
        let version = FAMILIES
            .iter()
            .find_map(|family| Some(id.split_once(family)?.1))?;
        // What has more digits is a date.
        let mut numbers = version
            .split(['-', '.'])
            .map_while(|part| part.parse::<u32>().ok().filter(|_| part.len() < 3));
        let major = numbers.next()?;
        Some(Self(major, numbers.next().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn versions_are_read_from_ids() {
        for (id, expected) in [
            ("claude-opus-4-6", Some(Version(4, 6))),
            ("claude-sonnet-4-5-20250929", Some(Version(4, 5))),
            ("anthropic/claude-sonnet-4.6-batch", Some(Version(4, 6))),
            ("claude-opus-4-20250514", Some(Version(4, 0))),
            ("claude-opus-5", Some(Version(5, 0))),
            ("claude-fable-5-1", Some(Version(5, 1))),
            ("claude-3-7-sonnet-20250219", None),
            ("claude-3-5-haiku-latest", None),
            ("kimi-k2", None),
        ] {
            assert_eq!(Version::of(id), expected, "{id}");
        }
    }

    #[test]
    fn flags_come_before_guesses() {
        let mut model = Model::new("claude-opus-4-7", "", "", "https://api.anthropic.com");
        let guessed = Compat::resolve(&model);
        assert!(guessed.adaptive_thinking && guessed.hides_thinking);
        assert!(!guessed.supports_temperature && guessed.supports_long_cache_retention);

        let flags = model.compat.get_or_insert_default();
        for (name, value) in [
            ("forceAdaptiveThinking", false),
            ("supportsTemperature", true),
            ("supportsLongCacheRetention", false),
            ("allowEmptySignature", true),
        ] {
            flags.extra.insert(name, Value::Bool(value));
        }
        let told = Compat::resolve(&model);
        assert!(!told.adaptive_thinking && told.supports_temperature);
        assert!(!told.supports_long_cache_retention && told.allows_empty_signature);
    }
}
