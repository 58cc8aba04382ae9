//! The loop: turns until there is nothing more to do.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use pi_core::{
    AgentEvent, AgentMessage, AgentTool, AssistantMessage, HookError, ToolResultMessage,
};
use tracing::Instrument;

use crate::batch::{BatchResult, Resume};
use crate::budget::Spent;
use crate::config::{AgentContext, LoopConfig};
use crate::emit::{AgentStream, Emitter};
use crate::next::{NextAction, next_action};
use crate::outcome::{ContinueError, RunEnd, RunOutcome};
use crate::spans;
use crate::verdict::{AfterTurn, Decision, FinishTurn};

/// Runs the model and its tools on a conversation that `prompts` are added to.
///
/// # Events
/// `AgentStart`, turns, `AgentEnd`. The prompts are part of the first turn. Every failure is part of
/// the events; [`AgentStream::outcome`] tells how the run ended.
///
/// # Cancel safety
/// Nothing happens until the stream is polled. Dropping it is a hard stop.
pub fn agent_loop(
    prompts: Vec<AgentMessage>,
    context: AgentContext,
    config: LoopConfig,
) -> AgentStream {
    let begin = Begin {
        prompts,
        ..Begin::default()
    };
    start(begin, context, config)
}

/// Goes on with a conversation as it stands: after an error, an abort, or tool results.
///
/// A failed or aborted reply at the end is left out of the request and stays in the transcript.
/// Calls of the last reply that have no result are run first.
///
/// # Events
/// As [`agent_loop`], without prompts.
///
/// # Errors
/// If the transcript is empty, or ends in a complete reply.
///
/// # Cancel safety
/// Nothing happens until the stream is polled. Dropping it is a hard stop.
pub fn agent_loop_continue(
    context: AgentContext,
    config: LoopConfig,
) -> Result<AgentStream, ContinueError> {
    let messages = context.messages.as_slice();
    match messages.last() {
        None => return Err(ContinueError::NoMessages),
        Some(AgentMessage::Assistant(reply)) if !reply.stop_reason.is_failure() => {
            if next_action(messages) == NextAction::Rest {
                return Err(ContinueError::AssistantTail);
            }
        }
        Some(_) => {}
    }
    let left_out = messages
        .iter()
        .rev()
        .map_while(failed_reply)
        .cloned()
        .collect();
    let begin = Begin {
        left_out,
        ..Begin::default()
    };
    Ok(start(begin, context, config))
}

/// Goes on with calls of the last reply that wait for a decision.
///
/// `decisions` names calls by id. A call without a decision keeps waiting.
///
/// # Events
/// As [`agent_loop_continue`]; the first turn begins with the calls.
///
/// # Errors
/// If no call waits, or if a decision names a call that does not wait.
///
/// # Cancel safety
/// Nothing happens until the stream is polled. Dropping it is a hard stop.
pub fn agent_loop_resume(
    decisions: Vec<(String, Decision)>,
    context: AgentContext,
    config: LoopConfig,
) -> Result<AgentStream, ContinueError> {
    let NextAction::RunTools(open) = next_action(&context.messages) else {
        return Err(ContinueError::NoOpenCalls);
    };
    for (id, _) in &decisions {
        if !open.calls.iter().any(|call| call.id == *id) {
            return Err(ContinueError::UnknownCall { id: id.clone() });
        }
    }
    let begin = Begin {
        decisions: Some(decisions),
        ..Begin::default()
    };
    Ok(start(begin, context, config))
}

/// What a run begins with.
#[derive(Default)]
struct Begin {
    prompts: Vec<AgentMessage>,
    left_out: Vec<Arc<AssistantMessage>>,
    decisions: Option<Vec<(String, Decision)>>,
}

fn start(begin: Begin, context: AgentContext, config: LoopConfig) -> AgentStream {
    let span = spans::run(&config);
    AgentStream::new(|emitter| {
        let run = Run {
            spent: config.spent.clone(),
            context,
            config,
            emitter,
            left_out: begin.left_out,
            turn_tools: None,
            decisions: begin.decisions,
            added: Vec::new(),
        };
        let of_run = span.clone();
        async move {
            let outcome = run.run(begin.prompts).await;
            spans::run_ended(&of_run, &outcome.end);
            outcome
        }
        .instrument(span)
    })
}

