//! What a run is given.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pi_core::{
    AgentMessage, AgentTool, CancellationToken, Clock, Model, Provider, StreamOptions,
    ToolExecutionMode,
};

use crate::budget::{Budget, Spent};
use crate::clock::SystemClock;
use crate::hooks::{FnHooks, Hooks};

/// The conversation that a run goes on from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AgentContext {
    /// The system prompt.
    pub system_prompt: Option<String>,
    /// The transcript.
    pub messages: Arc<Vec<AgentMessage>>,
    /// The tools; `None` and an empty list are different to some providers.
    pub tools: Option<Arc<[AgentTool]>>,
}

impl AgentContext {
    /// Creates a context from a transcript, without prompt and tools.
    pub fn new(messages: impl Into<Arc<Vec<AgentMessage>>>) -> Self {
        Self {
            messages: messages.into(),
            ..Self::default()
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<[AgentTool]>>) -> Self {
        self.tools = Some(tools.into());
        self
    }
}

/// The order of the end events of calls that run side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEndOrder {
    /// The order of the calls in the reply: an end and its result come as soon as all earlier
    /// calls have theirs. The default.
    #[default]
    Source,
    /// The order in which the calls end. The result messages keep the order of the reply.
    Completion,
}

/// When a steering message goes into a turn with tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SteeringPoint {
    /// After all calls of the reply. The default.
    #[default]
    TurnEnd,
    /// Before the next call: calls that have not started are answered as skipped.
    ToolBoundary,
}

/// How a run works: the model, its provider, and everything that has a default.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoopConfig {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The model to ask.
    pub model: Arc<Model>,
    /// Options of every request.
    pub options: StreamOptions,
    /// What the application does in between; nothing by default.
    pub hooks: Arc<dyn Hooks>,
    /// How the calls of one reply are run; side by side by default.
    pub tool_execution: ToolExecutionMode,
    /// The order of the end events of calls that run side by side; that of the reply by default.
    pub tool_end_order: ToolEndOrder,
    /// When steering goes in; after all calls of a reply by default.
    pub steering_point: SteeringPoint,
    /// How much the run may use; without limits by default.
    pub budget: Budget,
    /// What was used before this run, which counts towards the budget.
    pub spent: Spent,
    /// How long a tool or a tool hook may go on after an abort before it is dropped; 5 s by
    /// default.
    pub abort_grace: Duration,
    /// The time, for timestamps and the grace.
    pub clock: Arc<dyn Clock>,
    /// Stops the run: what was opened is closed, and no request is made any more.
    pub abort: CancellationToken,
}

impl LoopConfig {
    /// Creates a configuration with defaults.
    pub fn new(provider: impl Provider + 'static, model: impl Into<Arc<Model>>) -> Self {
        Self {
            provider: Arc::new(provider),
            model: model.into(),
            options: StreamOptions::default(),
            hooks: Arc::new(FnHooks::default()),
            tool_execution: ToolExecutionMode::Parallel,
            tool_end_order: ToolEndOrder::default(),
            steering_point: SteeringPoint::default(),
            budget: Budget::default(),
            spent: Spent::default(),
            abort_grace: Duration::from_secs(5),
            clock: Arc::new(SystemClock),
            abort: CancellationToken::new(),
        }
    }

    /// Sets the options of every request.
    #[must_use]
    pub fn with_options(mut self, options: StreamOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the hooks.
    #[must_use]
    pub fn with_hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks = Arc::new(hooks);
        self
    }

    /// Sets how the calls of one reply are run.
    #[must_use]
    pub fn with_tool_execution(mut self, mode: ToolExecutionMode) -> Self {
        self.tool_execution = mode;
        self
    }

    /// Sets the order of the end events of calls that run side by side.
    #[must_use]
    pub fn with_tool_end_order(mut self, order: ToolEndOrder) -> Self {
        self.tool_end_order = order;
        self
    }

    /// Sets when steering goes in.
    #[must_use]
    pub fn with_steering_point(mut self, point: SteeringPoint) -> Self {
        self.steering_point = point;
        self
    }

    /// Sets how much the run may use.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the token that stops the run.
    #[must_use]
    pub fn with_abort(mut self, abort: CancellationToken) -> Self {
        self.abort = abort;
        self
    }
}

impl fmt::Debug for LoopConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopConfig")
            .field("model", &self.model.id)
            .field("options", &self.options)
            .field("tool_execution", &self.tool_execution)
            .field("abort_grace", &self.abort_grace)
            .finish_non_exhaustive()
    }
}
