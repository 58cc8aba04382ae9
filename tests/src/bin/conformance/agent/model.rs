//! The scripted model.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::stream;
use pi_core::{
    AssistantContent, AssistantEvent, AssistantMessage, AssistantStream, CancellationToken,
    ErrorKind, ExposeSecret, Model, Provider, ProviderError, Request, StreamOptions, TextContent,
    Usage,
};
use serde_json::{Map, Value, json};

use super::scenario::{Kind, Step};
use super::steps;
use super::world::World;
use integration_tests::observe::to_value;

pub(super) struct ScriptedModel(pub(super) Arc<World>);

impl Provider for ScriptedModel {
    fn stream(&self, request: Request) -> AssistantStream {
        let world = &self.0;
        let number = world.llm_calls.fetch_add(1, Ordering::Relaxed) + 1;
        world.note(entry(world, number, &request));
        let Some(response) = world.scenario.responses.get(number - 1).cloned() else {
            return failed(&request, "no scripted response left");
        };
        world.act(&response.call.acts, &format!("llm{number}"));
        if let Some(text) = response
            .call
            .throw
            .as_ref()
            .or(response.call.reject.as_ref())
        {
            return thrown(&request, text);
        }
        let abort = request.abort.clone().unwrap_or_default();
        let message = response
            .message
            .clone()
            .unwrap_or_else(|| AssistantMessage::empty(&request.model, 0));
        let seed = seed(&message);
        let ignores_abort = response.on_abort.as_deref() == Some("ignore");
        let script = Script {
            world: Arc::clone(world),
            id: format!("llm{number}"),
            message,
            ops: VecDeque::from(response.ops),
            abort: abort.clone(),
        };
        let stream = AssistantStream::new(seed, stream::unfold(script, Script::next));
        if ignores_abort {
            stream
        } else {
            stream.abort_on(abort)
        }
    }
}

/// The message that a reply starts from.
fn seed(message: &AssistantMessage) -> AssistantMessage {
    let model = Model::new(&message.model, &message.api, &message.provider, "");
    AssistantMessage::empty(&model, message.timestamp)
}

fn failed(request: &Request, text: &str) -> AssistantStream {
    AssistantStream::failed(request, 0, &ProviderError::new(ErrorKind::Server, text))
}

/// A provider cannot throw here; what it does instead ends like a call that throws upstream, with
/// one empty text.
fn thrown(request: &Request, text: &str) -> AssistantStream {
    let mut seed = AssistantMessage::empty(&request.model, 0);
    seed.content.push(TextContent::new("").into());
    let error = ProviderError::new(ErrorKind::Server, text);
    let event = AssistantEvent::from_error(&error, Usage::default(), None);
    AssistantStream::new(seed, stream::iter([event]))
}

/// A response on its way.
struct Script {
    world: Arc<World>,
    id: String,
    message: AssistantMessage,
    ops: VecDeque<Step>,
    abort: CancellationToken,
}

impl Script {
    /// Plays ops up to the next event.
    async fn next(mut self) -> Option<(AssistantEvent, Self)> {
        while let Some(op) = self.ops.pop_front() {
            if steps::play(&self.world, &op, &self.id, &self.abort).await {
                continue;
            }
            match self.event(&op) {
                Some(event) => return Some((event, self)),
                None => return None,
            }
        }
        None
    }

    fn event(&self, op: &Step) -> Option<AssistantEvent> {
        let content_index = op.index;
        let delta = op.delta.clone();
        let block = self.message.content.get(op.index);
        Some(match (op.op.as_str(), block) {
            ("start", _) => AssistantEvent::Start,
            ("text_start", _) => AssistantEvent::TextStart { content_index },
            ("thinking_start", _) => AssistantEvent::ThinkingStart {
                content_index,
                content_signature: None,
            },
            ("toolcall_start", Some(AssistantContent::ToolCall(call))) => {
                AssistantEvent::ToolCallStart {
                    content_index,
                    id: call.id.clone(),
                    tool_name: call.name.clone(),
                }
            }
            ("text_delta", _) => AssistantEvent::TextDelta {
                content_index,
                delta,
            },
            ("thinking_delta", _) => AssistantEvent::ThinkingDelta {
                content_index,
                delta,
            },
            ("toolcall_delta", _) => AssistantEvent::ToolCallDelta {
                content_index,
                delta,
            },
            ("text_end", Some(AssistantContent::Text(block))) => AssistantEvent::TextEnd {
                content_index,
                content: Some(block.text.clone()),
                content_signature: block.text_signature.clone(),
            },
            ("thinking_end", Some(AssistantContent::Thinking(block))) => {
                AssistantEvent::ThinkingEnd {
                    content_index,
                    content: Some(block.thinking.clone()),
                    content_signature: block.thinking_signature.clone(),
                    redacted: block.redacted,
                }
            }
            ("toolcall_end", Some(AssistantContent::ToolCall(call))) => {
                AssistantEvent::ToolCallEnd {
                    content_index,
                    thought_signature: call.thought_signature.clone(),
                    tool_call: Some(Box::new(call.clone())),
                }
            }
            ("done", _) => AssistantEvent::Done {
                reason: self.message.stop_reason.clone(),
                usage: self.message.usage.clone(),
                response_id: self.message.response_id.clone(),
            },
            ("error", _) => AssistantEvent::Error {
                reason: self.message.stop_reason.clone(),
                error_message: self.message.error_message.clone().unwrap_or_default(),
                usage: self.message.usage.clone(),
                response_id: self.message.response_id.clone(),
                error_info: None,
            },
            ("throw", _) => {
                let error = ProviderError::new(ErrorKind::Transport, &op.message);
                AssistantEvent::from_error(&error, Usage::default(), None)
            }
            _ => return None,
        })
    }
}

fn entry(world: &World, number: usize, request: &Request) -> Value {
    let context = &request.context;
    let tools: Option<Vec<&str>> = context
        .tools
        .as_ref()
        .map(|tools| tools.iter().map(|tool| tool.name.as_str()).collect());
    let signal = match &request.abort {
        Some(token) => world.signal_word(token),
        None if world.scenario.kind == Kind::Loop => "none",
        None => "missing",
    };
    json!({
        "k": "llm",
        "n": number,
        "model": request.model.id,
        "systemPrompt": context.system_prompt.as_deref().unwrap_or_default(),
        "messages": to_value(&context.messages),
        "tools": tools,
        "options": options(&request.options),
        "signal": signal,
    })
}

/// The options that are set.
fn options(options: &StreamOptions) -> Value {
    let mut set = Map::new();
    let mut note = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            set.insert(key.to_owned(), value);
        }
    };
    note(
        "apiKey",
        options
            .api_key
            .as_ref()
            .map(|key| key.expose_secret().into()),
    );
    note("reasoning", options.reasoning.as_ref().map(to_value));
    note("sessionId", options.session_id.as_ref().map(to_value));
    note(
        "thinkingBudgets",
        options.thinking_budgets.as_ref().map(to_value),
    );
    note("transport", options.transport.as_ref().map(to_value));
    note(
        "maxRetryDelayMs",
        options.max_retry_delay_ms.map(Value::from),
    );
    note("temperature", options.temperature.map(Value::from));
    note("maxTokens", options.max_tokens.map(Value::from));
    Value::Object(set)
}
