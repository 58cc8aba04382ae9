//! How much a run may use.

use pi_core::{AssistantMessage, Usage};

/// Limits of what a run may use; what is `None` has no limit. They are checked before each request,
/// so the last reply may go past a limit of tokens or dollars.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Budget {
    /// Replies of the model.
    pub max_turns: Option<u64>,
    /// Calls of tools, refused ones included.
    pub max_tool_calls: Option<u64>,
    /// Tokens of all requests and replies.
    pub max_tokens: Option<u64>,
    /// US dollars, by the prices of the model.
    pub max_cost_usd: Option<f64>,
}

impl Budget {
    /// Creates a budget without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the replies of the model.
    #[must_use]
    pub fn with_max_turns(mut self, turns: u64) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// Limits the calls of tools.
    #[must_use]
    pub fn with_max_tool_calls(mut self, calls: u64) -> Self {
        self.max_tool_calls = Some(calls);
        self
    }

    /// Limits the tokens.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Limits the cost in US dollars.
    #[must_use]
    pub fn with_max_cost_usd(mut self, dollars: f64) -> Self {
        self.max_cost_usd = Some(dollars);
        self
    }

    /// Checks what was spent against the limits.
    ///
    /// # Errors
    /// The first limit that is reached.
    pub fn check(&self, spent: &Spent) -> Result<(), BudgetExhausted> {
        if let Some(limit) = self.max_turns.filter(|limit| spent.turns >= *limit) {
            return Err(BudgetExhausted::Turns { limit });
        }
        if let Some(limit) = self
            .max_tool_calls
            .filter(|limit| spent.tool_calls >= *limit)
        {
            return Err(BudgetExhausted::ToolCalls { limit });
        }
        let tokens = spent.usage.total_tokens;
        if let Some(limit) = self.max_tokens.filter(|limit| tokens >= *limit) {
            return Err(BudgetExhausted::Tokens { limit });
        }
        let dollars = spent.usage.cost.usd();
        if let Some(limit) = self.max_cost_usd.filter(|limit| dollars >= *limit) {
            return Err(BudgetExhausted::Cost { limit_usd: limit });
        }
        Ok(())
    }
}

/// What was used so far.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Spent {
    /// Replies of the model.
    pub turns: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Tokens and cost.
    pub usage: Usage,
}

impl Spent {
    /// Adds a reply.
    pub fn add_reply(&mut self, reply: &AssistantMessage) {
        self.turns = self.turns.saturating_add(1);
        self.usage.add(&reply.usage);
    }

    /// Adds calls of tools.
    pub fn add_tool_calls(&mut self, calls: usize) {
        self.tool_calls = self.tool_calls.saturating_add(calls as u64);
    }
}

/// The limit that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetExhausted {
    /// Replies of the model.
    #[error("the budget of {limit} turns is used up")]
    Turns {
        /// The limit.
        limit: u64,
    },
    /// Calls of tools.
    #[error("the budget of {limit} tool calls is used up")]
    ToolCalls {
        /// The limit.
        limit: u64,
    },
    /// Tokens.
    #[error("the budget of {limit} tokens is used up")]
    Tokens {
        /// The limit.
        limit: u64,
    },
    /// US dollars.
    #[error("the budget of {limit_usd} US dollars is used up")]
    Cost {
        /// The limit in US dollars.
        limit_usd: f64,
    },
}
