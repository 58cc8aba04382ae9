//! Questions about calls, on their way to the user who types.

use pi_core::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::approve::{Answer, Asker, Question};

/// A question that waits for its answer.
pub(super) struct Open {
    pub(super) question: Question,
    answer: oneshot::Sender<Answer>,
}

impl Open {
    /// Returns true if nobody waits for the answer any more.
    pub(super) fn is_taken_back(&self) -> bool {
        self.answer.is_closed()
    }

    pub(super) fn answer(self, answer: Answer) {
        // A question that was taken back needs no answer.
        let _ = self.answer.send(answer);
    }
}

/// Hands questions to the talk.
pub(super) struct InTalk(mpsc::Sender<Open>);

impl InTalk {
    /// Creates the way from the agent to the talk.
    pub(super) fn new() -> (Self, mpsc::Receiver<Open>) {
        let (sender, questions) = mpsc::channel(1);
        (Self(sender), questions)
    }
}

impl Asker for InTalk {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            if self.0.send(Open { question, answer }).await.is_err() {
                return Answer::Nobody;
            }
            answered.await.unwrap_or(Answer::Nobody)
        })
    }
}