fn failed_reply(message: &AgentMessage) -> Option<&Arc<AssistantMessage>> {
    message
        .as_assistant()
        .filter(|reply| reply.stop_reason.is_failure())
}

/// One run on its way.
pub(crate) struct Run {
    pub(crate) context: AgentContext,
    pub(crate) config: LoopConfig,
    pub(crate) emitter: Emitter,
    pub(crate) spent: Spent,
    /// Failed replies at the end of a continued transcript: the model does not see them.
    pub(crate) left_out: Vec<Arc<AssistantMessage>>,
    /// The tools of this turn, where a hook has replaced them.
    pub(crate) turn_tools: Option<Arc<[AgentTool]>>,
    decisions: Option<Vec<(String, Decision)>>,
    added: Vec<AgentMessage>,
}

/// What follows a turn.
enum Next {
    /// Another turn if there is something to do, with the steering that was taken already.
    GoOn(Vec<AgentMessage>),
    Stop(RunEnd),
}

impl Run {
    async fn run(mut self, prompts: Vec<AgentMessage>) -> RunOutcome {
        if let Err(limit) = self.config.budget.check(&self.spent) {
            return RunOutcome::new(Arc::new([]), RunEnd::BudgetExhausted(limit), self.spent);
        }
        self.emitter.emit(AgentEvent::AgentStart).await;
        self.emitter.emit(AgentEvent::TurnStart).await;
        self.take_in(prompts).await;
        let end = self.turns().await;
        let messages: Arc<[AgentMessage]> = self.added.into();
        self.emitter
            .emit(AgentEvent::AgentEnd {
                messages: Arc::clone(&messages),
            })
            .await;
        RunOutcome::new(messages, end, self.spent)
    }

    /// Runs turns, the first of which is open already.
    async fn turns(&mut self) -> RunEnd {
        let mut queued = match self.first_steering().await {
            Ok(queued) => queued,
            Err(error) => return self.fail_open_turn(&error).await,
        };
        loop {
            let span = spans::turn(self.spent.turns);
            let steering = match self.turn(queued).instrument(span).await {
                Next::Stop(end) => return end,
                Next::GoOn(steering) => steering,
            };
            let rests = next_action(&self.context.messages) == NextAction::Rest;
            if let Err(limit) = self.config.budget.check(&self.spent) {
                return if rests {
                    RunEnd::Completed
                } else {
                    RunEnd::BudgetExhausted(limit)
                };
            }
            queued = match self.poll_queues(steering, rests).await {
                Ok(queued) => queued,
                Err(error) => return self.fail_new_turn(&error).await,
            };
            if queued.is_empty() && rests {
                return RunEnd::Completed;
            }
            self.emitter.emit(AgentEvent::TurnStart).await;
        }
    }

    /// Runs the open turn to its end: a reply and its calls, or the open calls of a stored reply.
    async fn turn(&mut self, queued: Vec<AgentMessage>) -> Next {
        let was_queued = !queued.is_empty();
        let (reply, resume) = match next_action(&self.context.messages) {
            NextAction::RunTools(open) => {
                let decided = self.decisions.take().map(Resume::Decided);
                (open.reply, decided.unwrap_or(Resume::Unattended))
            }
            NextAction::CallModel | NextAction::Rest => {
                self.take_in(queued).await;
                let reply = self.reply(was_queued).await;
                self.spent.add_reply(&reply);
                (reply, Resume::No)
            }
        };
        if reply.stop_reason.is_failure() {
            let end = RunEnd::of_failed(&reply);
            self.end_turn(reply, Vec::new()).await;
            return Next::Stop(end);
        }
        let batch = match next_action(&self.context.messages) {
            NextAction::RunTools(open) => self.run_calls(&open, resume).await,
            NextAction::CallModel | NextAction::Rest => BatchResult::empty(),
        };
        self.turn_tools = None;
        self.spent.add_tool_calls(batch.results.len());
        for result in &batch.results {
            self.add(Arc::clone(result).into());
        }
        self.finish_turn(reply, batch).await
    }

