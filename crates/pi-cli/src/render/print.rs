//! Only the text of the final reply, for scripts.

use pi_agent::RunOutcome;
use pi_core::AgentEvent;

use super::Render;
use crate::output::Output;

pub(super) struct Print {
    output: Output,
}

impl Print {
    pub(super) fn new(output: Output) -> Self {
        Self { output }
    }
}

impl Render for Print {
    fn event(&mut self, _event: &AgentEvent) {}

    fn finish(&mut self, outcome: &RunOutcome) {
        let mut text = outcome.text();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.output.write(text.as_bytes());
    }
}
