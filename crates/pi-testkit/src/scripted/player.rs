//! Plays one turn as a stream of events.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_core::Stream;
use pi_core::{AssistantEvent, ErrorKind, Model, ProviderError, Request};

use super::Shared;
use super::turn::{Step, Turn};

/// A reply that is being played.
pub(super) struct Player {
    shared: Arc<Shared>,
    model: Arc<Model>,
    turn: Turn,
    started: bool,
}

impl Player {
    /// Returns the events of the reply to `request`. The turn is taken, and the request recorded,
    /// at the first poll.
    pub(super) fn play(
        shared: Arc<Shared>,
        request: Request,
    ) -> impl Stream<Item = AssistantEvent> + Send + 'static {
        futures_util::stream::unfold(Playing::Asked(shared, Box::new(request)), |playing| async {
            let mut player = match playing {
                Playing::Asked(shared, request) => Box::new(Self::begin(shared, &request)),
                Playing::Begun(player) => player,
            };
            let event = player.next().await?;
            Some((event, Playing::Begun(player)))
        })
    }

    fn begin(shared: Arc<Shared>, request: &Request) -> Self {
        let turn = shared.answer(request);
        shared.active.fetch_add(1, Ordering::AcqRel);
        Self {
            model: Arc::clone(&request.model),
            shared,
            turn,
            started: false,
        }
    }

    async fn next(&mut self) -> Option<AssistantEvent> {
        loop {
            if let Some(event) = self.starts_here() {
                return Some(event);
            }
            match self.turn.steps.pop_front() {
                Some(Step::Event(event)) => return Some(event),
                Some(Step::Fail(error)) => return Some(self.failed(&error)),
                Some(Step::Gate(name)) => self.shared.gates.pass(&name).await,
                Some(Step::Pause(duration)) => {
                    let Some(clock) = self.shared.lock().clock.clone() else {
                        return Some(self.failed(&no_clock()));
                    };
                    clock.sleep(duration).await;
                }
                Some(Step::Hang) => std::future::pending().await,
                Some(Step::Panic(text)) => panic!("{text}"),
                Some(Step::EndOfStream) => return None,
                None => return Some(self.done()),
            }
        }
    }

    /// Returns the `start` event if the next step is the first that needs one.
    fn starts_here(&mut self) -> Option<AssistantEvent> {
        if self.started {
            return None;
        }
        match self.turn.steps.front() {
            Some(Step::Event(AssistantEvent::Start | AssistantEvent::Error { .. })) => {
                self.started = true;
                None
            }
            Some(Step::Event(_)) | None => {
                self.started = true;
                Some(AssistantEvent::Start)
            }
            Some(_) => None,
        }
    }

    fn done(&self) -> AssistantEvent {
        let closing = &self.turn.closing;
        AssistantEvent::Done {
            reason: closing.reason(),
            usage: self.usage(),
            response_id: closing.response_id.clone(),
        }
    }

    fn failed(&self, error: &ProviderError) -> AssistantEvent {
        let response_id = self.turn.closing.response_id.clone();
        AssistantEvent::from_error(error, self.usage(), response_id)
    }

    fn usage(&self) -> pi_core::Usage {
        let mut usage = self.turn.closing.usage.clone();
        if usage.cost == pi_core::Cost::default() {
            self.model.price(&mut usage);
        }
        usage
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.shared.active.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A reply that was asked for, before and after its first poll.
enum Playing {
    Asked(Arc<Shared>, Box<Request>),
    Begun(Box<Player>),
}

fn no_clock() -> ProviderError {
    let text = "the script pauses, but the provider has no clock: give it one by `with_clock`";
    ProviderError::new(ErrorKind::InvalidRequest, text)
}
