//! Which environment variables hold the keys of which provider.

use pi_core::SecretString;

/// Returns the environment variables that can hold the key of a provider, the first one set wins;
/// none for a provider that is not known.
///
/// # Examples
/// ```
/// assert_eq!(pi_ai::key_variables("openai"), ["OPENAI_API_KEY"]);
/// assert!(pi_ai::key_variables("local").is_empty());
/// ```
#[must_use]
pub fn key_variables(provider: &str) -> &'static [&'static str] {
    match provider {
        "cerebras" => &["CEREBRAS_API_KEY"],
        "github-copilot" => &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        "groq" => &["GROQ_API_KEY"],
        "huggingface" => &["HF_TOKEN"],
        "mistral" => &["MISTRAL_API_KEY"],
        "openai" => &["OPENAI_API_KEY"],
        "opencode" | "opencode-go" => &["OPENCODE_API_KEY"],
        "openrouter" => &["OPENROUTER_API_KEY"],
        "vercel-ai-gateway" => &["AI_GATEWAY_API_KEY"],
        "xai" => &["XAI_API_KEY"],
        "zai" => &["ZAI_API_KEY"],
        _ => &[],
    }
}

/// Reads the key of a provider by `read`, which looks up one variable.
pub(crate) fn key_of(
    provider: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Option<SecretString> {
    let names = key_variables(provider).iter();
    names
        .filter_map(|name| read(name))
        .find(|key| !key.trim().is_empty())
        .map(SecretString::from)
}

#[cfg(test)]
mod tests {
    use pi_core::ExposeSecret;

    use super::*;

    #[test]
    fn the_first_variable_that_holds_something_wins() {
        let read = |name: &str| match name {
            "COPILOT_GITHUB_TOKEN" => Some(" ".to_owned()),
            "GITHUB_TOKEN" => Some("last".to_owned()),
            "GH_TOKEN" => Some("second".to_owned()),
            _ => None,
        };
        let key = key_of("github-copilot", read).unwrap();
        assert_eq!(key.expose_secret(), "second");
        assert!(key_of("openai", read).is_none());
        assert!(key_of("somebody", read).is_none());
    }
}
