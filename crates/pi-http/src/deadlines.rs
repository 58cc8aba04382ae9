//! The deadlines of a body that is being read.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pi_core::{BoxFuture, Clock, Phase};

use crate::limits::Timeouts;

/// Watches over the silence of a body.
///
/// Times are those of the clock. Only waiting counts: while nobody polls, the watch is paused.
pub(crate) struct Deadlines {
    clock: Arc<dyn Clock>,
    timeouts: Timeouts,
    sent: Duration,
    last_byte: Duration,
    /// The time of the last content event, of sending before the first one.
    last_content: Duration,
    has_content: bool,
    paused: Option<Duration>,
    /// The sleep under way and when it ends. It is not made anew when a deadline moves back, so
    /// that a byte costs no timer.
    armed: Option<(Duration, BoxFuture<'static, ()>)>,
}

impl Deadlines {
    pub(crate) fn new(clock: Arc<dyn Clock>, timeouts: Timeouts, sent: Duration) -> Self {
        let last_byte = clock.monotonic();
        Self {
            clock,
            timeouts,
            sent,
            last_byte,
            last_content: sent,
            has_content: false,
            paused: None,
            armed: None,
        }
    }

    /// Notes that the reader turns to something else.
    pub(crate) fn pause(&mut self) {
        if self.paused.is_none() {
            self.paused = Some(self.clock.monotonic());
        }
    }

    /// Notes that the reader waits again.
    pub(crate) fn resume(&mut self) {
        if let Some(paused) = self.paused.take() {
            let away = self.clock.monotonic().saturating_sub(paused);
            self.last_byte += away;
            self.last_content += away;
        }
    }

    /// Notes that bytes came.
    pub(crate) fn byte(&mut self) {
        self.last_byte = self.clock.monotonic();
    }

    /// Notes that the last bytes held a content event.
    pub(crate) fn content(&mut self) {
        self.last_content = self.last_byte;
        self.has_content = true;
    }

    /// Returns true once there was a content event.
    pub(crate) fn has_content(&self) -> bool {
        self.has_content
    }

    /// Returns the limit that has passed, once one has.
    pub(crate) fn poll_passed(&mut self, cx: &mut Context<'_>) -> Poll<(Phase, Duration)> {
        loop {
            let Some((at, phase, limit)) = self.next() else {
                return Poll::Pending;
            };
            match &mut self.armed {
                Some((until, sleep)) if *until <= at => {
                    ready!(sleep.as_mut().poll(cx));
                    self.armed = None;
                }
                _ => {}
            }
            let now = self.clock.monotonic();
            if now >= at {
                return Poll::Ready((phase, limit));
            }
            self.armed = Some((at, self.clock.sleep(at - now)));
        }
    }

    /// Returns the deadline that comes first.
    fn next(&self) -> Option<(Duration, Phase, Duration)> {
        let (content, phase) = match self.has_content {
            true => (self.timeouts.content, Phase::Content),
            false => (self.timeouts.first_content, Phase::FirstContent),
        };
        [
            (self.last_byte, self.timeouts.socket, Phase::Socket),
            (self.last_content, content, phase),
            (self.sent, self.timeouts.whole, Phase::Whole),
        ]
        .into_iter()
        .filter_map(|(from, limit, phase)| {
            let limit = limit.filter(|limit| !limit.is_zero())?;
            Some((from.checked_add(limit)?, phase, limit))
        })
        .min_by_key(|(at, ..)| *at)
    }
}
