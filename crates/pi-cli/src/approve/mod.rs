//! Asking the user before a call that changes something.

mod question;
mod tty;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use pi_agent::{BeforeToolCall, Verdict};
use pi_core::BoxFuture;

pub(crate) use self::question::Question;
pub(crate) use self::tty::OnTerminal;
use crate::conversation::Say;

/// The tools that change something.
const ASKED_ABOUT: [&str; 3] = ["bash", "edit", "write"];

const HINT: &str = "hint: nobody can be asked here; --yes allows bash, edit and write";

const NOBODY: &str = "This call was not run: it needs the permission of the user, who cannot be \
asked now. Do not try it again. Say what you would do.";

const ABORTED: &str = "Operation aborted";

/// What the user says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// Yes, and to every later call of the tool.
    Always,
    /// No, perhaps with words for the model.
    No(Option<String>),
    /// There is nobody to ask.
    Nobody,
}

impl Answer {
    /// Reads an answer; `None` if nothing was said.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let said = line.trim();
        Some(match said.to_lowercase().as_str() {
            "" => return None,
            "y" | "yes" => Self::Yes,
            "a" | "always" => Self::Always,
            "n" | "no" => Self::No(None),
            _ => Self::No(Some(said.to_owned())),
        })
    }
}

/// A way to ask the user.
pub(crate) trait Asker: Send + Sync {
    /// Asks, and waits for the answer.
    ///
    /// # Cancel safety
    /// Dropping the future takes the question back.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

/// Decides about calls by asking the user.
pub(crate) struct Approver {
    asker: Box<dyn Asker>,
    say: Say,
    hint: Once,
    /// The tools that were allowed for good.
    always: Mutex<BTreeSet<String>>,
}

impl Approver {
    /// Creates an approver; `say` gets a hint if nobody can be asked.
    pub(crate) fn new(asker: Box<dyn Asker>, say: Say) -> Self {
        Self {
            asker,
            say,
            hint: Once::new(),
            always: Mutex::default(),
        }
    }

    /// Decides about a call. The agent asks about one call at a time, while none is running.
    ///
    /// # Cancel safety
    /// Dropping the future takes the question back.
    pub(crate) async fn decide(&self, call: &BeforeToolCall) -> Verdict {
        let tool = call.name();
        if !ASKED_ABOUT.contains(&tool) || self.always().contains(tool) {
            return Verdict::Allow;
        }
        let question = Question::about(tool, &call.arguments);
        let answer = tokio::select! {
            biased;
            () = call.abort.cancelled() => return Verdict::block(ABORTED),
            answer = self.asker.ask(question) => answer,
        };
        match answer {
            Answer::Yes => Verdict::Allow,
            Answer::Always => {
                self.always().insert(tool.to_owned());
                Verdict::Allow
            }
            Answer::No(None) => Verdict::block(
                "The user said no: this call was not run. Do not try it again. Go on without it, or \
                 ask what to do instead.",
            ),
            Answer::No(Some(words)) => Verdict::block(format!(
                "The user said no: this call was not run. The user's words: {words}"
            )),
            Answer::Nobody => {
                self.hint.call_once(|| (self.say)(HINT));
                Verdict::block(NOBODY)
            }
        }
    }

    fn always(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.always.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
