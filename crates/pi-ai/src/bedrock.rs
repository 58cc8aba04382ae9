//! The provider for everything that speaks `bedrock-converse-stream`.

mod calls;
mod connector;
mod identity;
mod region;
mod sign;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pi_ai_wire::bedrock_converse_stream as wire;
use pi_ai_wire::framing::Framing;
use pi_core::{
    AssistantStream, Model, Provider, ProviderError, Request, ResponseHead, SecretString,
};
use pi_http::HttpClient;
use serde::Serialize;
use serde_json::Value;

use self::calls::Calls;
use self::identity::Identity;
use crate::credentials::{Credentials, Source};
use crate::http_provider::{Settings, Start};
use crate::protocol::{self, KeyHeader, Protocol};

/// The provider for Amazon Bedrock, all vendors' models of it.
///
/// Requests are signed anew for each attempt, or carry a bearer token. They go the way of all others:
/// deadlines, retries and limits hold, and no client of AWS is behind it. Clones are cheap and share
/// connections and credentials.
///
/// # Credentials
/// The first of these that there is:
/// 1. a header `authorization` of the model or the options, which is sent as it is;
/// 2. the bearer token, or what the [`Credentials`] of the application give, as a bearer token;
/// 3. the access key ([`with_access_key`](Self::with_access_key));
/// 4. only with [`from_env`](Self::from_env): the bearer token in `AWS_BEARER_TOKEN_BEDROCK`;
/// 5. with `from_env` or [`with_profile`](Self::with_profile): the chain of AWS, which is environment,
///    profile (with SSO, assumed roles and external programs), web identity, container and instance.
///
/// [`StreamOptions::api_key`](pi_core::StreamOptions::api_key) is not looked at: a key of another
/// service must not go to AWS. What the chain finds is kept until it expires.
///
/// # Region
/// The first of these that there is: `region` in the options' `extra`,
/// [`with_region`](Self::with_region), the region in the model's ARN, with `from_env` the variables
/// `AWS_REGION` and `AWS_DEFAULT_REGION`, the profile that was named, the host of the base URL,
/// `us-east-1`. Where the base URL is a public endpoint of Bedrock, that of the region takes its place.
///
/// # Examples
/// ```no_run
/// use pi_ai::Bedrock;
/// use pi_core::{Context, Message, Model, Provider, Request, UserMessage};
///
/// # async fn run() -> Result<(), pi_core::ProviderError> {
/// let base_url = "https://bedrock-runtime.eu-west-1.amazonaws.com";
/// let model = Model::new("amazon.nova-lite-v1:0", "bedrock-converse-stream", "amazon-bedrock", base_url);
/// let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
///
/// let mut reply = Bedrock::from_env().stream(Request::new(model, context));
/// println!("{}", reply.finish().await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Bedrock {
    settings: Settings,
    region: Option<String>,
    identity: Identity,
}

impl Bedrock {
    /// Creates a provider that knows no credentials and does not read the environment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a provider that takes credentials and region from where AWS's own programs do, where
    /// nothing else gives them. `AWS_BEDROCK_SKIP_AUTH=1` sends requests unsigned, for proxies that sign
    /// them.
    #[must_use]
    pub fn from_env() -> Self {
        let mut settings = Settings::default();
        settings.sources.use_env = true;
        settings.into()
    }

    /// Sets the region.
    #[must_use]
    pub fn with_region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the profile of AWS's configuration files; this reads them, `from_env` or not.
    #[must_use]
    pub fn with_profile(mut self, profile: impl Into<String>) -> Self {
        self.identity = Identity::of_profile(profile.into());
        self
    }

    /// Sets the access key that requests are signed with; temporary ones have a session token too.
    #[must_use]
    pub fn with_access_key(
        mut self,
        id: impl Into<String>,
        secret: impl Into<SecretString>,
        session_token: Option<SecretString>,
    ) -> Self {
        self.identity = Identity::of_key(id.into(), &secret.into(), session_token.as_ref());
        self
    }

    /// Sets the bearer token of all requests, a Bedrock API key; it replaces [`Credentials`].
    #[must_use]
    pub fn with_bearer_token(mut self, token: impl Into<SecretString>) -> Self {
        self.settings.sources.source = Source::Key(token.into());
        self
    }

    /// Sets where bearer tokens come from; it replaces a token.
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Credentials + 'static) -> Self {
        self.settings.sources.source = Source::Application(Arc::new(credentials));
        self
    }

    /// Sends requests for which there are no credentials unsigned.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.settings.sources.optional = true;
        self
    }

    /// Sets the address for all requests, in place of the model's.
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
}

impl From<Settings> for Bedrock {
    fn from(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }
}

impl Provider for Bedrock {
    fn stream(&self, request: Request) -> AssistantStream {
        let start = Start::of(&request);
        let calls = Calls::new(self.clone(), request);
        let client = &self.settings.client;
        start.stream::<wire::Reply>(client, calls, read_error, |exchange| {
            exchange.with_framing(Framing::AwsEventStream)
        })
    }
}

impl fmt::Debug for Bedrock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base_url = self.settings.base_url.as_deref();
        f.debug_struct("Bedrock")
            .field("base_url", &base_url.map(pi_http::shown_url))
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// Reads the error of an answer that is no event stream.
fn read_error(head: &ResponseHead, body: &[u8]) -> ProviderError {
    if (200..300).contains(&head.status) {
        return protocol::read_error::<Converse>(head, body);
    }
    let error_type = head.headers.get("x-amzn-errortype").map(String::as_str);
    wire::http_error(head.status, error_type, body)
}

/// The protocol `bedrock-converse-stream`, as far as it is like the others.
enum Converse {}

impl Protocol for Converse {
    const NAME: &'static str = "Bedrock";
    type Reply = wire::Reply;

    fn url(base_url: &str, request: &Request) -> Result<String, ProviderError> {
        Ok(wire::url(base_url, &request.model.id))
    }

    fn headers(request: &Request) -> BTreeMap<String, String> {
        wire::headers(request)
    }

    fn key_header(_: &Model) -> KeyHeader {
        KeyHeader::Bearer("authorization")
    }

    fn body(request: &Request) -> impl Serialize + Send {
        wire::body(request)
    }

    fn http_error(status: u16, body: &[u8]) -> ProviderError {
        wire::http_error(status, None, body)
    }

    fn document_error(document: &Value) -> ProviderError {
        pi_ai_wire::errors::stream_error(document.get("error").unwrap_or(document))
    }
}
