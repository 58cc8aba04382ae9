//! What is known about the providers.

#[rustfmt::skip]
#[path = "generated/providers.generated.rs"]
mod generated;

use self::generated::PROVIDERS;

/// What the catalogue knows about a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// The name that models and keys go by, such as `openai`.
    pub id: &'static str,
    /// A name for people.
    pub name: &'static str,
    /// The wire protocols of its models.
    pub apis: &'static [&'static str],
    /// The addresses of its models. They may hold `{location}`, `{CLOUDFLARE_ACCOUNT_ID}` and
    /// `{CLOUDFLARE_GATEWAY_ID}`. None if the address belongs to the user, as with Azure.
    pub base_urls: &'static [&'static str],
    /// The environment variables that can hold its key; the first one set wins.
    pub key_variables: &'static [&'static str],
    /// Environment variables for other credentials, regions, accounts and addresses.
    pub other_variables: &'static [&'static str],
    /// The feature of this crate that the provider's models are in.
    pub(crate) feature: &'static str,
}

/// Returns every known provider, by id; also those whose models are left out of this build.
#[must_use]
pub fn providers() -> &'static [ProviderInfo] {
    PROVIDERS
}

/// Returns what is known about a provider.
///
/// # Examples
/// ```
/// let groq = pi_ai::catalog::provider("groq").unwrap();
/// assert_eq!(groq.key_variables, ["GROQ_API_KEY"]);
/// ```
#[must_use]
pub fn provider(id: &str) -> Option<&'static ProviderInfo> {
    let at = PROVIDERS
        .binary_search_by(|provider| provider.id.cmp(id))
        .ok()?;
    PROVIDERS.get(at)
}
