//! The agent: a handle over one state.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use pi_agent_loop::{
    AfterToolCall, BeforeToolCall, Budget, Decision, FnHooks, IntoHookResult, NextAction,
    ResultOverride, Spent, SteeringPoint, ToolEndOrder, Verdict, next_action,
};
use pi_core::{
    AgentEvent, AgentMessage, AgentTool, BoxFuture, CancellationToken, Clock, Model, Provider,
    StreamOptions, ThinkingBudgets, ThinkingLevel, ToolExecutionMode, Transport,
};

use crate::builder::AgentBuilder;
use crate::drive::{Begin, Running};
use crate::error::AgentError;
use crate::events::AgentEvents;
use crate::inside;
use crate::prompt::Prompt;
use crate::queue::{MessageQueue, QueueMode};
use crate::state::AgentState;
use crate::subscribe::{Listener, Subscribers, Subscription};

/// A conversation with a model that can use tools.
///
/// It is a cheap handle: clones share one state, and may be used from any thread. It spawns nothing;
/// a run advances while its future is polled.
///
/// # From inside a run
/// Subscribers, hooks and tools may call every method. `prompt`, `continue_run`, `reset` and edits of
/// the messages are refused there, because a run is on.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    shared: Mutex<Shared>,
    pub(crate) subscribers: Arc<Subscribers>,
}

/// Everything behind the lock. It is never held over an await or a call into foreign code.
pub(crate) struct Shared {
    pub(crate) state: AgentState,
    pub(crate) settings: Settings,
    pub(crate) steering: MessageQueue,
    pub(crate) follow_ups: MessageQueue,
    /// What all runs have used since the budget was set.
    pub(crate) spent: Spent,
    /// The run that is on.
    pub(crate) run: Option<ActiveRun>,
}

/// What a run is started with, beside the state.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) options: StreamOptions,
    pub(crate) hooks: FnHooks,
    pub(crate) tool_execution: ToolExecutionMode,
    pub(crate) tool_end_order: ToolEndOrder,
    pub(crate) steering_point: SteeringPoint,
    pub(crate) budget: Budget,
    pub(crate) abort_grace: Duration,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Clone, Default)]
pub(crate) struct ActiveRun {
    pub(crate) abort: CancellationToken,
    /// Cancelled when the run is over.
    pub(crate) over: CancellationToken,
}

impl Inner {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent {
    /// Begins to make an agent.
    pub fn builder(
        provider: impl Provider + 'static,
        model: impl Into<Arc<Model>>,
    ) -> AgentBuilder {
        AgentBuilder::new(Arc::new(provider), Some(model.into()))
    }

    /// Begins to make an agent whose model is set later, by [`set_model`](Self::set_model).
    pub fn builder_without_model(provider: impl Provider + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(provider), None)
    }

    pub(crate) fn assemble(
        state: AgentState,
        settings: Settings,
        steering_mode: QueueMode,
        follow_up_mode: QueueMode,
    ) -> Self {
        let steering = MessageQueue::new(steering_mode);
        let follow_ups = MessageQueue::new(follow_up_mode);
        let shared = Shared {
            state,
            settings,
            steering,
            follow_ups,
            spent: Spent::default(),
            run: None,
        };
        Self {
            inner: Arc::new(Inner {
                shared: Mutex::new(shared),
                subscribers: Arc::default(),
            }),
        }
    }

