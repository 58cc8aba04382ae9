//! The body of a request.

use std::borrow::Cow;

use pi_core::{CacheRetention, Message, Request, handoff};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::ids::{cache_key, call_id};
use super::input::{WireItem, wire_items};
use super::reasoning::Plan;
use super::tools::{ToolChoice, WireTool};
use crate::limit::max_tokens;
use crate::sampling::WireSchema;

/// The body of a request. Serialize it, or turn it into a value with `serde_json::to_value`.
///
/// It borrows the request and shares its messages: their text is copied once, by the serializer.
#[derive(Debug, Clone)]
pub struct RequestBody<'a> {
    request: &'a Request,
    /// What the service calls the model.
    model: Cow<'a, str>,
    is_azure: bool,
    /// What the model may see of the conversation.
    messages: Vec<Message>,
}

/// Makes the body of a request, which asks for a stream.
///
/// The conversation goes through [`handoff::for_target`] first. Options of this API alone are read
/// from `options.extra`: `serviceTier`, and, where `reasoning` is absent, `reasoningEffort` and
/// `reasoningSummary`.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    new(request, Cow::Borrowed(&request.model.id), false)
}

/// Makes the body of a request to Azure, which knows the model by the name of its deployment.
pub(crate) fn azure_body<'a>(request: &'a Request, deployment: Cow<'a, str>) -> RequestBody<'a> {
    new(request, deployment, true)
}

fn new<'a>(request: &'a Request, name: Cow<'a, str>, is_azure: bool) -> RequestBody<'a> {
    let model = &request.model;
    let messages = handoff::for_target(&request.context.messages, model, |id, attempt| {
        call_id(model, id, attempt)
    });
    RequestBody {
        request,
        model: name,
        is_azure,
        messages,
    }
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wire().serialize(serializer)
    }
}

impl RequestBody<'_> {
    fn wire(&self) -> WireRequest<'_> {
        let Self {
            request, messages, ..
        } = self;
        let options = &request.options;
        let model = &*request.model;
        let tools = request.context.tools.as_ref();
        let session = options.session_id.as_deref();
        let is_cached = options.cache_retention != Some(CacheRetention::None);
        WireRequest {
            model: &self.model,
            input: wire_items(request, messages),
            stream: true,
            prompt_cache_key: session.filter(|_| is_cached).map(cache_key),
            prompt_cache_retention: (!self.is_azure && keeps_prompt_long(request)).then_some("24h"),
            store: (!self.is_azure).then_some(false),
            max_output_tokens: max_tokens(request),
            temperature: options.temperature,
            service_tier: options.extra.get("serviceTier"),
            tools: tools.map(|tools| {
                let tools = tools.iter();
                tools.map(|tool| WireTool::new(tool, model)).collect()
            }),
            tool_choice: ToolChoice::of(request),
            text: WireSchema::of(request).map(|schema| WireText {
                format: WireFormat::JsonSchema(schema),
            }),
            thinking: Plan::of(request),
        }
    }
}

/// Returns true if the service is to keep the prompt for a day.
fn keeps_prompt_long(request: &Request) -> bool {
    let model = &request.model;
    let flags = model.compat.as_deref();
    let flag = flags.and_then(|flags| flags.extra.get("supportsLongCacheRetention")?.as_bool());
    request.options.cache_retention == Some(CacheRetention::Long)
        && flag != Some(false)
        && model.base_url.contains("api.openai.com")
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    input: Vec<WireItem<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<WireTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<WireText<'a>>,
    #[serde(flatten)]
    thinking: Plan<'a>,
}

#[derive(Serialize)]
struct WireText<'a> {
    format: WireFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireFormat<'a> {
    JsonSchema(WireSchema<'a>),
}

#[cfg(test)]
mod tests;
