//! Calls a tool without an agent.

use pi_core::{ToolContext, ToolError, ToolOutput};
use pi_tools_std::ToolSet;
use serde_json::Value;

pub fn call(set: &ToolSet, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let tool = set.tool(tool).expect("the set has it");
    let call = tool.prepare(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(tool.run(call, ToolContext::detached("c")))
}
