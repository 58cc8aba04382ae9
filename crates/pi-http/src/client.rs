//! The client: connections, and the way from a call to the body of its answer.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use pi_ai_wire::codec::Decoder;
use pi_core::{Clock, ErrorKind, Phase, ProviderError, ResponseHead};
use reqwest::Url;
use rustls::ClientConfig;

use crate::address::{host_and_port, is_link_local, is_this_machine, shown_target, shown_url};
use crate::body::Body;
use crate::call::Call;
use crate::clock::TokioClock;
use crate::limits::{Limits, Timeouts};
use crate::retry::{Failure, Retries, RetryPolicy};
use crate::secrets::Secrets;
use crate::stream::{ErrorReader, EventStream, Exchange};
use crate::{failure, head, tls};

/// How long an idle connection is kept for the next request.
const POOL_IDLE: Duration = Duration::from_secs(90);

/// An HTTP client. Clones are cheap and share connections, limits, clock and the budget of retries.
///
/// It follows no redirect, so that a key is never sent to another host. Proxies are taken from the
/// environment (`HTTPS_PROXY` and the like), except for addresses of this machine and of its own link,
/// which are always connected directly. Certificates are checked against those that the system trusts;
/// they are read when the first request needs them.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    timeouts: Timeouts,
    limits: Limits,
    retries: Retries,
    /// The connections to other machines.
    network: OnceLock<Result<reqwest::Client, ProviderError>>,
    /// The connections that need neither a proxy nor certificates.
    direct: OnceLock<Result<reqwest::Client, ProviderError>>,
}

impl HttpClient {
    /// Creates a client with default limits and the system's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Creates a builder.
    #[must_use]
    pub fn builder() -> HttpClientBuilder {
        HttpClientBuilder::default()
    }

    /// Returns the clock that measures the deadlines.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Returns the time limits.
    #[must_use]
    pub fn timeouts(&self) -> &Timeouts {
        &self.shared.timeouts
    }

    /// Returns the size limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Returns when a request is sent again.
    #[must_use]
    pub fn retry_policy(&self) -> &RetryPolicy {
        &self.shared.retries.policy
    }

    pub(crate) fn retries(&self) -> &Retries {
        &self.shared.retries
    }

    /// Asks for a stream of events. Nothing is sent until the stream is polled.
    ///
    /// # Events
    /// Those of the decoder, then the stream ends. Every failure is an `Error` event: of the call's
    /// preparation, of the connection, a status other than 2xx, a document in place of an event
    /// stream, a limit, or what the decoder finds. Before the first content event it is an event only
    /// when the [`RetryPolicy`] gives up.
    ///
    /// # Cancel safety
    /// All state is in the stream; dropping it stops the request and closes its connection.
    pub fn stream_events<D: Decoder>(&self, exchange: Exchange<D>) -> EventStream<D> {
        EventStream::new(self.clone(), exchange)
    }

    /// Sends a call once and returns the whole body of its answer, at most
    /// [`Limits::event_bytes`] of it.
    ///
    /// # Errors
    /// As in [`stream_events`](Self::stream_events), without retries.
    ///
    /// # Cancel safety
    /// Dropping the future stops the request; whether the server has seen it is unknown.
    pub async fn fetch(&self, call: Call, read_error: ErrorReader) -> Result<Bytes, ProviderError> {
        let sent = self.send(call, "application/json").await;
        let mut answer = sent.map_err(|failure| failure.error)?;
        if !answer.is_success() {
            let failure = self.refused(answer, Vec::new(), read_error).await;
            return Err(failure.error);
        }
        self.whole_body(&mut answer).await
    }

    /// Sends a call once and returns head and body of its answer, whatever its status: for the
    /// services that hand out credentials. All of it may take as long as `limit`.
    ///
    /// # Errors
    /// If there is no whole answer: no connection, no head or body in time, or a body beyond
    /// [`Limits::event_bytes`].
    ///
    /// # Cancel safety
    /// Dropping the future stops the request; whether the server has seen it is unknown.
    pub async fn ask(
        &self,
        call: Call,
        limit: Option<Duration>,
    ) -> Result<(ResponseHead, Bytes), ProviderError> {
        let url = call.url().to_owned();
        let answer = async {
            let sent = self.send(call, "*/*").await;
            let mut answer = sent.map_err(|failure| failure.error)?;
            let body = self.whole_body(&mut answer).await?;
            Ok((answer.head, body))
        };
        match self.within(limit, answer).await {
            Some(answer) => answer,
            None => {
                let url = shown_url(&url);
                Err(failure::timeout(
                    Phase::Whole,
                    limit.unwrap_or_default(),
                    &url,
                ))
            }
        }
    }

