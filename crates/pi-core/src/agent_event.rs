//! What an agent does, as events.

use std::sync::Arc;
use std::time::Duration;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::agent_message::AgentMessage;
use crate::content::ToolCall;
use crate::event::{AssistantEvent, InProcess};
use crate::message::{AssistantMessage, ToolResultMessage};
use crate::tagged::{from_value, read_tagged};
use crate::tool::ToolOutput;

/// One event of a run. Events are facts: what has happened, never what should.
///
/// The order is a grammar, checked by `pi_testkit::grammar`. The serde form is upstream's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A run begins.
    AgentStart,
    /// A run is over. Nothing follows.
    AgentEnd {
        /// All messages that the run added, in order.
        messages: Arc<[AgentMessage]>,
    },
    /// A turn begins: one reply of the model and the calls in it.
    TurnStart,
    /// A turn is over.
    TurnEnd {
        /// The reply.
        message: AgentMessage,
        /// The results of its calls, in source order.
        tool_results: Vec<Arc<ToolResultMessage>>,
    },
    /// A message begins; all but replies are complete already.
    MessageStart {
        /// The message so far.
        message: AgentMessage,
    },
    /// A reply has grown.
    MessageUpdate {
        /// The reply so far. Keeping it makes the next update copy it.
        message: Arc<AssistantMessage>,
        /// What has changed.
        event: AssistantEvent,
    },
    /// A message is complete and part of the transcript.
    MessageEnd {
        /// The message.
        message: AgentMessage,
    },
    /// A call begins: its arguments are looked at next.
    ToolExecutionStart {
        /// The call as the model asked for it.
        call: Arc<ToolCall>,
    },
    /// A tool reports progress.
    ToolExecutionUpdate {
        /// The call as the model asked for it.
        call: Arc<ToolCall>,
        /// What the tool has so far.
        partial_result: ToolOutput,
    },
    /// A call is over: it ran, failed, was refused or not run.
    ToolExecutionEnd {
        /// The call as the model asked for it.
        call: Arc<ToolCall>,
        /// What the tool answered, or why it did not run.
        result: ToolOutput,
        /// True if the model sees a failure.
        is_error: bool,
        /// How long the tool ran; absent if it did not.
        duration: Option<Duration>,
        /// True if the call waits for a decision; it then has no result message.
        suspended: bool,
    },
    /// An event that this version does not know, kept as it came.
    Other(Value),
}

impl AgentEvent {
    /// Returns the type as it is spelled in JSON.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::AgentStart => "agent_start",
            Self::AgentEnd { .. } => "agent_end",
            Self::TurnStart => "turn_start",
            Self::TurnEnd { .. } => "turn_end",
            Self::MessageStart { .. } => "message_start",
            Self::MessageUpdate { .. } => "message_update",
            Self::MessageEnd { .. } => "message_end",
            Self::ToolExecutionStart { .. } => "tool_execution_start",
            Self::ToolExecutionUpdate { .. } => "tool_execution_update",
            Self::ToolExecutionEnd { .. } => "tool_execution_end",
            Self::Other(value) => value.get("type").and_then(Value::as_str).unwrap_or(""),
        }
    }

    /// Returns the text that a reply has grown by, if it has grown by text.
    #[must_use]
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::MessageUpdate { event, .. } => event.text_delta(),
            _ => None,
        }
    }

    /// Returns the event in a form that leaves the repeated message out of updates when it is
    /// serialized, for logs and slow pipes.
    #[must_use]
    pub fn without_snapshot(&self) -> WithoutSnapshot<'_> {
        WithoutSnapshot(self)
    }

    fn write<S: Serializer>(&self, serializer: S, snapshot: bool) -> Result<S::Ok, S::Error> {
        if let Self::Other(value) = self {
            return value.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.type_name())?;
        match self {
            Self::AgentStart | Self::TurnStart | Self::Other(_) => {}
            Self::AgentEnd { messages } => map.serialize_entry("messages", messages)?,
            Self::TurnEnd {
                message,
                tool_results,
            } => {
                map.serialize_entry("message", message)?;
                map.serialize_entry("toolResults", tool_results)?;
            }
            Self::MessageStart { message } | Self::MessageEnd { message } => {
                map.serialize_entry("message", message)?;
            }
            Self::MessageUpdate { message, event } => {
                if snapshot {
                    map.serialize_entry("message", message)?;
                }
                map.serialize_entry("assistantMessageEvent", &InProcess::new(event, message))?;
            }
            Self::ToolExecutionStart { call } => write_call(&mut map, call)?,
            Self::ToolExecutionUpdate {
                call,
                partial_result,
            } => {
                write_call(&mut map, call)?;
                map.serialize_entry("partialResult", partial_result)?;
            }
            Self::ToolExecutionEnd {
                call,
                result,
                is_error,
                duration,
                suspended,
            } => {
                map.serialize_entry("toolCallId", &call.id)?;
                map.serialize_entry("toolName", &call.name)?;
                map.serialize_entry("result", result)?;
                map.serialize_entry("isError", is_error)?;
                if let Some(duration) = duration {
                    map.serialize_entry("durationMs", &(duration.as_millis() as u64))?;
                }
                if *suspended {
                    map.serialize_entry("suspended", suspended)?;
                }
            }
        }
        map.end()
    }
}

