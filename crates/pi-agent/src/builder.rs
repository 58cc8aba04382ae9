//! How an agent is made.

use std::sync::Arc;
use std::time::Duration;

use pi_agent_loop::{
    AfterToolCall, AfterTurn, BeforeToolCall, Budget, FinishTurn, FnHooks, Hooks, IntoHookResult,
    PrepareRequest, RequestOverride, ResultOverride, SteeringPoint, SystemClock, ToolEndOrder,
    Verdict,
};
use pi_core::{
    AgentMessage, AgentTool, CancellationToken, Clock, Message, Model, PayloadHook, Provider,
    ResponseHook, SecretString, StreamOptions, ThinkingBudgets, ThinkingLevel, ToolExecutionMode,
    Transport,
};

use crate::agent::{Agent, Settings};
use crate::queue::QueueMode;
use crate::state::AgentState;

/// Collects what an agent is made of. Everything but the provider has a default.
#[must_use = "build() makes the agent"]
pub struct AgentBuilder {
    state: AgentState,
    settings: Settings,
    tools: Vec<AgentTool>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
}

/// Declares a setter for a hook closure.
macro_rules! hook_setters {
    ($($(#[$meta:meta])* $name:ident => $set:ident: ($($ty:ty),*) -> $out:ty;)+) => {
        $(
            $(#[$meta])*
            pub fn $name<F, R>(mut self, hook: F) -> Self
            where
                F: Fn($($ty),*) -> R + Send + Sync + 'static,
                R: Future<Output: IntoHookResult<$out>> + Send + 'static,
            {
                self.settings.hooks.$set(hook);
                self
            }
        )+
    };
}

impl AgentBuilder {
    pub(crate) fn new(provider: Arc<dyn Provider>, model: Option<Arc<Model>>) -> Self {
        let mut options = StreamOptions::default();
        options.transport = Some(Transport::Sse);
        Self {
            state: AgentState {
                model,
                ..AgentState::default()
            },
            settings: Settings {
                provider,
                options,
                hooks: FnHooks::new(),
                tool_execution: ToolExecutionMode::Parallel,
                tool_end_order: ToolEndOrder::default(),
                steering_point: SteeringPoint::default(),
                budget: Budget::default(),
                abort_grace: Duration::from_secs(5),
                clock: Arc::new(SystemClock),
            },
            tools: Vec::new(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
        }
    }

    /// Sets the system prompt; empty by default.
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.state.system_prompt = prompt.into();
        self
    }

    /// Sets how much the model should think; not at all by default.
    pub fn thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.state.thinking_level = level;
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Into<AgentTool>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = AgentTool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets the transcript to go on from; empty by default.
    pub fn messages(mut self, messages: Vec<AgentMessage>) -> Self {
        self.state.messages = Arc::new(messages);
        self
    }

    /// Sets how many steering messages go in at once; one by default.
    pub fn steering_mode(mut self, mode: QueueMode) -> Self {
        self.steering_mode = mode;
        self
    }

    /// Sets how many follow-ups go in at once; one by default.
    pub fn follow_up_mode(mut self, mode: QueueMode) -> Self {
        self.follow_up_mode = mode;
        self
    }

    /// Sets how the calls of one reply are run; side by side by default.
    pub fn tool_execution(mut self, mode: ToolExecutionMode) -> Self {
        self.settings.tool_execution = mode;
        self
    }

    /// Sets the order of the end events of calls that run side by side.
    pub fn tool_end_order(mut self, order: ToolEndOrder) -> Self {
        self.settings.tool_end_order = order;
        self
    }

    /// Sets when steering goes into a turn with tools; after all calls by default.
    pub fn steering_point(mut self, point: SteeringPoint) -> Self {
        self.settings.steering_point = point;
        self
    }

    /// Sets how much the agent may use, over all runs; without limits by default.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = budget;
        self
    }

    /// Sets the options of every request. Those that have a setter here can be set afterwards.
    pub fn stream_options(mut self, options: StreamOptions) -> Self {
        self.settings.options = options;
        self
    }

    /// Sets a name of the conversation, for providers that cache or route by it.
    pub fn session_id(mut self, session_id: impl Into<String>) -> Self {
        self.settings.options.session_id = Some(session_id.into());
        self
    }

    /// Sets token budgets for thinking.
    pub fn thinking_budgets(mut self, budgets: ThinkingBudgets) -> Self {
        self.settings.options.thinking_budgets = Some(budgets);
        self
    }

    /// Sets how events travel; server-sent events by default.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.settings.options.transport = Some(transport);
        self
    }

    /// Sets the longest wait between retries that a server may ask for; 60 s by default, zero for
    /// no cap.
    pub fn max_retry_delay(mut self, delay: Duration) -> Self {
        let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.settings.options.max_retry_delay_ms = Some(millis);
        self
    }

    /// Sees, and may replace, the body of every request.
    pub fn on_payload(mut self, hook: PayloadHook) -> Self {
        self.settings.options.on_payload = Some(hook);
        self
    }

    /// Sees the head of every response.
    pub fn on_response(mut self, hook: ResponseHook) -> Self {
        self.settings.options.on_response = Some(hook);
        self
    }

    /// Sets all hooks at once; closures that are set afterwards come before them.
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.settings.hooks = FnHooks::over(hooks);
        self
    }

    hook_setters! {
        /// Prepares each request, first of all; see [`Hooks::prepare_request`].
        prepare_request => set_prepare_request: (PrepareRequest) -> Option<RequestOverride>;
        /// Decides whether the run goes on after a turn; see [`Hooks::finish_turn`].
        finish_turn => set_finish_turn: (FinishTurn) -> AfterTurn;
        /// Prunes or extends the transcript for each request; see [`Hooks::transform_context`].
        transform_context => set_transform_context:
            (Vec<AgentMessage>, CancellationToken) -> Vec<AgentMessage>;
        /// Turns the transcript into what the model sees; see [`Hooks::convert_to_llm`].
        convert_to_llm => set_convert_to_llm: (Vec<AgentMessage>) -> Vec<Message>;
        /// Returns the key for each request, by provider; see [`Hooks::api_key`].
        api_key => set_api_key: (String) -> Option<SecretString>;
        /// Decides about each call; see [`Hooks::before_tool_call`].
        before_tool_call => set_before_tool_call: (BeforeToolCall) -> Verdict;
        /// Replaces parts of each result; see [`Hooks::after_tool_call`].
        after_tool_call => set_after_tool_call: (AfterToolCall) -> ResultOverride;
    }

    /// Sets how long a tool may go on after an abort before it is dropped; 5 s by default.
    pub fn abort_grace(mut self, grace: Duration) -> Self {
        self.settings.abort_grace = grace;
        self
    }

    /// Sets the clock; that of the operating system by default.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Makes the agent.
    #[must_use]
    pub fn build(mut self) -> Agent {
        self.state.tools = self.tools.into();
        Agent::assemble(
            self.state,
            self.settings,
            self.steering_mode,
            self.follow_up_mode,
        )
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