    async fn whole_body(&self, answer: &mut Answer) -> Result<Bytes, ProviderError> {
        if let Some(error) = answer.compressed() {
            return Err(self.complete(error, answer));
        }
        let (limit, socket) = (self.shared.limits.event_bytes, self.shared.timeouts.socket);
        let mut read = Vec::new();
        let reading = self
            .within(socket, answer.body.read_to(&mut read, limit))
            .await;
        let error = match reading {
            Some(Ok(())) if read.len() > limit => too_large("the answer", limit),
            Some(Ok(())) => return Ok(read.into()),
            Some(Err(error)) => error,
            None => {
                let host = answer.body.host();
                failure::timeout(Phase::Socket, socket.unwrap_or_default(), host)
            }
        };
        Err(self.complete(error, answer))
    }

    /// Sends a call and waits for the head of its answer.
    pub(crate) async fn send(&self, call: Call, accept: &'static str) -> Result<Answer, Failure> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(failure::no_runtime().into());
        }
        let parts = call.into_parts(accept)?;
        let client = self.connections(&parts.url)?;
        let mut request = client
            .request(parts.method, parts.url.clone())
            .headers(parts.headers);
        if let Some(body) = parts.body {
            request = request.body(body);
        }
        let connect = self.shared.timeouts.connect;
        let request = match request.build() {
            Ok(request) => request,
            Err(error) => return Err(failure::sending(error, &parts.url, connect).into()),
        };
        // The user info of the address has become a header by now.
        let secrets = Secrets::of(&parts.url, request.headers());
        let host = host_and_port(&parts.url);
        let sent = self.shared.clock.monotonic();
        let (phase, limit) = self.shared.timeouts.until_head();
        let error = match self.within(limit, client.execute(request)).await {
            Some(Ok(response)) => {
                return Ok(Answer {
                    head: head::of(&response),
                    body: Body::new(response, host),
                    url: parts.url,
                    secrets,
                    sent,
                });
            }
            Some(Err(error)) => failure::sending(error, &parts.url, connect),
            None => failure::timeout(phase, limit.unwrap_or_default(), &host),
        };
        let error = error.with_elapsed(self.shared.clock.monotonic().saturating_sub(sent));
        Err(Failure::without_head(error, host))
    }

    /// Reads what an answer that is no event stream says. `read` holds the part of the body that
    /// was read already.
    pub(crate) async fn refused(
        &self,
        mut answer: Answer,
        mut read: Vec<u8>,
        read_error: ErrorReader,
    ) -> Failure {
        let limit = self.shared.limits.error_body_bytes;
        // The status is known, so a body that breaks or hangs takes nothing from the error.
        let reading = answer.body.read_to(&mut read, limit);
        let _ = self.within(self.shared.timeouts.socket, reading).await;
        read.truncate(limit);
        // Before it is shortened, which could leave the head of a credential.
        let read = answer.secrets.redact_body(read);
        let error = match answer.redirect().or_else(|| answer.proxy_refusal()) {
            Some(error) => error,
            None => read_error(&answer.head, &read),
        };
        let error = self.complete(error, &answer);
        let (word, host) = (answer.should_retry(), answer.body.host().to_owned());
        match answer.is_success() {
            true => Failure::of_stream(error, false, word, host),
            false => Failure::of_status(error, word, host),
        }
    }

    /// Adds what the head of the answer says to an error.
    pub(crate) fn complete(&self, mut error: ProviderError, answer: &Answer) -> ProviderError {
        if error.status().is_none() && !answer.is_success() {
            error = error.with_status(answer.head.status);
        }
        if let (None, Some(id)) = (error.request_id(), head::request_id(&answer.head)) {
            error = error.with_request_id(id);
        }
        // What a body says of the wait counts where the headers are silent.
        if let Some(wait) = head::retry_after(&answer.head, self.shared.clock.now()) {
            error = error.with_retry_after(wait);
        }
        if let Some(retry) = answer.should_retry() {
            error = error.with_retryable(retry);
        }
        let elapsed = self.shared.clock.monotonic().saturating_sub(answer.sent);
        answer.secrets.redact(error).with_elapsed(elapsed)
    }

    /// Waits for a future as long as a limit allows; `None` if it passed.
    async fn within<F: Future>(&self, limit: Option<Duration>, future: F) -> Option<F::Output> {
        let Some(limit) = limit.filter(|limit| !limit.is_zero()) else {
            return Some(future.await);
        };
        match select(pin!(future), self.shared.clock.sleep(limit)).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }

    fn connections(&self, url: &Url) -> Result<&reqwest::Client, ProviderError> {
        let shared = &*self.shared;
        let direct = || {
            shared.direct.get_or_init(|| {
                connections(tls::trusting_nobody(), &shared.timeouts, |builder| {
                    builder.no_proxy()
                })
            })
        };
        let network = || {
            shared
                .network
                .get_or_init(|| connections(tls::system(), &shared.timeouts, |b| b))
        };
        let is_plain = url.scheme() == "http";
        let is_near = is_this_machine(url) || is_link_local(url);
        let client = match is_plain && is_near {
            true => direct(),
            false => match network() {
                // A machine without certificates still talks to its neighbours.
                Err(_) if is_plain => direct(),
                client => client,
            },
        };
        client.as_ref().map_err(Clone::clone)
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("timeouts", &self.shared.timeouts)
            .field("limits", &self.shared.limits)
            .field("retry", &self.shared.retries)
            .finish_non_exhaustive()
    }
}

