//! The body of a request.

use std::borrow::Cow;

use pi_core::{CacheRetention, Message, Model, Request, ToolDefinition, handoff};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::compat::Compat;
use super::messages::{CacheControl, WireMessage, wire_messages};
use super::thinking::{Plan, WireThinking};
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

/// Makes the body of a request, which asks for a stream.
///
/// The conversation goes through [`handoff::for_target`] first. Options of this API alone are read
/// from `options.extra`: where `reasoning` is absent, `thinkingEnabled` with `thinkingBudgetTokens` or
/// `effort`; `thinkingEnabled: null` leaves it to the model. `tool_choice` may be just the type, such
/// as `"any"`.
///
/// Output that must fit a schema is asked for as the call of a tool. The API takes no forced tool while
/// the model thinks, so that it is then free not to call it.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    let model = &request.model;
    let messages = handoff::for_target(&request.context.messages, model, |id, attempt| {
        call_id(model, id, attempt)
    });
    RequestBody {
        request,
        compat: Compat::resolve(model),
        messages,
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
        let Self {
            request, compat, ..
        } = self;
        let options = &request.options;
        let cache = self.cache();
        let plan = Plan::of(request, compat);
        let takes_temperature = compat.supports_temperature && !plan.is_thinking;
        WireRequest {
            model: &request.model.id,
            messages: wire_messages(request, compat, &self.messages, cache),
            max_tokens: plan.max_tokens,
            stream: true,
            system: self.system(cache),
            temperature: options.temperature.filter(|_| takes_temperature),
            tools: self.tools(),
            thinking: plan.thinking,
            output_config: plan.effort.map(|effort| OutputConfig { effort }),
            metadata: options.metadata.as_ref().and_then(|metadata| {
                let user_id = metadata.get("user_id")?.as_str()?;
                Some(Metadata { user_id })
            }),
            tool_choice: match &self.output {
                Some(tool) if !plan.is_thinking => Some(ToolChoice::Tool {
                    r#type: "tool",
                    name: &tool.name,
                }),
                _ => options.tool_choice.as_ref().and_then(ToolChoice::of),
            },
        }
    }

    fn tools(&self) -> Option<Vec<WireTool<'_>>> {
        let tools = self.request.context.tools.as_deref();
        if tools.is_none() && self.output.is_none() {
            return None;
        }
        let tools = tools.unwrap_or_default().iter().map(|tool| &**tool);
        Some(tools.chain(&self.output).map(WireTool::new).collect())
    }

    /// Returns the mark of the places up to which the prompt is to be cached.
    fn cache(&self) -> Option<CacheControl> {
        match &self.request.options.cache_retention {
            Some(CacheRetention::None) => None,
            Some(CacheRetention::Long) if self.compat.supports_long_cache_retention => {
                Some(CacheControl::new(Some("1h")))
            }
            _ => Some(CacheControl::new(None)),
        }
    }

    fn system(&self, cache_control: Option<CacheControl>) -> Option<[SystemBlock<'_>; 1]> {
        let text = self.request.context.system_prompt.as_deref()?;
        // The API refuses blank blocks.
        (!text.trim().is_empty()).then_some([SystemBlock {
            r#type: "text",
            text,
            cache_control,
        }])
    }
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[SystemBlock<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<WireTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    effort: Cow<'a, str>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    user_id: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolChoice<'a> {
    Type { r#type: &'a str },
    Tool { r#type: &'static str, name: &'a str },
    Own(&'a Value),
}

impl<'a> ToolChoice<'a> {
    fn of(choice: &'a Value) -> Option<Self> {
        match choice {
            Value::Null => None,
            Value::String(kind) => Some(Self::Type { r#type: kind }),
            own => Some(Self::Own(own)),
        }
    }
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: InputSchema<'a>,
}

impl<'a> WireTool<'a> {
    fn new(tool: &'a ToolDefinition) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            input_schema: InputSchema(&tool.parameters),
        }
    }
}

/// The part of a schema that the API takes at its top, with what references may point to.
struct InputSchema<'a>(&'a Value);

impl Serialize for InputSchema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let field = |name: &str| self.0.get(name).filter(|value| !value.is_null());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        match field("properties") {
            Some(properties) => map.serialize_entry("properties", properties)?,
            None => map.serialize_entry("properties", &serde_json::Map::new())?,
        }
        match field("required") {
            Some(required) => map.serialize_entry("required", required)?,
            None => map.serialize_entry("required", &[(); 0])?,
        }
        for name in ["$defs", "definitions"] {
            if let Some(definitions) = field(name) {
                map.serialize_entry(name, definitions)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
