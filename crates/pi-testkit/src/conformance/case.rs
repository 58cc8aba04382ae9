//! What a subject prepares.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pi_core::{Context, Model, Provider, Request, ToolDefinition, UserMessage};
use serde_json::json;

use super::Expected;

/// Counts something on the other side.
pub(super) type Count = Box<dyn Fn() -> usize + Send + Sync>;

/// What a subject makes of a scenario.
#[derive(Debug)]
#[non_exhaustive]
pub enum Setup {
    /// It is prepared.
    Ready(Box<Case>),
    /// The wire cannot spell it.
    Skip {
        /// Why, for the report.
        reason: String,
    },
    /// Nobody has thought of it; the report shows it as failed.
    Missing,
}

impl Setup {
    /// Declares a skip.
    pub fn skip(reason: impl Into<String>) -> Self {
        Self::Skip {
            reason: reason.into(),
        }
    }
}

impl From<Case> for Setup {
    fn from(case: Case) -> Self {
        Self::Ready(Box::new(case))
    }
}

/// A provider that is ready for one scenario.
pub struct Case {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) request: Request,
    pub(super) expected: Option<Expected>,
    pub(super) requests: Option<Count>,
    pub(super) open_replies: Option<Count>,
    kept: Vec<Box<dyn Any + Send>>,
}

impl Case {
    /// Creates a case that expects what the scenario says. The request is asked as it is, but for
    /// its abort token; see [`request`].
    pub fn new(provider: impl Provider + 'static, request: Request) -> Self {
        Self {
            provider: Arc::new(provider),
            request,
            expected: None,
            requests: None,
            open_replies: None,
            kept: Vec::new(),
        }
    }

    /// Sets what is expected in place of what the scenario says.
    #[must_use]
    pub fn with_expected(mut self, expected: Expected) -> Self {
        self.expected = Some(expected);
        self
    }

    /// Sets how many requests the other side has received.
    #[must_use]
    pub fn with_requests(mut self, count: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        self.requests = Some(Box::new(count));
        self
    }

    /// Sets how many replies the other side has begun and not ended: open connections, processes,
    /// tasks.
    #[must_use]
    pub fn with_open_replies(mut self, count: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        self.open_replies = Some(Box::new(count));
        self
    }

    /// Keeps a value, such as a server, until the scenario is over.
    #[must_use]
    pub fn keep_alive(mut self, value: impl Any + Send) -> Self {
        self.kept.push(Box::new(value));
        self
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("model", &self.request.model.id)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

/// Returns the request of the suite to a model: a question, and the tool `weather`.
///
/// Add what the provider needs, such as a key: `request.options.api_key`.
#[must_use]
pub fn request(model: impl Into<Arc<Model>>) -> Request {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "note": { "type": "string" } },
    });
    let weather = ToolDefinition::new("weather", "Tells the weather in a city.", parameters);
    let question = UserMessage::new("What is the weather in Graz?", 0);
    let context = Context::new(vec![question.into()]).with_tools(vec![weather.into()]);
    Request::new(model, context)
}
