//! The protocol `azure-openai-responses`: the Responses API as Azure has it.
//!
//! Requests and responses are those of [`openai_responses`]. What differs: each
//! resource has an address of its own, which has a version; models go by the name of their
//! deployment; the key has the header [`KEY_HEADER`]; conversations are kept at the service unless
//! the payload hook says otherwise.
//!
//! The options of this API are read from `options.extra`: `azureBaseUrl`, `azureResourceName`,
//! `azureApiVersion` and `azureDeploymentName`.
//!
//! # Examples
//! ```
//! use pi_ai_wire::azure_openai_responses::{self, url};
//! use pi_core::StreamOptions;
//!
//! let options: StreamOptions = serde_json::from_str(r#"{ "azureResourceName": "lab" }"#)?;
//! let base_url = azure_openai_responses::base_url(&options).expect("a resource is named");
//! assert_eq!(
//!     url(&base_url, &options),
//!     "https://lab.openai.azure.com/openai/v1/responses?api-version=v1",
//! );
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::borrow::Cow;

use pi_core::{Request, StreamOptions};
use serde_json::Value;

use crate::openai_responses::{self, RequestBody};

pub use crate::openai_responses::{Decoder, Reply, headers};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "azure-openai-responses";

/// The header that carries the key.
pub const KEY_HEADER: &str = "api-key";

/// The version of the API that is asked for unless the options say another.
const DEFAULT_VERSION: &str = "v1";

/// The versions that have no date and are part of the path.
const UNDATED: [&str; 3] = ["v1", "preview", "latest"];

/// The hosts of resources, whose path is always the same.
const HOSTS: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
];

/// Makes the body of a request, which asks for a stream. The model goes by `azureDeploymentName`, and
/// by its id where that is absent.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    let deployment = text(&request.options, "azureDeploymentName");
    let deployment = deployment.unwrap_or(&request.model.id);
    openai_responses::azure_body(request, Cow::Borrowed(deployment))
}

/// Returns the base URL that the options name, in place of the model's: `azureBaseUrl`, or that of
/// `azureResourceName`.
#[must_use]
pub fn base_url(options: &StreamOptions) -> Option<String> {
    let base_url = text(options, "azureBaseUrl").map(str::to_owned);
    base_url.or_else(|| {
        let resource = text(options, "azureResourceName")?;
        Some(format!("https://{resource}.openai.azure.com/openai/v1"))
    })
}

/// Returns the address of the endpoint below a base URL, which may be that of the resource alone.
#[must_use]
pub fn url(base_url: &str, options: &StreamOptions) -> String {
    let version = text(options, "azureApiVersion").unwrap_or(DEFAULT_VERSION);
    let base_url = base_url.trim();
    let (address, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix("/responses").unwrap_or(address);
    let path = missing_path(address, version);
    let query = match query {
        "" | "?" => format!("?api-version={version}"),
        query if query.contains("api-version=") => query.to_owned(),
        query => format!("{query}&api-version={version}"),
    };
    format!("{address}{path}/responses{query}")
}

/// Returns what the address of a resource lacks.
fn missing_path(address: &str, version: &str) -> &'static str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let is_undated = UNDATED.contains(&version);
    match path {
        _ if !HOSTS.iter().any(|end| host.ends_with(end)) => "",
        "" if is_undated => "/openai/v1",
        "" => "/openai",
        "/openai" if is_undated => "/v1",
        _ => "",
    }
}

/// Finds the deployment of a model in a list such as `gpt-5=mine,gpt-4o=old`.
///
/// # Examples
/// ```
/// use pi_ai_wire::azure_openai_responses::deployment_in;
///
/// assert_eq!(deployment_in("gpt-5=mine, gpt-4o = old", "gpt-4o"), Some("old"));
/// assert_eq!(deployment_in("gpt-5=mine", "gpt-4o"), None);
/// ```
#[must_use]
pub fn deployment_in<'a>(list: &'a str, model: &str) -> Option<&'a str> {
    let entries = list.split(',').filter_map(|entry| entry.split_once('='));
    let entries = entries.map(|(id, name)| (id.trim(), name.trim()));
    entries
        .filter(|(id, name)| *id == model && !name.is_empty())
        .map(|(_, name)| name)
        .next_back()
}

fn text<'a>(options: &'a StreamOptions, name: &str) -> Option<&'a str> {
    let text = options.extra.get(name).and_then(Value::as_str)?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use pi_core::{Context, Model};
    use serde_json::json;

    use super::*;

    fn options(json: Value) -> StreamOptions {
        serde_json::from_value(json).expect("options")
    }

    #[test]
    fn addresses_are_taken_as_people_copy_them() {
        let v1 = "https://a.openai.azure.com/openai/v1/responses?api-version=v1";
        for (base, version, expected) in [
            ("https://a.openai.azure.com/openai/v1", None, v1),
            ("https://a.openai.azure.com/openai/v1//", None, v1),
            ("https://a.openai.azure.com/", None, v1),
            (" https://a.openai.azure.com/openai ", None, v1),
            ("https://a.openai.azure.com/openai/v1/responses", None, v1),
            (
                "https://a.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
                Some("2025-04-01-preview"),
                "https://a.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
            ),
            (
                "https://a.cognitiveservices.azure.com",
                Some("2025-04-01-preview"),
                "https://a.cognitiveservices.azure.com/openai/responses?api-version=2025-04-01-preview",
            ),
            (
                "http://127.0.0.1:8080/azure?x=1",
                None,
                "http://127.0.0.1:8080/azure/responses?x=1&api-version=v1",
            ),
        ] {
            let options = options(json!({ "azureApiVersion": version }));
            assert_eq!(url(base, &options), expected, "{base}");
        }
    }

    #[test]
    fn the_options_name_the_resource_and_the_deployment() {
        for (named, expected) in [
            (json!({}), None),
            (json!({ "azureResourceName": " " }), None),
            (
                json!({ "azureResourceName": "lab" }),
                Some("https://lab.openai.azure.com/openai/v1"),
            ),
            (
                json!({ "azureResourceName": "lab", "azureBaseUrl": "http://own" }),
                Some("http://own"),
            ),
        ] {
            assert_eq!(base_url(&options(named)).as_deref(), expected);
        }
        let model = Model::new("gpt-5", API, "azure", "");
        let mut request = Request::new(model, Context::default());
        let sent = |request: &Request| {
            let body = serde_json::to_value(body(request)).expect("a body is JSON");
            (body["model"].clone(), body.get("store").cloned())
        };
        assert_eq!(sent(&request), (json!("gpt-5"), None));
        request.options = options(json!({ "azureDeploymentName": "mine" }));
        assert_eq!(sent(&request), (json!("mine"), None));
    }

    #[test]
    fn the_last_entry_of_a_deployment_counts() {
        for (list, expected) in [
            ("", None),
            ("m", None),
            ("m=", None),
            ("x=y,m=a", Some("a")),
            ("m=a,m=b", Some("b")),
            (" m = a=b ,", Some("a=b")),
        ] {
            assert_eq!(deployment_in(list, "m"), expected, "{list}");
        }
    }
}
