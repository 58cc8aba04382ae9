//! The body of a request.

use std::borrow::Cow;

use pi_core::{Message, Model, Request, ToolDefinition, handoff};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::compat::{Compat, MaxTokensField, ThinkingFormat};
use super::messages::{WireMessage, wire_messages};
use crate::chat::{ResponseFormat, ToolChoice, WireTool};
use crate::limit::max_tokens;
use crate::sampling::Limit;
use crate::{levels, output};

/// The most characters of a call's id that OpenAI takes.
const MAX_ID_CHARS: usize = 40;

/// The body of a request. Serialize it, or turn it into a value with `serde_json::to_value`.
///
/// It borrows the request and shares its messages: their text is copied once, by the serializer.
#[derive(Debug, Clone)]
pub struct RequestBody<'a> {
    request: &'a Request,
    compat: Compat<'a>,
    /// What the model may see of the conversation.
    messages: Vec<Message>,
    /// The tool that takes the reply, at services that cannot hold it to a schema.
    output: Option<ToolDefinition>,
}

/// Makes the body of a request, which asks for a stream.
///
/// The conversation goes through [`handoff::for_target`] first. Options of this API alone are read
/// from `options.extra`: `serviceTier`, and `reasoningEffort`, the effort where `reasoning` is absent.
#[must_use]
pub fn body(request: &Request) -> RequestBody<'_> {
    let model = &request.model;
    let messages = handoff::for_target(&request.context.messages, model, |id, attempt| {
        call_id(model, id, attempt)
    });
    let compat = Compat::resolve(model);
    let output = match compat.supports_output_schema {
        true => None,
        false => output::tool(request),
    };
    RequestBody {
        request,
        compat,
        messages,
        output,
    }
}

/// Returns a call's id as the service takes it; later attempts differ by their end.
pub(crate) fn call_id(model: &Model, id: &str, attempt: u32) -> String {
    // The Responses API joins the ids of call and item with a bar; here the call's is wanted.
    let (id, is_long) = match id.split_once('|') {
        Some((call_id, _)) => {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let id: String = call_id
                .chars()
                .map(|c| if is_allowed(c) { c } else { '_' })
                .collect();
            (Cow::Owned(id), true)
        }
        None => (Cow::Borrowed(id), model.provider == "openai"),
    };
    match attempt {
        0 if is_long => id.chars().take(MAX_ID_CHARS).collect(),
        0 => id.into_owned(),
        _ => {
            let suffix = format!("_{attempt}");
            let head = id.chars().take(MAX_ID_CHARS.saturating_sub(suffix.len()));
            head.collect::<String>() + &suffix
        }
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
            request, compat, ..
        } = self;
        let model = &*request.model;
        let (max_tokens, max_completion_tokens) = match compat.max_tokens_field {
            MaxTokensField::MaxTokens => (max_tokens(request), None),
            MaxTokensField::MaxCompletionTokens => (None, max_tokens(request)),
        };
        let is_open_router = model.base_url.contains("openrouter.ai");
        WireRequest {
            model: &model.id,
            messages: wire_messages(request, compat, &self.messages),
            stream: true,
            stream_options: compat
                .supports_usage_in_streaming
                .then_some(WireStreamOptions {
                    include_usage: true,
                }),
            store: compat.supports_store.then_some(false),
            max_tokens,
            max_completion_tokens,
            temperature: request.options.temperature,
            tools: self.tools(),
            tool_choice: ToolChoice::of(request, self.output.as_ref()),
            response_format: match compat.supports_output_schema {
                true => ResponseFormat::of(request),
                false => None,
            },
            service_tier: request.options.extra.get("serviceTier"),
            thinking: Thinking::of(request, compat),
            provider: compat.open_router_routing.filter(|_| is_open_router),
            provider_options: ProviderOptions::of(model, compat),
        }
    }

    fn tools(&self) -> Option<Vec<WireTool<'_>>> {
        let model = &*self.request.model;
        // Grammars are not offered: how calls of such tools are streamed here is not documented.
        let strict = |tool| match Limit::of(tool, model) {
            Limit::Strict => Some(true),
            _ => self.compat.supports_strict_mode.then_some(false),
        };
        let tools = self.request.context.tools.as_ref();
        // Anthropic behind a gateway wants the field as soon as the history holds calls.
        let is_there =
            tools.is_some() || self.output.is_some() || self.messages.iter().any(has_calls);
        is_there.then(|| {
            let tools = tools.into_iter().flatten().map(|tool| &**tool);
            tools
                .chain(&self.output)
                .map(|tool| WireTool::new(tool, strict(tool)))
                .collect()
        })
    }
}

