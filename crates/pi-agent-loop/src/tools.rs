//! The calls of one reply: prepared in order, run side by side or one by one, answered in order.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::SelectAll;
use pi_core::{
    AgentEvent, AgentTool, AssistantMessage, PreparedCall, Replay, StopReason, ToolCall, ToolError,
    ToolExecutionMode, ToolOutput, ToolResultMessage,
};
use serde_json::{Map, Value, json};

use crate::hooks::{AfterToolCall, BeforeToolCall, Verdict};
use crate::next::OpenCalls;
use crate::run::{Run, guard, log_panic};
use crate::running::{Grace, News, Progress, RunningCall, Settled, unexpected};

/// What a batch of calls left behind.
pub(crate) struct BatchResult {
    pub(crate) results: Vec<Arc<ToolResultMessage>>,
    /// True if every result asks for the end of the run.
    pub(crate) terminate: bool,
}

impl Run {
    /// Runs the open calls of a reply and emits all that belongs to them.
    ///
    /// The calls of a resumed reply may have begun in an earlier run, so only those of tools that
    /// say it does no harm are run.
    pub(crate) async fn run_calls(&self, open: &OpenCalls, is_resumed: bool) -> BatchResult {
        let tools: Vec<Option<&AgentTool>> = open
            .calls
            .iter()
            .map(|call| self.find_tool(&call.name))
            .collect();
        let one_by_one = self.config.tool_execution == ToolExecutionMode::Sequential
            || tools
                .iter()
                .flatten()
                .any(|tool| tool.execution_mode() == Some(ToolExecutionMode::Sequential));
        let mut batch = Batch::new(self, &open.reply, is_resumed);
        for (call, tool) in open.calls.iter().zip(tools) {
            batch.begin(call, tool).await;
            if one_by_one {
                batch.run_all().await;
            }
        }
        batch.run_all().await;
        batch.finish()
    }

    fn find_tool(&self, name: &str) -> Option<&AgentTool> {
        self.context
            .tools
            .as_ref()?
            .iter()
            .find(|tool| tool.name() == name)
    }
}

/// The calls of one reply on their way. Calls leave it from the front.
struct Batch<'a> {
    run: &'a Run,
    reply: &'a Arc<AssistantMessage>,
    is_resumed: bool,
    /// Calls that have a start event and no end event yet, in source order.
    open: VecDeque<OpenCall<'a>>,
    /// The number of calls that have left `open`.
    closed: usize,
    running: SelectAll<RunningCall<'a>>,
    grace: Grace,
    results: Vec<Arc<ToolResultMessage>>,
    terminate: bool,
}

struct OpenCall<'a> {
    call: Arc<ToolCall>,
    state: CallState<'a>,
}

enum CallState<'a> {
    /// Allowed, and waiting for the calls behind it to be prepared.
    Prepared {
        tool: &'a AgentTool,
        call: PreparedCall,
    },
    Running {
        arguments: Map<String, Value>,
    },
    /// It has run; the after-hook is still due.
    Ran {
        arguments: Map<String, Value>,
        settled: Settled,
    },
    /// It does not run.
    Refused(ToolError),
}

impl<'a> Batch<'a> {
    fn new(run: &'a Run, reply: &'a Arc<AssistantMessage>, is_resumed: bool) -> Self {
        Self {
            run,
            reply,
            is_resumed,
            open: VecDeque::new(),
            closed: 0,
            running: SelectAll::new(),
            grace: Grace::new(run),
            results: Vec::new(),
            terminate: true,
        }
    }

    /// Starts a call: emits its start and decides whether it may run. A refused call at the head is
    /// answered at once; one behind a call that will run waits for its turn.
    async fn begin(&mut self, call: &Arc<ToolCall>, tool: Option<&'a AgentTool>) {
        let started = AgentEvent::ToolExecutionStart {
            call: Arc::clone(call),
        };
        self.run.emitter.emit(started).await;
        let state = match self.prepare(call, tool).await {
            Ok((tool, call)) => CallState::Prepared { tool, call },
            Err(error) => CallState::Refused(error),
        };
        self.open.push_back(OpenCall {
            call: Arc::clone(call),
            state,
        });
        self.close_heads().await;
    }

    async fn prepare(
        &mut self,
        call: &Arc<ToolCall>,
        tool: Option<&'a AgentTool>,
    ) -> Result<(&'a AgentTool, PreparedCall), ToolError> {
        if self.is_aborted() {
            return Err(aborted());
        }
        if self.reply.stop_reason == StopReason::Length {
            return Err(ToolError::new(
                "The reply was cut off by the output token limit, so this call was not run. \
                 Issue the call again, in smaller steps if it is large.",
            ));
        }
        let tool = tool.ok_or_else(|| ToolError::new(format!("Tool {} not found", call.name)))?;
        if self.is_resumed && tool.replay() != Replay::Safe {
            return Err(ToolError::new(
                "The outcome of this call is unknown: the program stopped while it ran. Check the \
                 state before repeating it.",
            ));
        }
        if let Some(error) = &call.arguments_error {
            return Err(ToolError::new(format!(
                "Invalid arguments for tool \"{}\": {error}. The call was not run. Issue it again \
                 with a complete JSON object as arguments.",
                call.name
            )));
        }
        let arguments = call.arguments.clone();
        let prepared =
            catch_unwind(AssertUnwindSafe(|| tool.prepare(arguments))).unwrap_or_else(|panic| {
                log_panic(&call.name, panic.as_ref());
                Err(unexpected(&call.name))
            })?;
        let prepared = self.ask_before_hook(call, tool, prepared).await?;
        if self.is_aborted() {
            return Err(aborted());
        }
        Ok((tool, prepared))
    }

