//! Messages that wait for their turn.

use std::collections::VecDeque;

use pi_core::AgentMessage;

use crate::error::AgentError;

/// The most messages that wait in one queue.
const CAPACITY: usize = 1024;

/// How many messages leave a queue at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueMode {
    /// One for each turn. The default.
    #[default]
    OneAtATime,
    /// All that are there.
    All,
}

/// A bounded queue of messages.
#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    pub(crate) mode: QueueMode,
    waiting: VecDeque<AgentMessage>,
    /// Messages that a run has taken and not yet added to the transcript.
    taken: VecDeque<AgentMessage>,
}

impl MessageQueue {
    pub(crate) fn new(mode: QueueMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, message: AgentMessage) -> Result<(), AgentError> {
        if self.waiting.len() >= CAPACITY {
            return Err(AgentError::QueueFull { limit: CAPACITY });
        }
        self.waiting.push_back(message);
        Ok(())
    }

    /// Takes what the mode lets go.
    pub(crate) fn take(&mut self) -> Vec<AgentMessage> {
        let count = match self.mode {
            QueueMode::OneAtATime => self.waiting.len().min(1),
            QueueMode::All => self.waiting.len(),
        };
        let messages: Vec<AgentMessage> = self.waiting.drain(..count).collect();
        self.taken.extend(messages.iter().cloned());
        messages
    }

    /// Notes that a message is in the transcript.
    pub(crate) fn settle(&mut self, message: &AgentMessage) {
        if self.taken.front() == Some(message) {
            self.taken.pop_front();
        }
    }

    /// Puts back what was taken and never reached the transcript.
    pub(crate) fn put_back(&mut self) {
        while let Some(message) = self.taken.pop_back() {
            self.waiting.push_front(message);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn waiting(&self) -> Vec<AgentMessage> {
        self.waiting.iter().cloned().collect()
    }
}
