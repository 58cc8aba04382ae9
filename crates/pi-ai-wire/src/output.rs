//! Replies that must fit a schema, at services that cannot be held to one.

use pi_core::{Request, ToolDefinition};

/// What the model is told about the tool.
const DESCRIPTION: &str =
    "Takes the answer. Call it exactly once, with the whole answer as its arguments.";

/// Makes the tool whose arguments are the value that the request asks for.
pub(crate) fn tool(request: &Request) -> Option<ToolDefinition> {
    let output = request.options.output.as_ref()?;
    let schema = output.schema.clone();
    Some(ToolDefinition::new(&output.name, DESCRIPTION, schema))
}
