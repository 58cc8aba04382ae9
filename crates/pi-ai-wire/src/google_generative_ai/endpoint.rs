//! Where a request goes, and with which headers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pi_core::Request;

use crate::headers;

/// The header of an API key.
pub const KEY_HEADER: &str = "x-goog-api-key";

/// Returns the address of the endpoint of a model below `base_url`, whose query stays.
#[must_use]
pub fn url(base_url: &str, model: &str) -> String {
    let is_path = model.starts_with("models/") || model.starts_with("tunedModels/");
    let parent = if is_path { "" } else { "models/" };
    below(base_url, parent, model)
}

/// Returns the address of the endpoint of a model on Vertex AI below `base_url`, which holds the
/// version. `parent` is the project and the location; without them the key decides.
///
/// A model of another publisher is named with it, such as `meta/llama-4`.
///
/// # Examples
/// ```
/// use pi_ai_wire::google_generative_ai::vertex_url;
///
/// let base_url = "https://us-central1-aiplatform.googleapis.com/v1";
/// assert_eq!(
///     vertex_url(base_url, Some(("p", "us-central1")), "gemini-2.5-pro"),
///     "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/\
///      publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
/// );
/// ```
#[must_use]
pub fn vertex_url(base_url: &str, parent: Option<(&str, &str)>, model: &str) -> String {
    let mut path = String::new();
    if let Some((project, location)) = parent
        && !model.starts_with("projects/")
    {
        for part in ["projects", project, "locations", location] {
            push_escaped(&mut path, part);
            path.push('/');
        }
    }
    let is_path = ["publishers/", "projects/", "models/"]
        .iter()
        .any(|start| model.starts_with(start));
    match model.split_once('/') {
        _ if is_path => below(base_url, &path, model),
        Some((publisher, model)) => {
            path.push_str("publishers/");
            push_escaped(&mut path, publisher);
            path.push_str("/models/");
            below(base_url, &path, model)
        }
        None => below(base_url, &(path + "publishers/google/models/"), model),
    }
}

/// Returns the headers of a request, names in lower case: the protocol's own, then those of the
/// model, then those of the options, each replacing the ones before.
///
/// The key is not among them: that header is the caller's.
#[must_use]
pub fn headers(request: &Request) -> BTreeMap<String, String> {
    headers::collect(request, [("content-type", "application/json")])
}

fn below(base_url: &str, parent: &str, model: &str) -> String {
    let (base, query) = base_url.split_once('?').unwrap_or((base_url, ""));
    let mut url = format!("{}/{parent}", base.trim_end_matches('/'));
    push_escaped(&mut url, model);
    url.push_str(":streamGenerateContent?");
    if !query.is_empty() {
        url.push_str(query);
        url.push('&');
    }
    url.push_str("alt=sse");
    url
}

/// Appends a part of a path; what would end the path is escaped.
fn push_escaped(url: &mut String, part: &str) {
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b':'
            | b'@' => url.push(char::from(byte)),
            _ => {
                // Writing to a string does not fail.
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_part_of_the_path() {
        for (base, model, expected) in [
            (
                "https://h/v1beta",
                "gemini-x",
                "https://h/v1beta/models/gemini-x",
            ),
            (
                "https://h/v1beta/",
                "gemini-x",
                "https://h/v1beta/models/gemini-x",
            ),
            (
                "https://h/v1",
                "models/gemini-x",
                "https://h/v1/models/gemini-x",
            ),
            (
                "https://h/v1",
                "tunedModels/mine",
                "https://h/v1/tunedModels/mine",
            ),
            (
                "https://h/v1",
                "a?b#c d",
                "https://h/v1/models/a%3Fb%23c%20d",
            ),
        ] {
            let expected = format!("{expected}:streamGenerateContent?alt=sse");
            assert_eq!(url(base, model), expected);
        }
        assert_eq!(
            url("https://h/v1?tenant=7", "m"),
            "https://h/v1/models/m:streamGenerateContent?tenant=7&alt=sse"
        );
    }

    #[test]
    fn vertex_wants_project_location_and_publisher() {
        let scope = Some(("p-1", "global"));
        for (scope, model, expected) in [
            (
                scope,
                "gemini-x",
                "projects/p-1/locations/global/publishers/google/models/gemini-x",
            ),
            (
                scope,
                "meta/llama",
                "projects/p-1/locations/global/publishers/meta/models/llama",
            ),
            (
                scope,
                "publishers/a/models/b",
                "projects/p-1/locations/global/publishers/a/models/b",
            ),
            (
                scope,
                "projects/q/locations/eu/endpoints/9",
                "projects/q/locations/eu/endpoints/9",
            ),
            (
                Some(("example.com:p", "eu")),
                "m",
                "projects/example.com:p/locations/eu/publishers/google/models/m",
            ),
            (None, "gemini-x", "publishers/google/models/gemini-x"),
        ] {
            let url = vertex_url("https://h/v1/", scope, model);
            assert_eq!(
                url,
                format!("https://h/v1/{expected}:streamGenerateContent?alt=sse")
            );
        }
    }
}
