//! A stream that is read, and what it has shown.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{FutureExt, StreamExt};
use pi_core::{AssistantEvent, AssistantMessage, AssistantStream};

use super::expected::Block;

/// A stream of the provider under test, with everything it has shown.
#[derive(Debug)]
pub(super) struct Reading {
    stream: Option<AssistantStream>,
    pub(super) shown: Shown,
}

/// What a stream has shown.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) events: Vec<AssistantEvent>,
    /// The message, once the stream is closed.
    pub(super) message: Option<Arc<AssistantMessage>>,
    /// What a poll behind the end gave, if it was not the end.
    pub(super) after_end: Option<String>,
    /// How often the message moved, though nobody kept an earlier one.
    pub(super) copies: usize,
    pub(super) is_ended: bool,
}

impl Reading {
    pub(super) fn new(stream: AssistantStream) -> Self {
        Self {
            stream: Some(stream),
            shown: Shown::default(),
        }
    }

    /// Reads an event; ready with false at the end of the stream.
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(false);
        };
        let before = place(stream);
        match ready!(stream.poll_next_unpin(cx)) {
            Some(event) => {
                self.shown.copies += usize::from(place(stream) != before);
                self.shown.events.push(event);
                Poll::Ready(true)
            }
            None => {
                self.shown.after_end = after_end(stream);
                self.shown.is_ended = true;
                Poll::Ready(false)
            }
        }
    }

    pub(super) async fn next(&mut self) -> bool {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    pub(super) async fn finish(&mut self) {
        while self.next().await {}
    }

    /// Reads until the reply shows these blocks; false if the stream ends before.
    pub(super) async fn until(&mut self, blocks: &[Block]) -> bool {
        loop {
            let partial = self.stream.as_ref().map(AssistantStream::partial);
            let shows_them = partial.is_some_and(|message| Block::all_of(&message) == blocks);
            if shows_them || !self.next().await {
                return shows_them;
            }
        }
    }

    /// Drops the stream and keeps its message.
    pub(super) fn close(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.shown.message = Some(stream.partial());
        }
    }
}

/// Returns where the message lies; it is let go at once, so that it need not be copied.
fn place(stream: &AssistantStream) -> usize {
    Arc::as_ptr(&stream.partial()).addr()
}

fn after_end(stream: &mut AssistantStream) -> Option<String> {
    match stream.next().now_or_never() {
        Some(None) => None,
        Some(Some(event)) => Some(event.type_name().to_owned()),
        None => Some("nothing, and waits".to_owned()),
    }
}
