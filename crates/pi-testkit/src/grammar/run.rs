//! The grammar of a run: turns, and the messages that they add.

use pi_core::{AgentEvent, AgentMessage};

use super::turn::TurnChecker;
use super::{Expected, Rules};

/// Checks the events of one run after the other.
pub(super) struct RunChecker<'e> {
    rules: Rules,
    run: Option<Run<'e>>,
}

#[derive(Default)]
struct Run<'e> {
    turns: usize,
    turn: Option<TurnChecker<'e>>,
    /// True once a reply has failed: no further turn may follow.
    has_failed: bool,
    messages: Vec<&'e AgentMessage>,
}

impl<'e> RunChecker<'e> {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, run: None }
    }

    /// Takes the next event.
    pub(super) fn push(&mut self, event: &'e AgentEvent) -> Result<(), Expected> {
        if let AgentEvent::Other(_) = event {
            return Ok(());
        }
        match &mut self.run {
            None if matches!(event, AgentEvent::AgentStart) => {
                self.run = Some(Run::default());
                Ok(())
            }
            None => Err("agent_start".to_owned()),
            Some(run) => {
                run.push(event, self.rules)?;
                if let AgentEvent::AgentEnd { .. } = event {
                    self.run = None;
                }
                Ok(())
            }
        }
    }

    /// Demands that the last run is over.
    pub(super) fn close(&self) -> Result<(), Expected> {
        match &self.run {
            Some(run) => Err(run.expected()),
            None => Ok(()),
        }
    }
}

impl<'e> Run<'e> {
    fn push(&mut self, event: &'e AgentEvent, rules: Rules) -> Result<(), Expected> {
        let Some(turn) = &mut self.turn else {
            return self.between_turns(event, rules);
        };
        if let AgentEvent::TurnEnd {
            message,
            tool_results,
        } = event
        {
            self.has_failed = turn.end(message, tool_results)?;
            self.turn = None;
            return Ok(());
        }
        if let Some(message) = turn.push(event)? {
            self.messages.push(message);
        }
        Ok(())
    }

    fn between_turns(&mut self, event: &'e AgentEvent, rules: Rules) -> Result<(), Expected> {
        match event {
            AgentEvent::TurnStart if !self.has_failed => {
                self.turns += 1;
                self.turn = Some(TurnChecker::new(rules));
                Ok(())
            }
            AgentEvent::AgentEnd { messages } if self.turns > 0 => {
                let told = self.messages.iter().copied();
                if messages.len() == self.messages.len() && messages.iter().eq(told) {
                    return Ok(());
                }
                Err(format!(
                    "agent_end with the {} messages of the run",
                    self.messages.len()
                ))
            }
            _ => Err(self.expected()),
        }
    }

    fn expected(&self) -> Expected {
        let between = match (self.turns, self.has_failed) {
            (0, _) => "turn_start",
            (_, true) => "agent_end, since the reply failed",
            (_, false) => "turn_start or agent_end",
        };
        self.turn
            .as_ref()
            .map_or_else(|| between.to_owned(), TurnChecker::expected)
    }
}
