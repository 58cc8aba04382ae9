//! The credentials that a request carries, kept out of what a server says about it.

use std::error::Error;
use std::fmt;

use pi_core::ProviderError;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};

/// What stands in the place of a credential.
const REDACTED: &str = "[redacted]";

/// Words in the names of headers and of parts of a query that hold credentials. Other values stay
/// readable, since a provider that complains about a version or an option repeats it.
const NAMES: [&str; 8] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "pass",
    "secret",
    "signature",
    "token",
];

/// The shortest text that is taken for a credential; keys of services have twice as many characters
/// and more. Shorter ones, such as the word that a local server wants in place of a key, are parts of
/// common words.
const MIN_BYTES: usize = 12;

/// The credentials of one request.
///
/// Some servers repeat the key that they refuse, and some gateways the whole request.
#[derive(Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Returns the credentials of a request: those of its headers, and those of the address as it was
    /// written.
    pub(crate) fn of(url: &Url, headers: &HeaderMap) -> Self {
        let mut secrets = Self::default();
        let of_headers = headers.iter().filter(|(name, _)| is_secret_header(name));
        for (_, value) in of_headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            // The scheme in front of a key is no part of it, and the padding behind it not always there.
            let parts = value.split_whitespace();
            parts.for_each(|part| secrets.add(part.trim_end_matches('=')));
        }
        for part in [url.username(), url.password().unwrap_or_default()] {
            secrets.add_encoded(part);
        }
        let query = url.query().unwrap_or_default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if is_secret(name) {
                secrets.add_encoded(value);
            }
        }
        // What holds another one is replaced before it.
        secrets
            .0
            .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    /// Adds a part of an address, as it stands there and as it is meant.
    fn add_encoded(&mut self, part: &str) {
        self.add(part);
        // A query is decoded by the rules of forms, which differ in the plus sign only.
        let form = format!("v={}", part.replace('+', "%2B"));
        if let Ok(url) = Url::parse(&format!("http://h/?{form}")) {
            url.query_pairs().for_each(|(_, value)| self.add(&value));
        }
    }

    fn add(&mut self, secret: &str) {
        if secret.len() >= MIN_BYTES && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
        }
    }

    /// Replaces the credentials in a text.
    pub(crate) fn redact_text(&self, text: &str) -> Option<String> {
        let mut redacted: Option<String> = None;
        for secret in &self.0 {
            let current = redacted.as_deref().unwrap_or(text);
            if current.contains(secret.as_str()) {
                redacted = Some(current.replace(secret.as_str(), REDACTED));
            }
        }
        redacted
    }

    /// Replaces the credentials in the body of an answer.
    pub(crate) fn redact_body(&self, body: Vec<u8>) -> Vec<u8> {
        // What is no UTF-8 is read with replacements afterwards too.
        match self.redact_text(&String::from_utf8_lossy(&body)) {
            Some(redacted) => redacted.into_bytes(),
            None => body,
        }
    }

    /// Replaces the credentials in an error. A cause that shows one is left out.
    pub(crate) fn redact(&self, error: ProviderError) -> ProviderError {
        let mut shown = format!("{error:?}");
        let mut cause = error.source();
        while let Some(error) = cause {
            shown.push_str(&format!("\n{error}"));
            cause = error.source();
        }
        if self.redact_text(&shown).is_none() {
            return error;
        }
        let text = |text: &str| self.redact_text(text).unwrap_or_else(|| text.to_owned());
        let mut info = error.info().clone();
        info.request_id = info.request_id.as_deref().map(text);
        ProviderError::from_info(info, text(error.message()))
            .with_model(error.provider(), error.model())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

fn is_secret_header(name: &HeaderName) -> bool {
    is_secret(name.as_str())
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests;
