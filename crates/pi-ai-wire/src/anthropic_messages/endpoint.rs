//! Where a request goes, and with which headers.

use std::collections::BTreeMap;

use pi_core::{Model, Request};
use serde_json::Value;

use super::compat::Compat;
use crate::headers;

/// The version of the API.
const VERSION: &str = "2023-06-01";

/// Arguments of calls come while the model writes them.
const TOOL_STREAMING: &str = "fine-grained-tool-streaming-2025-05-14";

/// Models with a budget for thoughts think between calls too.
const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";

/// Returns the address of the endpoint below `base_url`, which may end in `/v1`. A query stays.
#[must_use]
pub fn url(base_url: &str) -> String {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path);
    format!("{path}/v1/messages{query}")
}

/// Returns the headers of a request, names in lower case: the protocol's own, then those of the
/// model, then those of the options, each replacing the ones before.
///
/// The key is not among them: it is the caller's, see [`key_header`].
#[must_use]
pub fn headers(request: &Request) -> BTreeMap<String, String> {
    let compat = Compat::resolve(&request.model);
    let mut betas = Vec::new();
    if !is_copilot(&request.model) {
        betas.push(TOOL_STREAMING);
    }
    let is_interleaved = request
        .options
        .extra
        .get("interleavedThinking")
        .and_then(Value::as_bool);
    if is_interleaved.unwrap_or(true) && !compat.adaptive_thinking {
        betas.push(INTERLEAVED_THINKING);
    }
    let betas = betas.join(",");
    let mut own = vec![
        ("accept", "application/json"),
        ("anthropic-version", VERSION),
        ("content-type", "application/json"),
    ];
    if !betas.is_empty() {
        own.push(("anthropic-beta", &betas));
    }
    if let Some(session) = &request.options.session_id
        && compat.sends_session_affinity_headers
    {
        own.push(("x-session-affinity", session));
    }
    headers::collect(request, own)
}

/// Returns the header that carries the key: `x-api-key` with the key alone, or `authorization` with
/// a bearer token.
#[must_use]
pub fn key_header(model: &Model) -> &'static str {
    match is_copilot(model) {
        true => "authorization",
        false => "x-api-key",
    }
}

fn is_copilot(model: &Model) -> bool {
    model.provider == "github-copilot"
}

#[cfg(test)]
mod tests {
    use pi_core::{Context, StreamOptions};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_is_appended_once() {
        for (base, expected) in [
            ("https://a", "https://a/v1/messages"),
            ("https://a/", "https://a/v1/messages"),
            ("https://a/v1", "https://a/v1/messages"),
            ("https://a/x/v1/", "https://a/x/v1/messages"),
            ("https://a/x?version=2", "https://a/x/v1/messages?version=2"),
        ] {
            assert_eq!(url(base), expected);
        }
    }

    #[test]
    fn betas_are_those_that_the_model_needs() {
        let beta = |model: Model, options: Value| {
            let options: StreamOptions = serde_json::from_value(options).expect("options");
            let request = Request::new(model, Context::default()).with_options(options);
            headers(&request).remove("anthropic-beta")
        };
        let model = |id: &str, provider: &str| Model::new(id, "", provider, "");
        let both = "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14";
        let one = "fine-grained-tool-streaming-2025-05-14";
        let old = || model("claude-sonnet-4-5", "anthropic");
        assert_eq!(beta(old(), json!({})).as_deref(), Some(both));
        let without = json!({ "interleavedThinking": false });
        assert_eq!(beta(old(), without).as_deref(), Some(one));
        let new = model("claude-opus-4-6", "anthropic");
        assert_eq!(beta(new, json!({})).as_deref(), Some(one));
        let copilot = model("claude-opus-4.6", "github-copilot");
        assert_eq!(beta(copilot, json!({})), None);
        let mine = json!({ "headers": { "Anthropic-Beta": "mine" } });
        assert_eq!(beta(old(), mine).as_deref(), Some("mine"));
    }

    #[test]
    fn the_session_is_named_where_the_service_routes_by_it() {
        let session = |flag: bool| {
            let mut model = Model::new("m", "", "", "");
            let flags = model.compat.get_or_insert_default();
            flags
                .extra
                .insert("sendSessionAffinityHeaders", Value::Bool(flag));
            let mut options = StreamOptions::default();
            options.session_id = Some("s1".to_owned());
            let request = Request::new(model, Context::default()).with_options(options);
            headers(&request).remove("x-session-affinity")
        };
        assert_eq!(session(true).as_deref(), Some("s1"));
        assert_eq!(session(false), None);
    }

    #[test]
    fn the_key_goes_where_the_service_looks_for_it() {
        let header = |provider: &str| key_header(&Model::new("m", "", provider, ""));
        assert_eq!(header("anthropic"), "x-api-key");
        assert_eq!(header("github-copilot"), "authorization");
    }
}