    async fn ask_before_hook(
        &mut self,
        call: &Arc<ToolCall>,
        tool: &AgentTool,
        prepared: PreparedCall,
    ) -> Result<PreparedCall, ToolError> {
        let run = self.run;
        let question = BeforeToolCall {
            assistant_message: Arc::clone(self.reply),
            call: Arc::clone(call),
            arguments: prepared.arguments().clone(),
            messages: Arc::clone(&run.context.messages),
            abort: run.config.abort.clone(),
        };
        let hook = guard(
            "before_tool_call",
            run.config.hooks.before_tool_call(question),
        );
        match self.grace.limit(hook).await {
            None => Err(aborted()),
            Some(Err(error)) => Err(ToolError::new(error.to_string())),
            Some(Ok(Verdict::Allow)) => Ok(prepared),
            Some(Ok(Verdict::Edit { arguments })) => tool.validate(&arguments),
            Some(Ok(Verdict::Block { reason })) => Err(ToolError::new(
                reason.unwrap_or_else(|| "Tool execution was blocked".to_owned()),
            )),
        }
    }

    /// Runs what is prepared and answers every open call.
    async fn run_all(&mut self) {
        self.start_prepared();
        self.close_heads().await;
        while !self.open.is_empty() {
            match self.next_progress().await {
                Some(progress) => {
                    self.note(progress).await;
                    self.note_what_is_there().await;
                }
                None => self.give_up(),
            }
            self.close_heads().await;
        }
    }

    /// Takes note of what other calls have got ready meanwhile, so that their progress is shown
    /// before the results that come next. A call that never stops talking is cut short.
    async fn note_what_is_there(&mut self) {
        for _ in 0..self.open.len() {
            let running = &mut self.running;
            let ready = poll_fn(|cx| match running.poll_next_unpin(cx) {
                Poll::Ready(progress) => Poll::Ready(progress),
                Poll::Pending => Poll::Ready(None),
            });
            match ready.await {
                Some(progress) => self.note(progress).await,
                None => return,
            }
        }
    }

    /// Starts the prepared calls in source order, or refuses them after an abort.
    fn start_prepared(&mut self) {
        let aborted_before = self.is_aborted();
        for (place, open) in self.open.iter_mut().enumerate() {
            if !matches!(open.state, CallState::Prepared { .. }) {
                continue;
            }
            let refused = CallState::Refused(aborted());
            let CallState::Prepared { tool, call } = std::mem::replace(&mut open.state, refused)
            else {
                continue;
            };
            if !aborted_before {
                open.state = CallState::Running {
                    arguments: call.arguments().clone(),
                };
                let number = self.closed + place;
                self.running
                    .push(RunningCall::start(self.run, number, &open.call, tool, call));
            }
        }
    }

    /// Waits for progress of any running call; `None` if the grace is over.
    async fn next_progress(&mut self) -> Option<Progress> {
        let running = &mut self.running;
        let next = poll_fn(|cx| match running.poll_next_unpin(cx) {
            Poll::Ready(Some(progress)) => Poll::Ready(progress),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        });
        self.grace.limit(next).await
    }

    /// Takes note of progress: shows an update, or keeps the result until its turn has come.
    async fn note(&mut self, progress: Progress) {
        let Some(open) = progress.number.checked_sub(self.closed) else {
            return;
        };
        let Some(open) = self.open.get_mut(open) else {
            return;
        };
        match progress.news {
            News::Update(partial_result) => {
                let call = Arc::clone(&open.call);
                let update = AgentEvent::ToolExecutionUpdate {
                    call,
                    partial_result,
                };
                self.run.emitter.emit(update).await;
            }
            News::Settled(settled) => {
                if let CallState::Running { arguments } = &mut open.state {
                    let arguments = std::mem::take(arguments);
                    open.state = CallState::Ran { arguments, settled };
                }
            }
        }
    }

    /// Drops the calls that have not ended within the grace after an abort.
    fn give_up(&mut self) {
        self.running.clear();
        for open in &mut self.open {
            if matches!(
                open.state,
                CallState::Running { .. } | CallState::Prepared { .. }
            ) {
                open.state = CallState::Refused(aborted());
            }
        }
    }

