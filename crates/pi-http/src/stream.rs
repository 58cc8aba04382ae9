//! From the bytes of a response to events.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::sse::{SseDecoder, SseError};
use pi_core::{
    AssistantEvent, BoxFuture, ErrorKind, EventSource, Model, Progress, ProviderError,
    ResponseHead, ResponseHook,
};

use crate::call::{Call, CallSource};
use crate::client::{Answer, HttpClient, too_large};
use crate::deadlines::Deadlines;
use crate::retry::{Failure, Next};
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
    /// `None` while it is asked.
    calls: Option<Box<dyn CallSource>>,
    new_decoder: Box<dyn Fn() -> D + Send>,
    read_error: ErrorReader,
    on_response: Option<ResponseHook>,
    max_retry_delay: Option<Duration>,
    starts_when_sent: bool,
}

impl<D> Exchange<D> {
    /// Creates a value. `calls` is asked when the stream is polled, so it is the place to look up
    /// keys and to run hooks. Each attempt is read by a decoder of its own.
    pub fn new(
        model: impl Into<Arc<Model>>,
        calls: impl CallSource + 'static,
        new_decoder: impl Fn() -> D + Send + 'static,
        read_error: ErrorReader,
    ) -> Self {
        Self {
            model: model.into(),
            calls: Some(Box::new(calls)),
            new_decoder: Box::new(new_decoder),
            read_error,
            on_response: None,
            max_retry_delay: None,
            starts_when_sent: false,
        }
    }

    /// Sets whether `Start` comes as soon as the request is sent, in place of when the decoder finds
    /// that the reply starts. A reply whose request is refused then has one too. Off by default.
    #[must_use]
    pub fn with_start_when_sent(mut self, starts_when_sent: bool) -> Self {
        self.starts_when_sent = starts_when_sent;
        self
    }

    /// Sets the longest wait between retries that the server may ask for, in place of the client's
    /// [`max_retry_delay`](crate::RetryPolicy::max_retry_delay). Zero means no limit.
    #[must_use]
    pub fn with_max_retry_delay(mut self, limit: Option<Duration>) -> Self {
        self.max_retry_delay = limit;
        self
    }

