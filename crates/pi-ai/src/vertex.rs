//! The provider for Vertex AI.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pi_ai_wire::google_generative_ai as wire;
use pi_core::{
    AssistantStream, ErrorKind, ExposeSecret, Model, Provider, ProviderError, Request, SecretString,
};
use serde::Serialize;
use serde_json::Value;

use crate::HttpClient;
use crate::adc::ApplicationDefault;
use crate::credentials::{Credentials, Source};
use crate::env;
use crate::http_provider::{HttpProvider, Settings};
use crate::protocol::{KeyHeader, Protocol};

/// The header of the project that the requests of a user count against.
const QUOTA_PROJECT: &str = "x-goog-user-project";

/// The provider for Gemini models on Vertex AI.
///
/// # Keys and tokens
/// With an API key (of the request, [`with_key`](Self::with_key), or with
/// [`from_env`](Self::from_env) `GOOGLE_CLOUD_API_KEY`) requests go to the address that needs no
/// project. Else a token is needed, a project and a location: the token by
/// [`with_credentials`](Self::with_credentials), or by
/// [`with_application_default`](Self::with_application_default), or with `from_env` the
/// application-default credentials of the machine; project and location by the options `project` and `location`
/// of the request, by this value, or with `from_env` by `GOOGLE_CLOUD_PROJECT` or `GCLOUD_PROJECT` and
/// `GOOGLE_CLOUD_LOCATION`. A key in the form `<...>` is a placeholder and counts as none.
///
/// # Examples
/// ```no_run
/// use pi_ai::Vertex;
/// use pi_core::{Context, Message, Model, Provider, Request, UserMessage};
///
/// # async fn run() -> Result<(), pi_core::ProviderError> {
/// let model = Model::new("gemini-2.5-flash", "google-vertex", "google-vertex", "");
/// let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
///
/// let vertex = Vertex::from_env().with_project("my-project").with_location("global");
/// let message = vertex.stream(Request::new(model, context)).finish().await?;
/// println!("{}", message.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Vertex {
    settings: Settings,
    project: Option<String>,
    location: Option<String>,
    default_credentials: ApplicationDefault,
    /// The credentials were given, so that they are used without the environment too.
    has_default_credentials: bool,
}

impl Vertex {
    /// Creates a provider that knows no key and does not read the environment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a provider that takes from the environment what nothing else gives.
    #[must_use]
    pub fn from_env() -> Self {
        let mut vertex = Self::new();
        vertex.settings.sources.use_env = true;
        vertex
    }

    /// Creates a provider that shares settings and tokens with others.
    pub(crate) fn with_settings(
        settings: Settings,
        default_credentials: ApplicationDefault,
    ) -> Self {
        Self {
            settings,
            default_credentials,
            ..Self::default()
        }
    }

    /// Sets the key for all requests; it replaces [`Credentials`].
    #[must_use]
    pub fn with_key(mut self, key: impl Into<SecretString>) -> Self {
        self.settings.sources.source = Source::Key(key.into());
        self
    }

