//! The body of a request.

use pi_core::{Message, Model, Request, ToolDefinition, handoff};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::contents::{Content, contents};
use super::family::{Family, Kind};
use super::thinking::ThinkingConfig;
use crate::limit::max_tokens;
use crate::{ids, output};

/// The most characters of a call's id that the models take which want one.
const MAX_ID_CHARS: usize = 64;

/// The body of a request. Serialize it, or turn it into a value with `serde_json::to_value`.
///
/// It borrows the request and shares its messages: their text is copied once, by the serializer.
#[derive(Debug, Clone)]
pub struct RequestBody<'a> {
    request: &'a Request,
    /// What the model may see of the conversation.
    messages: Vec<Message>,
    /// The tool that takes the value which is asked for.
    output: Option<ToolDefinition>,
}

/// Makes the body of a request; the model and the wish for a stream are in its [`url`](super::url).
///
/// The conversation goes through [`handoff::for_target`] first. Where `reasoning` is absent, the
/// option `thinking` of this API is read from `options.extra`, as `{ "enabled": true }` with `level`
/// or `budgetTokens`; `null` leaves it to the model. `tool_choice` is `"auto"`, `"any"`, `"none"` or
/// `"validated"`, or a `functionCallingConfig`.
///
/// Output that must fit a schema is asked for by the API's own `responseJsonSchema`; the API does not
/// take that beside tools, so there it is asked for as the call of one more tool.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    let model = &request.model;
    let messages = handoff::for_target(&request.context.messages, model, |id, attempt| {
        call_id(model, id, attempt)
    });
    let has_tools = request
        .context
        .tools
        .as_ref()
        .is_some_and(|tools| !tools.is_empty());
    RequestBody {
        request,
        messages,
        output: has_tools.then(|| output::tool(request)).flatten(),
    }
}

/// Returns a call's id as the model takes it; later attempts differ by their end.
pub(crate) fn call_id(model: &Model, id: &str, attempt: u32) -> String {
    match Family::of(&model.id).kind {
        Kind::Foreign => ids::restricted(id, attempt, MAX_ID_CHARS),
        // The id is not sent.
        _ if attempt == 0 => id.to_owned(),
        _ => format!("{id}_{attempt}"),
    }
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wire().serialize(serializer)
    }
}

impl RequestBody<'_> {
    fn wire(&self) -> WireRequest<'_> {
        let request = self.request;
        let tools = request.context.tools.as_deref().unwrap_or_default();
        let prompt = request.context.system_prompt.as_deref();
        let choice = request.options.tool_choice.as_ref();
        let choice = match &self.output {
            Some(tool) => Some(CallingConfig::Forced {
                mode: "ANY",
                allowed_function_names: [&tool.name],
            }),
            None => choice
                .filter(|_| !tools.is_empty())
                .and_then(CallingConfig::of),
        };
        let schema = request
            .options
            .output
            .as_ref()
            .filter(|_| self.output.is_none());
        WireRequest {
            contents: contents(&request.model, &self.messages),
            system_instruction: prompt.filter(|text| !text.is_empty()).map(Instruction::new),
            tools: (!tools.is_empty()).then(|| {
                [Tools {
                    function_declarations: tools
                        .iter()
                        .map(|tool| &**tool)
                        .chain(&self.output)
                        .map(Declaration::new)
                        .collect(),
                }]
            }),
            tool_config: choice.map(|function_calling_config| ToolConfig {
                function_calling_config,
            }),
            generation_config: GenerationConfig {
                temperature: request.options.temperature,
                max_output_tokens: max_tokens(request),
                response_mime_type: schema.map(|_| "application/json"),
                response_json_schema: schema.map(|output| &output.schema),
                thinking_config: ThinkingConfig::of(request),
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest<'a> {
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct Instruction<'a> {
    role: &'static str,
    parts: [InstructionPart<'a>; 1],
}

#[derive(Serialize)]
struct InstructionPart<'a> {
    text: &'a str,
}

impl<'a> Instruction<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            role: "user",
            parts: [InstructionPart { text }],
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig<'a>>,
}

impl GenerationConfig<'_> {
    fn is_empty(&self) -> bool {
        self.temperature.is_none()
            && self.max_output_tokens.is_none()
            && self.response_json_schema.is_none()
            && self.thinking_config.is_none()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// Takes any JSON schema, where `parameters` takes what OpenAPI 3.0 has of it.
    parameters_json_schema: &'a Value,
}

impl<'a> Declaration<'a> {
    fn new(tool: &'a ToolDefinition) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: &tool.parameters,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: CallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum CallingConfig<'a> {
    Mode {
        mode: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    Forced {
        mode: &'static str,
        allowed_function_names: [&'a str; 1],
    },
    Own(&'a Value),
}

impl<'a> CallingConfig<'a> {
    fn of(choice: &'a Value) -> Option<Self> {
        match choice {
            Value::String(mode) if mode.is_empty() => None,
            Value::String(mode) => Some(Self::Mode {
                mode: match mode.as_str() {
                    "any" | "required" => "ANY",
                    "none" => "NONE",
                    "validated" => "VALIDATED",
                    _ => "AUTO",
                },
            }),
            Value::Object(_) => Some(Self::Own(choice)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
