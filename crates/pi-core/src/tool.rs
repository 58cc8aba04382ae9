//! The seam to tools.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::content::UserContent;
use crate::context::ToolDefinition;
use crate::options::BoxFuture;
use crate::progress::ProgressSender;
use crate::tagged::{Extra, string_enum};

string_enum! {
    /// How the calls of one reply are run.
    pub enum ToolExecutionMode {
        /// Side by side. The default.
        Parallel = "parallel",
        /// One after the other.
        Sequential = "sequential",
    }
}

string_enum! {
    /// Whether a call whose outcome is unknown may be run again.
    pub enum Replay {
        /// Never: the model is told that the outcome is unknown. The default.
        Never = "never",
        /// Running it twice does no harm.
        Safe = "safe",
    }
}

/// What a tool gives back, also while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
#[non_exhaustive]
pub struct ToolOutput<D = Value> {
    /// What the model sees.
    #[serde(default)]
    pub content: Vec<UserContent>,
    /// What UIs and logs see.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub details: Option<D>,
    /// True if the model should see this as a failure although the tool itself did not fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// True if the run may end after this batch; it does when every result of the batch says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
    /// Unknown fields, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl<D> ToolOutput<D> {
    /// Creates an output from blocks.
    pub fn new(content: Vec<UserContent>) -> Self {
        Self {
            content,
            details: None,
            is_error: false,
            terminate: false,
            extra: Extra::default(),
        }
    }

    /// Creates an output of one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![UserContent::text(text)])
    }

    /// Sets what UIs and logs see.
    #[must_use]
    pub fn with_details(mut self, details: D) -> Self {
        self.details = Some(details);
        self
    }

    /// Marks the output as a failure.
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = is_error;
        self
    }

    /// Asks for the end of the run after this batch.
    #[must_use]
    pub fn with_terminate(mut self, terminate: bool) -> Self {
        self.terminate = terminate;
        self
    }
}

impl<D: Serialize> ToolOutput<D> {
    /// Turns the details into JSON; details that are `null` there are left out.
    ///
    /// # Errors
    /// If the details cannot be serialized.
    pub fn erase(self) -> Result<ToolOutput, ToolError> {
        let details = match self.details {
            Some(details) => serde_json::to_value(details)
                .map(|details| (!details.is_null()).then_some(details))
                .map_err(|error| ToolError::new(format!("serialize tool details: {error}")))?,
            None => None,
        };
        Ok(ToolOutput {
            content: self.content,
            details,
            is_error: self.is_error,
            terminate: self.terminate,
            extra: self.extra,
        })
    }
}

/// The failure of a tool, in words for the model.
///
/// The text goes into the conversation as it is: say what the model can do about it, and leave out
/// what it must not see.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", crate::content::joined_text(.content))]
#[non_exhaustive]
pub struct ToolError {
    /// What the model sees.
    pub content: Vec<UserContent>,
    /// What UIs and logs see.
    pub details: Option<Value>,
}

impl ToolError {
    /// Creates a failure from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            content: vec![UserContent::text(text)],
            details: None,
        }
    }

    /// Sets what UIs and logs see.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl From<&str> for ToolError {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for ToolError {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// What a running call can ask and tell.
#[derive(Debug, Clone)]
pub struct ToolContext {
    call_id: Arc<str>,
    abort: CancellationToken,
    progress: Option<ProgressSender>,
}

impl ToolContext {
    /// Creates the context of a call. The agent loop does this; see [`detached`](Self::detached) for
    /// calling a tool by hand.
    #[must_use]
    pub fn new(
        call_id: impl Into<Arc<str>>,
        abort: CancellationToken,
        progress: ProgressSender,
    ) -> Self {
        Self {
            call_id: call_id.into(),
            abort,
            progress: Some(progress),
        }
    }

    /// Creates a context whose progress nobody reads, for tests and direct calls.
    #[must_use]
    pub fn detached(call_id: impl Into<Arc<str>>) -> Self {
        Self {
            call_id: call_id.into(),
            abort: CancellationToken::new(),
            progress: None,
        }
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the token of the run, to hand it to code that takes one.
    #[must_use]
    pub fn abort_token(&self) -> &CancellationToken {
        &self.abort
    }

    /// Returns true if the run was aborted.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.abort.is_cancelled()
    }

    /// Waits until the run is aborted. A tool that does not end soon after is dropped.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn aborted(&self) {
        self.abort.cancelled().await;
    }

    /// Reports progress. It never waits: when the reader is behind, the newest report replaces the
    /// one before it. Reports after the end of the call, and details that cannot be serialized, are
    /// dropped.
    pub fn update<D: Serialize>(&self, output: ToolOutput<D>) {
        if let (Some(progress), Ok(output)) = (&self.progress, output.erase()) {
            progress.send(output);
        }
    }
}

/// A call whose arguments fit the tool's schema.
///
/// Only [`AgentTool::prepare`] makes one, so that a call which was not validated cannot be run.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedCall {
    arguments: Map<String, Value>,
}

impl PreparedCall {
    /// Returns the arguments, validated and coerced.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Returns the arguments by value.
    #[must_use]
    pub fn into_arguments(self) -> Map<String, Value> {
        self.arguments
    }
}

