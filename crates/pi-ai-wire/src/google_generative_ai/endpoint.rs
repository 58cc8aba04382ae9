//! Where a request goes, and with which headers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pi_core::Request;

use crate::headers;

/// The header of an API key.
pub const KEY_HEADER: &str = "x-goog-api-key";

/// The address of Vertex AI for those who show a key, and for the location `global`.
pub const VERTEX_BASE_URL: &str = "https://aiplatform.googleapis.com/v1";

/// Returns the address of the endpoint of a model below `base_url`, whose query stays.
#[must_use]
pub fn url(base_url: &str, model: &str) -> String {
    let is_path = model.starts_with("models/") || model.starts_with("tunedModels/");
    let parent = if is_path { "" } else { "models/" };
    below(base_url, parent, model)
}

/// Returns the address of a project on Vertex AI at a location, such as `us-central1` or `global`.
/// `host` takes the place of Google's own, with the version of the API.
///
/// # Examples
/// ```
/// use pi_ai_wire::google_generative_ai::{vertex_base_url, vertex_url};
///
/// let base_url = vertex_base_url(None, "my-project", "us-central1");
/// assert_eq!(
///     vertex_url(&base_url, "gemini-2.5-pro"),
///     "https://us-central1-aiplatform.googleapis.com/v1/projects/my-project/locations/us-central1/\
///      publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
/// );
/// ```
#[must_use]
pub fn vertex_base_url(host: Option<&str>, project: &str, location: &str) -> String {
    let (host, query) = match host.map(split_query) {
        Some((host, query)) => (Some(host), query),
        None => (None, ""),
    };
    let mut url = match (host, location) {
        (Some(host), _) => host.trim_end_matches('/').to_owned(),
        (None, "global") => VERTEX_BASE_URL.to_owned(),
        // These are several regions each.
        (None, "eu" | "us") => format!("https://aiplatform.{location}.rep.googleapis.com/v1"),
        (None, _) => format!("https://{location}-aiplatform.googleapis.com/v1"),
    };
    for part in ["projects", project, "locations", location] {
        url.push('/');
        push_escaped(&mut url, part);
    }
    url + query
}

/// Returns the address of the endpoint of a model on Vertex AI below `base_url`: that of a project,
/// or [`VERTEX_BASE_URL`] where a key tells the project.
///
/// A model of another publisher is named with it, such as `meta/llama-4`. A name that begins with
/// `projects/` has its own project.
#[must_use]
pub fn vertex_url(base_url: &str, model: &str) -> String {
    if model.starts_with("projects/") {
        let (base, query) = split_query(base_url);
        let host = base.split("/projects/").next().unwrap_or(base);
        return below(&format!("{host}{query}"), "", model);
    }
    if model.starts_with("publishers/") || model.starts_with("models/") {
        return below(base_url, "", model);
    }
    match model.split_once('/') {
        Some((publisher, model)) => {
            let mut parent = "publishers/".to_owned();
            push_escaped(&mut parent, publisher);
            below(base_url, &(parent + "/models/"), model)
        }
        None => below(base_url, "publishers/google/models/", model),
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
    let (base, query) = split_query(base_url);
    let mut url = format!("{}/{parent}", base.trim_end_matches('/'));
    push_escaped(&mut url, model);
    url.push_str(":streamGenerateContent");
    let separator = match query {
        "" => "?",
        "?" => "",
        _ => "&",
    };
    url + query + separator + "alt=sse"
}

/// Splits an address before its query.
fn split_query(url: &str) -> (&str, &str) {
    url.split_at(url.find('?').unwrap_or(url.len()))
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
    fn vertex_has_a_host_for_each_location() {
        for (host, location, expected) in [
            (None, "global", "https://aiplatform.googleapis.com/v1"),
            (None, "eu", "https://aiplatform.eu.rep.googleapis.com/v1"),
            (
                None,
                "europe-west1",
                "https://europe-west1-aiplatform.googleapis.com/v1",
            ),
            (Some("http://proxy/v1/"), "global", "http://proxy/v1"),
        ] {
            let expected = format!("{expected}/projects/example.com:p/locations/{location}");
            assert_eq!(vertex_base_url(host, "example.com:p", location), expected);
        }
    }

    #[test]
    fn a_query_stays_behind_the_path() {
        let base = vertex_base_url(Some("http://h/v1/?key=7"), "p", "l");
        assert_eq!(base, "http://h/v1/projects/p/locations/l?key=7");
        assert_eq!(
            vertex_url(&base, "projects/q/endpoints/9"),
            "http://h/v1/projects/q/endpoints/9:streamGenerateContent?key=7&alt=sse"
        );
    }

    #[test]
    fn vertex_wants_the_publisher() {
        let base = "https://h/v1/projects/p/locations/l";
        for (model, expected) in [
            (
                "gemini-x",
                "projects/p/locations/l/publishers/google/models/gemini-x",
            ),
            (
                "meta/llama",
                "projects/p/locations/l/publishers/meta/models/llama",
            ),
            (
                "publishers/a/models/b",
                "projects/p/locations/l/publishers/a/models/b",
            ),
            (
                "projects/q/locations/eu/endpoints/9",
                "projects/q/locations/eu/endpoints/9",
            ),
        ] {
            let expected = format!("https://h/v1/{expected}:streamGenerateContent?alt=sse");
            assert_eq!(vertex_url(base, model), expected);
        }
        assert_eq!(
            vertex_url(VERTEX_BASE_URL, "m"),
            "https://aiplatform.googleapis.com/v1/publishers/google/models/m:streamGenerateContent?alt=sse"
        );
    }
}
