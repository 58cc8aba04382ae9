//! The provider for `azure-openai-responses`.

use std::collections::BTreeMap;

use pi_ai_wire::azure_openai_responses as wire;
use pi_ai_wire::errors::{http_error, stream_error};
use pi_core::{Model, ProviderError, Request, StreamOptions};
use serde::Serialize;
use serde_json::Value;

use crate::http_provider::HttpProvider;
use crate::protocol::{KeyHeader, Protocol};

/// The provider for OpenAI's models on Azure, over the Responses API.
///
/// # Addresses
/// Each resource has its own address. It is that of [`with_base_url`](HttpProvider::with_base_url),
/// else that of the options `azureBaseUrl` or `azureResourceName`, else the model's. With
/// [`from_env`](HttpProvider::from_env) the options are completed from the environment:
/// `AZURE_OPENAI_BASE_URL`, `AZURE_OPENAI_RESOURCE_NAME`, `AZURE_OPENAI_API_VERSION` (option
/// `azureApiVersion`, `v1` by default) and `AZURE_OPENAI_DEPLOYMENT_NAME_MAP`, a list such as
/// `gpt-5=mine,gpt-4o=old` (option `azureDeploymentName`, the model's id by default).
///
/// # Examples
/// ```
/// use pi_ai::AzureOpenAi;
///
/// let provider = AzureOpenAi::from_env().with_base_url("https://lab.openai.azure.com");
/// # let _ = provider;
/// ```
pub type AzureOpenAi = HttpProvider<AzureResponses>;

/// The protocol `azure-openai-responses`.
#[derive(Debug)]
pub enum AzureResponses {}

/// The options, and the variables that complete them.
const OPTIONS: [(&str, &str); 3] = [
    ("azureBaseUrl", "AZURE_OPENAI_BASE_URL"),
    ("azureResourceName", "AZURE_OPENAI_RESOURCE_NAME"),
    ("azureApiVersion", "AZURE_OPENAI_API_VERSION"),
];

/// What to do about a model without a base URL, as those of the catalogue are.
const WITHOUT_BASE_URL: &str = concat!(
    "set one, or use from_env() with AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME ",
    "in the environment",
);

impl Protocol for AzureResponses {
    const NAME: &'static str = "AzureOpenAi";
    const WITHOUT_BASE_URL: &'static str = WITHOUT_BASE_URL;
    type Reply = wire::Reply;

    fn complete(request: &mut Request, read: &dyn Fn(&str) -> Option<String>) {
        let options = &mut request.options;
        // A resource that the options name is not to be replaced by an address of the environment.
        let is_addressed = wire::base_url(options).is_some();
        for (option, variable) in OPTIONS {
            if !(is_addressed && option != "azureApiVersion") {
                set(options, option, || read(variable));
            }
        }
        let model = request.model.id.as_str();
        set(options, "azureDeploymentName", || {
            let list = read("AZURE_OPENAI_DEPLOYMENT_NAME_MAP")?;
            wire::deployment_in(&list, model).map(str::to_owned)
        });
    }

    fn base_url(request: &Request) -> Option<String> {
        wire::base_url(&request.options)
    }

    fn url(base_url: &str, request: &Request) -> Result<String, ProviderError> {
        Ok(wire::url(base_url, &request.options))
    }

    fn headers(request: &Request) -> BTreeMap<String, String> {
        wire::headers(request)
    }

    fn key_header(_: &Model) -> KeyHeader {
        KeyHeader::Plain(wire::KEY_HEADER)
    }

    fn body(request: &Request) -> impl Serialize + Send {
        wire::body(request)
    }

    fn http_error(status: u16, body: &[u8]) -> ProviderError {
        http_error(status, body)
    }

    fn document_error(document: &Value) -> ProviderError {
        stream_error(document.get("error").unwrap_or(document))
    }
}

/// Sets an option of this API unless it is set.
fn set(options: &mut StreamOptions, name: &str, value: impl FnOnce() -> Option<String>) {
    if options.extra.get(name).is_none()
        && let Some(value) = value()
    {
        options.extra.insert(name, value.into());
    }
}

#[cfg(test)]
mod tests {
    use pi_core::Context;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_environment_completes_what_the_options_leave_out() {
        let read = |name: &str| match name {
            "AZURE_OPENAI_BASE_URL" => Some("https://env.openai.azure.com".to_owned()),
            "AZURE_OPENAI_API_VERSION" => Some("2025-04-01-preview".to_owned()),
            "AZURE_OPENAI_DEPLOYMENT_NAME_MAP" => Some("gpt-5=mine".to_owned()),
            _ => None,
        };
        for (options, url, model) in [
            (
                json!({}),
                "https://env.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
                "mine",
            ),
            (
                json!({ "azureResourceName": "lab", "azureApiVersion": "v1" }),
                "https://lab.openai.azure.com/openai/v1/responses?api-version=v1",
                "mine",
            ),
            (
                json!({ "azureBaseUrl": "http://own", "azureDeploymentName": "other" }),
                "http://own/responses?api-version=2025-04-01-preview",
                "other",
            ),
        ] {
            let model_of = Model::new("gpt-5", wire::API, "azure", "");
            let mut request = Request::new(model_of, Context::default());
            request.options = serde_json::from_value(options).unwrap();
            AzureResponses::complete(&mut request, &read);
            let base_url = AzureResponses::base_url(&request).unwrap();
            assert_eq!(AzureResponses::url(&base_url, &request).unwrap(), url);
            let body = serde_json::to_value(AzureResponses::body(&request)).unwrap();
            assert_eq!(body["model"], model);
        }
    }
}
