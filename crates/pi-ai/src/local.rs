//! Servers that people run themselves: llama.cpp, Ollama, vLLM, LM Studio and the like.

use pi_ai_wire::openai_completions::API;
use pi_core::{ErrorKind, Model, ModelCompat, ProviderError, SecretString};
use pi_http::{Call, HttpClient, shown_url};
use serde::Deserialize;

use crate::credentials::LOCAL_PROVIDER;
use crate::openai_completions::ChatCompletions;
use crate::protocol::read_error;

/// Creates the model of a server that speaks OpenAI's protocol: a text model with unknown limits
/// and without a price. The address goes through [`normalize_base_url`].
///
/// The model uses only what all such servers understand; edit its `compat` for one that does more.
///
/// # Examples
/// ```
/// let model = pi_ai::local_model("127.0.0.1:8080", "qwen3-4b");
/// assert_eq!(model.base_url, "http://127.0.0.1:8080/v1");
/// assert_eq!(model.provider, "local");
/// ```
#[must_use]
pub fn local_model(base_url: &str, id: impl Into<String>) -> Model {
    let mut compat = ModelCompat::default();
    compat.supports_store = Some(false);
    compat.supports_developer_role = Some(false);
    compat.supports_reasoning_effort = Some(false);
    compat.supports_strict_mode = Some(false);
    compat.requires_string_content = Some(true);
    compat.max_tokens_field = Some("max_tokens".to_owned());
    let mut model = Model::new(id, API, LOCAL_PROVIDER, normalize_base_url(base_url));
    model.compat = Some(Box::new(compat));
    model
}

/// Turns what people write for the address of a server into the base URL of its API: adds `http://`
/// where no scheme is given and `/v1` where no path is given, and drops a trailing slash and the
/// path of the endpoint itself.
///
/// # Examples
/// ```
/// use pi_ai::normalize_base_url;
///
/// assert_eq!(normalize_base_url("localhost:11434/"), "http://localhost:11434/v1");
/// assert_eq!(normalize_base_url("http://127.0.0.1:8080/v1/"), "http://127.0.0.1:8080/v1");
/// assert_eq!(normalize_base_url("https://example.com/llm"), "https://example.com/llm");
/// ```
#[must_use]
pub fn normalize_base_url(base_url: &str) -> String {
    let base_url = base_url.trim();
    let base_url = match base_url.contains("://") {
        true => base_url.to_owned(),
        false => format!("http://{base_url}"),
    };
    let (address, query) = base_url.split_at(base_url.find(['?', '#']).unwrap_or(base_url.len()));
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix("/chat/completions").unwrap_or(address);
    let has_path = address
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('/'));
    let path = if has_path { "" } else { "/v1" };
    format!("{address}{path}{query}")
}

/// Asks a server for the ids of its models, in its order.
///
/// # Errors
/// Those of a request; kind `Protocol` if the answer is no list of models.
///
/// # Cancel safety
/// Dropping the future stops the request, which changes nothing at the server.
pub async fn list_models(
    client: &HttpClient,
    base_url: &str,
    key: Option<&SecretString>,
) -> Result<Vec<String>, ProviderError> {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    let url = format!("{}/models{query}", path.trim_end_matches('/'));
    let mut call = Call::get(&url);
    if let Some(key) = key {
        call = call.with_bearer(key);
    }
    let body = client.fetch(call, read_error::<ChatCompletions>).await?;
    let list: ModelList = serde_json::from_slice(&body).map_err(|error| {
        let text = format!("{} does not answer with a list of models", shown_url(&url));
        ProviderError::new(ErrorKind::Protocol, text)
            .with_retryable(false)
            .with_source(error)
    })?;
    Ok(list.data.into_iter().map(|model| model.id).collect())
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_write_them() {
        for (written, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            (" http://127.0.0.1:8080/v1// ", "http://127.0.0.1:8080/v1"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
            ("[::1]:8080", "http://[::1]:8080/v1"),
            ("https://host/v1/chat/completions", "https://host/v1"),
            ("https://host/api/v3", "https://host/api/v3"),
            ("https://host?version=1", "https://host/v1?version=1"),
            ("https://host/x?version=1", "https://host/x?version=1"),
        ] {
            assert_eq!(normalize_base_url(written), expected, "{written}");
            assert_eq!(normalize_base_url(expected), expected, "{expected}");
        }
    }
}
