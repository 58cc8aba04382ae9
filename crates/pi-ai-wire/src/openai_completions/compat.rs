//! How a service differs from OpenAI.

use std::collections::BTreeMap;

use pi_core::{Model, ModelCompat, ThinkingLevel};
use serde_json::Value;

/// How a service differs from OpenAI, all questions answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compat<'a> {
    /// The field `store` is known.
    pub supports_store: bool,
    /// The role `developer` is known.
    pub supports_developer_role: bool,
    /// The field `reasoning_effort` is known.
    pub supports_reasoning_effort: bool,
    /// The field `stream_options.include_usage` is known.
    pub supports_usage_in_streaming: bool,
    /// The field `strict` of a tool is known.
    pub supports_strict_mode: bool,
    /// A reply can be held to a JSON Schema (flag `supportsOutputSchema`).
    pub supports_output_schema: bool,
    /// The name of the field for the token limit.
    pub max_tokens_field: MaxTokensField,
    /// Tool results carry the tool's name.
    pub requires_tool_result_name: bool,
    /// A user message behind tool results needs an assistant message in between.
    pub requires_assistant_after_tool_result: bool,
    /// Reasoning goes back as text.
    pub requires_thinking_as_text: bool,
    /// Content that is only text goes out as a plain string.
    pub requires_string_content: bool,
    /// Reasoning goes back in the field that it came in (flag `echoReasoning`); the default.
    pub echoes_reasoning: bool,
    /// How thinking is asked for.
    pub thinking_format: ThinkingFormat,
    /// The service's word for each effort, where it has its own.
    pub reasoning_effort_map: Option<&'a BTreeMap<ThinkingLevel, String>>,
    /// The service's only word for every effort.
    pub only_effort: Option<&'static str>,
    /// Which providers OpenRouter may use.
    pub open_router_routing: Option<&'a Value>,
    /// Which providers the Vercel gateway may use.
    pub vercel_gateway_routing: Option<&'a Value>,
}

/// The name of the field for the token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_completion_tokens`, OpenAI's own.
    MaxCompletionTokens,
    /// `max_tokens`, the older name.
    MaxTokens,
}

/// How thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingFormat {
    /// `reasoning_effort`.
    OpenAi,
    /// `reasoning.effort`, which is `none` for no thinking.
    OpenRouter,
    /// `enable_thinking`, as Z.ai has it.
    Zai,
    /// `enable_thinking`, as Alibaba has it.
    Qwen,
    /// `chat_template_kwargs.enable_thinking`, as local servers have it.
    QwenChatTemplate,
}

impl<'a> Compat<'a> {
    /// Answers all questions: by the model's flags, else by its provider and address.
    #[must_use]
    pub fn resolve(model: &'a Model) -> Self {
        let detected = Self::detect(model);
        match model.compat.as_deref() {
            Some(flags) => detected.with_flags(flags),
            None => detected,
        }
    }

    fn detect(model: &Model) -> Self {
        let is_at = |providers: &[&str], addresses: &[&str]| {
            providers.contains(&model.provider.as_str())
                || addresses
                    .iter()
                    .any(|address| model.base_url.contains(address))
        };
        let is_zai = is_at(&["zai"], &["api.z.ai"]);
        let is_xai = is_at(&["xai"], &["api.x.ai"]);
        let is_chutes = is_at(&[], &["chutes.ai"]);
        let is_plain = !(is_zai
            || is_xai
            || is_chutes
            || is_at(
                &["cerebras", "opencode"],
                &["cerebras.ai", "deepseek.com", "opencode.ai"],
            ));
        let is_groq_qwen = is_at(&["groq"], &["groq.com"]) && model.id == "qwen/qwen3-32b";
        Self {
            supports_store: is_plain,
            supports_developer_role: is_plain,
            supports_reasoning_effort: !is_xai && !is_zai,
            supports_usage_in_streaming: true,
            supports_strict_mode: true,
            // DeepSeek holds replies to being JSON, whatever its schema.
            supports_output_schema: !is_at(&["deepseek"], &["deepseek.com"]),
            max_tokens_field: match is_chutes {
                true => MaxTokensField::MaxTokens,
                false => MaxTokensField::MaxCompletionTokens,
            },
            requires_tool_result_name: false,
            requires_assistant_after_tool_result: false,
            requires_thinking_as_text: false,
            requires_string_content: false,
            echoes_reasoning: true,
            thinking_format: match () {
                () if is_zai => ThinkingFormat::Zai,
                () if is_at(&["openrouter"], &["openrouter.ai"]) => ThinkingFormat::OpenRouter,
                () => ThinkingFormat::OpenAi,
            },
            reasoning_effort_map: None,
            only_effort: is_groq_qwen.then_some("default"),
            open_router_routing: None,
            vercel_gateway_routing: None,
        }
    }

    fn with_flags(self, flags: &'a ModelCompat) -> Self {
        let flag = |name| flags.extra.get(name).and_then(Value::as_bool);
        let echoes_reasoning = flag("echoReasoning");
        Self {
            supports_store: flags.supports_store.unwrap_or(self.supports_store),
            supports_developer_role: flags
                .supports_developer_role
                .unwrap_or(self.supports_developer_role),
            supports_reasoning_effort: flags
                .supports_reasoning_effort
                .unwrap_or(self.supports_reasoning_effort),
            supports_usage_in_streaming: flags
                .supports_usage_in_streaming
                .unwrap_or(self.supports_usage_in_streaming),
            supports_strict_mode: flags
                .supports_strict_mode
                .unwrap_or(self.supports_strict_mode),
            supports_output_schema: flag("supportsOutputSchema")
                .unwrap_or(self.supports_output_schema),
            max_tokens_field: match flags.max_tokens_field.as_deref() {
                Some("max_tokens") => MaxTokensField::MaxTokens,
                Some(_) => MaxTokensField::MaxCompletionTokens,
                None => self.max_tokens_field,
            },
            requires_tool_result_name: flags
                .requires_tool_result_name
                .unwrap_or(self.requires_tool_result_name),
            requires_assistant_after_tool_result: flags
                .requires_assistant_after_tool_result
                .unwrap_or(self.requires_assistant_after_tool_result),
            requires_thinking_as_text: flags
                .requires_thinking_as_text
                .unwrap_or(self.requires_thinking_as_text),
            requires_string_content: flags
                .requires_string_content
                .unwrap_or(self.requires_string_content),
            echoes_reasoning: echoes_reasoning.unwrap_or(self.echoes_reasoning),
            thinking_format: match flags.thinking_format.as_deref() {
                Some("openrouter") => ThinkingFormat::OpenRouter,
                Some("zai") => ThinkingFormat::Zai,
                Some("qwen") => ThinkingFormat::Qwen,
                Some("qwen-chat-template") => ThinkingFormat::QwenChatTemplate,
                Some(_) => ThinkingFormat::OpenAi,
                None => self.thinking_format,
            },
            only_effort: self
                .only_effort
                .filter(|_| flags.reasoning_effort_map.is_none()),
            reasoning_effort_map: flags.reasoning_effort_map.as_ref(),
            open_router_routing: flags.open_router_routing.as_ref(),
            vercel_gateway_routing: flags.vercel_gateway_routing.as_ref(),
        }
    }
}
