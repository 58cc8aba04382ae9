//! The scripted tools.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pi_core::{AgentTool, ToolDefinition, ToolError, ToolOutput};
use serde_json::{Map, Value};

/// The arguments of each run of a tool.
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<Mutex<Vec<Value>>>);

impl Runs {
    fn add(&self, arguments: &Map<String, Value>) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push(Value::Object(arguments.clone()));
    }

    pub(super) fn list(&self) -> Vec<Value> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[derive(Clone)]
enum Behaviour {
    Ok,
    OkAfter(Duration),
    ContentsOfPath,
    WaitForAbort(String),
}

impl Behaviour {
    fn read(sentence: &str) -> Result<Self> {
        if let Some(text) =
            sentence.strip_prefix("waits for the abort signal, then fails with the text: ")
        {
            return Ok(Self::WaitForAbort(text.to_owned()));
        }
        if let Some(rest) = sentence.strip_prefix("returns ok after ") {
            let millis = rest.strip_suffix(" ms").context("no time")?.parse()?;
            return Ok(Self::OkAfter(Duration::from_millis(millis)));
        }
        match sentence {
            "counts its runs" | "counts its runs, returns ok" => Ok(Self::Ok),
            "returns the text: contents of <path>" => Ok(Self::ContentsOfPath),
            other => bail!("the behaviour \"{other}\" is not known"),
        }
    }
}

/// Makes a tool of a scenario.
pub(super) fn make(tool: &Value, runs: &Runs) -> Result<AgentTool> {
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    let behaviour = Behaviour::read(text("behaviour"))?;
    let parameters = tool
        .get("parameters")
        .cloned()
        .context("a tool without parameters")?;
    let definition = ToolDefinition::new(text("name"), "A scripted tool.", parameters);
    let runs = runs.clone();
    Ok(AgentTool::from_fn(definition, move |arguments, cx| {
        runs.add(&arguments);
        let behaviour = behaviour.clone();
        async move {
            match behaviour {
                Behaviour::Ok => {}
                Behaviour::OkAfter(duration) => tokio::time::sleep(duration).await,
                Behaviour::ContentsOfPath => {
                    let path = arguments
                        .get("path")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    return Ok(ToolOutput::text(format!("contents of {path}")));
                }
                Behaviour::WaitForAbort(text) => {
                    cx.aborted().await;
                    return Err(ToolError::new(text));
                }
            }
            Ok(ToolOutput::text("ok"))
        }
    }))
}
