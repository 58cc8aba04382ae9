//! Headers that bring the requests of one conversation to the same machine, which has it cached.

use pi_core::{CacheRetention, Request};
use serde_json::Value;

/// Returns the headers that name the conversation, where the model's flags say that the service
/// looks at them: `sendSessionAffinityHeaders`, and `sessionAffinityFormat` for the names.
pub(crate) fn headers(request: &Request) -> Vec<(&'static str, &str)> {
    let model = &request.model;
    let flags = model.compat.as_deref();
    let flag = |name: &str| flags.and_then(|flags| flags.extra.get(name));
    let format = flag("sessionAffinityFormat").and_then(Value::as_str);
    let is_asked = flag("sendSessionAffinityHeaders").and_then(Value::as_bool);
    let is_cached = request.options.cache_retention != Some(CacheRetention::None);
    let (Some(session), true, true) = (
        request.options.session_id.as_deref(),
        is_asked.unwrap_or(format.is_some()),
        is_cached,
    ) else {
        return Vec::new();
    };
    let is_responses = model.api.ends_with("-responses");
    let names: &[&str] = match format {
        Some("openrouter") => &["x-session-id"],
        None if model.base_url.contains("openrouter.ai") => &["x-session-id"],
        Some("openai-nosession") if is_responses => &["x-client-request-id"],
        Some("openai-nosession") => &["x-client-request-id", "x-session-affinity"],
        _ if is_responses => &["session_id", "x-client-request-id"],
        _ => &["session_id", "x-client-request-id", "x-session-affinity"],
    };
    names.iter().map(|name| (*name, session)).collect()
}

#[cfg(test)]
mod tests {
    use pi_core::{Context, Model, StreamOptions};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_conversation_is_named_as_the_service_wants_it() {
        let names = |api: &str, base_url: &str, flags: Value| {
            let mut model = Model::new("m", api, "p", base_url);
            model.compat = serde_json::from_value(flags).expect("flags");
            let mut options = StreamOptions::default();
            options.session_id = Some("s1".to_owned());
            let mut request = Request::new(model, Context::default()).with_options(options);
            let names: Vec<&str> = headers(&request).iter().map(|(name, _)| *name).collect();
            request.options.cache_retention = Some(CacheRetention::None);
            assert!(headers(&request).is_empty());
            names.join(" ")
        };
        let asked = json!({ "sendSessionAffinityHeaders": true });
        for (api, base_url, flags, expected) in [
            ("openai-responses", "", json!({}), ""),
            ("openai-completions", "", json!({}), ""),
            (
                "openai-completions",
                "",
                asked.clone(),
                "session_id x-client-request-id x-session-affinity",
            ),
            (
                "openai-completions",
                "https://openrouter.ai/api/v1",
                asked,
                "x-session-id",
            ),
            (
                "openai-responses",
                "",
                json!({ "sessionAffinityFormat": "openai" }),
                "session_id x-client-request-id",
            ),
            (
                "openai-responses",
                "",
                json!({ "sessionAffinityFormat": "openai-nosession" }),
                "x-client-request-id",
            ),
        ] {
            assert_eq!(
                names(api, base_url, flags.clone()),
                expected,
                "{api} {flags}"
            );
        }
    }
}