    /// Runs the model and its tools on a new message until nothing more is to be done.
    ///
    /// # Events
    /// `AgentStart`, turns, `AgentEnd`. If something is queued while `AgentEnd` is delivered and the
    /// run did not fail, another run follows in the same call.
    ///
    /// # Errors
    /// Only misuse: `Busy`, `NoModel`, `EmptyPrompt`. The failure of a model is in the outcome.
    ///
    /// # Cancel safety
    /// Nothing happens until the future is polled. Dropping it is a hard stop: the agent is idle at
    /// once, a partial reply is kept as aborted, and no further event comes.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Running {
        Running::new(self.clone(), Begin::Prompt(prompt.into()))
    }

    /// Goes on with the transcript as it stands: a retry after an error or an abort, queued
    /// messages, or calls without results.
    ///
    /// After a reply without open calls the queued messages are the prompt. If nothing is queued, a
    /// failed reply at the end is tried again: it is left out of the request and kept in the
    /// transcript.
    ///
    /// # Events
    /// As [`prompt`](Self::prompt).
    ///
    /// # Errors
    /// `BusyContinuing`, `NothingToContinue`, `AssistantTail`, `NoModel`.
    ///
    /// # Cancel safety
    /// As [`prompt`](Self::prompt).
    pub fn continue_run(&self) -> Running {
        Running::new(self.clone(), Begin::Continue)
    }

    /// Goes on with calls that wait for a decision, in this process or in another that has loaded
    /// the transcript. `decisions` names calls by id; a call without a decision keeps waiting.
    ///
    /// # Events
    /// As [`prompt`](Self::prompt); the first turn begins with the calls.
    ///
    /// # Errors
    /// `BusyContinuing`, `NoOpenCalls`, `UnknownCall`, `NoModel`, `BudgetExhausted`.
    ///
    /// # Cancel safety
    /// As [`prompt`](Self::prompt).
    pub fn resume(
        &self,
        decisions: impl IntoIterator<Item = (impl Into<String>, Decision)>,
    ) -> Running {
        let decisions = decisions
            .into_iter()
            .map(|(id, decision)| (id.into(), decision));
        Running::new(self.clone(), Begin::Resume(decisions.collect()))
    }

    /// Stops the run that is on: a partial reply is kept as aborted, every call gets a result, and
    /// queued messages stay queued. Without a run it does nothing.
    pub fn abort(&self) {
        let run = self.inner.lock().run.clone();
        if let Some(run) = run {
            run.abort.cancel();
        }
    }

    /// Returns the token of the run that is on, which [`abort`](Self::abort) cancels.
    #[must_use]
    pub fn abort_token(&self) -> Option<CancellationToken> {
        self.inner.lock().run.as_ref().map(|run| run.abort.clone())
    }

    /// Waits until no run is on. From inside a run (a subscriber, hook or tool) it returns at once,
    /// since the run would wait for itself.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn wait_for_idle(&self) {
        let run = self.inner.lock().run.clone();
        let Some(run) = run else { return };
        let mut over = std::pin::pin!(run.over.cancelled());
        poll_fn(|cx| match inside::is_inside(&self.inner) {
            true => Poll::Ready(()),
            false => over.as_mut().poll(cx),
        })
        .await;
    }

    /// Empties the transcript, the queues and the error.
    ///
    /// # Errors
    /// `BusyResetting` while a run is on.
    pub fn reset(&self) -> Result<(), AgentError> {
        let mut shared = self.idle(AgentError::BusyResetting)?;
        shared.state.messages = Arc::default();
        shared.state.error = None;
        shared.steering.clear();
        shared.follow_ups.clear();
        Ok(())
    }

    /// Calls `listener` with every event, in the order of subscription, after the state has
    /// changed. It must be quick: the run waits for it. A panic in it is reported through `tracing`.
    pub fn subscribe(
        &self,
        listener: impl Fn(&AgentEvent) + Send + Sync + 'static,
    ) -> Subscription {
        self.inner
            .subscribers
            .add(Listener::Sync(Arc::new(listener)))
    }

    /// Calls `listener` with every event and waits for its future, as a part of the run.
    pub fn subscribe_async<F, R>(&self, listener: F) -> Subscription
    where
        F: Fn(AgentEvent) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let listener = move |event| -> BoxFuture<'static, ()> { Box::pin(listener(event)) };
        self.inner
            .subscribers
            .add(Listener::Async(Arc::new(listener)))
    }

    /// Returns the events as a stream for a reader that the run must not wait for.
    ///
    /// It holds 1,024 events; deltas of one block are merged when the reader is behind. A reader that
    /// stays behind is told [`Lagged`](crate::Lagged) and gets nothing more. Dropping the stream ends
    /// the subscription.
    #[must_use]
    pub fn events(&self) -> AgentEvents {
        AgentEvents::new(&self.inner.subscribers)
    }

    /// Returns a snapshot of the state.
    #[must_use]
    pub fn state(&self) -> AgentState {
        self.inner.lock().state.clone()
    }

    /// Returns the transcript.
    #[must_use]
    pub fn messages(&self) -> Arc<Vec<AgentMessage>> {
        Arc::clone(&self.inner.lock().state.messages)
    }

    /// Returns true while a run is on.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        self.inner.lock().state.is_streaming
    }

    /// Returns what a driver would do next with the transcript.
    #[must_use]
    pub fn next_action(&self) -> NextAction {
        next_action(&self.messages())
    }

    /// Locks the state if no run is on.
    fn idle(&self, busy: AgentError) -> Result<MutexGuard<'_, Shared>, AgentError> {
        let shared = self.inner.lock();
        if shared.run.is_some() {
            Err(busy)
        } else {
            Ok(shared)
        }
    }
}