fn write_call<M: SerializeMap>(map: &mut M, call: &ToolCall) -> Result<(), M::Error> {
    map.serialize_entry("toolCallId", &call.id)?;
    map.serialize_entry("toolName", &call.name)?;
    map.serialize_entry("args", &call.arguments)
}

impl Serialize for AgentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(serializer, true)
    }
}

/// An event that is serialized without the repeated message of updates.
#[derive(Debug, Clone, Copy)]
pub struct WithoutSnapshot<'a>(&'a AgentEvent);

impl Serialize for WithoutSnapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer, false)
    }
}

/// The fields of all events as they lie in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    message: Option<AgentMessage>,
    messages: Option<Vec<AgentMessage>>,
    tool_results: Option<Vec<Arc<ToolResultMessage>>>,
    assistant_message_event: Option<Value>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    args: Option<Map<String, Value>>,
    partial_result: Option<ToolOutput>,
    result: Option<ToolOutput>,
    #[serde(default)]
    is_error: bool,
    duration_ms: Option<u64>,
    #[serde(default)]
    suspended: bool,
}

impl Fields {
    fn call(&mut self) -> Option<Arc<ToolCall>> {
        let id = self.tool_call_id.take()?;
        let name = self.tool_name.take()?;
        Some(Arc::new(ToolCall::new(
            id,
            name,
            self.args.take().unwrap_or_default(),
        )))
    }

    /// Builds the event; `None` if a field is missing.
    fn into_event(mut self, tag: &str) -> Option<AgentEvent> {
        Some(match tag {
            "agent_start" => AgentEvent::AgentStart,
            "agent_end" => AgentEvent::AgentEnd {
                messages: self.messages?.into(),
            },
            "turn_start" => AgentEvent::TurnStart,
            "turn_end" => AgentEvent::TurnEnd {
                message: self.message?,
                tool_results: self.tool_results?,
            },
            "message_start" => AgentEvent::MessageStart {
                message: self.message?,
            },
            "message_end" => AgentEvent::MessageEnd {
                message: self.message?,
            },
            "message_update" => {
                let AgentMessage::Assistant(message) = self.message? else {
                    return None;
                };
                let event = read_in_process(self.assistant_message_event?, &message)?;
                AgentEvent::MessageUpdate { message, event }
            }
            "tool_execution_start" => AgentEvent::ToolExecutionStart { call: self.call()? },
            "tool_execution_update" => AgentEvent::ToolExecutionUpdate {
                call: self.call()?,
                partial_result: self.partial_result?,
            },
            "tool_execution_end" => AgentEvent::ToolExecutionEnd {
                call: self.call()?,
                result: self.result?,
                is_error: self.is_error,
                duration: self.duration_ms.map(Duration::from_millis),
                suspended: self.suspended,
            },
            _ => return None,
        })
    }
}

/// Reads an event in its in-process form, which leaves to the message what the wire says itself.
fn read_in_process(mut value: Value, message: &AssistantMessage) -> Option<AssistantEvent> {
    let fields = value.as_object_mut()?;
    if fields.get("type").and_then(Value::as_str) == Some("toolcall_start") {
        let index = fields.get("contentIndex").and_then(Value::as_u64)?;
        let block = message.content.get(usize::try_from(index).ok()?)?;
        let crate::AssistantContent::ToolCall(call) = block else {
            return None;
        };
        fields.insert("id".to_owned(), call.id.clone().into());
        fields.insert("toolName".to_owned(), call.name.clone().into());
    }
    serde_json::from_value(value).ok()
}

impl<'de> Deserialize<'de> for AgentEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const KNOWN: [&str; 10] = [
            "agent_start",
            "agent_end",
            "turn_start",
            "turn_end",
            "message_start",
            "message_update",
            "message_end",
            "tool_execution_start",
            "tool_execution_update",
            "tool_execution_end",
        ];
        let (tag, value) = read_tagged(deserializer, "type")?;
        if !KNOWN.contains(&tag.as_str()) {
            return Ok(Self::Other(value));
        }
        let fields: Fields = from_value(value)?;
        fields
            .into_event(&tag)
            .ok_or_else(|| D::Error::custom(format_args!("a field of the {tag} event is missing")))
    }
}
