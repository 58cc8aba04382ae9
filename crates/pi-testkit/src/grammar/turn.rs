//! The grammar of a turn: messages, the reply, its calls.

use std::sync::Arc;

use pi_core::{AgentEvent, AgentMessage, AssistantMessage, ToolCall, ToolResultMessage};

use super::reply::{OpenReply, after_failure};
use super::{Expected, Rules};

/// Checks the events of one turn.
pub(super) struct TurnChecker<'e> {
    rules: Rules,
    stage: Stage<'e>,
    open: Option<OpenMessage<'e>>,
    has_messages: bool,
    /// The calls of the reply; of a resumed turn, those that have started.
    calls: Vec<Call<'e>>,
    /// All calls before this one are settled.
    settled: usize,
    /// All calls before this one have started.
    started: usize,
    results: Vec<&'e Arc<ToolResultMessage>>,
}

/// How far a turn has come.
enum Stage<'e> {
    /// The reply has not been told yet.
    Prompts,
    /// The reply is complete; its calls follow.
    Replied {
        reply: &'e Arc<AssistantMessage>,
        had_updates: bool,
    },
    /// The reply was stored before; its calls are told.
    Resumed,
}

enum OpenMessage<'e> {
    Reply(Box<OpenReply>),
    Other(&'e AgentMessage),
}

struct Call<'e> {
    id: &'e str,
    name: &'e str,
    is_error: bool,
    state: CallState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    /// It has not ended, and may not have started.
    Running,
    /// It has ended; the message of its result follows.
    Ended,
    /// It has ended, and no message follows.
    Suspended,
}

