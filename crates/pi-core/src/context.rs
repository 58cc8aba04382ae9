//! What one request shows to the model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Message;
use crate::model::Model;
use crate::options::StreamOptions;
use crate::sampling::ConstrainedSampling;
use crate::tagged::Extra;

/// What a model is told about a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name by which the model calls it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// A limit on what the model can write as arguments, where the service has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained_sampling: Option<ConstrainedSampling>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolDefinition {
    /// Creates a definition.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            constrained_sampling: None,
            extra: Extra::default(),
        }
    }

    /// Sets the limit on what the model can write as arguments.
    #[must_use]
    pub fn with_constrained_sampling(mut self, limit: ConstrainedSampling) -> Self {
        self.constrained_sampling = Some(limit);
        self
    }
}

/// What one request shows to the model: prompt, messages and tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Context {
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools; `None` and an empty list are different to some providers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Arc<ToolDefinition>>>,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Context {
    /// Creates a context from messages, without prompt and tools.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<Arc<ToolDefinition>>) -> Self {
        self.tools = Some(tools);
        self
    }
}

/// One request to a provider.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The model to ask.
    pub model: Arc<Model>,
    /// What it is shown.
    pub context: Context,
    /// How to ask.
    pub options: StreamOptions,
    /// Stops the reply when it is cancelled: the stream then ends with an `Error` event whose
    /// reason is `Aborted`. Dropping the stream stops the reply as well, without an event.
    pub abort: Option<tokio_util::sync::CancellationToken>,
}

impl Request {
    /// Creates a request with default options.
    pub fn new(model: impl Into<Arc<Model>>, context: Context) -> Self {
        Self {
            model: model.into(),
            context,
            options: StreamOptions::default(),
            abort: None,
        }
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: StreamOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the token that stops the reply.
    #[must_use]
    pub fn with_abort(mut self, abort: tokio_util::sync::CancellationToken) -> Self {
        self.abort = Some(abort);
        self
    }
}