    /// Answers the calls at the head that are done, up to the first that is not.
    async fn close_heads(&mut self) {
        while let Some(head) = self.open.front_mut() {
            let call = Arc::clone(&head.call);
            let finished = match &mut head.state {
                CallState::Prepared { .. } | CallState::Running { .. } => return,
                CallState::Refused(error) => Finished::refused(error.clone()),
                CallState::Ran { arguments, settled } => {
                    let arguments = std::mem::take(arguments);
                    let result = std::mem::replace(&mut settled.result, Err(aborted()));
                    let settled = Settled {
                        result,
                        duration: settled.duration,
                    };
                    self.ask_after_hook(&call, arguments, settled).await
                }
            };
            self.open.pop_front();
            self.closed += 1;
            self.close(call, finished).await;
        }
    }

    async fn ask_after_hook(
        &mut self,
        call: &Arc<ToolCall>,
        arguments: Map<String, Value>,
        settled: Settled,
    ) -> Finished {
        let run = self.run;
        let mut finished = Finished::ran(settled);
        let question = AfterToolCall {
            assistant_message: Arc::clone(self.reply),
            call: Arc::clone(call),
            arguments,
            result: finished.output.clone(),
            is_error: finished.is_error,
            messages: Arc::clone(&run.context.messages),
            abort: run.config.abort.clone(),
        };
        let hook = guard(
            "after_tool_call",
            run.config.hooks.after_tool_call(question),
        );
        match self.wait_beside_running(hook).await {
            // A hook may be there to keep something from the model, so its result does not stand
            // without it.
            None => finished.replace_by(aborted()),
            Some(Err(error)) => finished.replace_by(ToolError::new(error.to_string())),
            Some(Ok(changes)) => {
                if let Some(content) = changes.content {
                    finished.output.content = content;
                }
                if changes.details.is_some() {
                    finished.output.details = changes.details;
                }
                finished.is_error = changes.is_error.unwrap_or(finished.is_error);
                finished.output.terminate = changes.terminate.unwrap_or(finished.output.terminate);
            }
        }
        finished
    }

    /// Waits for a hook while the other calls run on.
    async fn wait_beside_running<T>(&mut self, hook: impl Future<Output = T>) -> Option<T> {
        let mut hook = Box::pin(hook);
        loop {
            let running = &mut self.running;
            let step = poll_fn(|cx| {
                if let Poll::Ready(value) = hook.as_mut().poll(cx) {
                    return Poll::Ready(Step::Hook(value));
                }
                match running.poll_next_unpin(cx) {
                    Poll::Ready(Some(progress)) => Poll::Ready(Step::Progress(progress)),
                    Poll::Ready(None) | Poll::Pending => Poll::Pending,
                }
            });
            match self.grace.limit(step).await? {
                Step::Hook(value) => return Some(value),
                Step::Progress(progress) => self.note(progress).await,
            }
        }
    }

    /// Emits the end of a call and its result.
    async fn close(&mut self, call: Arc<ToolCall>, finished: Finished) {
        let Finished {
            output,
            is_error,
            duration,
        } = finished;
        self.terminate &= output.terminate;
        let mut message = ToolResultMessage::new(
            &call.id,
            &call.name,
            output.content.clone(),
            self.run.config.clock.now(),
        );
        message.details.clone_from(&output.details);
        message.is_error = is_error;
        let message = Arc::new(message);
        let emitter = &self.run.emitter;
        let suspended = false;
        let ended = AgentEvent::ToolExecutionEnd {
            call,
            result: output,
            is_error,
            duration,
            suspended,
        };
        emitter.emit(ended).await;
        emitter
            .emit(AgentEvent::MessageStart {
                message: Arc::clone(&message).into(),
            })
            .await;
        emitter
            .emit(AgentEvent::MessageEnd {
                message: Arc::clone(&message).into(),
            })
            .await;
        self.results.push(message);
    }

    fn finish(self) -> BatchResult {
        let terminate = self.terminate && !self.results.is_empty();
        BatchResult {
            results: self.results,
            terminate,
        }
    }

    fn is_aborted(&self) -> bool {
        self.run.config.abort.is_cancelled()
    }
}

enum Step<T> {
    Hook(T),
    Progress(Progress),
}

/// What a call answers in the end.
struct Finished {
    output: ToolOutput,
    is_error: bool,
    duration: Option<Duration>,
}

impl Finished {
    fn refused(error: ToolError) -> Self {
        Self {
            output: error_output(error),
            is_error: true,
            duration: None,
        }
    }

    fn ran(settled: Settled) -> Self {
        let duration = Some(settled.duration);
        match settled.result {
            Ok(output) => {
                let is_error = output.is_error;
                Self {
                    output,
                    is_error,
                    duration,
                }
            }
            Err(error) => Self {
                output: error_output(error),
                is_error: true,
                duration,
            },
        }
    }

    fn replace_by(&mut self, error: ToolError) {
        self.output = error_output(error);
        self.is_error = true;
    }
}

fn error_output(error: ToolError) -> ToolOutput {
    let mut output = ToolOutput::new(error.content);
    output.details = Some(error.details.unwrap_or_else(|| json!({})));
    output
}

fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}
