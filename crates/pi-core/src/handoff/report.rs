//! What a hand-over drops and changes, said before anything is sent.

use std::collections::HashSet;
use std::fmt;

use super::{Fate, Ids, fate, is_own, pair_results};
use crate::content::{AssistantContent, MessageContent, UserContent};
use crate::message::{AssistantMessage, Message, StopReason};
use crate::model::Model;

/// What a hand-over drops and changes.
///
/// # Examples
/// ```
/// use pi_core::{AssistantMessage, Message, Model, ThinkingContent, handoff};
///
/// let mut reply = AssistantMessage::empty(&Model::new("m1", "some-api", "elsewhere", ""), 0);
/// reply.content.push(ThinkingContent::new("Hm.").into());
///
/// let target = Model::new("m2", "openai-completions", "openai", "");
/// let report = handoff::report(&[Message::from(reply)], &target, |id, _| id.to_owned());
/// assert_eq!(report.to_string(), "message 0: the reasoning in block 0 goes on as plain text");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandoffReport {
    /// The changes, in the order of the messages.
    pub changes: Vec<HandoffChange>,
}

impl HandoffReport {
    /// Returns true if the conversation goes out as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Iterates over the changes by which the model sees less than the conversation holds.
    pub fn losses(&self) -> impl Iterator<Item = &HandoffChange> {
        self.changes.iter().filter(|change| change.effect.is_loss())
    }

    /// Adds a change of the message at this index.
    pub fn add(&mut self, message: usize, effect: HandoffEffect) {
        self.changes.push(HandoffChange { message, effect });
    }
}

/// Prints one line for each change.
impl fmt::Display for HandoffReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, change) in self.changes.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            change.fmt(f)?;
        }
        Ok(())
    }
}

/// One change of a hand-over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandoffChange {
    /// The index of the message in the stored conversation.
    pub message: usize,
    /// What becomes of it.
    pub effect: HandoffEffect,
}

impl fmt::Display for HandoffChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}: {}", self.message, self.effect)
    }
}

/// What becomes of a message or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandoffEffect {
    /// The reply is left out, since it failed or was aborted.
    ReplyDropped {
        /// How it ended.
        stop_reason: StopReason,
    },
    /// The result is left out: its call is not sent, or has another result.
    ResultDropped {
        /// The call that it names.
        tool_call_id: String,
    },
    /// The call has no result; an error result is put in.
    CallAnswered {
        /// The id of the call.
        tool_call_id: String,
    },
    /// The call and its result get another id.
    CallRenamed {
        /// The id before.
        from: String,
        /// The id that is sent.
        to: String,
    },
    /// Another model's reasoning goes on as plain text.
    ThinkingAsText {
        /// The index of the block.
        block: usize,
    },
    /// The block is left out: reasoning that is hidden, or a kind that this version does not know.
    BlockDropped {
        /// The index of the block.
        block: usize,
    },
    /// The block goes on without the signature of another model.
    SignatureDropped {
        /// The index of the block.
        block: usize,
    },
    /// The images are left out, since the model takes text only.
    ImagesDropped {
        /// How many there are.
        count: usize,
    },
    /// The instruction goes into the prompt or into a user message, since the API has no place for it
    /// in mid-conversation.
    SystemMessageMoved,
}

impl HandoffEffect {
    /// Returns true if the model sees less than the conversation holds.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        match self {
            Self::ReplyDropped { .. }
            | Self::ResultDropped { .. }
            | Self::BlockDropped { .. }
            | Self::SignatureDropped { .. }
            | Self::ImagesDropped { .. } => true,
            Self::CallAnswered { .. }
            | Self::CallRenamed { .. }
            | Self::ThinkingAsText { .. }
            | Self::SystemMessageMoved => false,
        }
    }
}

