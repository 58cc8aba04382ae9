//! From the bytes of a response to events.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::sse::{SseDecoder, SseError};
use pi_core::{
    AssistantEvent, BoxFuture, ErrorKind, EventSource, Model, Progress, ProviderError,
    ResponseHead, ResponseHook,
};

use crate::call::Call;
use crate::client::{Answer, HttpClient, too_large};
use crate::deadlines::Deadlines;
use crate::{failure, head};

/// Reads the error of an answer that is no event stream: a status other than 2xx, or a document in
/// place of the stream. It gets the head and the body, of which at most
/// [`Limits::error_body_bytes`](crate::Limits::error_body_bytes) were read.
///
/// The client adds status, request id and the wait that the headers ask for, where they are missing.
pub type ErrorReader = fn(&ResponseHead, &[u8]) -> ProviderError;

/// What one stream of events needs.
pub struct Exchange<D> {
    model: Arc<Model>,
    call: BoxFuture<'static, Result<Call, ProviderError>>,
    decoder: D,
    read_error: ErrorReader,
    on_response: Option<ResponseHook>,
}

impl<D> Exchange<D> {
    /// Creates a value. `call` is awaited when the stream is polled, so it is the place to look up
    /// keys and to run hooks.
    pub fn new(
        model: impl Into<Arc<Model>>,
        call: impl Future<Output = Result<Call, ProviderError>> + Send + 'static,
        decoder: D,
        read_error: ErrorReader,
    ) -> Self {
        Self {
            model: model.into(),
            call: Box::pin(call),
            decoder,
            read_error,
            on_response: None,
        }
    }

    /// Sets the hook that sees the head of the response, whatever its status.
    #[must_use]
    pub fn with_response_hook(mut self, hook: Option<ResponseHook>) -> Self {
        self.on_response = hook;
        self
    }
}

impl<D> fmt::Debug for Exchange<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("model", &self.model.id)
            .finish_non_exhaustive()
    }
}

/// The events of one response.
///
/// It ends with one `Done` or `Error`, at once, even if the body goes on. See
/// [`HttpClient::stream_events`].
///
/// # Cancel safety
/// All state is in this value; dropping it closes the connection.
pub struct EventStream<D> {
    client: HttpClient,
    model: Arc<Model>,
    decoder: D,
    read_error: ErrorReader,
    sse: SseDecoder,
    /// The events of the frame that was read last.
    events: VecDeque<AssistantEvent>,
    state: State,
}

enum State {
    /// Waiting for the head of the response.
    Opening(BoxFuture<'static, Result<Answer, ProviderError>>),
    /// Reading the event stream.
    Reading(Box<Reading>),
    /// Reading the document that came in place of an event stream.
    Refused(BoxFuture<'static, ProviderError>),
    /// The closing event is in the queue or was returned.
    Ended,
}

struct Reading {
    answer: Answer,
    deadlines: Deadlines,
    bytes: usize,
    /// Only blank characters came so far, so that the body may still be a document.
    is_blank: bool,
    at_end: bool,
}

/// What reading the body led to.
enum Step {
    /// Bytes came or the body ended; there may be frames.
    Bytes,
    /// The body is a document that begins with these bytes.
    Document(Bytes),
}

// Nothing in it is pinned in place.
impl<D> Unpin for EventStream<D> {}

impl<D: Decoder> EventStream<D> {
    pub(crate) fn new(client: HttpClient, exchange: Exchange<D>) -> Self {
        let limits = *client.limits();
        let Exchange {
            model,
            call,
            decoder,
            read_error,
            on_response,
        } = exchange;
        let opening = open(
            client.clone(),
            Arc::clone(&model),
            call,
            read_error,
            on_response,
        );
        Self {
            client,
            model,
            decoder,
            read_error,
            sse: SseDecoder::new()
                .with_max_line_bytes(limits.line_bytes)
                .with_max_event_bytes(limits.event_bytes),
            events: VecDeque::new(),
            state: State::Opening(Box::pin(opening)),
        }
    }

    /// Goes one step: the queue then holds an event or the state has moved.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                Ok(answer) => self.state = State::Reading(Box::new(self.begin(answer))),
                Err(error) => self.fail(error),
            },
            State::Refused(refused) => {
                let error = ready!(refused.as_mut().poll(cx));
                self.fail(error);
            }
            State::Reading(reading) => {
                let frame = match reading.at_end {
                    true => self.sse.finish(),
                    false => self.sse.next_frame(),
                };
                match frame {
                    Ok(Some(frame)) => {
                        let result = self.decoder.frame(&frame, &mut self.events);
                        self.decoded(result);
                    }
                    Ok(None) if reading.at_end => match self.decoder.finish(&mut self.events) {
                        // A decoder that closes nothing is closed by the stream's owner.
                        Ok(()) => self.state = State::Ended,
                        Err(error) => self.fail(error),
                    },
                    Ok(None) => return self.poll_body(cx),
                    Err(error) => self.fail(framing(error)),
                }
            }
            State::Ended => {}
        }
        Poll::Ready(())
    }

    fn begin(&self, answer: Answer) -> Reading {
        let clock = Arc::clone(self.client.clock());
        Reading {
            deadlines: Deadlines::new(clock, *self.client.timeouts(), answer.sent),
            answer,
            bytes: 0,
            is_blank: true,
            at_end: false,
        }
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let State::Reading(reading) = &mut self.state else {
            return Poll::Ready(());
        };
        match ready!(reading.poll(cx, &mut self.sse, self.client.limits().body_bytes)) {
            Ok(Step::Bytes) => {}
            Ok(Step::Document(start)) => {
                if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
                    let (client, read_error) = (self.client.clone(), self.read_error);
                    self.state = State::Refused(Box::pin(async move {
                        client
                            .refused(reading.answer, start.to_vec(), read_error)
                            .await
                    }));
                }
            }
            Err(error) => self.fail(error),
        }
        Poll::Ready(())
    }

    /// Takes note of what the decoder made of its input.
    fn decoded(&mut self, result: Result<(), ProviderError>) {
        match result {
            Err(error) => self.fail(error),
            Ok(()) if self.decoder.is_ended() => self.state = State::Ended,
            Ok(()) => {
                let State::Reading(reading) = &mut self.state else {
                    return;
                };
                if self.events.iter().any(AssistantEvent::is_content) {
                    reading.deadlines.content();
                }
            }
        }
    }

    /// Lets go of the connection and puts the closing event behind those that are still queued.
    fn fail(&mut self, mut error: ProviderError) {
        if let State::Reading(reading) = &self.state {
            let now = self.client.clock().monotonic();
            error = error.with_elapsed(now.saturating_sub(reading.answer.sent));
            if let (None, Some(id)) = (error.request_id(), head::request_id(&reading.answer.head)) {
                error = error.with_request_id(id);
            }
        }
        let error = error.with_model(&self.model.provider, &self.model.id);
        let Progress {
            usage, response_id, ..
        } = self.decoder.progress();
        self.events
            .push_back(AssistantEvent::from_error(&error, usage, response_id));
        self.state = State::Ended;
    }
}

