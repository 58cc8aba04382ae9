//! Where a request goes, and with which headers.

use std::collections::BTreeMap;

use pi_core::Request;

use crate::headers;

/// Returns the address of the endpoint below `base_url`, which may end in `/v1`. A query stays.
#[must_use]
pub fn url(base_url: &str) -> String {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path);
    format!("{path}/v1/chat/completions{query}")
}

/// Returns the headers of a request, names in lower case: the protocol's own, then those of the
/// model, then those of the options, each replacing the ones before.
///
/// Requests with the same `x-affinity`, which is the id of the session, find each other's prompts in
/// the cache. The key is not among the headers: `authorization` is the caller's.
#[must_use]
pub fn headers(request: &Request) -> BTreeMap<String, String> {
    let own = [
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
    ];
    let session = request.options.session_id.as_deref();
    let session = session.filter(|session| !session.is_empty());
    headers::collect(
        request,
        own.into_iter()
            .chain(session.map(|session| ("x-affinity", session))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_appended_once() {
        for (base, expected) in [
            ("https://a", "https://a/v1/chat/completions"),
            ("https://a/", "https://a/v1/chat/completions"),
            ("https://a/v1/", "https://a/v1/chat/completions"),
            (
                "https://a/mistral/v1",
                "https://a/mistral/v1/chat/completions",
            ),
            ("https://a?b=2", "https://a/v1/chat/completions?b=2"),
        ] {
            assert_eq!(url(base), expected);
        }
    }
}
