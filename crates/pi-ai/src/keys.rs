//! Where the key of a request comes from.

use std::future::Future;
use std::sync::Arc;

use pi_core::{BoxFuture, ErrorKind, ExposeSecret, HookError, ProviderError, SecretString};

use crate::env;

/// The provider's name of models on servers that people run themselves. It needs no key.
pub const LOCAL_PROVIDER: &str = "local";

/// Looks up keys by the name of the provider, when a request needs one.
///
/// It is asked for every request, so keys may expire. Closures are resolvers.
///
/// # Examples
/// ```
/// use pi_ai::OpenAiCompletions;
/// use pi_core::SecretString;
///
/// let provider = OpenAiCompletions::new().with_key_resolver(|provider: String| async move {
///     Ok((provider == "openai").then(|| SecretString::from("from the vault")))
/// });
/// # let _ = provider;
/// ```
pub trait KeyResolver: Send + Sync {
    /// Returns the key for a provider, `None` if there is none.
    ///
    /// # Errors
    /// If the lookup fails; the stream then ends in an error of kind `Hook`.
    ///
    /// # Cancel safety
    /// Dropping the future must leave nothing behind.
    fn key(&self, provider: String) -> BoxFuture<'static, Result<Option<SecretString>, HookError>>;
}

impl<F, R> KeyResolver for F
where
    F: Fn(String) -> R + Send + Sync,
    R: Future<Output = Result<Option<SecretString>, HookError>> + Send + 'static,
{
    fn key(&self, provider: String) -> BoxFuture<'static, Result<Option<SecretString>, HookError>> {
        Box::pin(self(provider))
    }
}

/// The sources of keys that a provider value has, and what to do without a key.
#[derive(Clone, Default)]
pub(crate) struct Keys {
    pub(crate) source: Source,
    pub(crate) use_env: bool,
    /// A request without a key is sent as it is.
    pub(crate) optional: bool,
}

#[derive(Clone, Default)]
pub(crate) enum Source {
    #[default]
    None,
    Key(SecretString),
    Resolver(Arc<dyn KeyResolver>),
}

impl Keys {
    /// Returns the key of a request to a provider: that of the request itself, else that of the
    /// source, else that of the environment. `None` if there is none and none is needed.
    pub(crate) async fn find(
        &self,
        of_request: Option<SecretString>,
        provider: &str,
        is_optional: bool,
    ) -> Result<Option<SecretString>, ProviderError> {
        let mut key = present(of_request);
        if key.is_none() {
            key = present(self.of_source(provider).await?);
        }
        if key.is_none() && self.use_env {
            key = env::key_of(provider, |name| std::env::var(name).ok());
        }
        match key {
            None if !is_optional && !self.optional => Err(self.missing(provider)),
            key => Ok(key),
        }
    }

    async fn of_source(&self, provider: &str) -> Result<Option<SecretString>, ProviderError> {
        match &self.source {
            Source::None => Ok(None),
            Source::Key(key) => Ok(Some(key.clone())),
            Source::Resolver(resolver) => {
                resolver.key(provider.to_owned()).await.map_err(|error| {
                    let text = format!("the lookup of the key for {provider} failed: {error}");
                    ProviderError::new(ErrorKind::Hook, text).with_source(error)
                })
            }
        }
    }

    fn missing(&self, provider: &str) -> ProviderError {
        let text = match (env::key_variables(provider).first(), self.use_env) {
            (Some(variable), true) => {
                format!("no API key for {provider}: set {variable} or pass a key")
            }
            (Some(variable), false) => format!(
                "no API key for {provider}: pass a key, or use from_env() to read {variable}"
            ),
            (None, _) => format!(
                "no API key for {provider}: pass a key, or use without_key() if none is needed"
            ),
        };
        ProviderError::new(ErrorKind::Auth, text)
    }
}

/// Takes an empty key for none, and drops the blanks that files and shells leave around keys.
fn present(key: Option<SecretString>) -> Option<SecretString> {
    let key = key?;
    let trimmed = key.expose_secret().trim();
    match trimmed.len() {
        0 => None,
        length if length == key.expose_secret().len() => Some(key),
        _ => Some(SecretString::from(trimmed)),
    }
}
