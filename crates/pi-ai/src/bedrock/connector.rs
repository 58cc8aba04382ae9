//! The connections of the credential chain, which are those of all requests.

use std::fmt;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient as AwsHttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use pi_core::{ErrorKind, ProviderError};
use pi_http::{Call, HttpClient};

/// An HTTP client in the form that AWS's crates take.
#[derive(Clone)]
pub(super) struct Connector {
    client: HttpClient,
    limit: Option<Duration>,
}

impl Connector {
    pub(super) fn new(client: HttpClient) -> Self {
        Self {
            client,
            limit: None,
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl AwsHttpClient for Connector {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let limits = [settings.connect_timeout(), settings.read_timeout()];
        let limit: Duration = limits.into_iter().flatten().sum();
        SharedHttpConnector::new(Self {
            client: self.client.clone(),
            limit: Some(limit).filter(|limit| !limit.is_zero()),
        })
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let this = self.clone();
        HttpConnectorFuture::new(async move {
            let answer = this.client.ask(call_of(&request)?, this.limit).await;
            let (head, body) = answer.map_err(failed)?;
            let status = head.status.try_into().map_err(user)?;
            let mut response = HttpResponse::new(status, SdkBody::from(body));
            for (name, value) in head.headers {
                response
                    .headers_mut()
                    .try_insert(name, value)
                    .map_err(user)?;
            }
            Ok(response)
        })
    }
}

fn call_of(request: &HttpRequest) -> Result<Call, ConnectorError> {
    let url = request.uri();
    let body = || {
        let bytes = request.body().bytes();
        let bytes = bytes.map(Bytes::copy_from_slice);
        bytes.ok_or_else(|| user("the body is a stream"))
    };
    let mut call = match request.method() {
        "GET" => Call::get(url),
        "POST" => Call::post(url, body()?),
        "PUT" => Call::put(url, body()?),
        method => return Err(user(format!("{method} is not spoken"))),
    };
    for (name, value) in request.headers() {
        call = call.with_header(name, value);
    }
    Ok(call)
}

fn failed(error: ProviderError) -> ConnectorError {
    match error.kind() {
        ErrorKind::Timeout => ConnectorError::timeout(error.into()),
        ErrorKind::Connect | ErrorKind::Transport => ConnectorError::io(error.into()),
        _ => ConnectorError::other(error.into(), None),
    }
}

fn user(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ConnectorError {
    ConnectorError::user(error.into())
}
