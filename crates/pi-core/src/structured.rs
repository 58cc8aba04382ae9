//! Replies that are a value of a type.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::content::{ToolCall, UserContent};
use crate::context::Request;
use crate::error::ProviderError;
use crate::message::{AssistantMessage, StopReason, ToolResultMessage, UserMessage};
use crate::options::OutputSchema;
use crate::provider::Provider;
use crate::typed_tool::schema_for_model;
use crate::usage::Usage;

/// The longest name that all services take.
const NAME_BYTES: usize = 64;

/// A value that a model wrote.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Structured<T> {
    /// The value.
    pub value: T,
    /// The reply that holds it.
    pub message: Arc<AssistantMessage>,
    /// Tokens and cost of all that was asked: the correction too, if there was one.
    pub usage: Usage,
}

/// Why there is no value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StructuredError {
    /// The reply failed.
    Provider(ProviderError),
    /// The reply is no such value, nor is the corrected one.
    Mismatch {
        /// What is wrong, in words that the model was shown if there was a correction.
        problem: String,
        /// The last reply.
        message: Arc<AssistantMessage>,
        /// Tokens and cost of all that was asked.
        usage: Box<Usage>,
    },
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(error) => error.fmt(f),
            Self::Mismatch { problem, .. } => {
                write!(f, "the reply is not what was asked for: {problem}")
            }
        }
    }
}

impl Error for StructuredError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Provider(error) => error.source(),
            Self::Mismatch { .. } => None,
        }
    }
}

impl From<ProviderError> for StructuredError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

pub(crate) async fn complete_as<T, P>(
    provider: &P,
    mut request: Request,
) -> Result<Structured<T>, StructuredError>
where
    T: DeserializeOwned + JsonSchema,
    P: Provider + ?Sized,
{
    let name = name_of::<T>();
    request.options.output = Some(OutputSchema::new(&name, schema_for_model::<T>()));
    let first = provider.stream(request.clone()).finish().await?;
    let mut usage = first.usage.clone();
    let problem = match read(&first, &name) {
        Ok(value) => {
            return Ok(Structured {
                value,
                message: first,
                usage,
            });
        }
        Err(problem) => problem,
    };
    // The correction would be cut at the same place.
    if first.stop_reason == StopReason::Length {
        return Err(mismatch(problem, first, usage));
    }
    ask_for_correction(&mut request, &first, &name, &problem);
    let second = provider.stream(request).finish().await?;
    usage.add(&second.usage);
    match read(&second, &name) {
        Ok(value) => Ok(Structured {
            value,
            message: second,
            usage,
        }),
        Err(problem) => Err(mismatch(problem, second, usage)),
    }
}

fn mismatch(problem: String, message: Arc<AssistantMessage>, usage: Usage) -> StructuredError {
    StructuredError::Mismatch {
        problem,
        message,
        usage: Box::new(usage),
    }
}

/// Returns the name of a type, in the letters that services take.
fn name_of<T: JsonSchema>() -> String {
    let name = T::schema_name();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name
        .chars()
        .map(|c| if is_letter(c) { c } else { '_' })
        .take(NAME_BYTES)
        .collect();
    match name.is_empty() {
        true => "output".to_owned(),
        false => name,
    }
}

/// Reads the value from the call of the forced tool, or else from the text.
fn read<T: DeserializeOwned>(reply: &AssistantMessage, name: &str) -> Result<T, String> {
    let value =
        match call_of(reply, name) {
            Some(ToolCall {
                arguments_error: Some(problem),
                ..
            }) => Err(problem.clone()),
            Some(call) => T::deserialize(Value::Object(call.arguments.clone()))
                .map_err(|error| error.to_string()),
            None => serde_json::from_str(without_fence(&reply.text()))
                .map_err(|error| error.to_string()),
        };
    value.map_err(|problem| match reply.stop_reason {
        StopReason::Length => format!("the reply was cut at the token limit ({problem})"),
        _ => problem,
    })
}

fn call_of<'a>(reply: &'a AssistantMessage, name: &str) -> Option<&'a ToolCall> {
    reply.tool_calls().find(|call| call.name == name)
}

/// Removes the fence of a code block, in which models like to put JSON.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
    else {
        return text;
    };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

/// Puts the reply and what is wrong with it behind the conversation.
fn ask_for_correction(
    request: &mut Request,
    reply: &Arc<AssistantMessage>,
    name: &str,
    problem: &str,
) {
    let text =
        format!("That does not fit the schema: {problem}. Send the whole value again, corrected.");
    let messages = &mut request.context.messages;
    messages.push(Arc::clone(reply).into());
    let mut is_answered = false;
    for call in reply.tool_calls() {
        let words = match call.name == name {
            true => text.as_str(),
            false => "This tool was not run.",
        };
        is_answered |= call.name == name;
        let content = vec![UserContent::text(words)];
        let mut result = ToolResultMessage::new(&call.id, &call.name, content, reply.timestamp);
        result.is_error = true;
        messages.push(result.into());
    }
    if !is_answered {
        messages.push(UserMessage::new(text, reply.timestamp).into());
    }
}

#[cfg(test)]
mod tests;
