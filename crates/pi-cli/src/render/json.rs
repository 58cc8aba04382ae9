//! One event a line, for programs.

use pi_agent::RunOutcome;
use pi_core::AgentEvent;

use super::Render;
use crate::args::JsonForm;
use crate::output::Output;

pub(super) struct Json {
    output: Output,
    form: JsonForm,
    line: Vec<u8>,
}

impl Json {
    pub(super) fn new(output: Output, form: JsonForm) -> Self {
        Self {
            output,
            form,
            line: Vec::new(),
        }
    }
}

impl Render for Json {
    fn event(&mut self, event: &AgentEvent) {
        self.line.clear();
        let written = match self.form {
            JsonForm::Full => serde_json::to_writer(&mut self.line, event),
            JsonForm::Deltas => serde_json::to_writer(&mut self.line, &event.without_snapshot()),
        };
        // Events hold nothing that JSON cannot; a line cut in the middle would help nobody.
        if written.is_ok() {
            self.line.push(b'\n');
            self.output.write(&self.line);
        }
    }

    fn finish(&mut self, _outcome: &RunOutcome) {}
}
