//! The body of a request.

use std::borrow::Cow;

use pi_core::{Message, Request, ThinkingLevel, ToolDefinition, handoff};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::ids::call_id;
use super::messages::{WireMessage, wire_messages};
use crate::chat::{ResponseFormat, ToolChoice, WireTool};
use crate::levels;
use crate::limit::max_tokens;
use crate::output;

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

/// Makes the body of a request, which asks for a stream.
///
/// The conversation goes through [`handoff::for_target`] first. Thinking is asked for by
/// `reasoning_effort` where the model has words for its levels, else by `prompt_mode`. Options of this
/// API alone are read from `options.extra`: `promptMode`, the mode where `reasoning` is absent.
///
/// Output that must fit a schema is asked for by the API's own `response_format`, or, where there are
/// tools, as the call of one more tool.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    let model = &request.model;
    let has_tools = request
        .context
        .tools
        .as_ref()
        .is_some_and(|tools| !tools.is_empty());
    RequestBody {
        request,
        messages: handoff::for_target(&request.context.messages, model, |id, attempt| {
            call_id(model, id, attempt)
        }),
        output: has_tools.then(|| output::tool(request)).flatten(),
    }
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wire().serialize(serializer)
    }
}

impl RequestBody<'_> {
    fn wire(&self) -> WireRequest<'_> {
        let Request {
            model,
            context,
            options,
            ..
        } = self.request;
        let tools = context.tools.iter().flatten();
        WireRequest {
            model: &model.id,
            max_tokens: max_tokens(self.request),
            temperature: options.temperature,
            stream: true,
            messages: wire_messages(self.request, &self.messages),
            tools: tools
                .map(|tool| &**tool)
                .chain(&self.output)
                .map(|tool| WireTool::new(tool, Some(false)))
                .collect(),
            tool_choice: ToolChoice::of(self.request, self.output.as_ref()),
            response_format: match self.output {
                Some(_) => None,
                None => ResponseFormat::of(self.request),
            },
            thinking: Thinking::of(self.request),
        }
    }
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    stream: bool,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(flatten)]
    thinking: Thinking<'a>,
}

/// The fields that ask for thinking; at most one is there.
#[derive(Default, Serialize)]
struct Thinking<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Cow<'a, str>>,
}

impl<'a> Thinking<'a> {
    fn of(request: &'a Request) -> Self {
        let (model, options) = (&*request.model, &request.options);
        let mut thinking = Self::default();
        match options.thinking() {
            None if options.reasoning.is_none() => {
                let mode = options.extra.get("promptMode").and_then(Value::as_str);
                thinking.prompt_mode = mode.filter(|mode| !mode.is_empty());
            }
            None => {}
            Some(_) if !model.reasoning => {}
            // The first of Mistral's models that think have no levels.
            Some(_) if model.thinking_level_map.is_none() => {
                thinking.prompt_mode = Some("reasoning");
            }
            Some(level) => match model.clamp_thinking(level) {
                ThinkingLevel::Off => {}
                level => {
                    thinking.reasoning_effort = Some(match levels::word(&level, model) {
                        Some(Some(word)) => Cow::Borrowed(word),
                        _ => Cow::Owned(level.as_str().to_owned()),
                    });
                }
            },
        }
        thinking
    }
}

#[cfg(test)]
mod tests;
