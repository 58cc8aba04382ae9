//! Spans around requests, by OpenTelemetry's conventions for generative AI.

mod content;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll};
use std::time::Duration;

use futures_core::Stream;
use pi_core::{
    AssistantEvent, AssistantStream, Clock, Context, ErrorInfo, EventSource, Model, Progress,
    Provider, Request, StopReason, Usage,
};
use pi_http::{TokioClock, server_of};
use tracing::Span;
use tracing::field::Empty;

/// A provider that opens a [`tracing`] span for each request to another provider, with the attributes
/// of OpenTelemetry's conventions for generative AI. An application that has `tracing-opentelemetry`
/// exports them as they are; this crate does not depend on OpenTelemetry.
///
/// The span `chat` begins when the stream is first polled, under the span in which it was asked for,
/// and ends with the stream's last event or when the stream is dropped. It covers all retries. It is
/// entered only while the stream is polled, so that what the provider logs belongs to it.
///
/// # Attributes
/// Of the request: `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model`,
/// `gen_ai.request.stream`, `gen_ai.request.max_tokens`, `gen_ai.request.temperature`,
/// `gen_ai.conversation.id` (the session id), `gen_ai.output.type`, `server.address` and `server.port` (of the model's base
/// URL). Of the reply: `gen_ai.response.id`, `gen_ai.response.finish_reasons`,
/// `gen_ai.response.time_to_first_chunk` (seconds until the first content), `gen_ai.usage.*`, and
/// `error.type`, which is the [`ErrorKind`](pi_core::ErrorKind) as it is spelled in JSON. A reply that
/// the caller has stopped or dropped has the type `aborted`, and is no error of the span.
///
/// What people and models say is no attribute unless [`with_content`](Self::with_content) asks for it;
/// nor are the texts of errors, which may repeat it.
///
/// # Examples
/// ```
/// use pi_ai::{Providers, Traced};
///
/// let provider = Traced::new(Providers::from_env());
/// # let _: &dyn pi_core::Provider = &provider;
/// ```
#[derive(Clone)]
pub struct Traced<P> {
    provider: P,
    clock: Arc<dyn Clock>,
    has_content: bool,
}

impl<P: Provider> Traced<P> {
    /// Wraps a provider.
    pub fn new(provider: P) -> Self {
        Self {
            provider,
            clock: Arc::new(TokioClock::new()),
            has_content: false,
        }
    }

    /// Sets the clock that measures the time to the first content; a [`TokioClock`] by default.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Adds what is said to the spans: `gen_ai.system_instructions`, `gen_ai.input.messages`,
    /// `gen_ai.tool.definitions` and `gen_ai.output.messages`, as JSON in the form of the conventions,
    /// and the texts of errors. Images are named by their type and not copied.
    ///
    /// It is off by default, since all of it may be personal or secret, and large.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.has_content = true;
        self
    }
}

impl<P: Provider> Provider for Traced<P> {
    fn stream(&self, request: Request) -> AssistantStream {
        let options = &request.options;
        let opening = Opening {
            parent: Span::current(),
            model: Arc::clone(&request.model),
            max_tokens: options.max_tokens,
            temperature: options.temperature,
            session_id: options.session_id.clone(),
            wants_json: options.output.is_some(),
            content: self.has_content.then(|| request.context.clone()),
        };
        let inner = self.provider.stream(request);
        let seed = (*inner.partial()).clone();
        let traced = TracedStream {
            inner,
            clock: Arc::clone(&self.clock),
            state: State::Unopened(Box::new(opening)),
        };
        AssistantStream::from_source(seed, traced)
    }
}

impl<P: fmt::Debug> fmt::Debug for Traced<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced")
            .field("provider", &self.provider)
            .field("has_content", &self.has_content)
            .finish_non_exhaustive()
    }
}

/// What the span of a request that was not polled yet will say.
struct Opening {
    parent: Span,
    model: Arc<Model>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    session_id: Option<String>,
    wants_json: bool,
    content: Option<Context>,
}

impl Opening {
    fn open(self, clock: &dyn Clock) -> Open {
        let model = &*self.model;
        let server = server_of(&model.base_url);
        let span = tracing::info_span!(
            parent: self.parent.id().or_else(|| Span::current().id()),
            "chat",
            otel.name = %format_args!("chat {}", model.id),
            otel.kind = "client",
            otel.status_code = Empty,
            otel.status_description = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider_name(&model.provider),
            gen_ai.request.model = &*model.id,
            gen_ai.request.stream = true,
            gen_ai.request.max_tokens = self.max_tokens.map(count),
            gen_ai.request.temperature = self.temperature,
            gen_ai.conversation.id = self.session_id.as_deref(),
            "gen_ai.output.type" = self.wants_json.then_some("json"),
            gen_ai.response.id = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.response.time_to_first_chunk = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_write.input_tokens = Empty,
            gen_ai.system_instructions = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.tool.definitions = Empty,
            gen_ai.output.messages = Empty,
            "error.type" = Empty,
            server.address = server.as_ref().map(|(host, _)| host.as_str()),
            server.port = server.as_ref().map(|(_, port)| i64::from(*port)),
        );
        let has_content = self.content.is_some() && !span.is_disabled();
        if let Some(context) = self.content.filter(|_| has_content) {
            content::record_input(&span, &context);
        }
        Open {
            span,
            began: clock.monotonic(),
            has_begun_to_answer: false,
            has_content,
        }
    }
}

