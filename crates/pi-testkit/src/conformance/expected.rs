//! What a reply must be.

use std::fmt;

use pi_core::{
    AssistantContent, AssistantEvent, AssistantMessage, ErrorKind, StopReason, ToolCall, Usage,
};
use serde_json::{Map, Value};

/// What the reply to a request must be: how it ends, and what an application sees of it.
///
/// Blocks of one kind that stand side by side count as one, and empty ones do not count, since
/// protocols differ in how they cut a text.
///
/// # Examples
/// ```
/// use pi_core::{ErrorKind, StopReason};
/// use pi_testkit::conformance::Expected;
/// use serde_json::json;
///
/// let call = Expected::done(StopReason::ToolUse)
///     .text("Looking.")
///     .tool_call("weather", json!({ "city": "Graz" }));
/// let failure = Expected::error(ErrorKind::Overloaded).text("Hel").status(529);
/// # drop((call, failure));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Expected {
    pub(super) ending: Ending,
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Option<Usage>,
    pub(super) status: Option<u16>,
}

/// How a reply ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Done(StopReason),
    /// The kind is unknown where the error is not typed.
    Error(Option<ErrorKind>),
}

/// What an application sees of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Text(String),
    Thinking(String),
    ToolCall {
        name: String,
        arguments: Map<String, Value>,
    },
    /// A call that must not be run.
    CutToolCall {
        name: String,
    },
    Other,
}

impl Expected {
    /// Expects a reply that is complete.
    pub fn done(reason: StopReason) -> Self {
        Self::ending(Ending::Done(reason))
    }

    /// Expects a reply that ends in an error.
    pub fn error(kind: ErrorKind) -> Self {
        Self::ending(Ending::Error(Some(kind)))
    }

    fn ending(ending: Ending) -> Self {
        Self {
            ending,
            blocks: Vec::new(),
            usage: None,
            status: None,
        }
    }

    /// Then expects a text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(Block::Text(text.into()))
    }

    /// Then expects reasoning.
    pub fn thinking(self, thinking: impl Into<String>) -> Self {
        self.block(Block::Thinking(thinking.into()))
    }

    /// Then expects a call with these arguments, an object.
    pub fn tool_call(self, name: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let name = name.into();
        self.block(Block::ToolCall { name, arguments })
    }

    /// Then expects a call that broke off, so that it has an
    /// [`arguments_error`](ToolCall::arguments_error).
    pub fn cut_tool_call(self, name: impl Into<String>) -> Self {
        self.block(Block::CutToolCall { name: name.into() })
    }

    /// Expects these counts of tokens. Without it usage is not compared.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Expects this HTTP status in the error. Without it the status is not compared.
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}

impl Ending {
    /// Returns how a stream ended; none if the event does not close it.
    pub(super) fn of(event: &AssistantEvent) -> Option<Self> {
        match event {
            AssistantEvent::Done { reason, .. } => Some(Self::Done(reason.clone())),
            AssistantEvent::Error { error_info, .. } => {
                let kind = error_info.as_ref().map(|info| info.kind.clone());
                Some(Self::Error(kind))
            }
            _ => None,
        }
    }
}

impl Block {
    /// Returns what a message shows.
    pub(super) fn all_of(message: &AssistantMessage) -> Vec<Self> {
        let mut blocks: Vec<Self> = Vec::new();
        for content in &message.content {
            let block = Self::of(content);
            match (blocks.last_mut(), block) {
                (_, Self::Text(more) | Self::Thinking(more)) if more.is_empty() => {}
                (Some(Self::Text(text)), Self::Text(more))
                | (Some(Self::Thinking(text)), Self::Thinking(more)) => text.push_str(&more),
                (_, block) => blocks.push(block),
            }
        }
        blocks
    }

    fn of(content: &AssistantContent) -> Self {
        match content {
            AssistantContent::Text(block) => Self::Text(block.text.clone()),
            AssistantContent::Thinking(block) => Self::Thinking(block.thinking.clone()),
            AssistantContent::ToolCall(call) => Self::of_call(call),
            _ => Self::Other,
        }
    }

    fn of_call(call: &ToolCall) -> Self {
        let name = call.name.clone();
        match call.arguments_error {
            Some(_) => Self::CutToolCall { name },
            None => Self::ToolCall {
                name,
                arguments: call.arguments.clone(),
            },
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(reason) => write!(f, "done {reason}"),
            Self::Error(Some(kind)) => write!(f, "an error of kind {kind}"),
            Self::Error(None) => f.write_str("an error without a kind"),
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "text {text:?}"),
            Self::Thinking(text) => write!(f, "thinking {text:?}"),
            Self::ToolCall { name, arguments } => {
                let arguments = Value::Object(arguments.clone());
                write!(f, "toolcall {name} {arguments}")
            }
            Self::CutToolCall { name } => write!(f, "toolcall {name} cut off"),
            Self::Other => f.write_str("a block of an unknown type"),
        }
    }
}

/// Shows blocks in one line.
pub(super) fn shown(blocks: &[Block]) -> String {
    let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
    match blocks.is_empty() {
        true => "nothing".to_owned(),
        false => blocks.join(", "),
    }
}
