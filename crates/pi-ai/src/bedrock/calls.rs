//! The calls of one request.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use pi_core::{BoxFuture, ErrorKind, ProviderError, Request, SecretString};
use pi_http::{Call, CallSource, is_loopback};
use serde_json::Value;

use super::region::{self, Target};
use super::sign::sign;
use super::{Bedrock, Converse};
use crate::credentials::Credential;
use crate::http_provider::payload;
use crate::protocol::{KeyHeader, Protocol};

/// The calls of one request, each signed when it is made.
pub(super) struct Calls {
    provider: Bedrock,
    request: Request,
    /// The body, once it has been written.
    body: Option<bytes::Bytes>,
    /// The bearer token of the last call.
    shown: Option<Credential>,
    /// That token is one that was refreshed, and stays.
    is_renewed: bool,
}

/// How a call tells who asks.
enum Auth {
    /// Not at all, or by a header that is there already.
    None,
    Bearer(Credential),
    Signature(Credentials),
}

impl Calls {
    pub(super) fn new(provider: Bedrock, request: Request) -> Self {
        Self {
            provider,
            request,
            body: None,
            shown: None,
            is_renewed: false,
        }
    }

    async fn next(&mut self) -> Result<Call, ProviderError> {
        let target = self.target().await?;
        let headers = Converse::headers(&self.request);
        let auth = self.auth(&target.base_url, &headers).await?;
        let url = Converse::url(&target.base_url, &self.request)?;
        let body = match &self.body {
            Some(body) => body.clone(),
            None => {
                let body = payload::<Converse>(&self.request).await?;
                self.body.insert(body.into()).clone()
            }
        };
        let mut call = Call::post(url, body);
        for (name, value) in headers {
            call = call.with_header(name, value);
        }
        match auth {
            Auth::None => Ok(call),
            Auth::Bearer(credential) => Ok(call.with_bearer(credential.secret())),
            Auth::Signature(credentials) => sign(call, &credentials, &target.region, self.now()),
        }
    }

    async fn auth(
        &mut self,
        base_url: &str,
        headers: &BTreeMap<String, String>,
    ) -> Result<Auth, ProviderError> {
        if KeyHeader::is_among(headers) {
            return Ok(Auth::None);
        }
        if !self.is_renewed {
            let sources = &self.provider.settings.sources;
            self.shown = sources.of_source(&self.request.model.provider).await?;
        }
        if let Some(shown) = &self.shown {
            return Ok(Auth::Bearer(shown.clone()));
        }
        let identity = &self.provider.identity;
        if let Some(key) = identity.key() {
            return Ok(Auth::Signature(key.clone()));
        }
        if let Some(token) = self.variable("AWS_BEARER_TOKEN_BEDROCK") {
            return Ok(Auth::Bearer(Credential::token(SecretString::from(token))));
        }
        let sources = &self.provider.settings.sources;
        let skips = self.variable("AWS_BEDROCK_SKIP_AUTH").as_deref() == Some("1");
        if sources.optional || skips {
            return Ok(Auth::None);
        }
        if sources.use_env || identity.has_profile() {
            let client = &self.provider.settings.client;
            let credentials = identity.credentials(client, self.now()).await;
            return Ok(Auth::Signature(credentials?));
        }
        if is_loopback(base_url) {
            return Ok(Auth::None);
        }
        let text = "no credentials of AWS: give an access key or a bearer token, name a profile, or \
                    use from_env() to look where AWS's own programs do";
        Err(ProviderError::new(ErrorKind::Auth, text))
    }

    async fn target(&self) -> Result<Target, ProviderError> {
        let Self {
            provider, request, ..
        } = self;
        let base_url = match provider.settings.base_url {
            None if request.model.base_url.trim().is_empty() => String::new(),
            _ => provider
                .settings
                .base_url(&request.model, None, "name a region", |name| {
                    self.variable(name)
                })?,
        };
        let asked = request.options.extra.get("region").and_then(Value::as_str);
        let asked = asked.filter(|region| !region.is_empty());
        let asked = asked
            .or(provider.region.as_deref())
            .or_else(|| region::of_model(&request.model.id))
            .map(str::to_owned)
            .or_else(|| self.variable("AWS_REGION"))
            .or_else(|| self.variable("AWS_DEFAULT_REGION"));
        let asked = match asked {
            Some(asked) => Some(asked),
            None if provider.identity.has_profile() || self.variable("AWS_PROFILE").is_some() => {
                provider.identity.region(&provider.settings.client).await
            }
            None => None,
        };
        Ok(Target::new(&base_url, asked.as_deref()))
    }

    /// Returns a variable of the environment that holds something, if that may be read.
    fn variable(&self, name: &str) -> Option<String> {
        let value = self.provider.settings.variable(name);
        value.filter(|value| !value.trim().is_empty())
    }

    fn now(&self) -> SystemTime {
        let clock = self.provider.settings.client.clock();
        SystemTime::UNIX_EPOCH + Duration::from_millis(clock.now())
    }

    async fn refresh(&mut self) -> Result<bool, ProviderError> {
        let Some(refused) = &self.shown else {
            return Ok(false);
        };
        let provider = &self.request.model.provider;
        let sources = &self.provider.settings.sources;
        let renewed = sources.refresh(provider, refused).await?;
        self.is_renewed = renewed.is_some();
        self.shown = renewed;
        Ok(self.is_renewed)
    }
}

impl CallSource for Calls {
    fn call(&mut self) -> BoxFuture<'_, Result<Call, ProviderError>> {
        Box::pin(self.next())
    }

    fn renew(&mut self) -> BoxFuture<'_, Result<bool, ProviderError>> {
        Box::pin(self.refresh())
    }
}
