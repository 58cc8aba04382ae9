//! How the process ends.

use std::fmt;
use std::process::ExitCode;

use crate::terminal;

/// How a run ended, apart from errors that were not shown yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The model or the run failed, and that was said.
    Failed,
    Aborted,
}

/// The status of a run that the user stopped: what a shell reports for SIGINT.
pub(crate) const ABORTED: u8 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Aborted => Self::from(ABORTED),
        }
    }
}

/// A mistake on the command line or in the environment.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Creates the error of a mistake in the usage.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    UsageError(text.into()).into()
}

/// Shows an error that was not shown yet, and returns the status.
pub(crate) fn report(result: anyhow::Result<Exit>) -> ExitCode {
    let error = match result {
        Ok(exit) => return exit.into(),
        Err(error) => error,
    };
    terminal::complain(&format!("{error:#}"), None);
    if error.is::<UsageError>() {
        terminal::say("For more information, try 'pi --help'.");
        ExitCode::from(2)
    } else {
        ExitCode::from(1)
    }
}