/// A tool in its object-safe form, for tools whose schema is known only at run time.
///
/// Tools with Rust types implement [`Tool`](crate::Tool) instead.
pub trait DynTool: Send + Sync {
    /// Returns what the model is told. It is asked for once.
    fn definition(&self) -> ToolDefinition;

    /// Returns a name for people; the tool's name when empty.
    fn label(&self) -> String {
        String::new()
    }

    /// Returns `Sequential` if a batch with this tool must run one by one.
    fn execution_mode(&self) -> Option<ToolExecutionMode> {
        None
    }

    /// Returns whether a call whose outcome is unknown may be run again.
    fn replay(&self) -> Replay {
        Replay::Never
    }

    /// Rewrites the arguments before they are validated, for example to accept an older form.
    ///
    /// # Errors
    /// What the model should see if the arguments cannot be rewritten; the call is then not run.
    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments)
    }

    /// Runs the call. What is done before the future is returned happens in the order of the calls
    /// in the reply, so a tool may take its place in a queue there.
    ///
    /// # Cancel safety
    /// After an abort the future may be dropped at any await.
    fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// A tool as an agent holds it: definition, label and code. Cloning shares the tool.
///
/// Every [`Tool`](crate::Tool) turns into one with `into()`.
#[derive(Clone)]
pub struct AgentTool(Arc<Inner>);

struct Inner {
    definition: Arc<ToolDefinition>,
    label: String,
    tool: Box<dyn DynTool>,
    #[cfg(feature = "validation")]
    validator: std::sync::OnceLock<Result<crate::validation::ArgumentValidator, String>>,
}

impl AgentTool {
    /// Creates a tool from its object-safe form.
    pub fn new(tool: impl DynTool + 'static) -> Self {
        let definition = Arc::new(tool.definition());
        let mut label = tool.label();
        if label.is_empty() {
            label.clone_from(&definition.name);
        }
        Self(Arc::new(Inner {
            definition,
            label,
            tool: Box::new(tool),
            #[cfg(feature = "validation")]
            validator: std::sync::OnceLock::new(),
        }))
    }

    /// Creates a tool from a definition and a function.
    ///
    /// # Examples
    /// ```
    /// use pi_core::{AgentTool, ToolDefinition, ToolOutput};
    /// use serde_json::json;
    ///
    /// let definition = ToolDefinition::new("ping", "Answers pong.", json!({ "type": "object" }));
    /// let ping = AgentTool::from_fn(definition, |_arguments, _cx| async {
    ///     Ok(ToolOutput::text("pong"))
    /// });
    /// assert_eq!(ping.name(), "ping");
    /// ```
    pub fn from_fn<F, R>(definition: ToolDefinition, run: F) -> Self
    where
        F: Fn(Map<String, Value>, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Self::new(FnTool { definition, run })
    }

    /// Returns the name by which the model calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.definition.name
    }

    /// Returns the name for people.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Returns what the model is told.
    #[must_use]
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        &self.0.definition
    }

    /// Returns `Sequential` if a batch with this tool must run one by one.
    #[must_use]
    pub fn execution_mode(&self) -> Option<ToolExecutionMode> {
        self.0.tool.execution_mode()
    }

    /// Returns whether a call whose outcome is unknown may be run again.
    #[must_use]
    pub fn replay(&self) -> Replay {
        self.0.tool.replay()
    }

    /// Rewrites, validates and coerces the arguments of a call.
    ///
    /// # Errors
    /// What the model should see: what is wrong with the arguments, or that the tool's schema is
    /// broken.
    #[cfg(feature = "validation")]
    pub fn prepare(&self, arguments: Map<String, Value>) -> Result<PreparedCall, ToolError> {
        let arguments = self.0.tool.prepare_arguments(arguments)?;
        self.validate(&arguments)
    }

    /// Validates and coerces arguments that were prepared before, for example after a hook edited
    /// them.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    #[cfg(feature = "validation")]
    pub fn validate(&self, arguments: &Map<String, Value>) -> Result<PreparedCall, ToolError> {
        let validator = self.0.validator.get_or_init(|| {
            crate::validation::ArgumentValidator::new(&self.0.definition.parameters)
                .map_err(|error| error.to_string())
        });
        match validator {
            Ok(validator) => validator
                .validate(self.name(), arguments)
                .map(|arguments| PreparedCall { arguments })
                .map_err(|error| ToolError::new(error.to_string())),
            Err(error) => Err(ToolError::new(format!(
                "Tool {} has a broken parameter schema: {error}",
                self.name()
            ))),
        }
    }

    /// Runs a prepared call.
    ///
    /// # Errors
    /// What the tool fails with.
    ///
    /// # Cancel safety
    /// As the tool's own future.
    pub fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.0.tool.run(call, cx)
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentTool").field(&self.name()).finish()
    }
}

struct FnTool<F> {
    definition: ToolDefinition,
    run: F,
}

impl<F, R> DynTool for FnTool<F>
where
    F: Fn(Map<String, Value>, ToolContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin((self.run)(call.into_arguments(), cx))
    }
}
