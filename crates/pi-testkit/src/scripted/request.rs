//! What a scripted provider remembers of a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_core::{Context, ExposeSecret, Model, Request, SecretString, StreamOptions};

/// Headers that carry credentials, in lower case.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
];

/// A request as a [`ScriptedProvider`](crate::ScriptedProvider) saw it, safe to print.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The model that was asked. Headers with credentials are masked.
    pub model: Arc<Model>,
    /// What it was shown.
    pub context: Context,
    /// How it was asked, without the key. Headers with credentials are masked.
    pub options: StreamOptions,
    api_key: Option<SecretString>,
}

impl RecordedRequest {
    pub(super) fn new(request: &Request) -> Self {
        let mut options = request.options.clone();
        let api_key = options.api_key.take();
        mask(&mut options.headers);
        let mut model = Arc::clone(&request.model);
        if model
            .headers
            .as_ref()
            .is_some_and(|headers| headers.keys().any(|name| is_secret(name)))
        {
            Arc::make_mut(&mut model).headers.iter_mut().for_each(mask);
        }
        Self {
            model,
            context: request.context.clone(),
            options,
            api_key,
        }
    }

    /// Returns true if the request came with this key.
    #[must_use]
    pub fn has_api_key(&self, key: &str) -> bool {
        self.api_key
            .as_ref()
            .is_some_and(|own| own.expose_secret() == key)
    }

    /// Returns true if the request came without a key.
    #[must_use]
    pub fn has_no_api_key(&self) -> bool {
        self.api_key.is_none()
    }

    /// Returns the roles of the messages as they are spelled in JSON: the shortest useful thing to
    /// compare.
    #[must_use]
    pub fn roles(&self) -> Vec<&'static str> {
        self.context
            .messages
            .iter()
            .map(pi_core::Message::role)
            .collect()
    }
}

fn mask(headers: &mut BTreeMap<String, String>) {
    for (name, value) in headers {
        if is_secret(name) {
            "***".clone_into(value);
        }
    }
}

fn is_secret(name: &str) -> bool {
    SECRET_HEADERS
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret))
}
