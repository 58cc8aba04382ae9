//! The calls of one reply on their way, and how they leave in order.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::SelectAll;
use pi_core::{
    AgentEvent, AgentMessage, AgentTool, AssistantMessage, HookError, PreparedCall, ToolCall,
    ToolError, ToolOutput, ToolResultMessage,
};
use serde_json::{Map, Value};

use crate::answer::{Answer, aborted, skipped};
use crate::config::ToolEndOrder;
use crate::run::{Run, guard};
use crate::running::{Grace, News, Progress, RunningCall, Settled};
use crate::verdict::{AfterToolCall, Decision};

/// What a batch of calls left behind.
pub(crate) struct BatchResult {
    pub(crate) results: Vec<Arc<ToolResultMessage>>,
    /// The calls that wait for a decision.
    pub(crate) suspended: Vec<Arc<ToolCall>>,
    /// True if every result asks for the end of the run.
    pub(crate) terminate: bool,
    /// Steering that was taken between calls.
    pub(crate) steering: Result<Vec<AgentMessage>, HookError>,
}

impl BatchResult {
    /// The result of a reply without calls.
    pub(crate) fn empty() -> Self {
        Self {
            results: Vec::new(),
            suspended: Vec::new(),
            terminate: false,
            steering: Ok(Vec::new()),
        }
    }
}

/// How the calls of a stored reply are gone on with.
pub(crate) enum Resume {
    /// The reply is new.
    No,
    /// The calls may have begun in an earlier run.
    Unattended,
    /// Somebody decided about them.
    Decided(Vec<(String, Decision)>),
}

/// The calls of one reply on their way. Calls leave it from the front.
pub(crate) struct Batch<'a> {
    pub(crate) run: &'a Run,
    pub(crate) reply: &'a Arc<AssistantMessage>,
    pub(crate) resume: Resume,
    pub(crate) grace: Grace,
    pub(crate) steering: Result<Vec<AgentMessage>, HookError>,
    /// Calls that have a start event and no result yet, in source order.
    open: VecDeque<OpenCall<'a>>,
    /// The number of calls that have left `open`.
    closed: usize,
    running: SelectAll<RunningCall<'a>>,
    results: Vec<Arc<ToolResultMessage>>,
    suspended: Vec<Arc<ToolCall>>,
    terminate: bool,
}

struct OpenCall<'a> {
    call: Arc<ToolCall>,
    state: CallState<'a>,
}

/// Where a call is.
pub(crate) enum CallState<'a> {
    /// Allowed, and waiting for the calls behind it to be prepared.
    Prepared {
        tool: &'a AgentTool,
        call: PreparedCall,
    },
    /// On its way.
    Running { arguments: Map<String, Value> },
    /// It has run; the after-hook is still due.
    Ran {
        arguments: Map<String, Value>,
        settled: Settled,
    },
    /// It does not run.
    Refused(ToolError),
    /// It does not run; its result came from outside.
    Supplied(ToolOutput),
    /// It waits for a decision.
    Suspended,
    /// Its end was told; the result message is still due, unless it waits for a decision.
    Ended(Option<Arc<ToolResultMessage>>),
}

impl CallState<'_> {
    fn is_done(&self) -> bool {
        matches!(
            self,
            Self::Ran { .. } | Self::Refused(_) | Self::Supplied(_) | Self::Suspended
        )
    }
}

enum Step<T> {
    Hook(T),
    Progress(Progress),
}

impl<'a> Batch<'a> {
    pub(crate) fn new(run: &'a Run, reply: &'a Arc<AssistantMessage>, resume: Resume) -> Self {
        Self {
            run,
            reply,
            resume,
            grace: Grace::new(run),
            steering: Ok(Vec::new()),
            open: VecDeque::new(),
            closed: 0,
            running: SelectAll::new(),
            results: Vec::new(),
            suspended: Vec::new(),
            terminate: true,
        }
    }

    /// Takes in a call that has begun. A call at the head that does not run is answered at once;
    /// one behind a call that will run waits for its turn.
    pub(crate) async fn push(&mut self, call: &Arc<ToolCall>, state: CallState<'a>) {
        self.open.push_back(OpenCall {
            call: Arc::clone(call),
            state,
        });
        self.close_done().await;
    }

    /// Runs what is prepared and answers every open call.
    pub(crate) async fn run_all(&mut self) {
        self.start_prepared();
        self.close_done().await;
        while !self.open.is_empty() {
            match self.next_progress().await {
                Some(progress) => {
                    self.note(progress).await;
                    self.note_what_is_there().await;
                }
                None => self.give_up(),
            }
            self.close_done().await;
        }
    }

    pub(crate) fn finish(self) -> BatchResult {
        BatchResult {
            terminate: self.terminate && !self.results.is_empty(),
            results: self.results,
            suspended: self.suspended,
            steering: self.steering,
        }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.run.config.abort.is_cancelled()
    }

    /// Returns true if calls that have not started are skipped.
    pub(crate) fn is_steered(&self) -> bool {
        !matches!(&self.steering, Ok(messages) if messages.is_empty())
    }

    pub(crate) fn has_prepared(&self) -> bool {
        self.open
            .iter()
            .any(|open| matches!(open.state, CallState::Prepared { .. }))
    }

