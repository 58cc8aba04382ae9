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
    AfterToolCall, AgentContext, AgentStream, BeforeToolCall, FnHooks, Hooks, LoopConfig,
    NextAction, ResultOverride, RunEnd, RunOutcome, Verdict, agent_loop, agent_loop_continue,
    next_action,
};
use pi_core::{
    AgentEvent, AgentMessage, BoxFuture, CancellationToken, Clock, HookError, Message,
    ProviderError, SecretString, StopReason, ThinkingLevel,
};

use crate::agent::{ActiveRun, Agent, Inner, Shared};
use crate::error::AgentError;
use crate::prompt::Prompt;

/// What a run begins with.
pub(crate) enum Begin {
    Prompt(Prompt),
    Continue,
}

/// The future of a run.
///
/// # Cancel safety
/// Dropping it is a hard stop; see [`Agent::prompt`].
#[must_use = "a run advances only while it is awaited"]
pub struct Running(BoxFuture<'static, Result<RunOutcome, AgentError>>);

impl Running {
    pub(crate) fn new(agent: Agent, begin: Begin) -> Self {
        Self(Box::pin(run(agent, begin)))
    }
}

impl Future for Running {
    type Output = Result<RunOutcome, AgentError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
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
    let end = loop {
        let mut outcome = follow(&agent, plan.stream()).await;
        added.extend(outcome.messages.iter().cloned());
        match guard.next_plan(&outcome.end) {
            Some(next) => plan = next,
            None => break std::mem::replace(&mut outcome.end, RunEnd::Completed),
        }
    };
    drop(guard);
    Ok(RunOutcome::new(added.into(), end))
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
    stream
        .into_outcome()
        .unwrap_or_else(|| RunOutcome::new(Arc::new([]), RunEnd::Aborted))
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
    /// `None` goes on with the transcript.
    prompts: Option<Vec<AgentMessage>>,
    context: AgentContext,
    config: LoopConfig,
}

impl Plan {
    fn new(agent: &Agent, shared: &Shared, prompts: Option<Vec<AgentMessage>>, skip: bool) -> Self {
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
            skip_steering: AtomicBool::new(skip),
        };
        let model = state.model.clone().unwrap_or_default();
        let run = shared.run.clone().unwrap_or_default();
        let mut config = LoopConfig::new(Arc::clone(&settings.provider), model)
            .with_options(options)
            .with_hooks(hooks)
            .with_tool_execution(settings.tool_execution.clone())
            .with_clock(Arc::clone(&settings.clock))
            .with_abort(run.abort);
        config.abort_grace = settings.abort_grace;
        Self {
            prompts,
            context,
            config,
        }
    }

    fn stream(self) -> AgentStream {
        match self.prompts {
            Some(prompts) => agent_loop(prompts, self.context, self.config),
            // `start` has checked that the transcript can be continued; after a failed check the
            // loop simply asks the model.
            None => agent_loop_continue(self.context.clone(), self.config.clone())
                .unwrap_or_else(|_| agent_loop(Vec::new(), self.context, self.config)),
        }
    }
}

/// Checks that a run may begin, and marks the agent as busy.
fn start(agent: &Agent, begin: Begin) -> Result<(Plan, RunGuard), AgentError> {
    let mut shared = agent.inner.lock();
    let now = shared.settings.clock.now();
    let (prompts, skip) = match begin {
        Begin::Prompt(prompt) => {
            if shared.run.is_some() {
                return Err(AgentError::Busy);
            }
            let prompts = prompt.into_messages(now);
            if prompts.is_empty() {
                return Err(AgentError::EmptyPrompt);
            }
            (Some(prompts), false)
        }
        Begin::Continue => {
            if shared.run.is_some() {
                return Err(AgentError::BusyContinuing);
            }
            continuation(&mut shared)?
        }
    };
    if shared.state.model.is_none() {
        shared.put_back();
        return Err(AgentError::NoModel);
    }
    shared.run = Some(ActiveRun::default());
    shared.state.begin_run();
    let plan = Plan::new(agent, &shared, prompts, skip);
    drop(shared);
    Ok((
        plan,
        RunGuard {
            agent: agent.clone(),
        },
    ))
}

/// Decides what a continuation begins with: queued messages after a complete reply, else nothing.
/// The second value tells that steering was taken already.
fn continuation(shared: &mut Shared) -> Result<(Option<Vec<AgentMessage>>, bool), AgentError> {
    match shared.state.messages.last() {
        None => return Err(AgentError::NothingToContinue),
        Some(AgentMessage::Assistant(reply)) if !reply.stop_reason.is_failure() => {}
        Some(_) => return Ok((None, false)),
    }
    if next_action(&shared.state.messages) != NextAction::Rest {
        return Ok((None, false));
    }
    let steering = shared.steering.take();
    if !steering.is_empty() {
        return Ok((Some(steering), true));
    }
    let follow_ups = shared.follow_ups.take();
    if !follow_ups.is_empty() {
        return Ok((Some(follow_ups), false));
    }
    Err(AgentError::AssistantTail)
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
        if aborted || !matches!(end, RunEnd::Completed) {
            return None;
        }
        let steering = shared.steering.take();
        let skip = !steering.is_empty();
        let prompts = if skip {
            steering
        } else {
            shared.follow_ups.take()
        };
        if prompts.is_empty() {
            return None;
        }
        shared.state.begin_run();
        Some(Plan::new(&self.agent, &shared, Some(prompts), skip))
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