fn has_calls(message: &Message) -> bool {
    match message {
        Message::Assistant(reply) => reply.tool_calls().next().is_some(),
        _ => false,
    }
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<WireStreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<WireTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a Value>,
    #[serde(flatten)]
    thinking: Thinking<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Value>,
    #[serde(rename = "providerOptions", skip_serializing_if = "Option::is_none")]
    provider_options: Option<ProviderOptions<'a>>,
}

#[derive(Serialize)]
struct WireStreamOptions {
    include_usage: bool,
}

/// The fields that ask for thinking; at most one is there.
#[derive(Default, Serialize)]
struct Thinking<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<WireReasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<WireTemplate>,
}

#[derive(Serialize)]
struct WireReasoning<'a> {
    effort: Cow<'a, str>,
}

#[derive(Serialize)]
struct WireTemplate {
    enable_thinking: bool,
}

impl<'a> Thinking<'a> {
    fn of(request: &'a Request, compat: &Compat<'a>) -> Self {
        let mut thinking = Self::default();
        if !request.model.reasoning {
            return thinking;
        }
        let effort = effort(request, compat);
        match compat.thinking_format {
            ThinkingFormat::Zai | ThinkingFormat::Qwen => {
                thinking.enable_thinking = Some(effort.is_some());
            }
            ThinkingFormat::QwenChatTemplate => {
                thinking.chat_template_kwargs = Some(WireTemplate {
                    enable_thinking: effort.is_some(),
                });
            }
            ThinkingFormat::OpenRouter => {
                thinking.reasoning = Some(WireReasoning {
                    effort: effort.unwrap_or(Cow::Borrowed("none")),
                });
            }
            ThinkingFormat::OpenAi => {
                thinking.reasoning_effort = effort.filter(|_| compat.supports_reasoning_effort);
            }
        }
        thinking
    }
}

/// Returns the service's word for the effort, `None` for no thinking.
fn effort<'a>(request: &'a Request, compat: &Compat<'a>) -> Option<Cow<'a, str>> {
    let model = &*request.model;
    let level = match request.options.thinking() {
        Some(level) => levels::offered(level, model)?,
        None if request.options.reasoning.is_some() => return None,
        None => request
            .options
            .extra
            .get("reasoningEffort")?
            .as_str()?
            .into(),
    };
    if let Some(word) = compat
        .reasoning_effort_map
        .and_then(|words| words.get(&level))
    {
        return Some(Cow::Borrowed(word));
    }
    if let Some(word) = compat.only_effort {
        return Some(Cow::Borrowed(word));
    }
    match levels::word(&level, model) {
        Some(Some(word)) => Some(Cow::Borrowed(word)),
        _ => Some(Cow::Owned(level.as_str().to_owned())),
    }
}

#[derive(Serialize)]
struct ProviderOptions<'a> {
    gateway: Gateway<'a>,
}

#[derive(Serialize)]
struct Gateway<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'a Value>,
}

impl<'a> ProviderOptions<'a> {
    fn of(model: &Model, compat: &Compat<'a>) -> Option<Self> {
        if !model.base_url.contains("ai-gateway.vercel.sh") {
            return None;
        }
        let routing = compat.vercel_gateway_routing?;
        let field = |name| routing.get(name).filter(|value| !value.is_null());
        let gateway = Gateway {
            only: field("only"),
            order: field("order"),
        };
        (gateway.only.is_some() || gateway.order.is_some()).then_some(Self { gateway })
    }
}

#[cfg(test)]
mod tests;
