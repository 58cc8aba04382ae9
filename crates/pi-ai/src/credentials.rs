//! What a request shows to the service, and where it comes from.

use std::future::Future;
use std::sync::Arc;

use pi_core::{BoxFuture, ErrorKind, ExposeSecret, HookError, ProviderError, SecretString};

use crate::env;

/// The provider's name of models on servers that people run themselves. It needs no key.
pub const LOCAL_PROVIDER: &str = "local";

/// What a request shows to the service, to tell who asks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Credential {
    /// A key of the service. It goes into the header that the service wants.
    Key(SecretString),
    /// An access token. It goes out as `authorization: Bearer ..`, whatever header a key has.
    Token(SecretString),
}

impl Credential {
    /// Creates an access token.
    pub fn token(token: impl Into<SecretString>) -> Self {
        Self::Token(token.into())
    }

    /// Returns what is secret about it.
    #[must_use]
    pub fn secret(&self) -> &SecretString {
        match self {
            Self::Key(secret) | Self::Token(secret) => secret,
        }
    }

    /// Takes an empty secret for none, and drops the blanks that files and shells leave around keys.
    fn present(self) -> Option<Self> {
        let secret = self.secret().expose_secret();
        let trimmed = secret.trim();
        if trimmed.is_empty() {
            return None;
        }
        if trimmed.len() == secret.len() {
            return Some(self);
        }
        let secret = SecretString::from(trimmed);
        Some(match self {
            Self::Key(_) => Self::Key(secret),
            Self::Token(_) => Self::Token(secret),
        })
    }
}

impl<S: Into<SecretString>> From<S> for Credential {
    /// Creates a key.
    fn from(key: S) -> Self {
        Self::Key(key.into())
    }
}

/// Where the credentials of an application come from: a vault, a login, a token that expires.
///
/// It is asked when a request needs one, for each attempt anew. A closure is enough where nothing is
/// refreshed: it takes the name of the provider and returns a future of a key, a token or `None`.
///
/// # Examples
/// ```
/// use pi_ai::OpenAiCompletions;
/// use pi_core::SecretString;
///
/// let provider = OpenAiCompletions::new().with_credentials(|provider: String| async move {
///     Ok((provider == "openai").then(|| SecretString::from("from the vault")))
/// });
/// # let _ = provider;
/// ```
/// A token that expires:
/// ```
/// use std::sync::{Mutex, PoisonError};
///
/// use pi_ai::{Credential, Credentials};
/// use pi_core::{BoxFuture, ExposeSecret, HookError};
///
/// struct Login {
///     token: Mutex<String>,
/// }
///
/// impl Login {
///     fn current(&self) -> Credential {
///         let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
///         Credential::token(token.clone())
///     }
/// }
///
/// impl Credentials for Login {
///     fn get<'a>(
///         &'a self,
///         _provider: &'a str,
///     ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
///         Box::pin(async { Ok(Some(self.current())) })
///     }
///
///     fn refresh<'a>(
///         &'a self,
///         _provider: &'a str,
///         refused: &'a Credential,
///     ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
///         Box::pin(async move {
///             // Of several requests that are refused, the first one fetches the new token.
///             let current = self.current();
///             if current.secret().expose_secret() == refused.secret().expose_secret() {
///                 // .. ask for a new token and store it ..
///             }
///             Ok(Some(self.current()))
///         })
///     }
/// }
/// ```
pub trait Credentials: Send + Sync {
    /// Returns the credential for a provider, `None` if there is none.
    ///
    /// # Errors
    /// If the lookup fails; the stream then ends in an error of kind `Hook`.
    ///
    /// # Cancel safety
    /// Dropping the future must leave nothing behind.
    fn get<'a>(&'a self, provider: &'a str)
    -> BoxFuture<'a, Result<Option<Credential>, HookError>>;

    /// Returns another credential in place of one that the service has refused with status 401, `None`
    /// if there is no better one; the default has none. The request is then sent once more. It is
    /// called at most once for each request; several requests may call it at once.
    ///
    /// # Errors
    /// If the refresh fails; the stream then ends in an error of kind `Hook`.
    ///
    /// # Cancel safety
    /// Dropping the future must leave nothing behind.
    fn refresh<'a>(
        &'a self,
        provider: &'a str,
        refused: &'a Credential,
    ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
        let _ = (provider, refused);
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl<F, R, C> Credentials for F
where
    F: Fn(String) -> R + Send + Sync,
    R: Future<Output = Result<Option<C>, HookError>> + Send + 'static,
    C: Into<Credential>,
{
    fn get<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
        let found = self(provider.to_owned());
        Box::pin(async move { Ok(found.await?.map(Into::into)) })
    }
}

/// The sources of credentials that a provider value has, and what to do without one.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    pub(crate) source: Source,
    pub(crate) use_env: bool,
    /// A request without a credential is sent as it is.
    pub(crate) optional: bool,
}

#[derive(Clone, Default)]
pub(crate) enum Source {
    #[default]
    None,
    Key(SecretString),
    Application(Arc<dyn Credentials>),
}

impl Sources {
    /// Returns the credential of a request to a provider: the key of the request itself, else that of
    /// the source, else that of the environment. `None` if there is none and none is needed.
    pub(crate) async fn find(
        &self,
        of_request: Option<SecretString>,
        provider: &str,
        is_optional: bool,
    ) -> Result<Option<Credential>, ProviderError> {
        let mut found = of_request.and_then(|key| Credential::from(key).present());
        if found.is_none() {
            found = self.of_source(provider).await?;
        }
        if found.is_none() && self.use_env {
            found = env::key_of(provider, |name| std::env::var(name).ok())
                .and_then(|key| Credential::from(key).present());
        }
        match found {
            None if !is_optional && !self.optional => Err(self.missing(provider)),
            found => Ok(found),
        }
    }

    /// Returns another credential in place of a refused one, if the application has one.
    pub(crate) async fn refresh(
        &self,
        provider: &str,
        refused: &Credential,
    ) -> Result<Option<Credential>, ProviderError> {
        let Source::Application(credentials) = &self.source else {
            return Ok(None);
        };
        let renewed = credentials.refresh(provider, refused).await;
        let renewed =
            renewed.map_err(|error| failed("refresh of the credential", provider, error))?;
        Ok(renewed.and_then(Credential::present))
    }

    /// Returns the credential of the source alone.
    pub(crate) async fn of_source(
        &self,
        provider: &str,
    ) -> Result<Option<Credential>, ProviderError> {
        let found = match &self.source {
            Source::None => None,
            Source::Key(key) => Some(key.clone().into()),
            Source::Application(credentials) => credentials
                .get(provider)
                .await
                .map_err(|error| failed("lookup of the key", provider, error))?,
        };
        Ok(found.and_then(Credential::present))
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

fn failed(what: &str, provider: &str, error: HookError) -> ProviderError {
    let text = format!("the {what} for {provider} failed: {error}");
    ProviderError::new(ErrorKind::Hook, text).with_source(error)
}