/// A span that is open.
struct Open {
    span: Span,
    began: Duration,
    has_begun_to_answer: bool,
    has_content: bool,
}

impl Open {
    /// Takes note of an event; true if it was the last one.
    fn note(&mut self, event: &AssistantEvent, inner: &AssistantStream, clock: &dyn Clock) -> bool {
        if event.is_content() && !self.has_begun_to_answer {
            self.has_begun_to_answer = true;
            let waited = clock.monotonic().saturating_sub(self.began);
            let seconds = waited.as_secs_f64();
            self.span
                .record("gen_ai.response.time_to_first_chunk", seconds);
        }
        match event {
            AssistantEvent::Done {
                reason,
                usage,
                response_id,
            } => self.ended(reason, usage, response_id.as_deref(), inner),
            AssistantEvent::Error {
                reason,
                usage,
                response_id,
                error_info,
                error_message,
            } => {
                self.ended(reason, usage, response_id.as_deref(), inner);
                self.failed(reason, error_info.as_deref(), error_message);
            }
            _ => return false,
        }
        true
    }

    fn ended(
        &self,
        reason: &StopReason,
        usage: &Usage,
        response_id: Option<&str>,
        inner: &AssistantStream,
    ) {
        let span = &self.span;
        let reason = finish_reason(reason);
        span.record("gen_ai.response.id", response_id);
        // A field of `tracing` is no list.
        let reasons = format!("[\"{reason}\"]");
        span.record("gen_ai.response.finish_reasons", reasons.as_str());
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let input = usage.input.saturating_add(cached);
        for (name, tokens) in [
            ("gen_ai.usage.input_tokens", input),
            ("gen_ai.usage.output_tokens", usage.output),
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_write.input_tokens", usage.cache_write),
        ] {
            if tokens > 0 {
                span.record(name, count(tokens));
            }
        }
        if self.has_content {
            content::record_output(span, &inner.partial(), reason);
        }
    }

    fn failed(&self, reason: &StopReason, info: Option<&ErrorInfo>, message: &str) {
        if *reason == StopReason::Aborted {
            self.span.record("error.type", "aborted");
            return;
        }
        let kind = info.map_or("_OTHER", |info| info.kind.as_str());
        self.span.record("error.type", kind);
        self.span.record("otel.status_code", "ERROR");
        if self.has_content {
            self.span.record("otel.status_description", message);
        }
    }
}

/// The events of another stream, in a span.
struct TracedStream {
    inner: AssistantStream,
    clock: Arc<dyn Clock>,
    state: State,
}

enum State {
    Unopened(Box<Opening>),
    Open(Open),
    Closed,
}

impl State {
    fn open(&mut self, clock: &dyn Clock) -> Option<&mut Open> {
        if let Self::Unopened(_) = self
            && let Self::Unopened(opening) = std::mem::replace(self, Self::Closed)
        {
            *self = Self::Open(opening.open(clock));
        }
        match self {
            Self::Open(open) => Some(open),
            Self::Unopened(_) | Self::Closed => None,
        }
    }
}

impl Stream for TracedStream {
    type Item = AssistantEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Waker<'_>) -> Poll<Option<AssistantEvent>> {
        let Self {
            inner,
            clock,
            state,
        } = &mut *self;
        let Some(open) = state.open(&**clock) else {
            return Pin::new(inner).poll_next(cx);
        };
        let polled = open.span.in_scope(|| Pin::new(&mut *inner).poll_next(cx));
        if let Poll::Ready(Some(event)) = &polled
            && open.note(event, inner, &**clock)
        {
            *state = State::Closed;
        }
        polled
    }
}

impl EventSource for TracedStream {
    fn progress(&self) -> Progress {
        self.inner.progress()
    }
}

impl Drop for TracedStream {
    fn drop(&mut self) {
        if let State::Open(open) = &self.state {
            let Progress {
                usage, response_id, ..
            } = self.inner.progress();
            let reason = StopReason::Aborted;
            open.ended(&reason, &usage, response_id.as_deref(), &self.inner);
            open.failed(&reason, None, "");
        }
    }
}

/// Returns the name of a provider in the conventions; names that they do not have stay.
fn provider_name(provider: &str) -> &str {
    match provider {
        "amazon-bedrock" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "google" => "gcp.gemini",
        "google-vertex" => "gcp.vertex_ai",
        "mistral" => "mistral_ai",
        "moonshotai" | "moonshotai-cn" => "moonshot_ai",
        "openai-codex" => "openai",
        "xai" => "x_ai",
        other => other,
    }
}

/// Returns the word of the conventions for why a reply ended.
fn finish_reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::ToolUse => "tool_call",
        StopReason::Error | StopReason::Aborted => "error",
        other => other.as_str(),
    }
}

/// Returns a count in the type that attributes have.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
