//! What the providers over HTTP have in common.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use pi_ai_wire::codec::{Reply, ReplyDecoder};
use pi_core::{
    AssistantMessage, AssistantStream, BoxFuture, CancellationToken, ErrorKind, Model, Provider,
    ProviderError, Request, ResponseHook, SecretString,
};
use pi_http::{Call, CallSource, ErrorReader, Exchange, HttpClient, is_loopback};

use crate::credentials::{Credential, Credentials, LOCAL_PROVIDER, Source, Sources};
use crate::env;
use crate::protocol::{KeyHeader, Protocol, read_error};

/// A provider that speaks one protocol over HTTP, at the address that the model names.
///
/// Each protocol has a name for it: [`Anthropic`](crate::Anthropic),
/// [`AzureOpenAi`](crate::AzureOpenAi), [`Google`](crate::Google), [`Mistral`](crate::Mistral),
/// [`OpenAiCompletions`](crate::OpenAiCompletions) and
/// [`OpenAiResponses`](crate::OpenAiResponses). Clones are cheap and share connections.
///
/// # Keys
/// The key of a request is looked up when its stream is polled, and again for each retry: first
/// [`StreamOptions::api_key`](pi_core::StreamOptions::api_key), then the key or [`Credentials`] of this
/// value, then, only with [`from_env`](Self::from_env), the environment. Without a key the stream
/// ends in an error of kind `Auth`, except where none is needed: for a server on this machine, for
/// the provider `local`, and after [`without_key`](Self::without_key). Where the headers of the model
/// or the options hold a key (`authorization`, `api-key`, `x-api-key`, `x-goog-api-key`,
/// `cf-aig-authorization`), none is looked up.
///
/// # Retries
/// What fails before the first content event is sent again, as [`RetryPolicy`](crate::RetryPolicy)
/// says. A retry looks up the key again and nothing else: the payload hook runs once. A request whose
/// credential is refused with status 401 is sent once more if the [`Credentials`] have another one.
pub struct HttpProvider<P> {
    settings: Settings,
    protocol: PhantomData<fn() -> P>,
}

/// What all providers over HTTP can be told.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) client: HttpClient,
    pub(crate) sources: Sources,
    pub(crate) base_url: Option<String>,
}

impl Settings {
    /// Returns the address for a model: that of the settings, else that of the request (`named`), else
    /// that of the model. Parts in braces are filled in by `variable`; `advice` is for who has none.
    pub(crate) fn base_url(
        &self,
        model: &Model,
        named: Option<&str>,
        advice: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<String, ProviderError> {
        let base_url = self.base_url.as_deref().or(named);
        let base_url = base_url.unwrap_or(&model.base_url);
        if base_url.trim().is_empty() {
            let id = &model.id;
            let text = format!("model {id} has no base URL to send a request to: {advice}");
            return Err(ProviderError::new(ErrorKind::InvalidRequest, text));
        }
        env::fill_in(base_url, variable).map_err(|name| {
            let text = format!(
                "the base URL of {} needs {name}: set it and use from_env(), or set a base URL",
                model.provider
            );
            ProviderError::new(ErrorKind::InvalidRequest, text)
        })
    }

    /// Reads a variable of the environment, if that may be read.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let use_env = self.sources.use_env;
        use_env.then(|| std::env::var(name).ok()).flatten()
    }
}

impl<P: Protocol> HttpProvider<P> {
    /// Creates a provider that knows no key and does not read the environment.
    #[must_use]
    pub fn new() -> Self {
        Settings::default().into()
    }

    /// Creates a provider that takes keys from the environment, by
    /// [`key_variables`](crate::key_variables) of the model's provider, where nothing else gives
    /// one, and the parts of base URLs that stand in braces, such as `{CLOUDFLARE_ACCOUNT_ID}`. The
    /// environment is read for each request.
    #[must_use]
    pub fn from_env() -> Self {
        let mut settings = Settings::default();
        settings.sources.use_env = true;
        settings.into()
    }

    /// Sets the key for all requests; it replaces [`Credentials`].
    #[must_use]
    pub fn with_key(mut self, key: impl Into<SecretString>) -> Self {
        self.settings.sources.source = Source::Key(key.into());
        self
    }

    /// Sets where keys and tokens come from; it replaces a key.
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Credentials + 'static) -> Self {
        self.settings.sources.source = Source::Application(Arc::new(credentials));
        self
    }

    /// Sends requests for which no key is found without one.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.settings.sources.optional = true;
        self
    }

    /// Sets the address for all requests, in place of the model's. It is taken as it stands; see
    /// [`normalize_base_url`](crate::normalize_base_url).
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

impl<P> From<Settings> for HttpProvider<P> {
    fn from(settings: Settings) -> Self {
        Self {
            settings,
            protocol: PhantomData,
        }
    }
}

impl<P> Clone for HttpProvider<P> {
    fn clone(&self) -> Self {
        self.settings.clone().into()
    }
}

impl<P: Protocol> Default for HttpProvider<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Protocol> Provider for HttpProvider<P> {
    fn stream(&self, request: Request) -> AssistantStream {
        let start = Start::of(&request);
        let calls = Calls::<P> {
            settings: self.settings.clone(),
            request,
            written: None,
            shown: None,
            is_renewed: false,
            protocol: PhantomData,
        };
        let client = &self.settings.client;
        start.stream::<P::Reply>(client, calls, read_error::<P>, |exchange| {
            exchange.with_start_when_sent(P::STARTS_WHEN_SENT)
        })
    }
}