    /// Sets where tokens come from; it replaces a key.
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Credentials + 'static) -> Self {
        self.settings.sources.source = Source::Application(Arc::new(credentials));
        self
    }

    /// Sets the application-default credentials, which are used where no key is found; it replaces a
    /// key and [`Credentials`]. The requests of a user count against the project of the login.
    #[must_use]
    pub fn with_application_default(mut self, credentials: ApplicationDefault) -> Self {
        self.settings.sources.source = Source::None;
        self.default_credentials = credentials;
        self.has_default_credentials = true;
        self
    }

    /// Sets the project that is asked.
    #[must_use]
    pub fn with_project(mut self, project: impl Into<String>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Sets the location that is asked, such as `europe-west1` or `global`.
    #[must_use]
    pub fn with_location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Sets the address for all requests, with the version of the API: what stands before
    /// `/projects/` or `/publishers/`. One that has `/projects/` is complete.
    #[must_use]
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.settings.base_url = Some(base_url.into());
        self
    }

    /// Sets the HTTP client, to share its connections or to change its limits, retries and clock.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.settings.client = client;
        self
    }

    /// Makes the provider of one request, which knows the whole address.
    fn prepare(&self, request: &mut Request) -> Result<HttpProvider<VertexAi>, ProviderError> {
        let options = &mut request.options;
        if options.api_key.as_ref().is_some_and(is_placeholder) {
            options.api_key = None;
        }
        let mut settings = self.settings.clone();
        let has_key = self.has_key(request);
        settings.base_url = Some(self.base_url(request, has_key)?);
        let sources = &mut settings.sources;
        let uses_default = self.has_default_credentials || sources.use_env;
        if !has_key && uses_default && matches!(sources.source, Source::None) {
            let credentials = self.default_credentials.clone();
            let credentials = credentials.with_client(settings.client.clone());
            if let Some(project) = credentials.quota_project() {
                let headers = &mut request.options.headers;
                headers.entry(QUOTA_PROJECT.to_owned()).or_insert(project);
            }
            sources.source = Source::Application(Arc::new(credentials));
        }
        Ok(settings.into())
    }

    fn has_key(&self, request: &Request) -> bool {
        let sources = &self.settings.sources;
        let of_env = || env::key_of(&request.model.provider, |name| std::env::var(name).ok());
        let is_by_hand = || wire::headers(request).contains_key(wire::KEY_HEADER);
        request.options.api_key.is_some()
            || is_by_hand()
            || match sources.source {
                Source::Key(_) => true,
                Source::Application(_) => false,
                Source::None => sources.use_env && of_env().is_some(),
            }
    }

    fn base_url(&self, request: &Request, has_key: bool) -> Result<String, ProviderError> {
        // The catalogue's address is a pattern for what is worked out here.
        let of_model = Some(request.model.base_url.as_str());
        let of_model = of_model.filter(|url| !url.trim().is_empty() && !url.contains("{location}"));
        let host = self.settings.base_url.as_deref().or(of_model);
        match host {
            Some(host) if has_key || host.contains("/projects/") => return Ok(host.to_owned()),
            None if has_key => return Ok(wire::VERTEX_BASE_URL.to_owned()),
            _ => {}
        }
        let project = self.find(
            request,
            "project",
            self.project.as_ref(),
            &["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"],
        )?;
        let location = self.find(
            request,
            "location",
            self.location.as_ref(),
            &["GOOGLE_CLOUD_LOCATION"],
        )?;
        Ok(wire::vertex_base_url(host, &project, &location))
    }

    /// Finds a part of the address: the request's, else this value's, else that of the environment.
    fn find(
        &self,
        request: &Request,
        what: &str,
        own: Option<&String>,
        variables: &[&str],
    ) -> Result<String, ProviderError> {
        let of_request = request.options.extra.get(what).and_then(Value::as_str);
        let found = of_request.map(str::to_owned).or_else(|| own.cloned());
        let found = found.or_else(|| {
            let mut variables = variables.iter().filter(|_| self.settings.sources.use_env);
            variables.find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        });
        found.ok_or_else(|| {
            let variable = variables.first().unwrap_or(&what);
            let text = format!(
                "Vertex AI needs a {what}: use with_{what}(), or set {variable} and use from_env(), \
                 or pass an API key"
            );
            ProviderError::new(ErrorKind::InvalidRequest, text)
        })
    }
}

impl Provider for Vertex {
    fn stream(&self, mut request: Request) -> AssistantStream {
        match self.prepare(&mut request) {
            Ok(provider) => provider.stream(request),
            Err(error) => {
                let model = &request.model;
                let error = error.with_model(&model.provider, &model.id);
                AssistantStream::failed(&request, self.settings.client.clock().now(), &error)
            }
        }
    }
}

impl fmt::Debug for Vertex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vertex")
            .field("project", &self.project)
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

fn is_placeholder(key: &SecretString) -> bool {
    let key = key.expose_secret().trim();
    key.is_empty() || (key.len() > 2 && key.starts_with('<') && key.ends_with('>'))
}

/// The protocol `google-vertex`.
#[derive(Debug)]
enum VertexAi {}

impl Protocol for VertexAi {
    const NAME: &'static str = "Vertex";
    type Reply = wire::Reply;

    fn url(base_url: &str, request: &Request) -> Result<String, ProviderError> {
        Ok(wire::vertex_url(base_url, &request.model.id))
    }

    fn headers(request: &Request) -> BTreeMap<String, String> {
        wire::headers(request)
    }

    fn key_header(_: &Model) -> KeyHeader {
        KeyHeader::Plain(wire::KEY_HEADER)
    }

    fn body(request: &Request) -> impl Serialize + Send {
        wire::body(request)
    }

    fn http_error(status: u16, body: &[u8]) -> ProviderError {
        wire::http_error(status, body)
    }

    fn document_error(document: &Value) -> ProviderError {
        wire::stream_error(document)
    }
}