/// Settings of an [`HttpClient`].
#[derive(Default)]
pub struct HttpClientBuilder {
    clock: Option<Arc<dyn Clock>>,
    timeouts: Timeouts,
    limits: Limits,
    retry: RetryPolicy,
    random: Option<Box<dyn Fn() -> f64 + Send + Sync>>,
    client: Option<reqwest::Client>,
}

impl HttpClientBuilder {
    /// Sets the time limits.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets the size limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets when a request is sent again.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sets the source of random numbers from 0 to 1 by which the waits before retries vary; a
    /// generator of the thread by default.
    #[must_use]
    pub fn random(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.random = Some(Box::new(random));
        self
    }

    /// Sets the clock; a [`TokioClock`] by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets the client that makes all connections. Proxies, certificates, redirects, the user agent
    /// and [`Timeouts::connect`] are then its own affair; it should follow no redirect.
    #[cfg(feature = "reqwest")]
    #[must_use]
    pub fn reqwest(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Creates the client.
    #[must_use]
    pub fn build(self) -> HttpClient {
        let connections = || match &self.client {
            Some(client) => OnceLock::from(Ok(client.clone())),
            None => OnceLock::new(),
        };
        HttpClient {
            shared: Arc::new(Shared {
                network: connections(),
                direct: connections(),
                clock: self.clock.unwrap_or_else(|| Arc::new(TokioClock::new())),
                timeouts: self.timeouts,
                limits: self.limits,
                retries: Retries::new(self.retry, self.random),
            }),
        }
    }
}

impl fmt::Debug for HttpClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientBuilder")
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// The head of an answer, and its body to be read.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) body: Body,
    url: Url,
    /// The credentials of the call.
    pub(crate) secrets: Secrets,
    /// When the call was sent, by the clock.
    pub(crate) sent: Duration,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.head.status)
    }

    /// Returns the provider's word on whether to try again.
    pub(crate) fn should_retry(&self) -> Option<bool> {
        head::should_retry(&self.head)
    }

    fn redirect(&self) -> Option<ProviderError> {
        let location = self.head.headers.get("location")?;
        if !(300..400).contains(&self.head.status) {
            return None;
        }
        let host = host_and_port(&self.url);
        let target = shown_target(&self.url, location);
        let text = format!(
            "{host} redirects to {target}, which is not followed: set the base URL to the right \
             address"
        );
        Some(ProviderError::new(ErrorKind::InvalidRequest, text))
    }
}

impl Answer {
    /// Returns the error of a proxy that wants to know who asks; only proxies answer so.
    fn proxy_refusal(&self) -> Option<ProviderError> {
        let text = "the proxy wants a user name and a password: put them into the proxy's address";
        (self.head.status == 407).then(|| ProviderError::new(ErrorKind::Proxy, text))
    }

    /// Returns the error of a body that is compressed. Nobody asked for that: events would wait in the
    /// compressor, and a small body could become a large one.
    pub(crate) fn compressed(&self) -> Option<ProviderError> {
        let encoding = self.head.headers.get("content-encoding")?;
        let is_plain = |part: &str| matches!(part.trim(), "" | "identity");
        if encoding.split(',').all(is_plain) {
            return None;
        }
        let text = format!("the answer is compressed (content-encoding: {encoding}), unasked");
        Some(ProviderError::new(ErrorKind::Protocol, text).with_retryable(false))
    }
}

/// Returns the error of a size limit.
pub(crate) fn too_large(what: &str, limit: usize) -> ProviderError {
    ProviderError::new(
        ErrorKind::TooLarge,
        format!("{what} is larger than {limit} bytes"),
    )
}

fn connections(
    tls: Result<ClientConfig, rustls::Error>,
    timeouts: &Timeouts,
    settings: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, ProviderError> {
    let tls = tls.map_err(|error| {
        let text = "cannot read the certificates that this system trusts: install the package \
                    ca-certificates or name a file in SSL_CERT_FILE";
        ProviderError::new(ErrorKind::Tls, text).with_source(error)
    })?;
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("pi/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .pool_idle_timeout(POOL_IDLE)
        .tls_backend_preconfigured(tls);
    if let Some(limit) = timeouts.connect.filter(|limit| !limit.is_zero()) {
        builder = builder.connect_timeout(limit);
    }
    settings(builder).build().map_err(|error| {
        ProviderError::new(ErrorKind::Connect, "cannot set up the HTTP client")
            .with_retryable(false)
            .with_source(error)
    })
}