/// The queues.
impl Agent {
    /// Queues a message that goes in before the next request of the run.
    ///
    /// # Errors
    /// `QueueFull` if 1,024 messages wait.
    pub fn steer(&self, message: impl Into<AgentMessage>) -> Result<(), AgentError> {
        self.inner.lock().steering.push(message.into())
    }

    /// Queues a message that goes in when the run would end otherwise.
    ///
    /// # Errors
    /// `QueueFull` if 1,024 messages wait.
    pub fn follow_up(&self, message: impl Into<AgentMessage>) -> Result<(), AgentError> {
        self.inner.lock().follow_ups.push(message.into())
    }

    /// Drops the steering messages that wait.
    pub fn clear_steering_queue(&self) {
        self.inner.lock().steering.clear();
    }

    /// Drops the follow-ups that wait.
    pub fn clear_follow_up_queue(&self) {
        self.inner.lock().follow_ups.clear();
    }

    /// Drops all messages that wait.
    pub fn clear_all_queues(&self) {
        let mut shared = self.inner.lock();
        shared.steering.clear();
        shared.follow_ups.clear();
    }

    /// Returns true if a message waits in any queue.
    #[must_use]
    pub fn has_queued_messages(&self) -> bool {
        let shared = self.inner.lock();
        !shared.steering.is_empty() || !shared.follow_ups.is_empty()
    }

    /// Returns the steering messages that wait, without taking them.
    #[must_use]
    pub fn queued_steering(&self) -> Vec<AgentMessage> {
        self.inner.lock().steering.waiting()
    }

    /// Returns the follow-ups that wait, without taking them.
    #[must_use]
    pub fn queued_follow_ups(&self) -> Vec<AgentMessage> {
        self.inner.lock().follow_ups.waiting()
    }

    /// Sets how many steering messages go in at once, from now on.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.inner.lock().steering.mode = mode;
    }

    /// Returns how many steering messages go in at once.
    #[must_use]
    pub fn steering_mode(&self) -> QueueMode {
        self.inner.lock().steering.mode
    }

    /// Sets how many follow-ups go in at once, from now on.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.inner.lock().follow_ups.mode = mode;
    }

    /// Returns how many follow-ups go in at once.
    #[must_use]
    pub fn follow_up_mode(&self) -> QueueMode {
        self.inner.lock().follow_ups.mode
    }
}

/// The transcript.
impl Agent {
    /// Replaces the transcript.
    ///
    /// # Errors
    /// `BusyEditing` while a run is on.
    pub fn replace_messages(&self, messages: Vec<AgentMessage>) -> Result<(), AgentError> {
        self.idle(AgentError::BusyEditing)?.state.messages = Arc::new(messages);
        Ok(())
    }

    /// Adds a message to the transcript.
    ///
    /// # Errors
    /// `BusyEditing` while a run is on.
    pub fn append_message(&self, message: impl Into<AgentMessage>) -> Result<(), AgentError> {
        self.idle(AgentError::BusyEditing)?
            .state
            .push(message.into());
        Ok(())
    }

    /// Empties the transcript.
    ///
    /// # Errors
    /// `BusyEditing` while a run is on.
    pub fn clear_messages(&self) -> Result<(), AgentError> {
        self.replace_messages(Vec::new())
    }
}

/// Settings. They act from the next run on.
impl Agent {
    /// Sets the system prompt.
    pub fn set_system_prompt(&self, prompt: impl Into<String>) {
        self.inner.lock().state.system_prompt = prompt.into();
    }

