//! Scripted tools.

use std::sync::Arc;

use pi_core::{
    AgentTool, BoxFuture, DynTool, PreparedCall, ToolContext, ToolDefinition, ToolError,
    ToolExecutionMode, ToolOutput,
};
use serde_json::{Map, Value, json};

use super::scenario::{Step, ToolScript};
use super::steps;
use super::world::World;

/// Makes the tools of these keys.
pub(super) fn named(world: &Arc<World>, keys: &[String]) -> Vec<AgentTool> {
    let scripts = keys
        .iter()
        .filter_map(|key| Some((key, world.scenario.tools.get(key)?)));
    scripts
        .map(|(key, script)| {
            AgentTool::new(ScriptedTool {
                world: Arc::clone(world),
                key: key.clone(),
                script: script.clone(),
            })
        })
        .collect()
}

struct ScriptedTool {
    world: Arc<World>,
    /// What the scenario calls it; two tools may have one name.
    key: String,
    script: ToolScript,
}

impl DynTool for ScriptedTool {
    fn definition(&self) -> ToolDefinition {
        let ToolScript {
            name,
            description,
            parameters,
            ..
        } = &self.script;
        ToolDefinition::new(name, description, parameters.clone())
    }

    fn label(&self) -> String {
        self.script.label.clone()
    }

    fn execution_mode(&self) -> Option<ToolExecutionMode> {
        self.script.execution_mode.as_deref().map(Into::into)
    }

    fn prepare_arguments(
        &self,
        mut arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        let Some(preparation) = &self.script.prepare_arguments else {
            return Ok(arguments);
        };
        self.world.note(json!({
            "k": "prepareArguments",
            "tool": self.key,
            "args": arguments,
        }));
        if let Some(text) = &preparation.throw {
            return Err(ToolError::new(text));
        }
        for (from, to) in &preparation.rename {
            if let Some(value) = arguments.shift_remove(from) {
                arguments.insert(to.clone(), value);
            }
        }
        arguments.extend(preparation.set.clone());
        Ok(arguments)
    }

    fn run(
        &self,
        call: PreparedCall,
        cx: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let world = Arc::clone(&self.world);
        let params = Value::Object(call.into_arguments());
        world.note(json!({
            "k": "tool",
            "at": "begin",
            "tool": self.key,
            "id": cx.call_id(),
            "params": params,
            "signal": world.signal_word(cx.abort_token()),
        }));
        let number = world.count(&format!("tool {}", self.key));
        let script = match self.script.scripts.as_slice() {
            [] => self.script.script.clone(),
            scripts => scripts
                .get(number - 1)
                .or(scripts.last())
                .cloned()
                .unwrap_or_default(),
        };
        steps::eagerly(Box::pin(async move {
            world.concurrency.enter();
            let result = play(&world, &script, params, &cx).await;
            world.concurrency.leave();
            world.note(match &result {
                Ok(_) => json!({ "k": "tool", "at": "return", "id": cx.call_id() }),
                Err(error) => json!({
                    "k": "tool",
                    "at": "throw",
                    "id": cx.call_id(),
                    "error": error.to_string(),
                }),
            });
            result
        }))
    }
}

async fn play(
    world: &Arc<World>,
    script: &[Step],
    params: Value,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let id = format!("tool:{}", cx.call_id());
    for step in script {
        match step.op.as_str() {
            "update" => {
                cx.update(output(step)?);
                // The loop hands it on when the tool waits.
                steps::tick().await;
            }
            "late_update" => {
                let (gate, cx, output) = (world.gate(&step.gate), cx.clone(), output(step)?);
                tokio::spawn(async move {
                    gate.cancelled().await;
                    cx.update(output);
                });
            }
            "return" => return output(step),
            "return_params" => return Ok(ToolOutput::text("ok").with_details(params)),
            "throw" => return Err(ToolError::new(&step.message)),
            "throw_if_aborted" if cx.is_aborted() => return Err(ToolError::new(&step.message)),
            "throw_if_aborted" => {}
            _ => {
                if !steps::play(world, step, &id, cx.abort_token()).await {
                    return Err(ToolError::new(format!("the step {} is not known", step.op)));
                }
            }
        }
    }
    Ok(ToolOutput::new(Vec::new()))
}

fn output(step: &Step) -> Result<ToolOutput, ToolError> {
    let result = step.result.clone().unwrap_or_else(|| json!({}));
    serde_json::from_value(result).map_err(|error| ToolError::new(error.to_string()))
}
