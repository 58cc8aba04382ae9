//! The only fold from events to a message.

use std::sync::Arc;

use crate::content::{AssistantContent, TextContent, ThinkingContent, ToolCall};
use crate::event::AssistantEvent;
use crate::message::AssistantMessage;
use crate::partial_json::PartialJson;

/// The most blocks of one message.
const MAX_BLOCKS: usize = 10_000;

/// Folds [`AssistantEvent`]s to an [`AssistantMessage`].
///
/// The message is an `Arc` that is edited in place while nobody else holds it, so that the cost of
/// a delta does not grow with the message. Whoever keeps a snapshot makes the next event copy the
/// message once.
///
/// # Examples
/// ```
/// use pi_core::{Assembler, AssistantEvent, AssistantMessage, Model};
///
/// let model = Model::new("m", "openai-completions", "local", "http://127.0.0.1:8080/v1");
/// let mut assembler = Assembler::new(AssistantMessage::empty(&model, 0));
/// assembler.push(&AssistantEvent::TextStart { content_index: 0 })?;
/// assembler.push(&AssistantEvent::TextDelta { content_index: 0, delta: "Hi".into() })?;
/// assert_eq!(assembler.message().text(), "Hi");
/// # Ok::<(), pi_core::AssemblyError>(())
/// ```
#[derive(Debug)]
pub struct Assembler {
    message: Arc<AssistantMessage>,
    /// The parser of each block's arguments, `None` for a block that has ended or has none.
    open: Vec<Open>,
}

#[derive(Debug)]
enum Open {
    Text,
    Thinking,
    ToolCall(Box<PartialJson>),
    Ended,
}

/// An event that does not fit the events before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssemblyError {
    /// A delta or an end names a block of another kind, or none.
    #[error("Received {event} for non-{expected} content")]
    WrongBlock {
        /// The type of the event.
        event: &'static str,
        /// The kind of block that it needs.
        expected: &'static str,
    },
    /// A delta or an end came for a block that has ended.
    #[error("Received {event} for a block that has ended")]
    Ended {
        /// The type of the event.
        event: &'static str,
    },
    /// A block begins at a place that is taken or leaves a gap.
    #[error("Received a block start at index {index} of a message with {blocks} blocks")]
    Misplaced {
        /// The place that the event names.
        index: usize,
        /// The number of blocks so far.
        blocks: usize,
    },
    /// A known event lacks a field, or a field has the wrong type.
    #[error("Received a malformed {event} event")]
    Malformed {
        /// The type of the event.
        event: String,
    },
    /// The message has too many blocks.
    #[error("Received more than {limit} content blocks")]
    TooManyBlocks {
        /// The most blocks that are allowed.
        limit: usize,
    },
}

impl Assembler {
    /// Starts from an empty message, which tells api, provider, model and time.
    #[must_use]
    pub fn new(seed: AssistantMessage) -> Self {
        let open = seed.content.iter().map(|_| Open::Ended).collect();
        Self {
            message: Arc::new(seed),
            open,
        }
    }

    /// Returns the message so far.
    #[must_use]
    pub fn message(&self) -> &Arc<AssistantMessage> {
        &self.message
    }

    /// Returns the message.
    #[must_use]
    pub fn into_message(self) -> Arc<AssistantMessage> {
        self.message
    }

