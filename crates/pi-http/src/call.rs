//! One request, ready to be sent.

use std::fmt;
use std::future::Future;

use bytes::Bytes;
use pi_core::{BoxFuture, ErrorKind, ExposeSecret, ProviderError, SecretString};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use crate::address;

/// One request, ready to be sent: where to, with which headers, and the body.
///
/// The headers' values never show in `Debug`, nor do user info and query of the address. What
/// cannot be sent, such as a broken address or a line feed in a header, comes out as an error when
/// it is sent.
#[derive(Clone)]
pub struct Call {
    method: Method,
    url: String,
    headers: Vec<(String, SecretString)>,
    body: Option<Bytes>,
}

impl Call {
    /// Creates a `POST` of a JSON body.
    pub fn post(url: impl Into<String>, json: impl Into<Bytes>) -> Self {
        Self {
            method: Method::POST,
            url: url.into(),
            headers: Vec::new(),
            body: Some(json.into()),
        }
    }

    /// Creates a `PUT` of a JSON body.
    pub fn put(url: impl Into<String>, json: impl Into<Bytes>) -> Self {
        Self {
            method: Method::PUT,
            ..Self::post(url, json)
        }
    }

    /// Creates a `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            url: url.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Sets a header; it replaces an earlier one of that name, the defaults included. Every value
    /// is treated as a secret.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers
            .push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Sets `authorization` to a bearer token.
    #[must_use]
    pub fn with_bearer(self, token: &SecretString) -> Self {
        let value = format!("Bearer {}", token.expose_secret());
        self.with_header(AUTHORIZATION.as_str(), value)
    }

    /// Returns the method, for who signs the call.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Returns the address as it was given, which may hold secrets.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the headers that were set, in the order in which they were; of a name that occurs twice
    /// the last one is sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &SecretString)> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the body, empty if there is none.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    pub(crate) fn into_parts(self, accept: &'static str) -> Result<Parts, ProviderError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in &self.headers {
            let invalid = |part: &str| {
                let text = format!("the {part} of header \"{name}\" cannot be sent");
                ProviderError::new(ErrorKind::InvalidRequest, text)
            };
            let name = HeaderName::try_from(name).map_err(|_| invalid("name"))?;
            let mut value =
                HeaderValue::try_from(value.expose_secret()).map_err(|_| invalid("value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let url = address::parse(&self.url)?;
        Ok(Parts {
            method: self.method,
            url,
            headers,
            body: self.body,
        })
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("url", &address::shown_url(&self.url))
            .field("headers", &names)
            .field("body_bytes", &self.body.as_ref().map(Bytes::len))
            .finish()
    }
}

/// Makes the calls of one exchange: the first, and those of the retries.
///
/// A [`Call`] is a source that makes itself again. Closures that return a future are sources. A type
/// of one's own can do once what must not be done for each retry, such as writing the body; a key
/// should be looked up for each, since it may have expired during the wait.
pub trait CallSource: Send {
    /// Makes the call of the next attempt. It is awaited while the stream is polled.
    ///
    /// # Errors
    /// If there is no call to send; the stream ends in this error, without a retry.
    ///
    /// # Cancel safety
    /// Dropping the future drops the source too.
    fn call(&mut self) -> BoxFuture<'_, Result<Call, ProviderError>>;

    /// Takes note that the credential of the last call was refused with status 401, and tells whether
    /// the next call has another one; false by default. It is then made at once, besides the retries.
    /// This is asked at most once.
    ///
    /// # Errors
    /// If looking for another credential fails; the stream ends in this error.
    ///
    /// # Cancel safety
    /// Dropping the future drops the source too.
    fn renew(&mut self) -> BoxFuture<'_, Result<bool, ProviderError>> {
        Box::pin(std::future::ready(Ok(false)))
    }
}

impl CallSource for Call {
    fn call(&mut self) -> BoxFuture<'_, Result<Call, ProviderError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}

impl<F, R> CallSource for F
where
    F: FnMut() -> R + Send,
    R: Future<Output = Result<Call, ProviderError>> + Send + 'static,
{
    fn call(&mut self) -> BoxFuture<'_, Result<Call, ProviderError>> {
        Box::pin(self())
    }
}

/// A call that can be sent as it is.
pub(crate) struct Parts {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_address_keep_their_secrets() {
        let call = Call::post("https://me:s3cret@host/v1?key=s3cret", "s3cret")
            .with_bearer(&SecretString::from("s3cret"))
            .with_header("x-api-key", "s3cret");
        let shown = format!("{call:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(
            shown.contains("authorization") && shown.contains("https://host/v1"),
            "{shown}"
        );

        let parts = call.into_parts("*/*").ok().unwrap();
        let shown = format!("{:?}", parts.headers);
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        for call in [
            Call::get("http://host").with_header("x-key", "s3cret\n"),
            Call::get("http://host").with_header("x key", "s3cret"),
        ] {
            let error = call.into_parts("*/*").err().unwrap();
            assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
            assert!(error.message().contains("key") && !error.message().contains("s3cret"));
        }
    }

    #[test]
    fn who_signs_a_call_sees_all_of_it() {
        let call = Call::put("http://host/a", "{}").with_header("x-a", "1");
        assert_eq!(
            (call.method(), call.url(), call.body()),
            ("PUT", "http://host/a", &b"{}"[..])
        );
        let headers: Vec<_> = call
            .headers()
            .map(|(name, value)| (name, value.expose_secret()))
            .collect();
        assert_eq!(headers, [("x-a", "1")]);
        assert!(Call::get("http://host").body().is_empty());
    }

    #[test]
    fn the_last_header_of_a_name_wins() {
        let parts = Call::post("http://host", "{}")
            .with_header("Accept", "a")
            .with_header("accept", "b")
            .into_parts("text/event-stream")
            .ok()
            .unwrap();
        let values: Vec<_> = parts.headers.get_all("accept").iter().collect();
        assert_eq!(values, ["b"]);
    }
}
