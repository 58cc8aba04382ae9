//! The body of a request.

use pi_core::{CacheRetention, Message, Model, Request, ToolDefinition, handoff};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::compat::Compat;
use super::messages::{CachePoint, WireMessage, wire_messages};
use super::thinking::{Effort, ModelFields};
use crate::{ids, output};

/// The most characters of a call's id that the API takes.
const MAX_ID_CHARS: usize = 64;

/// The body of a request. Serialize it, or turn it into a value with `serde_json::to_value`.
///
/// It borrows the request and shares its messages: their text is copied once, by the serializer.
#[derive(Debug, Clone)]
pub struct RequestBody<'a> {
    request: &'a Request,
    compat: Compat,
    /// What the model may see of the conversation.
    messages: Vec<Message>,
    /// The tool that takes the value which is asked for.
    output: Option<ToolDefinition>,
}

/// Makes the body of a request; the id of the model is not in it, but in the address.
///
/// The conversation goes through [`handoff::for_target`] first. Options of this API alone are read
/// from `options.extra`: `interleavedThinking`, true by default, and `requestMetadata`. `tool_choice`
/// may be `"auto"`, `"any"`, `"none"` (the tools are left out), Anthropic's `{ type: "tool", name }`, or
/// the API's own object.
///
/// Output that must fit a schema is asked for as the call of a tool. Claude takes no forced tool while
/// it thinks, so that it is then free not to call it.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    let model = &request.model;
    RequestBody {
        request,
        compat: Compat::resolve(model),
        messages: handoff::for_target(&request.context.messages, model, |id, attempt| {
            call_id(model, id, attempt)
        }),
        output: output::tool(request),
    }
}

/// Returns a call's id as the API takes it; later attempts differ by their end.
pub(crate) fn call_id(_: &Model, id: &str, attempt: u32) -> String {
    ids::restricted(id, attempt, MAX_ID_CHARS)
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wire().serialize(serializer)
    }
}

impl RequestBody<'_> {
    fn wire(&self) -> WireRequest<'_> {
        let options = &self.request.options;
        let cache = self.cache();
        let effort = Effort::of(self.request, self.compat);
        WireRequest {
            messages: wire_messages(self.request, self.compat, &self.messages, cache),
            system: self.system(cache),
            inference_config: InferenceConfig {
                max_tokens: effort.max_tokens,
                temperature: options.temperature.filter(|_| effort.takes_temperature),
            },
            tool_config: self.tool_config(effort.fields.is_some()),
            additional_model_request_fields: effort.fields,
            request_metadata: options.extra.get("requestMetadata"),
        }
    }

    /// Returns the mark of the places up to which the prompt is to be cached.
    fn cache(&self) -> Option<CachePoint> {
        if !self.compat.supports_prompt_caching {
            return None;
        }
        match &self.request.options.cache_retention {
            Some(CacheRetention::None) => None,
            Some(CacheRetention::Long) => Some(CachePoint::new(Some("1h"))),
            _ => Some(CachePoint::new(None)),
        }
    }

    fn system(&self, cache: Option<CachePoint>) -> Option<Vec<SystemBlock<'_>>> {
        let text = self.request.context.system_prompt.as_deref()?;
        // The API refuses blank blocks.
        if text.trim().is_empty() {
            return None;
        }
        let mark = cache.map(SystemBlock::CachePoint);
        Some([SystemBlock::Text(text)].into_iter().chain(mark).collect())
    }

    fn tool_config(&self, is_thinking: bool) -> Option<ToolConfig<'_>> {
        let choice = self.request.options.tool_choice.as_ref();
        let is_none = choice.and_then(Value::as_str) == Some("none");
        let tools = self.request.context.tools.iter().flatten();
        let tools = tools.filter(|_| !is_none).map(|tool| &**tool);
        let tools: Vec<WireTool<'_>> = tools.chain(&self.output).map(WireTool::new).collect();
        if tools.is_empty() {
            return None;
        }
        let tool_choice = match &self.output {
            Some(tool) if !is_thinking => Some(ToolChoice::Tool { name: &tool.name }),
            _ => choice.and_then(ToolChoice::of),
        };
        Some(ToolConfig { tools, tool_choice })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest<'a> {
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<Vec<SystemBlock<'a>>>,
    inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<ModelFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_metadata: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum SystemBlock<'a> {
    Text(&'a str),
    CachePoint(CachePoint),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum ToolChoice<'a> {
    Auto {},
    Any {},
    Tool {
        name: &'a str,
    },
    #[serde(untagged)]
    Own(&'a Map<String, Value>),
}

impl<'a> ToolChoice<'a> {
    fn of(choice: &'a Value) -> Option<Self> {
        match choice {
            Value::String(word) if word == "auto" => Some(Self::Auto {}),
            Value::String(word) if word == "any" => Some(Self::Any {}),
            Value::Object(choice) => match choice.get("type").and_then(Value::as_str) {
                Some("tool") => Some(Self::Tool {
                    name: choice.get("name")?.as_str()?,
                }),
                Some(_) => None,
                None => Some(Self::Own(choice)),
            },
            _ => None,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTool<'a> {
    tool_spec: ToolSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolSpec<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: InputSchema<'a>,
}

#[derive(Serialize)]
struct InputSchema<'a> {
    json: &'a Value,
}

impl<'a> WireTool<'a> {
    fn new(tool: &'a ToolDefinition) -> Self {
        Self {
            tool_spec: ToolSpec {
                name: &tool.name,
                description: &tool.description,
                input_schema: InputSchema {
                    json: &tool.parameters,
                },
            },
        }
    }
}

#[cfg(test)]
mod tests;