    /// Applies one event. Unknown events are skipped.
    ///
    /// # Errors
    /// If the event does not fit those before it; the message is then as it was.
    pub fn push(&mut self, event: &AssistantEvent) -> Result<(), AssemblyError> {
        match event {
            AssistantEvent::Start => {}
            AssistantEvent::TextStart { content_index } => {
                self.begin(*content_index, Open::Text, || TextContent::default().into())?;
            }
            AssistantEvent::ThinkingStart {
                content_index,
                content_signature,
            } => {
                self.begin(*content_index, Open::Thinking, || {
                    let mut block = ThinkingContent::default();
                    block.thinking_signature.clone_from(content_signature);
                    block.into()
                })?;
            }
            AssistantEvent::ToolCallStart {
                content_index,
                id,
                tool_name,
            } => {
                self.begin(*content_index, Open::ToolCall(Box::default()), || {
                    ToolCall::new(id, tool_name, serde_json::Map::new()).into()
                })?;
            }
            AssistantEvent::TextDelta {
                content_index,
                delta,
            } => {
                self.text(*content_index, "text_delta")?
                    .text
                    .push_str(delta);
            }
            AssistantEvent::ThinkingDelta {
                content_index,
                delta,
            } => {
                self.thinking(*content_index, "thinking_delta")?
                    .thinking
                    .push_str(delta);
            }
            AssistantEvent::ToolCallDelta {
                content_index,
                delta,
            } => {
                let (call, parser) = self.tool_call(*content_index, "toolcall_delta")?;
                parser.push(&mut call.arguments, delta);
            }
            AssistantEvent::TextEnd { .. }
            | AssistantEvent::ThinkingEnd { .. }
            | AssistantEvent::ToolCallEnd { .. } => self.end_block(event)?,
            AssistantEvent::Done { .. } | AssistantEvent::Error { .. } => self.end_message(event),
            AssistantEvent::Other(_) => {
                if event.is_malformed() {
                    return Err(AssemblyError::Malformed {
                        event: event.type_name().to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: usize,
        open: Open,
        block: impl FnOnce() -> AssistantContent,
    ) -> Result<(), AssemblyError> {
        let blocks = self.open.len();
        if index != blocks {
            return Err(AssemblyError::Misplaced { index, blocks });
        }
        if blocks >= MAX_BLOCKS {
            return Err(AssemblyError::TooManyBlocks { limit: MAX_BLOCKS });
        }
        Arc::make_mut(&mut self.message).content.push(block());
        self.open.push(open);
        Ok(())
    }

    fn end_block(&mut self, event: &AssistantEvent) -> Result<(), AssemblyError> {
        match event {
            AssistantEvent::TextEnd {
                content_index,
                content,
                content_signature,
            } => {
                let block = self.text(*content_index, "text_end")?;
                if let Some(content) = content {
                    block.text.clone_from(content);
                }
                if content_signature.is_some() {
                    block.text_signature.clone_from(content_signature);
                }
                self.close(*content_index);
            }
            AssistantEvent::ThinkingEnd {
                content_index,
                content,
                content_signature,
                redacted,
            } => {
                let block = self.thinking(*content_index, "thinking_end")?;
                if let Some(content) = content {
                    block.thinking.clone_from(content);
                }
                if content_signature.is_some() {
                    block.thinking_signature.clone_from(content_signature);
                }
                block.redacted |= redacted;
                self.close(*content_index);
            }
            AssistantEvent::ToolCallEnd {
                content_index,
                thought_signature,
                tool_call,
            } => {
                let (call, parser) = self.tool_call(*content_index, "toolcall_end")?;
                match tool_call {
                    Some(whole) => call.clone_from(whole),
                    None => finish_arguments(call, parser),
                }
                if thought_signature.is_some() {
                    call.thought_signature.clone_from(thought_signature);
                }
                self.close(*content_index);
            }
            _ => {}
        }
        Ok(())
    }

    fn end_message(&mut self, event: &AssistantEvent) {
        let message = Arc::make_mut(&mut self.message);
        for (block, open) in message.content.iter_mut().zip(&mut self.open) {
            if let (AssistantContent::ToolCall(call), Open::ToolCall(parser)) = (block, open) {
                finish_arguments(call, parser);
            }
        }
        self.open.fill_with(|| Open::Ended);
        match event {
            AssistantEvent::Done {
                reason,
                usage,
                response_id,
            } => {
                message.stop_reason = reason.clone();
                message.usage = usage.clone();
                message.response_id.clone_from(response_id);
            }
            AssistantEvent::Error {
                reason,
                error_message,
                usage,
                response_id,
                error_info,
            } => {
                message.stop_reason = reason.clone();
                message.usage = usage.clone();
                message.response_id.clone_from(response_id);
                message.error_message = Some(error_message.clone());
                message.error_info.clone_from(error_info);
            }
            _ => {}
        }
    }

    fn text(
        &mut self,
        index: usize,
        event: &'static str,
    ) -> Result<&mut TextContent, AssemblyError> {
        let wrong = AssemblyError::WrongBlock {
            event,
            expected: "text",
        };
        match self.open.get(index) {
            Some(Open::Text) => {}
            Some(Open::Ended) => return Err(self.ended(index, event, wrong, is_text)),
            _ => return Err(wrong),
        }
        match Arc::make_mut(&mut self.message).content.get_mut(index) {
            Some(AssistantContent::Text(block)) => Ok(block),
            _ => Err(wrong),
        }
    }

    fn thinking(
        &mut self,
        index: usize,
        event: &'static str,
    ) -> Result<&mut ThinkingContent, AssemblyError> {
        let wrong = AssemblyError::WrongBlock {
            event,
            expected: "thinking",
        };
        match self.open.get(index) {
            Some(Open::Thinking) => {}
            Some(Open::Ended) => return Err(self.ended(index, event, wrong, is_thinking)),
            _ => return Err(wrong),
        }
        match Arc::make_mut(&mut self.message).content.get_mut(index) {
            Some(AssistantContent::Thinking(block)) => Ok(block),
            _ => Err(wrong),
        }
    }

    fn tool_call(
        &mut self,
        index: usize,
        event: &'static str,
    ) -> Result<(&mut ToolCall, &mut PartialJson), AssemblyError> {
        let wrong = AssemblyError::WrongBlock {
            event,
            expected: "toolCall",
        };
        if matches!(self.open.get(index), Some(Open::Ended)) {
            return Err(self.ended(index, event, wrong, is_tool_call));
        }
        let Some(Open::ToolCall(parser)) = self.open.get_mut(index) else {
            return Err(wrong);
        };
        match Arc::make_mut(&mut self.message).content.get_mut(index) {
            Some(AssistantContent::ToolCall(call)) => Ok((call, parser)),
            _ => Err(wrong),
        }
    }

    fn ended(
        &self,
        index: usize,
        event: &'static str,
        wrong: AssemblyError,
        is_kind: fn(&AssistantContent) -> bool,
    ) -> AssemblyError {
        match self.message.content.get(index) {
            Some(block) if is_kind(block) => AssemblyError::Ended { event },
            _ => wrong,
        }
    }

    fn close(&mut self, index: usize) {
        if let Some(open) = self.open.get_mut(index) {
            *open = Open::Ended;
        }
    }
}

fn finish_arguments(call: &mut ToolCall, parser: &mut PartialJson) {
    if let Err(error) = parser.finish(&mut call.arguments) {
        call.arguments_error = Some(error.to_string());
    }
}

fn is_text(block: &AssistantContent) -> bool {
    matches!(block, AssistantContent::Text(_))
}

fn is_thinking(block: &AssistantContent) -> bool {
    matches!(block, AssistantContent::Thinking(_))
}

fn is_tool_call(block: &AssistantContent) -> bool {
    matches!(block, AssistantContent::ToolCall(_))
}
