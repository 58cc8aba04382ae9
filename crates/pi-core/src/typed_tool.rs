//! Tools whose arguments are Rust types; feature `schemars`.

use std::future::Future;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::ToolDefinition;
use crate::options::BoxFuture;
use crate::sampling::ConstrainedSampling;
use crate::tool::{
    AgentTool, DynTool, PreparedCall, Replay, ToolContext, ToolError, ToolExecutionMode, ToolOutput,
};

/// A tool whose arguments and details are Rust types.
///
/// # Examples
/// ```
/// use pi_core::{Tool, ToolContext, ToolError, ToolOutput};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct AddArgs {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// struct Add;
///
/// impl Tool for Add {
///     const NAME: &'static str = "add";
///     const LABEL: &'static str = "Add";
///     const DESCRIPTION: &'static str = "Adds two numbers.";
///     type Args = AddArgs;
///     type Details = ();
///
///     async fn run(&self, args: AddArgs, _cx: ToolContext) -> Result<ToolOutput<()>, ToolError> {
///         let sum = args.a.checked_add(args.b).ok_or("the sum is too large")?;
///         Ok(ToolOutput::text(sum.to_string()))
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The name by which the model calls it.
    const NAME: &'static str;
    /// A name for people.
    const LABEL: &'static str;
    /// What it does, for the model.
    const DESCRIPTION: &'static str;
    /// `Sequential` if a batch with this tool must run one by one.
    const EXECUTION_MODE: Option<ToolExecutionMode> = None;
    /// Whether a call whose outcome is unknown may be run again.
    const REPLAY: Replay = Replay::Never;
    /// The arguments. The documentation of the fields becomes the schema's descriptions.
    type Args: serde::de::DeserializeOwned + schemars::JsonSchema + Send;
    /// What UIs and logs see; `()` for nothing.
    type Details: Serialize + Send;

    /// Returns a limit on what the model can write as arguments; none by default.
    fn constrained_sampling(&self) -> Option<ConstrainedSampling> {
        None
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

    /// Runs the call; an `async fn` implements it. What is done before the future is returned
    /// happens in the order of the calls in the reply.
    ///
    /// # Errors
    /// The failure in words for the model.
    ///
    /// # Cancel safety
    /// After an abort the future may be dropped at any await.
    fn run(
        &self,
        args: Self::Args,
        cx: ToolContext,
    ) -> impl Future<Output = Result<ToolOutput<Self::Details>, ToolError>> + Send;
}

impl<T: Tool> From<T> for AgentTool {
    fn from(tool: T) -> Self {
        Self::new(Typed(tool))
    }
}

struct Typed<T>(T);

impl<T: Tool> DynTool for Typed<T> {
    fn definition(&self) -> ToolDefinition {
        let parameters = schema_for_model::<T::Args>();
        let mut definition = ToolDefinition::new(T::NAME, T::DESCRIPTION, parameters);
        definition.constrained_sampling = self.0.constrained_sampling();
        definition
    }

    fn label(&self) -> String {
        T::LABEL.to_owned()
    }

    fn execution_mode(&self) -> Option<ToolExecutionMode> {
        T::EXECUTION_MODE
    }

    fn replay(&self) -> Replay {
        T::REPLAY
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        self.0.prepare_arguments(arguments)
    }

    fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        match T::Args::deserialize(Value::Object(call.into_arguments())) {
            Ok(args) => {
                let running = self.0.run(args, cx);
                Box::pin(async move { running.await?.erase() })
            }
            Err(error) => {
                let error = ToolError::new(format!("Invalid arguments: {error}"));
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }
}

/// Returns the JSON Schema of a type, without what is of no use to a model.
pub(crate) fn schema_for_model<A: schemars::JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove("title");
    }
    schema
}
