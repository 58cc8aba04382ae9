//! Where a request goes, and with which headers.

use std::collections::BTreeMap;

use pi_core::Request;

use crate::{affinity, headers};

/// Returns the address of the endpoint below `base_url`, whose query stays.
#[must_use]
pub fn url(base_url: &str) -> String {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    format!("{}/chat/completions{query}", path.trim_end_matches('/'))
}

/// Returns the headers of a request, names in lower case: the protocol's own, then those of the
/// model, then those of the options, each replacing the ones before.
///
/// The key is not among them: `authorization` is the caller's. The name of the conversation is where
/// the model's flag `sendSessionAffinityHeaders` says that the service routes by it.
#[must_use]
pub fn headers(request: &Request) -> BTreeMap<String, String> {
    let own = [
        ("accept", "application/json"),
        ("content-type", "application/json"),
    ];
    headers::collect(request, own.into_iter().chain(affinity::headers(request)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_appended_once() {
        for (base, expected) in [
            ("https://a/v1", "https://a/v1/chat/completions"),
            ("https://a/v1/", "https://a/v1/chat/completions"),
            ("https://a/v1//", "https://a/v1/chat/completions"),
            (
                "https://a/v1?version=2",
                "https://a/v1/chat/completions?version=2",
            ),
        ] {
            assert_eq!(url(base), expected);
        }
    }
}
