//! A run on its way: the loop's events applied to the state and handed to subscribers.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::StreamExt;
use pi_agent_loop::{
    AfterToolCall, AfterTurn, AgentContext, AgentStream, BeforeToolCall, Decision, FinishTurn,
    FnHooks, Hooks, LoopConfig, NextAction, PrepareRequest, RequestOverride, ResultOverride,
    RunEnd, RunOutcome, Verdict, agent_loop, agent_loop_continue, agent_loop_resume, next_action,
};
use pi_core::{
    AgentEvent, AgentMessage, BoxFuture, CancellationToken, Clock, HookError, Message,
    ProviderError, SecretString, StopReason, ThinkingLevel,
};

use crate::agent::{ActiveRun, Agent, Inner, Shared};
use crate::error::AgentError;
use crate::inside::Inside;
use crate::prompt::Prompt;

/// What a run begins with.
pub(crate) enum Begin {
    Prompt(Prompt),
    Continue,
    Resume(Vec<(String, Decision)>),
}

/// The future of a run.
///
/// # Cancel safety
/// Dropping it is a hard stop; see [`Agent::prompt`].
#[must_use = "a run advances only while it is awaited"]
pub struct Running {
    agent: Agent,
    run: BoxFuture<'static, Result<RunOutcome, AgentError>>,
}

impl Running {
    pub(crate) fn new(agent: Agent, begin: Begin) -> Self {
        Self {
            run: Box::pin(run(agent.clone(), begin)),
            agent,
        }
    }
}

impl Future for Running {
    type Output = Result<RunOutcome, AgentError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _inside = Inside::enter(&this.agent.inner);
        this.run.as_mut().poll(cx)
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running")
    }
}

async fn run(agent: Agent, begin: Begin) -> Result<RunOutcome, AgentError> {
    let (mut plan, guard) = start(&agent, begin)?;
    let mut added = Vec::new();
    let outcome = loop {
        let outcome = follow(&agent, plan.stream()).await;
        agent.inner.lock().spent = outcome.spent.clone();
        added.extend(outcome.messages.iter().cloned());
        match guard.next_plan(&outcome.end) {
            Some(next) => plan = next,
            None => break outcome,
        }
    };
    drop(guard);
    Ok(RunOutcome::new(added.into(), outcome.end, outcome.spent))
}

/// Follows the events of one run of the loop to its end.
async fn follow(agent: &Agent, mut stream: AgentStream) -> RunOutcome {
    let inner = &agent.inner;
    let clock = Arc::clone(&inner.lock().settings.clock);
    while let Some(event) = next_event(inner, &mut stream).await {
        inner.lock().apply(&event);
        inner.subscribers.notify(&event, &clock).await;
    }
    // The loop always leaves an outcome behind.
    stream.into_outcome().unwrap_or_else(|| {
        let spent = inner.lock().spent.clone();
        RunOutcome::new(Arc::new([]), RunEnd::Aborted, spent)
    })
}

/// Waits for the next event. The state lets go of a partial reply before each poll and takes it
/// again after it, so that the reply can grow in place.
async fn next_event(inner: &Inner, stream: &mut AgentStream) -> Option<AgentEvent> {
    poll_fn(|cx| {
        let held = inner.lock().state.release_partial();
        let polled = stream.poll_next_unpin(cx);
        if held {
            inner.lock().state.hold_partial(stream.partial());
        }
        polled
    })
    .await
}

impl Shared {
    fn apply(&mut self, event: &AgentEvent) {
        if let AgentEvent::MessageEnd { message } = event {
            self.steering.settle(message);
            self.follow_ups.settle(message);
        }
        self.state.apply(event);
    }
}

/// A run that is ready to begin.
struct Plan {
    first: First,
    context: AgentContext,
    config: LoopConfig,
}

/// What a run does first.
enum First {
    /// It adds messages.
    Prompts(Vec<AgentMessage>),
    /// It goes on with the transcript.
    Continue,
    /// It goes on with calls that waited.
    Resume(Vec<(String, Decision)>),
}

