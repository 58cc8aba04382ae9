//! Asking on the terminal of the process.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::sync::Arc;

use pi_core::BoxFuture;

use super::{Answer, Asker, Question};
use crate::terminal::{Colours, say};

const TERMINAL: &str = if cfg!(windows) { "CONIN$" } else { "/dev/tty" };

/// Asks on standard error and hears the answer on the terminal, whatever standard input is.
pub(crate) struct OnTerminal;

impl Asker for OnTerminal {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let stderr = io::stderr();
            if !stderr.is_terminal() {
                return Answer::Nobody;
            }
            let Ok(terminal) = File::open(TERMINAL).map(Arc::new) else {
                return Answer::Nobody;
            };
            say(&question.lines(Colours::of(&stderr)));
            loop {
                forget_typed(&terminal);
                let open = OpenLine::begin(&question.choice());
                // Nothing else can be done with a thread that waits for a terminal than to leave it
                // behind.
                let terminal = Arc::clone(&terminal);
                let line = tokio::task::spawn_blocking(move || read_line(&terminal)).await;
                let Ok(Ok(line)) = line else {
                    return Answer::Nobody;
                };
                if line.ends_with('\n') {
                    open.was_ended();
                } else if line.is_empty() {
                    return Answer::No(None);
                }
                if let Some(answer) = Answer::read(&line) {
                    return answer;
                }
            }
        })
    }
}

/// A question behind which the cursor stands.
struct OpenLine;

impl OpenLine {
    fn begin(text: &str) -> Self {
        let _ = write!(io::stderr(), "{text}: ");
        Self
    }

    /// The user has ended the line.
    fn was_ended(self) {
        std::mem::forget(self);
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        let _ = writeln!(io::stderr());
    }
}

/// Reads a line, which a terminal gives as a whole.
fn read_line(terminal: &File) -> io::Result<String> {
    let mut line = Vec::new();
    BufReader::new(terminal).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Drops what was typed before the question was there: it is no answer.
#[cfg(unix)]
fn forget_typed(terminal: &File) {
    let _ = rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_typed(_terminal: &File) {}
