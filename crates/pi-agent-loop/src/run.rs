//! The loop: turns until there is nothing more to do.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use pi_core::{AgentEvent, AgentMessage, AssistantMessage, HookError, ToolResultMessage};
use tracing::Instrument;

use crate::config::{AgentContext, LoopConfig};
use crate::emit::{AgentStream, Emitter};
use crate::next::{NextAction, next_action};
use crate::outcome::{ContinueError, RunEnd, RunOutcome};

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
    start(prompts, context, config, Vec::new())
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
    let failed = messages
        .iter()
        .rev()
        .map_while(failed_reply)
        .cloned()
        .collect();
    Ok(start(Vec::new(), context, config, failed))
}

fn start(
    prompts: Vec<AgentMessage>,
    context: AgentContext,
    config: LoopConfig,
    left_out: Vec<Arc<AssistantMessage>>,
) -> AgentStream {
    let span = tracing::debug_span!("run", model = %config.model.id);
    AgentStream::new(|emitter| {
        let run = Run {
            context,
            config,
            emitter,
            left_out,
            added: Vec::new(),
        };
        run.run(prompts).instrument(span)
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
    /// Failed replies at the end of a continued transcript: the model does not see them.
    pub(crate) left_out: Vec<Arc<AssistantMessage>>,
    added: Vec<AgentMessage>,
}

/// Why the turns stop.
type Stop = RunEnd;

impl Run {
    async fn run(mut self, prompts: Vec<AgentMessage>) -> RunOutcome {
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
        RunOutcome::new(messages, end)
    }

    /// Runs turns, the first of which is open already.
    async fn turns(&mut self) -> Stop {
        let mut queued = match self.poll_steering().await {
            Ok(queued) => queued,
            Err(error) => return self.fail_open_turn(&error).await,
        };
        loop {
            self.take_in(queued).await;
            if let Some(stop) = self.turn().await {
                return stop;
            }
            queued = match self.poll_queues().await {
                Ok(queued) => queued,
                Err(error) => {
                    self.emitter.emit(AgentEvent::TurnStart).await;
                    return self.fail_open_turn(&error).await;
                }
            };
            if queued.is_empty() && next_action(&self.context.messages) == NextAction::Rest {
                return Stop::Completed;
            }
            self.emitter.emit(AgentEvent::TurnStart).await;
        }
    }

    /// Runs the open turn to its end: a reply and its calls, or the open calls of a stored reply.
    async fn turn(&mut self) -> Option<Stop> {
        let resumed = self.resumable();
        let is_resumed = resumed.is_some();
        let reply = match resumed {
            Some(reply) => reply,
            None => self.reply().await,
        };
        let mut results = Vec::new();
        let mut terminate = false;
        if let NextAction::RunTools(open) = next_action(&self.context.messages) {
            let batch = self.run_calls(&open, is_resumed).await;
            terminate = batch.terminate;
            results = batch.results;
            for result in &results {
                self.add(Arc::clone(result).into());
            }
        }
        let failed = reply
            .stop_reason
            .is_failure()
            .then(|| Stop::of_failed(&reply));
        self.end_turn(reply, results).await;
        if failed.is_some() {
            return failed;
        }
        if self.config.abort.is_cancelled() {
            return Some(Stop::Aborted);
        }
        terminate.then_some(Stop::Completed)
    }

    /// Returns the stored reply whose calls are still open.
    fn resumable(&self) -> Option<Arc<AssistantMessage>> {
        match next_action(&self.context.messages) {
            NextAction::RunTools(open) => Some(open.reply),
            NextAction::CallModel | NextAction::Rest => None,
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

    /// Ends a turn whose preparation failed with a reply that says why.
    async fn fail_open_turn(&mut self, error: &HookError) -> Stop {
        let reply = self.failed_reply(error).await;
        let stop = Stop::of_failed(&reply);
        self.end_turn(reply, Vec::new()).await;
        stop
    }

    async fn poll_steering(&self) -> Result<Vec<AgentMessage>, HookError> {
        guard("steering_messages", self.config.hooks.steering_messages()).await
    }

    /// Asks for steering, and for follow-ups if the run would end without them.
    async fn poll_queues(&self) -> Result<Vec<AgentMessage>, HookError> {
        let steering = self.poll_steering().await?;
        if !steering.is_empty() || next_action(&self.context.messages) != NextAction::Rest {
            return Ok(steering);
        }
        guard("follow_up_messages", self.config.hooks.follow_up_messages()).await
    }

    /// Adds complete messages, with their events.
    async fn take_in(&mut self, messages: Vec<AgentMessage>) {
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
