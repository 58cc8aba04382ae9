//! All providers that are built in, as one.

use std::fmt;
use std::sync::Arc;

use pi_core::{AssistantStream, Provider, Request, Router};

use crate::HttpClient;
use crate::credentials::{Credentials, Source};
use crate::http_provider::Settings;

/// All providers that are built in, as one: each request goes to the one that speaks the
/// [`api`](pi_core::Model::api) of its model. They share one HTTP client.
///
/// There is no key for all of them, since that would give the key of one service to another; see
/// [`with_credentials`](Self::with_credentials) and
/// [`StreamOptions::api_key`](pi_core::StreamOptions::api_key).
///
/// # Examples
/// ```
/// use pi_ai::Providers;
///
/// let providers = Providers::from_env();
/// # let _: &dyn pi_core::Provider = &providers;
/// ```
#[derive(Clone, Default)]
pub struct Providers {
    settings: Settings,
    /// The tokens of Google Cloud, which routers share.
    #[cfg(feature = "vertex")]
    google_cloud: crate::ApplicationDefault,
}

impl Providers {
    /// Creates the providers; they know no key and do not read the environment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the providers; they take keys from the environment, as
    /// [`HttpProvider::from_env`](crate::HttpProvider::from_env) does.
    #[must_use]
    pub fn from_env() -> Self {
        let mut providers = Self::new();
        providers.settings.sources.use_env = true;
        providers
    }

    /// Sets where keys and tokens come from, by the name of the model's provider.
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Credentials + 'static) -> Self {
        self.settings.sources.source = Source::Application(Arc::new(credentials));
        self
    }

    /// Sets the HTTP client.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.settings.client = client;
        self
    }

    /// Returns a router to which more APIs can be added.
    ///
    /// # Examples
    /// ```
    /// let router = pi_ai::Providers::new().router();
    /// # #[cfg(feature = "openai")]
    /// assert!(router.apis().any(|api| api == "openai-completions"));
    /// ```
    #[must_use]
    pub fn router(&self) -> Router {
        let router = Router::new();
        #[cfg(feature = "anthropic")]
        let router = router.with(
            pi_ai_wire::anthropic_messages::API,
            crate::Anthropic::from(self.settings.clone()),
        );
        #[cfg(feature = "bedrock")]
        let router = router.with(
            pi_ai_wire::bedrock_converse_stream::API,
            crate::Bedrock::from(self.settings.clone()),
        );
        #[cfg(feature = "google")]
        let router = router.with(
            pi_ai_wire::google_generative_ai::API,
            crate::Google::from(self.settings.clone()),
        );
        #[cfg(feature = "mistral")]
        let router = router.with(
            pi_ai_wire::mistral_conversations::API,
            crate::Mistral::from(self.settings.clone()),
        );
        #[cfg(feature = "openai")]
        let router = router
            .with(
                pi_ai_wire::azure_openai_responses::API,
                crate::AzureOpenAi::from(self.settings.clone()),
            )
            .with(
                pi_ai_wire::openai_completions::API,
                crate::OpenAiCompletions::from(self.settings.clone()),
            )
            .with(
                pi_ai_wire::openai_responses::API,
                crate::OpenAiResponses::from(self.settings.clone()),
            );
        #[cfg(feature = "vertex")]
        let router = router.with(
            pi_ai_wire::google_generative_ai::VERTEX_API,
            crate::Vertex::with_settings(self.settings.clone(), self.google_cloud.clone()),
        );
        router
    }
}

impl Provider for Providers {
    fn stream(&self, request: Request) -> AssistantStream {
        self.router().stream(request)
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Providers").field(&self.router()).finish()
    }
}