/// What the stream of a reply needs of its request, before the request goes to the source of calls.
pub(crate) struct Start {
    model: Arc<Model>,
    abort: Option<CancellationToken>,
    on_response: Option<ResponseHook>,
    max_retry_delay: Option<Duration>,
}

impl Start {
    pub(crate) fn of(request: &Request) -> Self {
        let options = &request.options;
        Self {
            model: Arc::clone(&request.model),
            abort: request.abort.clone(),
            on_response: options.on_response.clone(),
            max_retry_delay: options.max_retry_delay_ms.map(Duration::from_millis),
        }
    }

    /// Makes the stream, whose exchange is completed by `set`.
    pub(crate) fn stream<R: Reply + 'static>(
        self,
        client: &HttpClient,
        calls: impl CallSource + 'static,
        read_error: ErrorReader,
        set: impl FnOnce(Exchange<ReplyDecoder<R>>) -> Exchange<ReplyDecoder<R>>,
    ) -> AssistantStream {
        let seed = AssistantMessage::empty(&self.model, client.clock().now());
        let model_of_reply = Arc::clone(&self.model);
        let new_decoder = move || ReplyDecoder::<R>::new(Arc::clone(&model_of_reply));
        let exchange = Exchange::new(self.model, calls, new_decoder, read_error)
            .with_response_hook(self.on_response)
            .with_max_retry_delay(self.max_retry_delay);
        let stream = AssistantStream::from_source(seed, client.stream_events(set(exchange)));
        match self.abort {
            Some(token) => stream.abort_on(token),
            None => stream,
        }
    }
}

impl<P: Protocol> fmt::Debug for HttpProvider<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base_url = self.settings.base_url.as_deref();
        f.debug_struct(P::NAME)
            .field("base_url", &base_url.map(pi_http::shown_url))
            .finish_non_exhaustive()
    }
}

/// The calls of one request.
struct Calls<P> {
    settings: Settings,
    request: Request,
    /// The call as it is before the key and the headers, once the body has been written.
    written: Option<Call>,
    /// The credential of the last call.
    shown: Option<Credential>,
    /// That credential is one that was refreshed, and stays.
    is_renewed: bool,
    protocol: PhantomData<fn() -> P>,
}

impl<P: Protocol> CallSource for Calls<P> {
    fn call(&mut self) -> BoxFuture<'_, Result<Call, ProviderError>> {
        Box::pin(self.next())
    }

    fn renew(&mut self) -> BoxFuture<'_, Result<bool, ProviderError>> {
        Box::pin(self.refresh())
    }
}

impl<P: Protocol> Calls<P> {
    async fn next(&mut self) -> Result<Call, ProviderError> {
        if self.written.is_none() && self.settings.sources.use_env {
            P::complete(&mut self.request, &|name| std::env::var(name).ok());
        }
        let (settings, model) = (&self.settings, &self.request.model);
        let named = P::base_url(&self.request);
        let base_url = settings.base_url(model, named.as_deref(), P::WITHOUT_BASE_URL, |name| {
            settings.variable(name)
        })?;
        let headers = P::headers(&self.request);
        if !self.is_renewed {
            let is_written_by_hand = KeyHeader::is_among(&headers);
            self.shown = self.credential(&base_url, is_written_by_hand).await?;
        }
        let mut call = match &self.written {
            Some(call) => call.clone(),
            None => {
                let body = payload::<P>(&self.request).await?;
                let url = P::url(&base_url, &self.request)?;
                self.written.insert(Call::post(url, body)).clone()
            }
        };
        if let Some(credential) = &self.shown {
            call = KeyHeader::of::<P>(&self.request.model).add(call, credential);
        }
        for (name, value) in headers {
            call = call.with_header(name, value);
        }
        Ok(call)
    }

    async fn refresh(&mut self) -> Result<bool, ProviderError> {
        let Some(refused) = &self.shown else {
            return Ok(false);
        };
        let provider = &self.request.model.provider;
        let renewed = self.settings.sources.refresh(provider, refused).await?;
        self.is_renewed = renewed.is_some();
        self.shown = renewed;
        Ok(self.is_renewed)
    }

    async fn credential(
        &self,
        base_url: &str,
        is_written_by_hand: bool,
    ) -> Result<Option<Credential>, ProviderError> {
        if is_written_by_hand {
            return Ok(None);
        }
        let provider = &self.request.model.provider;
        let is_optional = provider == LOCAL_PROVIDER || is_loopback(base_url);
        let of_request = self.request.options.api_key.clone();
        let sources = &self.settings.sources;
        sources.find(of_request, provider, is_optional).await
    }
}

/// Writes the body and shows it to the payload hook.
pub(crate) async fn payload<P: Protocol>(request: &Request) -> Result<Vec<u8>, ProviderError> {
    let invalid = |error: serde_json::Error| {
        let text = "the request cannot be written as JSON";
        ProviderError::new(ErrorKind::InvalidRequest, text).with_source(error)
    };
    let mut replaced = None;
    if let Some(hook) = &request.options.on_payload {
        let payload = serde_json::to_value(P::body(request)).map_err(invalid)?;
        replaced = hook
            .call(payload, Arc::clone(&request.model))
            .await
            .map_err(|error| {
                ProviderError::new(ErrorKind::Hook, format!("the payload hook failed: {error}"))
                    .with_source(error)
            })?;
    }
    match replaced {
        Some(payload) => serde_json::to_vec(&payload),
        None => serde_json::to_vec(&P::body(request)),
    }
    .map_err(invalid)
}
