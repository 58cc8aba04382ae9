//! The scripted answers of the model.

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use futures_util::stream;
use integration_tests::observe::fold;
use pi_core::{
    AssistantEvent, AssistantMessage, AssistantStream, ErrorKind, Message, Provider, ProviderError,
    Request, StopReason, ToolCall, Usage,
};
use serde_json::Value;

use super::super::Case;
use integration_tests::apis::{self, Api};

/// One answer.
#[derive(Clone)]
pub(super) enum Answer {
    Text(String),
    ToolCalls(Vec<ToolCall>),
    /// The bytes of a response.
    Body(&'static Api, Bytes),
}

impl Answer {
    pub(super) fn read(case: &Case, api: &str, answer: &Value) -> Result<Self> {
        if let Some(file) = answer.as_str() {
            let body = fs::read(case.folder.join(file)).with_context(|| format!("read {file}"))?;
            let api = apis::find(api).context("the api is not built yet")?;
            return Ok(Self::Body(api, body.into()));
        }
        match (
            answer.get("text").and_then(Value::as_str),
            answer.get("toolCalls"),
        ) {
            (Some(text), None) => Ok(Self::Text(text.to_owned())),
            (None, Some(Value::Array(calls))) => {
                let text = |call: &Value, key: &str| {
                    call.get(key)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                let calls = calls.iter().map(|call| {
                    let arguments = call.get("arguments").and_then(Value::as_object).cloned();
                    ToolCall::new(
                        text(call, "id"),
                        text(call, "name"),
                        arguments.unwrap_or_default(),
                    )
                });
                Ok(Self::ToolCalls(calls.collect()))
            }
            _ => bail!("the answer {answer} is not known"),
        }
    }

    fn events(&self, request: &Request) -> Vec<AssistantEvent> {
        let mut events = vec![AssistantEvent::Start];
        let mut reason = StopReason::Stop;
        match self {
            Self::Body(api, body) => {
                return fold(
                    apis::framing(api.name),
                    (api.decoder)(request),
                    std::slice::from_ref(body),
                );
            }
            Self::Text(text) => {
                let content_index = 0;
                events.push(AssistantEvent::TextStart { content_index });
                events.push(AssistantEvent::TextDelta {
                    content_index,
                    delta: text.clone(),
                });
                events.push(AssistantEvent::TextEnd {
                    content_index,
                    content: None,
                    content_signature: None,
                });
            }
            Self::ToolCalls(calls) => {
                reason = StopReason::ToolUse;
                for (content_index, call) in calls.iter().enumerate() {
                    events.push(AssistantEvent::ToolCallStart {
                        content_index,
                        id: call.id.clone(),
                        tool_name: call.name.clone(),
                    });
                    events.push(AssistantEvent::ToolCallEnd {
                        content_index,
                        thought_signature: None,
                        tool_call: Some(Box::new(call.clone())),
                    });
                }
            }
        }
        let usage = Usage::default();
        events.push(AssistantEvent::Done {
            reason,
            usage,
            response_id: None,
        });
        events
    }
}

/// A provider that gives the answers in order, and keeps what it was asked.
#[derive(Clone)]
pub(super) struct Answers(Arc<Inner>);

struct Inner {
    answers: Vec<Answer>,
    repeat_last: bool,
    requests: Mutex<Vec<Vec<Message>>>,
}

impl Answers {
    pub(super) fn new(answers: Vec<Answer>, repeat_last: bool) -> Self {
        Self(Arc::new(Inner {
            answers,
            repeat_last,
            requests: Mutex::default(),
        }))
    }

    /// Returns the messages of each request so far.
    pub(super) fn requests(&self) -> Vec<Vec<Message>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<Message>>> {
        self.0
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Answers {
    fn stream(&self, request: Request) -> AssistantStream {
        let number = {
            let mut requests = self.lock();
            requests.push(request.context.messages.clone());
            requests.len() - 1
        };
        let answers = &self.0.answers;
        let last = answers.last().filter(|_| self.0.repeat_last);
        let Some(answer) = answers.get(number).or(last) else {
            let error = ProviderError::new(ErrorKind::Server, "no answer left");
            return AssistantStream::failed(&request, 1, &error);
        };
        let seed = AssistantMessage::empty(&request.model, 1);
        let stream = AssistantStream::new(seed, stream::iter(answer.events(&request)));
        match request.abort {
            Some(abort) => stream.abort_on(abort),
            None => stream,
        }
    }
}