impl Plan {
    fn new(agent: &Agent, shared: &Shared, first: First, skip_steering: bool) -> Self {
        let state = &shared.state;
        let settings = &shared.settings;
        let mut context = AgentContext::new(Arc::clone(&state.messages))
            .with_system_prompt(state.system_prompt.clone());
        context.tools = Some(Arc::clone(&state.tools));
        let mut options = settings.options.clone();
        options.reasoning =
            Some(state.thinking_level.clone()).filter(|level| *level != ThinkingLevel::Off);
        let hooks = RunHooks {
            agent: agent.clone(),
            user: settings.hooks.clone(),
            skip_steering: AtomicBool::new(skip_steering),
        };
        let model = state.model.clone().unwrap_or_default();
        let run = shared.run.clone().unwrap_or_default();
        let mut config = LoopConfig::new(Arc::clone(&settings.provider), model)
            .with_options(options)
            .with_hooks(hooks)
            .with_tool_execution(settings.tool_execution.clone())
            .with_tool_end_order(settings.tool_end_order)
            .with_steering_point(settings.steering_point)
            .with_budget(settings.budget.clone())
            .with_clock(Arc::clone(&settings.clock))
            .with_abort(run.abort);
        config.spent = shared.spent.clone();
        config.abort_grace = settings.abort_grace;
        Self {
            first,
            context,
            config,
        }
    }

    fn stream(self) -> AgentStream {
        let Self {
            first,
            context,
            config,
        } = self;
        // `start` has checked that the transcript allows it; should it not, the model is asked.
        let begun = match first {
            First::Prompts(prompts) => return agent_loop(prompts, context, config),
            First::Continue => agent_loop_continue(context.clone(), config.clone()),
            First::Resume(decisions) => {
                agent_loop_resume(decisions, context.clone(), config.clone())
            }
        };
        begun.unwrap_or_else(|_| agent_loop(Vec::new(), context, config))
    }
}

/// Checks that a run may begin, and marks the agent as busy.
fn start(agent: &Agent, begin: Begin) -> Result<(Plan, RunGuard), AgentError> {
    let mut shared = agent.inner.lock();
    if shared.run.is_some() {
        return Err(match begin {
            Begin::Prompt(_) => AgentError::Busy,
            Begin::Continue | Begin::Resume(_) => AgentError::BusyContinuing,
        });
    }
    let (first, skip_steering) = shared.first(begin)?;
    if shared.state.model.is_none() {
        shared.put_back();
        return Err(AgentError::NoModel);
    }
    if let Err(limit) = shared.settings.budget.check(&shared.spent) {
        shared.put_back();
        return Err(limit.into());
    }
    shared.run = Some(ActiveRun::default());
    shared.state.begin_run();
    let plan = Plan::new(agent, &shared, first, skip_steering);
    drop(shared);
    Ok((
        plan,
        RunGuard {
            agent: agent.clone(),
        },
    ))
}

impl Shared {
    /// Decides what a run does first. The second value tells that steering was taken already.
    fn first(&mut self, begin: Begin) -> Result<(First, bool), AgentError> {
        match begin {
            Begin::Prompt(prompt) => {
                let prompts = prompt.into_messages(self.settings.clock.now());
                if prompts.is_empty() {
                    return Err(AgentError::EmptyPrompt);
                }
                Ok((First::Prompts(prompts), false))
            }
            Begin::Continue => self.continuation(),
            Begin::Resume(decisions) => {
                let NextAction::RunTools(open) = next_action(&self.state.messages) else {
                    return Err(AgentError::NoOpenCalls);
                };
                let known = |id: &str| open.calls.iter().any(|call| call.id == id);
                match decisions.iter().find(|(id, _)| !known(id)) {
                    Some((id, _)) => Err(AgentError::UnknownCall { id: id.clone() }),
                    None => Ok((First::Resume(decisions), false)),
                }
            }
        }
    }

    /// Decides what a continuation begins with: queued messages after a reply without open calls,
    /// else nothing. Without queued messages only a failed reply is tried again.
    fn continuation(&mut self) -> Result<(First, bool), AgentError> {
        let failed = match self.state.messages.last() {
            None => return Err(AgentError::NothingToContinue),
            Some(AgentMessage::Assistant(reply)) => reply.stop_reason.is_failure(),
            Some(_) => return Ok((First::Continue, false)),
        };
        if next_action(&self.state.messages) != NextAction::Rest {
            return Ok((First::Continue, false));
        }
        match self.take_queued() {
            Some(queued) => Ok(queued),
            None if failed => Ok((First::Continue, false)),
            None => Err(AgentError::AssistantTail),
        }
    }

