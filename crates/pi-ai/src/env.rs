//! What the environment holds: keys, and parts of addresses.

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
        "amazon-bedrock" => &["AWS_BEARER_TOKEN_BEDROCK"],
        "ant-ling" => &["ANT_LING_API_KEY"],
        "anthropic" => &["ANTHROPIC_API_KEY"],
        "azure" | "azure-openai-responses" => &["AZURE_OPENAI_API_KEY"],
        "baseten" => &["BASETEN_API_KEY"],
        "cerebras" => &["CEREBRAS_API_KEY"],
        "cloudflare-ai-gateway" | "cloudflare-workers-ai" => &["CLOUDFLARE_API_KEY"],
        "deepseek" => &["DEEPSEEK_API_KEY"],
        "fireworks" => &["FIREWORKS_API_KEY"],
        "github-copilot" => &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        "google" => &["GEMINI_API_KEY"],
        "google-vertex" => &["GOOGLE_CLOUD_API_KEY"],
        "groq" => &["GROQ_API_KEY"],
        "huggingface" => &["HF_TOKEN"],
        "kimi-coding" => &["KIMI_API_KEY"],
        "meta" => &["META_API_KEY"],
        "minimax" => &["MINIMAX_API_KEY"],
        "minimax-cn" => &["MINIMAX_CN_API_KEY"],
        "mistral" => &["MISTRAL_API_KEY"],
        "moonshotai" | "moonshotai-cn" => &["MOONSHOT_API_KEY"],
        "nvidia" => &["NVIDIA_API_KEY"],
        "openai" => &["OPENAI_API_KEY"],
        "opencode" | "opencode-go" => &["OPENCODE_API_KEY"],
        "openrouter" => &["OPENROUTER_API_KEY"],
        "qwen-token-plan" => &["QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"],
        "qwen-token-plan-cn" => &[
            "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY",
            "QWEN_TOKEN_PLAN_CN_API_KEY",
        ],
        "qwen-token-plan-individual" => &[
            "QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY",
            "QWEN_TOKEN_PLAN_API_KEY",
        ],
        "qwen-token-plan-individual-cn" => &[
            "QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY",
            "QWEN_TOKEN_PLAN_CN_API_KEY",
        ],
        "together" => &["TOGETHER_API_KEY"],
        "vercel-ai-gateway" => &["AI_GATEWAY_API_KEY"],
        "xai" => &["XAI_API_KEY"],
        "xiaomi" => &["XIAOMI_API_KEY"],
        "xiaomi-token-plan-ams" => &["XIAOMI_TOKEN_PLAN_AMS_API_KEY"],
        "xiaomi-token-plan-cn" => &["XIAOMI_TOKEN_PLAN_CN_API_KEY"],
        "xiaomi-token-plan-sgp" => &["XIAOMI_TOKEN_PLAN_SGP_API_KEY"],
        "zai" => &["ZAI_API_KEY"],
        "zai-coding-cn" => &["ZAI_CODING_CN_API_KEY"],
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

/// Replaces the parts of a base URL that stand in braces by what `read` finds under their name.
///
/// # Errors
/// The first name under which nothing is found.
pub(crate) fn fill_in(
    base_url: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut filled = String::with_capacity(base_url.len());
    let mut rest = base_url;
    while let Some((before, (name, after))) = rest
        .split_once('{')
        .and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
    {
        let value = read(name).filter(|value| !value.trim().is_empty());
        let value = value.ok_or_else(|| name.to_owned())?;
        filled.push_str(before);
        filled.push_str(value.trim());
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
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

    #[test]
    fn braces_in_a_base_url_are_filled_in() {
        let read = |name: &str| match name {
            "A" => Some(" a1 ".to_owned()),
            "B" => Some("b2".to_owned()),
            "EMPTY" => Some(" ".to_owned()),
            _ => None,
        };
        for (written, expected) in [
            ("https://h/v1", Ok("https://h/v1")),
            ("https://h/{A}/{B}/x", Ok("https://h/a1/b2/x")),
            ("https://h/{A}/{C}", Err("C")),
            ("https://h/{EMPTY}", Err("EMPTY")),
            ("https://h/{A", Ok("https://h/{A")),
            ("https://h/}{A}", Ok("https://h/}a1")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(fill_in(written, read), expected, "{written}");
        }
    }
}
