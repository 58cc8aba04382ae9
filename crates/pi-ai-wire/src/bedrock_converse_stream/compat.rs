//! How the models behind the API differ.

use pi_core::Model;

use crate::anthropic_messages::compat::Version;

/// How a model differs, all questions answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compat {
    /// The model is one of Anthropic's: it takes signed thoughts, and is told how much to think.
    pub(super) is_claude: bool,
    /// The model takes marks of what is to be cached (flag `supportsPromptCaching`).
    pub(super) supports_prompt_caching: bool,
}

impl Compat {
    /// Answers all questions: by the model's flags, else by its id. The ARN of an inference profile of
    /// one's own does not name the model, so there the flag must tell.
    pub(super) fn resolve(model: &Model) -> Self {
        let id = model.id.to_ascii_lowercase();
        let flags = model.compat.as_deref();
        let flag = flags.and_then(|flags| flags.extra.get("supportsPromptCaching")?.as_bool());
        Self {
            is_claude: id.contains("anthropic.claude") || id.contains("anthropic/claude"),
            supports_prompt_caching: flag.unwrap_or_else(|| is_caching(&id)),
        }
    }
}

/// Claude since 4, and two before it.
fn is_caching(id: &str) -> bool {
    let is_new = || Version::of(id).is_some_and(|version| version >= Version(4, 0));
    id.contains("claude")
        && (id.contains("claude-3-7-sonnet") || id.contains("claude-3-5-haiku") || is_new())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn resolve(id: &str) -> (bool, bool) {
        let compat = Compat::resolve(&Model::new(id, "bedrock-converse-stream", "", ""));
        (compat.is_claude, compat.supports_prompt_caching)
    }

    #[test]
    fn ids_tell_the_family() {
        for (id, expected) in [
            ("anthropic.claude-sonnet-4-5-20250929-v1:0", (true, true)),
            ("us.anthropic.claude-opus-4-20250514-v1:0", (true, true)),
            ("global.anthropic.claude-fable-5", (true, true)),
            ("anthropic.claude-3-7-sonnet-20250219-v1:0", (true, true)),
            ("anthropic.claude-3-5-sonnet-20240620-v1:0", (true, false)),
            ("amazon.nova-pro-v1:0", (false, false)),
            ("openai.gpt-5.4", (false, false)),
            (
                "arn:aws:bedrock:us-east-1:1:application-inference-profile/x",
                (false, false),
            ),
        ] {
            assert_eq!(resolve(id), expected, "{id}");
        }
    }

    #[test]
    fn a_flag_comes_before_the_id() {
        let mut model = Model::new("arn:aws:bedrock:x", "bedrock-converse-stream", "", "");
        let flags = model.compat.get_or_insert_default();
        flags
            .extra
            .insert("supportsPromptCaching", Value::Bool(true));
        assert!(Compat::resolve(&model).supports_prompt_caching);
    }
}
