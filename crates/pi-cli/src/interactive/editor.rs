//! The line that the user types, and its history.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Context as _;
use rustyline::error::ReadlineError;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, DefaultEditor, Event, EventContext, EventHandler,
    ExternalPrinter, KeyEvent, RepeatCount,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::screen::{Printer, Screen};
use crate::session::make_private;
use crate::terminal::columns;

const PROMPT: &str = "> ";

/// The most lines that are remembered.
const HISTORY: usize = 1_000;

/// The most inputs that wait; more cannot be typed meanwhile.
const WAITING: usize = 64;

/// What the user did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    Line(String),
    /// Ctrl-C, and whether nothing was typed.
    Interrupt {
        at_empty_line: bool,
    },
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The editor, which runs on a thread of its own until the user ends it.
pub(super) struct Editor {
    pub(super) screen: Screen,
    pub(super) inputs: Receiver<Input>,
    /// While a run is on, Ctrl-C is meant for it, and keeps what is being typed.
    pub(super) is_busy: Arc<AtomicBool>,
    /// Puts the terminal right at the end, also when the thread still waits for a line.
    _restore: Restore,
}

impl Editor {
    /// Takes the terminal. The history is read from a file and written to it line by line.
    ///
    /// # Errors
    /// If the terminal cannot be used.
    pub(super) fn start(history: Option<PathBuf>) -> anyhow::Result<Self> {
        let restore = Restore::new();
        let config = Config::builder()
            .max_history_size(HISTORY)
            .context("cannot set up the history")?
            .build();
        let mut editor = DefaultEditor::with_config(config).context("cannot use this terminal")?;
        let printer = editor
            .create_external_printer()
            .context("cannot use this terminal")?;
        let screen = Screen::new(Above(printer), || columns(std::io::stdout()));
        let interrupted = Interrupted::default();
        editor.bind_sequence(
            KeyEvent::ctrl('C'),
            EventHandler::Conditional(Box::new(interrupted.clone())),
        );
        if let Some(path) = &history {
            // There is none before the first line.
            let _ = editor.load_history(path);
        }
        let (sender, inputs) = channel(WAITING);
        let is_busy = Arc::new(AtomicBool::new(false));
        let reader = Reader {
            editor,
            history,
            interrupted,
            is_busy: Arc::clone(&is_busy),
            screen: screen.clone(),
        };
        thread::Builder::new()
            .name("editor".to_owned())
            .spawn(move || reader.read(&sender))
            .context("cannot start the editor")?;
        Ok(Self {
            screen,
            inputs,
            is_busy,
            _restore: restore,
        })
    }
}

struct Reader {
    editor: DefaultEditor,
    history: Option<PathBuf>,
    interrupted: Interrupted,
    is_busy: Arc<AtomicBool>,
    screen: Screen,
}

impl Reader {
    /// Reads lines until the user ends the talk, or nobody wants them any more.
    fn read(mut self, inputs: &Sender<Input>) {
        let mut typed = String::new();
        loop {
            let line = self.editor.readline_with_initial(PROMPT, (&typed, ""));
            self.screen.leave_line();
            typed.clear();
            let input = match line {
                Ok(line) => {
                    self.remember(&line);
                    Input::Line(line)
                }
                Err(ReadlineError::Interrupted) => {
                    let line = self.interrupted.take();
                    let at_empty_line = line.trim().is_empty();
                    if self.is_busy.load(Ordering::Relaxed) {
                        typed = line;
                    }
                    Input::Interrupt { at_empty_line }
                }
                // A new size of the window, or the return from a stop.
                Err(ReadlineError::Signal(_)) => continue,
                Err(_) => Input::End,
            };
            let is_end = input == Input::End;
            if inputs.blocking_send(input).is_err() || is_end {
                return;
            }
        }
    }

    /// Adds a line to the history. A talk goes on without one that cannot be written.
    fn remember(&mut self, line: &str) {
        let is_new =
            !line.trim().is_empty() && self.editor.add_history_entry(line).unwrap_or(false);
        if let Some(path) = self.history.as_deref().filter(|_| is_new) {
            let folder = path.parent().unwrap_or(Path::new("."));
            if make_private(folder).is_ok() {
                let _ = self.editor.append_history(path);
            }
        }
    }
}

/// Remembers what was typed when Ctrl-C was pressed, which the editor forgets.
#[derive(Clone, Default)]
struct Interrupted(Arc<Mutex<String>>);

impl Interrupted {
    fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ConditionalEventHandler for Interrupted {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, cx: &EventContext) -> Option<Cmd> {
        cx.line()
            .clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        None
    }
}

struct Above<P>(P);

impl<P: ExternalPrinter + Send> Printer for Above<P> {
    fn print(&mut self, lines: String) {
        // There is nowhere to say that the terminal is gone; the editor ends for the same reason.
        let _ = self.0.print(lines);
    }
}

/// Gives the terminal back as it was.
#[cfg(unix)]
struct Restore(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Restore {
    fn new() -> Self {
        Self(rustix::termios::tcgetattr(std::io::stdin()).ok())
    }
}

#[cfg(unix)]
impl Drop for Restore {
    fn drop(&mut self) {
        use std::io::Write as _;

        use rustix::termios::{OptionalActions, tcsetattr};

        let Some(modes) = &self.0 else { return };
        // Clears the prompt, and ends the bracketed paste that the editor asks for.
        let mut stdout = std::io::stdout();
        let _ = stdout.write_all(b"\r\x1b[J\x1b[?2004l");
        let _ = stdout.flush();
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, modes);
    }
}

#[cfg(not(unix))]
struct Restore;

#[cfg(not(unix))]
impl Restore {
    fn new() -> Self {
        Self
    }
}
