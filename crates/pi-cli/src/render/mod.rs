//! How a run is shown.

mod call;
mod human;
mod json;
mod live;
mod print;

use std::io::{IsTerminal, Write};

use pi_agent::RunOutcome;
use pi_core::AgentEvent;

use self::human::{Human, Streams};
pub(crate) use self::human::{dollars, usage_line};
use self::json::Json;
use self::live::Live;
use self::print::Print;
use crate::args::Args;
use crate::output::Output;
use crate::terminal::{Colours, can_rewrite, columns};

/// Shows a run while it goes on.
pub(crate) trait Render: Send {
    /// Shows an event.
    fn event(&mut self, event: &AgentEvent);

    /// Shows what the run came to, after its last event. Errors are shown by the caller.
    fn finish(&mut self, outcome: &RunOutcome);
}

/// Chooses how the run is shown.
pub(crate) fn renderer(args: &Args, output: Output) -> Box<dyn Render> {
    if let Some(form) = args.json {
        return Box::new(Json::new(output, form));
    }
    if args.print {
        return Box::new(Print::new(output));
    }
    let stdout = std::io::stdout().is_terminal();
    let stderr = std::io::stderr();
    let streams = Streams {
        plain_text: stdout,
        one_screen: stdout && stderr.is_terminal(),
        colours: Colours::of(&stderr),
        live: if can_rewrite(&stderr) {
            Live::Row(|| columns(std::io::stderr()))
        } else {
            Live::Off
        },
    };
    Box::new(Human::new(output, stderr, streams))
}

/// Shows a run on a terminal that somebody else owns.
pub(crate) fn on_screen(screen: impl Write + Clone + Send + 'static) -> Box<dyn Render> {
    let streams = Streams {
        plain_text: true,
        one_screen: true,
        colours: Colours::of(&std::io::stdout()),
        live: Live::Lines,
    };
    Box::new(Human::new(Output::new(screen.clone()), screen, streams))
}

#[cfg(test)]
mod tests;