impl Reading {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sse: &mut SseDecoder,
        limit: usize,
    ) -> Poll<Result<Step, ProviderError>> {
        self.deadlines.resume();
        let piece = match self.answer.body.poll_piece(cx) {
            Poll::Ready(Some(Ok(piece))) => piece,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => {
                self.at_end = true;
                return Poll::Ready(Ok(Step::Bytes));
            }
            Poll::Pending => {
                let (phase, limit) = ready!(self.deadlines.poll_passed(cx));
                return Poll::Ready(Err(failure::timeout(phase, limit, self.answer.body.host())));
            }
        };
        self.deadlines.byte();
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > limit {
            return Poll::Ready(Err(too_large("the reply", limit)));
        }
        if self.is_blank
            && let Some(first) = piece.trim_ascii_start().first()
        {
            self.is_blank = false;
            if is_document(*first) {
                return Poll::Ready(Ok(Step::Document(piece)));
            }
        }
        sse.push(piece);
        Poll::Ready(Ok(Step::Bytes))
    }
}

impl<D: Decoder> Stream for EventStream<D> {
    type Item = AssistantEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AssistantEvent>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.events.pop_front() {
                if event.is_terminal() {
                    this.state = State::Ended;
                    this.events.clear();
                } else if let State::Reading(reading) = &mut this.state {
                    reading.deadlines.pause();
                }
                return Poll::Ready(Some(event));
            }
            if matches!(this.state, State::Ended) {
                return Poll::Ready(None);
            }
            if tokio::runtime::Handle::try_current().is_err() {
                this.fail(failure::no_runtime());
                continue;
            }
            ready!(this.poll_step(cx));
        }
    }
}

impl<D: Decoder> EventSource for EventStream<D> {
    fn progress(&self) -> Progress {
        self.decoder.progress()
    }
}

impl<D> fmt::Debug for EventStream<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Opening(_) => "opening",
            State::Reading(_) => "reading",
            State::Refused(_) => "refused",
            State::Ended => "ended",
        };
        f.debug_struct("EventStream")
            .field("model", &self.model.id)
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// Sends the call and returns its answer if that may be an event stream.
async fn open(
    client: HttpClient,
    model: Arc<Model>,
    call: BoxFuture<'static, Result<Call, ProviderError>>,
    read_error: ErrorReader,
    on_response: Option<ResponseHook>,
) -> Result<Answer, ProviderError> {
    let answer = client.send(call.await?, "text/event-stream").await?;
    if let Some(hook) = on_response {
        hook.call(answer.head.clone(), model)
            .await
            .map_err(|error| {
                ProviderError::new(
                    ErrorKind::Hook,
                    format!("the response hook failed: {error}"),
                )
                .with_source(error)
            })?;
    }
    match answer.is_success() {
        true => Ok(answer),
        false => Err(client.refused(answer, Vec::new(), read_error).await),
    }
}

/// Returns true if a body that begins so is JSON or HTML: no line of an event stream does. The
/// content type does not decide, since some gateways send event streams as `application/json`.
fn is_document(first: u8) -> bool {
    matches!(first, b'{' | b'[' | b'"' | b'<')
}

fn framing(error: SseError) -> ProviderError {
    let kind = match error {
        SseError::LineTooLong { .. } | SseError::EventTooLong { .. } => ErrorKind::TooLarge,
        _ => ErrorKind::Protocol,
    };
    ProviderError::new(kind, error.to_string()).with_source(error)
}