impl fmt::Display for HandoffEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplyDropped { stop_reason } => {
                write!(f, "the reply is left out (it ended with \"{stop_reason}\")")
            }
            Self::ResultDropped { tool_call_id } => {
                write!(f, "the result of call \"{tool_call_id}\" is left out")
            }
            Self::CallAnswered { tool_call_id } => {
                write!(
                    f,
                    "call \"{tool_call_id}\" has no result and gets one that says so"
                )
            }
            Self::CallRenamed { from, to } => write!(f, "call \"{from}\" becomes \"{to}\""),
            Self::ThinkingAsText { block } => {
                write!(f, "the reasoning in block {block} goes on as plain text")
            }
            Self::BlockDropped { block } => write!(f, "block {block} is left out"),
            Self::SignatureDropped { block } => {
                write!(f, "block {block} goes on without its signature")
            }
            Self::ImagesDropped { count: 1 } => f.write_str("the image is left out"),
            Self::ImagesDropped { count } => write!(f, "the {count} images are left out"),
            Self::SystemMessageMoved => {
                f.write_str("the instruction goes into the prompt or a user message")
            }
        }
    }
}

/// Tells what [`for_target`](super::for_target) would drop and change, and which images a model
/// that takes text only would not see. Reasoning that is blank is not worth a word.
pub fn report(
    messages: &[Message],
    target: &Model,
    id: impl Fn(&str, u32) -> String,
) -> HandoffReport {
    let results = pair_results(messages);
    let failed = |index: usize| match messages.get(index) {
        Some(Message::Assistant(reply)) => reply.stop_reason.is_failure(),
        _ => false,
    };
    let sent_results: HashSet<usize> = results
        .iter()
        .filter(|((call, _), _)| !failed(*call))
        .map(|(_, (result, _))| *result)
        .collect();
    let mut ids = Ids::new(id);
    let mut report = HandoffReport::default();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::Assistant(reply) if reply.stop_reason.is_failure() => {
                let stop_reason = reply.stop_reason.clone();
                report.add(index, HandoffEffect::ReplyDropped { stop_reason });
            }
            Message::Assistant(reply) => {
                let is_own = is_own(reply, target);
                report_blocks(reply, index, is_own, &mut report);
                for (position, call) in reply.tool_calls().enumerate() {
                    let (from, to) = (call.id.clone(), ids.take(&call.id, is_own));
                    if from != to {
                        report.add(index, HandoffEffect::CallRenamed { from, to });
                    }
                    if !results.contains_key(&(index, position)) {
                        let tool_call_id = call.id.clone();
                        report.add(index, HandoffEffect::CallAnswered { tool_call_id });
                    }
                }
            }
            Message::ToolResult(result) if !sent_results.contains(&index) => {
                let tool_call_id = result.tool_call_id.clone();
                report.add(index, HandoffEffect::ResultDropped { tool_call_id });
            }
            _ => {}
        }
        let count = if target.takes_images() {
            0
        } else {
            images(message)
        };
        let is_sent = !matches!(message, Message::ToolResult(_)) || sent_results.contains(&index);
        if count > 0 && is_sent {
            report.add(index, HandoffEffect::ImagesDropped { count });
        }
    }
    report
}

fn report_blocks(
    reply: &AssistantMessage,
    message: usize,
    is_own: bool,
    report: &mut HandoffReport,
) {
    for (block, content) in reply.content.iter().enumerate() {
        match (fate(content, is_own), content) {
            (Fate::Kept, _) => {}
            (Fate::Dropped, AssistantContent::Thinking(thinking)) if !thinking.redacted => {}
            (Fate::Dropped, _) => report.add(message, HandoffEffect::BlockDropped { block }),
            (Fate::Plain, AssistantContent::Thinking(_)) => {
                report.add(message, HandoffEffect::ThinkingAsText { block });
            }
            (Fate::Plain, _) => report.add(message, HandoffEffect::SignatureDropped { block }),
        }
    }
}

fn images(message: &Message) -> usize {
    let blocks = match message {
        Message::User(message) => &message.content,
        Message::System(message) => &message.content,
        Message::ToolResult(result) => return count_images(&result.content),
        _ => return 0,
    };
    match blocks {
        MessageContent::Blocks(blocks) => count_images(blocks),
        _ => 0,
    }
}

fn count_images(blocks: &[UserContent]) -> usize {
    let is_image = |block: &&UserContent| matches!(block, UserContent::Image(_));
    blocks.iter().filter(is_image).count()
}
