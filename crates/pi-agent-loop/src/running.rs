//! A call that runs, and the time that it has after an abort.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::FutureExt;
use pi_core::{
    AgentTool, BoxFuture, PreparedCall, ProgressReceiver, ToolCall, ToolContext, ToolError,
    ToolOutput, progress_channel,
};

use crate::answer::unexpected;
use crate::run::{Run, log_panic};
use crate::spans;

/// What a call came to, and how long it took.
pub(crate) struct Settled {
    pub(crate) result: Result<ToolOutput, ToolError>,
    pub(crate) duration: Duration,
}

/// News of a running call, by its number in the batch.
pub(crate) struct Progress {
    pub(crate) number: usize,
    pub(crate) news: News,
}

pub(crate) enum News {
    Update(ToolOutput),
    Settled(Settled),
}

/// A call that runs: a stream of its progress that ends with its result.
pub(crate) struct RunningCall<'a> {
    number: usize,
    name: &'a str,
    running: Option<BoxFuture<'a, Result<ToolOutput, ToolError>>>,
    progress: ProgressReceiver,
    settled: Option<Settled>,
    run: &'a Run,
    started: Duration,
    span: tracing::Span,
}

impl<'a> RunningCall<'a> {
    pub(crate) fn start(
        run: &'a Run,
        number: usize,
        call: &ToolCall,
        tool: &'a AgentTool,
        prepared: PreparedCall,
    ) -> Self {
        let (sender, progress) = progress_channel();
        let started = run.config.clock.monotonic();
        let cx = ToolContext::new(call.id.as_str(), run.config.abort.child_token(), sender);
        // What a tool does before it returns its future happens here, in source order.
        let span = spans::tool(tool.name(), &call.id);
        let running = span.in_scope(|| catch_unwind(AssertUnwindSafe(|| tool.run(prepared, cx))));
        let running = running.unwrap_or_else(|panic| {
            log_panic(tool.name(), panic.as_ref());
            Box::pin(std::future::ready(Err(unexpected(tool.name()))))
        });
        let name = tool.name();
        Self {
            number,
            name,
            running: Some(running),
            progress,
            settled: None,
            run,
            started,
            span,
        }
    }

    fn poll_tool(&mut self, cx: &mut Context<'_>) {
        let Some(running) = &mut self.running else {
            return;
        };
        let poll = || catch_unwind(AssertUnwindSafe(|| running.poll_unpin(cx)));
        let result = match self.span.in_scope(poll) {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(result)) => result,
            Err(panic) => {
                log_panic(self.name, panic.as_ref());
                Err(unexpected(self.name))
            }
        };
        let duration = self
            .run
            .config
            .clock
            .monotonic()
            .saturating_sub(self.started);
        spans::tool_ended(&self.span, &result);
        self.span = tracing::Span::none();
        self.settled = Some(Settled { result, duration });
        self.running = None;
    }
}

impl Stream for RunningCall<'_> {
    type Item = Progress;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Progress>> {
        self.poll_tool(cx);
        let number = self.number;
        if let Poll::Ready(report) = self.progress.poll_next(cx) {
            return Poll::Ready(Some(Progress {
                number,
                news: News::Update(report),
            }));
        }
        match self.settled.take() {
            Some(settled) => Poll::Ready(Some(Progress {
                number,
                news: News::Settled(settled),
            })),
            None if self.running.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// The time that tools and tool hooks have after an abort.
pub(crate) struct Grace {
    over: BoxFuture<'static, ()>,
    is_over: bool,
}

impl Grace {
    pub(crate) fn new(run: &Run) -> Self {
        let abort = run.config.abort.clone();
        let clock = Arc::clone(&run.config.clock);
        let grace = run.config.abort_grace;
        let over = Box::pin(async move {
            abort.cancelled().await;
            clock.sleep(grace).await;
        });
        Self {
            over,
            is_over: false,
        }
    }

    /// Waits for `work`; `None` if the grace is over first. Work that is ready always counts.
    pub(crate) async fn limit<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(value) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(value));
            }
            if !self.is_over && self.over.poll_unpin(cx).is_ready() {
                self.is_over = true;
            }
            if self.is_over {
                Poll::Ready(None)
            } else {
                Poll::Pending
            }
        })
        .await
    }
}