    /// Sets the hook that sees the head of each response, whatever its status.
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
/// What comes before the first content event is handed on as it comes, so a reply that is asked for
/// again may wait long after its `Start`; there is no second `Start`.
///
/// # Cancel safety
/// All state is in this value; dropping it closes the connection and ends a wait.
pub struct EventStream<D> {
    client: HttpClient,
    exchange: Exchange<D>,
    decoder: D,
    sse: SseDecoder,
    /// The events of the frame that was read last.
    events: VecDeque<AssistantEvent>,
    state: State,
    /// When the first attempt began, by the clock.
    began: Option<Duration>,
    retries: u32,
    /// Another credential was asked for.
    has_renewed: bool,
    has_started: bool,
}

enum State {
    /// An attempt is to be made.
    Idle,
    /// Waiting for the call.
    Preparing(Preparing),
    /// Waiting for the head of the response.
    Opening(BoxFuture<'static, Result<Answer, Failure>>),
    /// Reading the event stream.
    Reading(Box<Reading>),
    /// Reading the document that came in place of an event stream.
    Refused(BoxFuture<'static, Failure>),
    /// Looking for another credential in place of one that was refused.
    Renewing(Renewing, Failure),
    /// Waiting to ask again.
    Waiting(BoxFuture<'static, ()>),
    /// The closing event is in the queue or was returned.
    Ended,
}

/// Makes a call, and gives back the source of calls.
type Preparing = BoxFuture<'static, (Box<dyn CallSource>, Result<Call, ProviderError>)>;

/// Tells whether there is another credential, and gives back the source of calls.
type Renewing = BoxFuture<'static, (Box<dyn CallSource>, Result<bool, ProviderError>)>;

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
        Self {
            decoder: (exchange.new_decoder)(),
            sse: framer(&client),
            client,
            exchange,
            events: VecDeque::new(),
            state: State::Idle,
            began: None,
            retries: 0,
            has_renewed: false,
            has_started: false,
        }
    }

    /// Goes one step: the queue then holds an event or the state has moved.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Idle => self.prepare(),
            State::Preparing(preparing) => {
                let (calls, result) = ready!(preparing.as_mut().poll(cx));
                self.exchange.calls = Some(calls);
                match result {
                    Ok(call) => self.open(call, cx),
                    Err(error) => self.attempt_failed(error.into()),
                }
            }
            State::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                Ok(answer) => self.state = State::Reading(Box::new(self.begin(answer))),
                Err(failure) => self.attempt_failed(failure),
            },
            State::Refused(refused) => {
                let failure = ready!(refused.as_mut().poll(cx));
                self.attempt_failed(failure);
            }
            State::Renewing(renewing, _) => {
                let (calls, renewed) = ready!(renewing.as_mut().poll(cx));
                self.exchange.calls = Some(calls);
                self.renewed(renewed);
            }
            State::Waiting(wait) => {
                ready!(wait.as_mut().poll(cx));
                self.state = State::Idle;
            }
            State::Reading(reading) => {
                let frame = match reading.at_end {
                    true => self.sse.finish(),
                    false => self.sse.next_frame(),
                };
                match frame {
                    Ok(Some(frame)) => {
                        let result = self.decoder.frame(&frame, &mut self.events);
                        self.decoded(result, false);
                    }
                    Ok(None) if reading.at_end => {
                        let result = self.decoder.finish(&mut self.events);
                        self.decoded(result, true);
                    }
                    Ok(None) => return self.poll_body(cx),
                    Err(error) => {
                        let is_cut = reading.at_end;
                        self.broke_off(framing(error), is_cut);
                    }
                }
            }
            State::Ended => {}
        }
        Poll::Ready(())
    }

    /// Begins the next attempt.
    fn prepare(&mut self) {
        // The source of calls is away only while it makes one.
        let Some(mut calls) = self.exchange.calls.take() else {
            self.state = State::Ended;
            return;
        };
        self.began
            .get_or_insert_with(|| self.client.clock().monotonic());
        self.state = State::Preparing(Box::pin(async move {
            let call = calls.call().await;
            (calls, call)
        }));
    }

    /// Sends a call.
    fn open(&mut self, call: Call, cx: &mut Context<'_>) {
        self.state = State::Opening(Box::pin(ask(
            self.client.clone(),
            Arc::clone(&self.exchange.model),
            call,
            self.exchange.read_error,
            self.exchange.on_response.clone(),
        )));
        if self.exchange.starts_when_sent {
            self.events.push_back(AssistantEvent::Start);
            // The request is on its way before anybody looks at the start.
            let _ = self.poll_step(cx);
        }
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
                    let (client, read_error) = (self.client.clone(), self.exchange.read_error);
                    self.state = State::Refused(Box::pin(async move {
                        client
                            .refused(reading.answer, start.to_vec(), read_error)
                            .await
                    }));
                }
            }
            Err(error) => self.broke_off(error, false),
        }
        Poll::Ready(())
    }

    /// Takes note of what the decoder made of its input, which may be the end of the body.
    fn decoded(&mut self, result: Result<(), ProviderError>, at_end: bool) {
        let State::Reading(reading) = &mut self.state else {
            return;
        };
        let is_ended = result.is_ok() && (at_end || self.decoder.is_ended());
        let is_content = self.events.iter().any(AssistantEvent::is_content);
        if (is_content || is_ended) && !reading.deadlines.has_content() {
            self.client.retries().succeeded(reading.answer.body.host());
        }
        if is_content {
            reading.deadlines.content();
        }
        match result {
            Err(error) => self.broke_off(error, at_end),
            // A decoder that closes nothing is closed by the stream's owner.
            Ok(()) if is_ended => self.state = State::Ended,
            Ok(()) => {}
        }
    }

    /// Ends a reply that failed while it was read; `is_cut` tells that its body is at its end.
    fn broke_off(&mut self, mut error: ProviderError, is_cut: bool) {
        let State::Reading(reading) = &self.state else {
            return self.fail(error);
        };
        let answer = &reading.answer;
        if let (None, Some(id)) = (error.request_id(), head::request_id(&answer.head)) {
            error = error.with_request_id(id);
        }
        error = answer.secrets.redact(error);
        if reading.deadlines.has_content() {
            return self.fail(error);
        }
        let host = answer.body.host().to_owned();
        let failure = Failure::of_stream(error, is_cut, answer.should_retry(), host);
        self.attempt_failed(failure);
    }

    /// Waits to ask again, or ends the stream. Nothing of the reply has been shown but its `Start`.
    fn attempt_failed(&mut self, failure: Failure) {
        if failure.error.status() == Some(401)
            && !self.has_renewed
            && let Some(mut calls) = self.exchange.calls.take()
        {
            self.has_renewed = true;
            let renewing = Box::pin(async move {
                let renewed = calls.renew().await;
                (calls, renewed)
            });
            self.state = State::Renewing(renewing, failure);
            return;
        }
        let (made, cap) = (self.retries, self.exchange.max_retry_delay);
        match self.client.retries().next(failure, made, cap) {
            Next::Fail(error) => self.fail(error),
            Next::Wait(wait) => {
                self.retries += 1;
                self.start_over();
                self.state = State::Waiting(self.client.clock().sleep(wait));
            }
        }
    }

    /// Asks again with another credential, if there is one.
    fn renewed(&mut self, renewed: Result<bool, ProviderError>) {
        let State::Renewing(_, failure) = std::mem::replace(&mut self.state, State::Idle) else {
            return;
        };
        match renewed {
            Ok(true) => self.start_over(),
            Ok(false) => self.attempt_failed(failure),
            Err(error) => self.fail(error),
        }
    }

    /// Forgets what the last attempt left behind.
    fn start_over(&mut self) {
        self.decoder = (self.exchange.new_decoder)();
        self.sse = framer(&self.client);
    }

    /// Lets go of the connection and puts the closing event behind those that are still queued.
    fn fail(&mut self, mut error: ProviderError) {
        if let Some(began) = self.began {
            let now = self.client.clock().monotonic();
            error = error.with_elapsed(now.saturating_sub(began));
        }
        let model = &self.exchange.model;
        let error = error.with_model(&model.provider, &model.id);
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
                if matches!(event, AssistantEvent::Start)
                    && std::mem::replace(&mut this.has_started, true)
                {
                    continue;
                }
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
            State::Idle => "idle",
            State::Preparing(_) => "preparing",
            State::Opening(_) => "opening",
            State::Reading(_) => "reading",
            State::Refused(_) => "refused",
            State::Renewing(..) => "renewing",
            State::Waiting(_) => "waiting",
            State::Ended => "ended",
        };
        f.debug_struct("EventStream")
            .field("model", &self.exchange.model.id)
            .field("state", &state)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

/// Sends a call and returns its answer if that may be an event stream.
async fn ask(
    client: HttpClient,
    model: Arc<Model>,
    call: Call,
    read_error: ErrorReader,
    on_response: Option<ResponseHook>,
) -> Result<Answer, Failure> {
    let answer = client.send(call, "text/event-stream").await?;
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
    if !answer.is_success() {
        return Err(client.refused(answer, Vec::new(), read_error).await);
    }
    match answer.compressed() {
        Some(error) => Err(client.complete(error, &answer).into()),
        None => Ok(answer),
    }
}

fn framer(client: &HttpClient) -> SseDecoder {
    let limits = client.limits();
    SseDecoder::new()
        .with_max_line_bytes(limits.line_bytes)
        .with_max_event_bytes(limits.event_bytes)
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
