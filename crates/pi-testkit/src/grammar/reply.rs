//! The grammar of one reply.

use pi_core::{
    Assembler, AssistantContent, AssistantEvent, AssistantMessage, ErrorKind, ProviderError,
    StopReason, Usage,
};

use super::Expected;

/// Checks the events of one reply.
#[derive(Debug)]
pub(super) struct ReplyChecker {
    has_events: bool,
    is_over: bool,
    /// Blocks that were there before the first event.
    base: usize,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    kind: &'static str,
    is_open: bool,
}

/// The part of a block that an event is.
enum Part {
    Start,
    Delta,
    End,
}

impl ReplyChecker {
    /// Starts a reply whose message has `base` blocks already.
    pub(super) fn new(base: usize) -> Self {
        Self {
            has_events: false,
            is_over: false,
            base,
            blocks: Vec::new(),
        }
    }

    /// Takes the next event.
    pub(super) fn push(&mut self, event: &AssistantEvent) -> Result<(), Expected> {
        if self.is_over {
            return Err("nothing after the closing event".to_owned());
        }
        let is_first = !std::mem::replace(&mut self.has_events, true);
        match event {
            AssistantEvent::Start if is_first => Ok(()),
            AssistantEvent::Start => Err("start only as the first event".to_owned()),
            AssistantEvent::Done { reason, .. } => {
                self.is_over = true;
                self.all_blocks_ended()?;
                if reason.is_failure() {
                    return Err("done with a reason that is no failure".to_owned());
                }
                Ok(())
            }
            AssistantEvent::Error { reason, .. } => {
                self.is_over = true;
                if reason.is_failure() {
                    return Ok(());
                }
                Err("error with the reason error or aborted".to_owned())
            }
            _ => self.block_event(event),
        }
    }

    /// Demands the closing event.
    pub(super) fn close(&self) -> Result<(), Expected> {
        if self.is_over {
            Ok(())
        } else {
            Err("done or error".to_owned())
        }
    }

    /// Demands that every block has its end.
    pub(super) fn all_blocks_ended(&self) -> Result<(), Expected> {
        match self.blocks.iter().position(|block| block.is_open) {
            Some(open) => Err(format!("the end of block #{}", self.base + open)),
            None => Ok(()),
        }
    }

    fn block_event(&mut self, event: &AssistantEvent) -> Result<(), Expected> {
        let (Some(index), Some((kind, part))) = (event.content_index(), part(event)) else {
            return if event.is_malformed() {
                Err("a well-formed event".to_owned())
            } else {
                Ok(())
            };
        };
        let next = self.base + self.blocks.len();
        if let Part::Start = part {
            if index != next {
                return Err(format!("the next block to be #{next}"));
            }
            self.blocks.push(Block {
                kind,
                is_open: true,
            });
            return Ok(());
        }
        let block = index
            .checked_sub(self.base)
            .and_then(|place| self.blocks.get_mut(place));
        match block {
            Some(block) if !block.is_open => {
                Err(format!("nothing of block #{index} after its end"))
            }
            Some(block) if block.kind != kind => Err(format!(
                "an event of block #{index}, which is {}",
                block.kind
            )),
            Some(block) => {
                block.is_open = !matches!(part, Part::End);
                Ok(())
            }
            None => Err(format!("the start of block #{index} before")),
        }
    }
}

fn part(event: &AssistantEvent) -> Option<(&'static str, Part)> {
    Some(match event {
        AssistantEvent::TextStart { .. } => ("text", Part::Start),
        AssistantEvent::TextDelta { .. } => ("text", Part::Delta),
        AssistantEvent::TextEnd { .. } => ("text", Part::End),
        AssistantEvent::ThinkingStart { .. } => ("thinking", Part::Start),
        AssistantEvent::ThinkingDelta { .. } => ("thinking", Part::Delta),
        AssistantEvent::ThinkingEnd { .. } => ("thinking", Part::End),
        AssistantEvent::ToolCallStart { .. } => ("toolcall", Part::Start),
        AssistantEvent::ToolCallDelta { .. } => ("toolcall", Part::Delta),
        AssistantEvent::ToolCallEnd { .. } => ("toolcall", Part::End),
        _ => return None,
    })
}

/// A reply of an agent that is being told: its order, and what it adds up to.
pub(super) struct OpenReply {
    checker: ReplyChecker,
    fold: Assembler,
    pub(super) has_updates: bool,
}

impl OpenReply {
    pub(super) fn new(start: &AssistantMessage) -> Self {
        Self {
            checker: ReplyChecker::new(start.content.len()),
            fold: Assembler::new(start.clone()),
            has_updates: false,
        }
    }

    pub(super) fn update(&mut self, event: &AssistantEvent) -> Result<(), Expected> {
        self.has_updates = true;
        self.checker.push(event)?;
        self.fold
            .push(event)
            .map_err(|error| format!("an event that can be applied ({error})"))
    }

    /// Compares the finished reply with its updates.
    pub(super) fn end(mut self, end: &AssistantMessage) -> Result<(), Expected> {
        if !end.stop_reason.is_failure() {
            self.checker.all_blocks_ended()?;
        }
        if !self.has_updates {
            return Ok(());
        }
        // Closes calls that broke off, so that they are compared as they are kept.
        let cut = ProviderError::new(ErrorKind::Protocol, "");
        let _ = self
            .fold
            .push(&AssistantEvent::from_error(&cut, Usage::default(), None));
        let told = &self.fold.message().content;
        let same = told.len() == end.content.len()
            && told
                .iter()
                .zip(&end.content)
                .all(|(told, kept)| shows_the_same(told, kept));
        if same {
            Ok(())
        } else {
            Err("the finished reply to hold what its updates add up to".to_owned())
        }
    }
}

/// Compares what a user sees of two blocks. Signatures are left out: an event that was read from
/// JSON may lack them.
fn shows_the_same(told: &AssistantContent, kept: &AssistantContent) -> bool {
    match (told, kept) {
        (AssistantContent::Text(told), AssistantContent::Text(kept)) => told.text == kept.text,
        (AssistantContent::Thinking(told), AssistantContent::Thinking(kept)) => {
            told.thinking == kept.thinking
        }
        (AssistantContent::ToolCall(told), AssistantContent::ToolCall(kept)) => {
            told.id == kept.id && told.name == kept.name && told.arguments == kept.arguments
        }
        _ => told == kept,
    }
}

/// Returns what must follow a reply, for the text of an error.
pub(super) fn after_failure(reason: &StopReason) -> Expected {
    format!("turn_end, since the reply ended with {reason}")
}