    /// Asks the hook whether the run goes on, and tells the end of the turn.
    async fn finish_turn(&mut self, reply: Arc<AssistantMessage>, batch: BatchResult) -> Next {
        let question = FinishTurn {
            message: Arc::clone(&reply),
            tool_results: batch.results.clone(),
            messages: Arc::clone(&self.context.messages),
            spent: self.spent.clone(),
            abort: self.config.abort.clone(),
        };
        let finished = guard("finish_turn", self.config.hooks.finish_turn(question)).await;
        self.end_turn(reply, batch.results).await;
        if self.config.abort.is_cancelled() {
            return Next::Stop(RunEnd::Aborted);
        }
        match (finished, batch.steering) {
            (Err(error), _) | (_, Err(error)) => Next::Stop(self.fail_new_turn(&error).await),
            _ if !batch.suspended.is_empty() => Next::Stop(RunEnd::Suspended {
                calls: batch.suspended,
            }),
            (Ok(AfterTurn::End), _) => Next::Stop(RunEnd::Stopped),
            _ if batch.terminate => Next::Stop(RunEnd::Stopped),
            (Ok(AfterTurn::Continue), Ok(steering)) => Next::GoOn(steering),
        }
    }

    async fn end_turn(
        &self,
        reply: Arc<AssistantMessage>,
        tool_results: Vec<Arc<ToolResultMessage>>,
    ) {
        self.emitter
            .emit(AgentEvent::TurnEnd {
                message: reply.into(),
                tool_results,
            })
            .await;
    }

    /// Ends the run in a turn of its own that says what failed.
    async fn fail_new_turn(&mut self, error: &HookError) -> RunEnd {
        self.emitter.emit(AgentEvent::TurnStart).await;
        self.fail_open_turn(error).await
    }

    /// Ends a turn whose preparation failed with a reply that says why.
    async fn fail_open_turn(&mut self, error: &HookError) -> RunEnd {
        let reply = self.failed_reply(error).await;
        let end = RunEnd::of_failed(&reply);
        self.end_turn(reply, Vec::new()).await;
        end
    }

    pub(crate) async fn poll_steering(&self) -> Result<Vec<AgentMessage>, HookError> {
        guard("steering_messages", self.config.hooks.steering_messages()).await
    }

    /// Asks for steering at the start of the run, unless open calls come first.
    async fn first_steering(&self) -> Result<Vec<AgentMessage>, HookError> {
        match next_action(&self.context.messages) {
            NextAction::RunTools(_) => Ok(Vec::new()),
            NextAction::CallModel | NextAction::Rest => self.poll_steering().await,
        }
    }

    /// Asks for steering, unless some was taken already, and for follow-ups if the run would end
    /// without them.
    async fn poll_queues(
        &self,
        taken: Vec<AgentMessage>,
        rests: bool,
    ) -> Result<Vec<AgentMessage>, HookError> {
        if !taken.is_empty() {
            return Ok(taken);
        }
        let steering = self.poll_steering().await?;
        if !steering.is_empty() || !rests {
            return Ok(steering);
        }
        guard("follow_up_messages", self.config.hooks.follow_up_messages()).await
    }

    /// Adds complete messages, with their events.
    pub(crate) async fn take_in(&mut self, messages: Vec<AgentMessage>) {
        for message in messages {
            self.emitter
                .emit(AgentEvent::MessageStart {
                    message: message.clone(),
                })
                .await;
            self.emitter
                .emit(AgentEvent::MessageEnd {
                    message: message.clone(),
                })
                .await;
            self.add(message);
        }
    }

    /// Adds a message to the transcript.
    pub(crate) fn add(&mut self, message: AgentMessage) {
        Arc::make_mut(&mut self.context.messages).push(message.clone());
        self.added.push(message);
    }
}

/// Waits for a hook; a panic in it is its failure.
pub(crate) async fn guard<T>(
    name: &'static str,
    hook: impl Future<Output = Result<T, HookError>>,
) -> Result<T, HookError> {
    AssertUnwindSafe(hook)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| {
            log_panic(name, panic.as_ref());
            Err(HookError::new(format!("hook {name} failed unexpectedly")))
        })
}

/// Reports the text of a panic, which is shown nowhere else.
pub(crate) fn log_panic(what: &str, panic: &(dyn std::any::Any + Send)) {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text");
    tracing::error!(what, text, "panic in code of the application");
}