    /// Takes what is queued as the prompts of a run: steering first, else follow-ups.
    fn take_queued(&mut self) -> Option<(First, bool)> {
        let steering = self.steering.take();
        if !steering.is_empty() {
            return Some((First::Prompts(steering), true));
        }
        let follow_ups = self.follow_ups.take();
        (!follow_ups.is_empty()).then_some((First::Prompts(follow_ups), false))
    }
}

impl Shared {
    fn put_back(&mut self) {
        self.steering.put_back();
        self.follow_ups.put_back();
    }
}

/// Makes the agent idle again, however the run ends.
struct RunGuard {
    agent: Agent,
}

impl RunGuard {
    /// Returns the run that follows in the same call: what was queued while `AgentEnd` was
    /// delivered.
    fn next_plan(&self, end: &RunEnd) -> Option<Plan> {
        let mut shared = self.agent.inner.lock();
        let aborted = shared
            .run
            .as_ref()
            .is_some_and(|run| run.abort.is_cancelled());
        let exhausted = shared.settings.budget.check(&shared.spent).is_err();
        if aborted || exhausted || !matches!(end, RunEnd::Completed) {
            return None;
        }
        let (first, skip_steering) = shared.take_queued()?;
        shared.state.begin_run();
        Some(Plan::new(&self.agent, &shared, first, skip_steering))
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        let mut shared = self.agent.inner.lock();
        if let Some(AgentMessage::Assistant(partial)) = shared.state.stream_message.take() {
            let mut reply = Arc::unwrap_or_clone(partial);
            reply.stop_reason = StopReason::Aborted;
            reply.error_message = Some(ProviderError::aborted().message().to_owned());
            shared.state.push(reply.into());
        }
        shared.put_back();
        shared.state.end_run();
        let run = shared.run.take();
        drop(shared);
        if let Some(run) = run {
            run.abort.cancel();
            run.over.cancel();
        }
    }
}

/// The hooks of a run: those of the application, with the agent's queues.
struct RunHooks {
    agent: Agent,
    user: FnHooks,
    skip_steering: AtomicBool,
}

#[async_trait]
impl Hooks for RunHooks {
    async fn prepare_request(
        &self,
        request: PrepareRequest,
    ) -> Result<Option<RequestOverride>, HookError> {
        self.user.prepare_request(request).await
    }

    async fn finish_turn(&self, turn: FinishTurn) -> Result<AfterTurn, HookError> {
        self.user.finish_turn(turn).await
    }

    async fn transform_context(
        &self,
        messages: &[AgentMessage],
        abort: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, HookError> {
        self.user.transform_context(messages, abort).await
    }

    async fn convert_to_llm(&self, messages: &[AgentMessage]) -> Result<Vec<Message>, HookError> {
        self.user.convert_to_llm(messages).await
    }

    async fn api_key(&self, provider: &str) -> Result<Option<SecretString>, HookError> {
        self.user.api_key(provider).await
    }

    async fn before_tool_call(&self, call: BeforeToolCall) -> Result<Verdict, HookError> {
        self.user.before_tool_call(call).await
    }

    async fn after_tool_call(&self, call: AfterToolCall) -> Result<ResultOverride, HookError> {
        self.user.after_tool_call(call).await
    }

    async fn steering_messages(&self) -> Result<Vec<AgentMessage>, HookError> {
        let mut messages = self.user.steering_messages().await?;
        if !self.skip_steering.swap(false, Ordering::Relaxed) {
            messages.extend(self.agent.inner.lock().steering.take());
        }
        Ok(messages)
    }

    async fn follow_up_messages(&self) -> Result<Vec<AgentMessage>, HookError> {
        let mut messages = self.user.follow_up_messages().await?;
        messages.extend(self.agent.inner.lock().follow_ups.take());
        Ok(messages)
    }
}