    /// Starts the prepared calls in source order, or refuses them.
    fn start_prepared(&mut self) {
        let refused = if self.is_aborted() {
            Some(aborted())
        } else if self.is_steered() {
            Some(skipped())
        } else {
            None
        };
        for (place, open) in self.open.iter_mut().enumerate() {
            if !matches!(open.state, CallState::Prepared { .. }) {
                continue;
            }
            let refusal = CallState::Refused(refused.clone().unwrap_or_else(aborted));
            let prepared = std::mem::replace(&mut open.state, refusal);
            if let (CallState::Prepared { tool, call }, None) = (prepared, &refused) {
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

    /// Takes note of progress: shows an update, or keeps the result until its turn has come.
    async fn note(&mut self, progress: Progress) {
        let Some(place) = progress.number.checked_sub(self.closed) else {
            return;
        };
        let Some(open) = self.open.get_mut(place) else {
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

    /// Ends the calls that are done, in the order that was asked for, and answers those at the head.
    async fn close_done(&mut self) {
        while let Some(place) = self.next_done() {
            let Some(open) = self.open.get_mut(place) else {
                return;
            };
            let call = Arc::clone(&open.call);
            let state = std::mem::replace(&mut open.state, CallState::Ended(None));
            let answer = match state {
                CallState::Refused(error) => Answer::refused(error),
                CallState::Supplied(output) => Answer::supplied(output),
                CallState::Ran { arguments, settled } => {
                    self.ask_after_hook(&call, arguments, settled).await
                }
                _ => Answer::suspended(),
            };
            let message = self.end(&call, answer).await;
            if let Some(open) = self.open.get_mut(place) {
                open.state = CallState::Ended(message);
            }
            self.answer_heads().await;
        }
    }

    fn next_done(&self) -> Option<usize> {
        match self.run.config.tool_end_order {
            ToolEndOrder::Source => self.open.front()?.state.is_done().then_some(0),
            ToolEndOrder::Completion => self.open.iter().position(|open| open.state.is_done()),
        }
    }

    async fn ask_after_hook(
        &mut self,
        call: &Arc<ToolCall>,
        arguments: Map<String, Value>,
        settled: Settled,
    ) -> Answer {
        let run = self.run;
        let mut answer = Answer::ran(settled);
        let result = Arc::new(answer.output);
        let question = AfterToolCall {
            assistant_message: Arc::clone(self.reply),
            call: Arc::clone(call),
            arguments,
            result: Arc::clone(&result),
            is_error: answer.is_error,
            messages: Arc::clone(&run.context.messages),
            abort: run.config.abort.clone(),
        };
        let hook = guard(
            "after_tool_call",
            run.config.hooks.after_tool_call(question),
        );
        let verdict = self.wait_beside_running(hook).await;
        answer.output = Arc::unwrap_or_clone(result);
        match verdict {
            // A hook may be there to keep something from the model, so its result does not stand
            // without it.
            None => answer.replace_by(aborted()),
            Some(Err(error)) => answer.replace_by(ToolError::new(error.to_string())),
            Some(Ok(changes)) => {
                if let Some(content) = changes.content {
                    answer.output.content = content;
                }
                if changes.details.is_some() {
                    answer.output.details = changes.details;
                }
                answer.is_error = changes.is_error.unwrap_or(answer.is_error);
                answer.output.terminate = changes.terminate.unwrap_or(answer.output.terminate);
            }
        }
        answer
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

    /// Tells the end of a call and makes its result; a suspended call has none.
    async fn end(
        &mut self,
        call: &Arc<ToolCall>,
        mut answer: Answer,
    ) -> Option<Arc<ToolResultMessage>> {
        answer.cut();
        let Answer {
            output,
            is_error,
            duration,
            suspended,
        } = answer;
        let mut message = None;
        if suspended {
            self.suspended.push(Arc::clone(call));
        } else {
            self.terminate &= output.terminate;
            let content = output.content.clone();
            let now = self.run.config.clock.now();
            let mut result = ToolResultMessage::new(&call.id, &call.name, content, now);
            result.details.clone_from(&output.details);
            result.is_error = is_error;
            message = Some(Arc::new(result));
        }
        let call = Arc::clone(call);
        let ended = AgentEvent::ToolExecutionEnd {
            call,
            result: output,
            is_error,
            duration,
            suspended,
        };
        self.run.emitter.emit(ended).await;
        message
    }

    /// Emits the results of the calls at the head that have ended.
    async fn answer_heads(&mut self) {
        while let Some(CallState::Ended(_)) = self.open.front().map(|open| &open.state) {
            let Some(open) = self.open.pop_front() else {
                return;
            };
            self.closed += 1;
            if let CallState::Ended(Some(message)) = open.state {
                let emitter = &self.run.emitter;
                let shown: AgentMessage = Arc::clone(&message).into();
                emitter
                    .emit(AgentEvent::MessageStart {
                        message: shown.clone(),
                    })
                    .await;
                emitter
                    .emit(AgentEvent::MessageEnd { message: shown })
                    .await;
                self.results.push(message);
            }
        }
    }
}