impl<'e> TurnChecker<'e> {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            stage: Stage::Prompts,
            open: None,
            has_messages: false,
            calls: Vec::new(),
            settled: 0,
            started: 0,
            results: Vec::new(),
        }
    }

    /// Takes the next event; returns the message that it completes.
    pub(super) fn push(
        &mut self,
        event: &'e AgentEvent,
    ) -> Result<Option<&'e AgentMessage>, Expected> {
        match event {
            AgentEvent::MessageStart { message } => self.message_start(message)?,
            AgentEvent::MessageUpdate { event, .. } => match &mut self.open {
                Some(OpenMessage::Reply(reply)) => reply.update(event)?,
                _ => return Err(self.expected()),
            },
            AgentEvent::MessageEnd { message } => {
                self.message_end(message)?;
                return Ok(Some(message));
            }
            _ if self.open.is_some() => return Err(self.expected()),
            AgentEvent::ToolExecutionStart { call } => self.call_start(call)?,
            AgentEvent::ToolExecutionUpdate { call, .. } => self.call_update(call)?,
            AgentEvent::ToolExecutionEnd {
                call,
                is_error,
                suspended,
                ..
            } => {
                self.call_end(call, *is_error, *suspended)?;
            }
            _ => return Err(self.expected()),
        }
        Ok(None)
    }

    /// Takes `turn_end`; returns true if the reply failed.
    pub(super) fn end(
        &self,
        message: &AgentMessage,
        results: &[Arc<ToolResultMessage>],
    ) -> Result<bool, Expected> {
        let is_complete = self.open.is_none()
            && !matches!(self.stage, Stage::Prompts)
            && self.settled == self.calls.len();
        if !is_complete {
            return Err(self.expected());
        }
        let Some(ended) = message.as_assistant() else {
            return Err("turn_end with the reply".to_owned());
        };
        let has_failed = match &self.stage {
            Stage::Replied { reply, .. } if *reply != ended => {
                return Err("turn_end with the reply that the events told".to_owned());
            }
            Stage::Replied { reply, .. } => reply.stop_reason.is_failure(),
            _ => {
                self.belong_to(ended)?;
                false
            }
        };
        if !results.iter().eq(self.results.iter().copied()) {
            return Err(format!(
                "turn_end with the {} results of the turn",
                self.results.len()
            ));
        }
        Ok(has_failed)
    }

    /// Says what may come next.
    pub(super) fn expected(&self) -> Expected {
        match &self.open {
            Some(OpenMessage::Reply(_)) => {
                return "message_update or message_end of the reply".to_owned();
            }
            Some(OpenMessage::Other(message)) => {
                return format!("message_end of the {} message", message.role());
            }
            None => {}
        }
        if let Some(call) = self.due_result() {
            return format!("the message of the result of {}", call.id);
        }
        let running = self
            .begun()
            .iter()
            .find(|call| call.state == CallState::Running);
        let waiting = self.calls.get(self.started);
        match (&self.stage, running, waiting) {
            (_, Some(running), Some(waiting)) => {
                format!(
                    "the end of {} or tool_execution_start of {}",
                    running.id, waiting.id
                )
            }
            (_, Some(running), None) => format!("the end of {}", running.id),
            (_, None, Some(waiting)) => format!("tool_execution_start of {}", waiting.id),
            (Stage::Prompts, ..) => "a message or the reply".to_owned(),
            (Stage::Replied { reply, .. }, ..) if reply.stop_reason.is_failure() => {
                after_failure(&reply.stop_reason)
            }
            (Stage::Replied { .. }, ..) => "turn_end".to_owned(),
            (Stage::Resumed, ..) => "tool_execution_start or turn_end".to_owned(),
        }
    }

    fn message_start(&mut self, message: &'e AgentMessage) -> Result<(), Expected> {
        if self.open.is_some() {
            return Err(self.expected());
        }
        if let AgentMessage::ToolResult(result) = message
            && let Some(due) = self.due_result()
        {
            let fits = due.id == result.tool_call_id
                && due.name == result.tool_name
                && due.is_error == result.is_error;
            let failed = if due.is_error { "failed" } else { "successful" };
            if !fits {
                return Err(format!("the {failed} result of {} ({})", due.id, due.name));
            }
            self.open = Some(OpenMessage::Other(message));
            return Ok(());
        }
        self.take_back_reply();
        if !matches!(self.stage, Stage::Prompts) {
            return Err(self.expected());
        }
        self.open = Some(match message.as_assistant() {
            Some(reply) => OpenMessage::Reply(Box::new(OpenReply::new(reply))),
            None => OpenMessage::Other(message),
        });
        Ok(())
    }

    /// A reply that nobody streamed, followed by another message, was part of the prompt.
    fn take_back_reply(&mut self) {
        let is_silent = matches!(
            self.stage,
            Stage::Replied {
                had_updates: false,
                ..
            }
        );
        if is_silent && self.started == 0 {
            self.stage = Stage::Prompts;
            self.calls.clear();
        }
    }

    fn message_end(&mut self, message: &'e AgentMessage) -> Result<(), Expected> {
        match self.open.take() {
            Some(OpenMessage::Reply(open)) => {
                let Some(reply) = message.as_assistant() else {
                    return Err("message_end of the reply".to_owned());
                };
                let had_updates = open.has_updates;
                open.end(reply)?;
                self.stage = Stage::Replied { reply, had_updates };
                if !reply.stop_reason.is_failure() {
                    self.calls = reply.tool_calls().map(Call::new).collect();
                }
            }
            Some(OpenMessage::Other(start)) if start == message => self.settle(message),
            Some(OpenMessage::Other(start)) => {
                return Err(format!("message_end of the same {} message", start.role()));
            }
            None => return Err(self.expected()),
        }
        self.has_messages = true;
        Ok(())
    }

    /// Marks the call whose result this message is.
    fn settle(&mut self, message: &'e AgentMessage) {
        let AgentMessage::ToolResult(result) = message else {
            return;
        };
        if self.due_result().is_some() {
            self.settled += 1;
            self.skip_settled();
            self.results.push(result);
        }
    }

    /// Goes on to the first call that is not settled.
    fn skip_settled(&mut self) {
        let suspended = |call: &&Call<'_>| call.state == CallState::Suspended;
        self.settled += self.begun().iter().take_while(suspended).count();
    }

    /// Returns the calls that have started and are not settled, except some that were suspended.
    fn begun(&self) -> &[Call<'e>] {
        self.calls
            .get(self.settled..self.started)
            .unwrap_or_default()
    }

    fn call_start(&mut self, call: &'e ToolCall) -> Result<(), Expected> {
        if matches!(self.stage, Stage::Prompts) && !self.has_messages {
            self.stage = Stage::Resumed;
        }
        let overlaps = self.settled < self.started;
        if (overlaps && self.rules.sequential) || self.must_tell_result() {
            return Err(self.expected());
        }
        if let Stage::Resumed = self.stage {
            self.calls.push(Call::new(call));
            self.started += 1;
            return Ok(());
        }
        match self.calls.get(self.started) {
            Some(next) if next.id == call.id && next.name == call.name => {
                self.started += 1;
                Ok(())
            }
            Some(next) => Err(format!(
                "tool_execution_start of {} ({})",
                next.id, next.name
            )),
            None => Err(self.expected()),
        }
    }

    fn call_update(&self, call: &ToolCall) -> Result<(), Expected> {
        let runs = |begun: &Call<'_>| begun.state == CallState::Running && begun.id == call.id;
        if self.begun().iter().any(runs) && !self.must_tell_result() {
            return Ok(());
        }
        Err(self.expected())
    }

    fn call_end(
        &mut self,
        call: &ToolCall,
        is_error: bool,
        suspended: bool,
    ) -> Result<(), Expected> {
        if self.must_tell_result() {
            return Err(self.expected());
        }
        let begun = self
            .calls
            .get_mut(self.settled..self.started)
            .unwrap_or_default();
        let mut running = begun
            .iter_mut()
            .filter(|begun| begun.state == CallState::Running);
        let ends = if self.rules.completion_order {
            running.find(|running| running.id == call.id)
        } else {
            running.next().filter(|first| first.id == call.id)
        };
        let Some(ends) = ends else {
            return Err(self.expected());
        };
        ends.is_error = is_error;
        ends.state = if suspended {
            CallState::Suspended
        } else {
            CallState::Ended
        };
        self.skip_settled();
        Ok(())
    }

    /// Returns the call whose result is the next to be told.
    fn due_result(&self) -> Option<&Call<'e>> {
        self.begun()
            .first()
            .filter(|first| first.state == CallState::Ended)
    }

    /// Returns true if the message of a result must be the next event.
    fn must_tell_result(&self) -> bool {
        !self.rules.completion_order && self.due_result().is_some()
    }

    /// Compares the calls of a resumed turn with the stored reply: some of its calls, in order.
    fn belong_to(&self, reply: &AssistantMessage) -> Result<(), Expected> {
        let mut stored = reply.tool_calls();
        let stray = self
            .calls
            .iter()
            .find(|call| !stored.any(|stored| stored.id == call.id && stored.name == call.name));
        match stray {
            Some(call) => Err(format!(
                "turn_end with the reply that made the call {}",
                call.id
            )),
            None => Ok(()),
        }
    }
}

impl<'e> Call<'e> {
    fn new(call: &'e ToolCall) -> Self {
        Self {
            id: &call.id,
            name: &call.name,
            is_error: false,
            state: CallState::Running,
        }
    }
}