    /// Sets the model.
    pub fn set_model(&self, model: impl Into<Arc<Model>>) {
        self.inner.lock().state.model = Some(model.into());
    }

    /// Sets the provider.
    pub fn set_provider(&self, provider: impl Provider + 'static) {
        self.inner.lock().settings.provider = Arc::new(provider);
    }

    /// Sets how much the model should think.
    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.inner.lock().state.thinking_level = level;
    }

    /// Sets the tools.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = AgentTool>) {
        self.inner.lock().state.tools = tools.into_iter().collect();
    }

    /// Sets how the calls of one reply are run.
    pub fn set_tool_execution(&self, mode: ToolExecutionMode) {
        self.inner.lock().settings.tool_execution = mode;
    }

    /// Returns how the calls of one reply are run.
    #[must_use]
    pub fn tool_execution(&self) -> ToolExecutionMode {
        self.inner.lock().settings.tool_execution.clone()
    }

    /// Sets the order of the end events of calls that run side by side.
    pub fn set_tool_end_order(&self, order: ToolEndOrder) {
        self.inner.lock().settings.tool_end_order = order;
    }

    /// Sets when steering goes into a turn with tools.
    pub fn set_steering_point(&self, point: SteeringPoint) {
        self.inner.lock().settings.steering_point = point;
    }

    /// Sets how much the agent may use from now on, and begins to count anew.
    pub fn set_budget(&self, budget: Budget) {
        let mut shared = self.inner.lock();
        shared.settings.budget = budget;
        shared.spent = Spent::default();
    }

    /// Returns what all finished runs have used since the budget was set.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.inner.lock().spent.clone()
    }

    /// Sets the hook that decides about each call.
    pub fn set_before_tool_call<F, R>(&self, hook: F)
    where
        F: Fn(BeforeToolCall) -> R + Send + Sync + 'static,
        R: Future<Output: IntoHookResult<Verdict>> + Send + 'static,
    {
        self.inner.lock().settings.hooks.set_before_tool_call(hook);
    }

    /// Sets the hook that replaces parts of each result.
    pub fn set_after_tool_call<F, R>(&self, hook: F)
    where
        F: Fn(AfterToolCall) -> R + Send + Sync + 'static,
        R: Future<Output: IntoHookResult<ResultOverride>> + Send + 'static,
    {
        self.inner.lock().settings.hooks.set_after_tool_call(hook);
    }

    /// Sets the name of the conversation for providers that cache or route by it.
    pub fn set_session_id(&self, session_id: Option<String>) {
        self.inner.lock().settings.options.session_id = session_id;
    }

    /// Returns the name of the conversation.
    #[must_use]
    pub fn session_id(&self) -> Option<String> {
        self.inner.lock().settings.options.session_id.clone()
    }

    /// Sets token budgets for thinking.
    pub fn set_thinking_budgets(&self, budgets: Option<ThinkingBudgets>) {
        self.inner.lock().settings.options.thinking_budgets = budgets;
    }

    /// Returns the token budgets for thinking.
    #[must_use]
    pub fn thinking_budgets(&self) -> Option<ThinkingBudgets> {
        self.inner.lock().settings.options.thinking_budgets.clone()
    }

    /// Sets how events travel.
    pub fn set_transport(&self, transport: Transport) {
        self.inner.lock().settings.options.transport = Some(transport);
    }

    /// Returns how events travel.
    #[must_use]
    pub fn transport(&self) -> Option<Transport> {
        self.inner.lock().settings.options.transport.clone()
    }

    /// Sets the longest wait between retries that a server may ask for; zero for no cap, `None` for
    /// the default of 60 s.
    pub fn set_max_retry_delay(&self, delay: Option<Duration>) {
        let millis = delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        self.inner.lock().settings.options.max_retry_delay_ms = millis;
    }

    /// Returns the longest wait between retries that a server may ask for.
    #[must_use]
    pub fn max_retry_delay(&self) -> Option<Duration> {
        self.inner
            .lock()
            .settings
            .options
            .max_retry_delay_ms
            .map(Duration::from_millis)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
