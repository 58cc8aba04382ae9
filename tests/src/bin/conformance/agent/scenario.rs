//! What a scenario file says.

use std::collections::BTreeMap;

use pi_core::{AssistantMessage, Model};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One scripted situation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) models: BTreeMap<String, Model>,
    #[serde(default)]
    pub(super) tools: BTreeMap<String, ToolScript>,
    #[serde(default)]
    pub(super) responses: Vec<Response>,
    #[serde(default)]
    pub(super) agent: AgentSetup,
    #[serde(rename = "loop", default)]
    pub(super) bare_loop: LoopSetup,
    #[serde(default)]
    pub(super) listeners: Vec<Listener>,
    #[serde(default)]
    pub(super) on: Vec<Trigger>,
    #[serde(default)]
    pub(super) actions: Vec<Action>,
    pub(super) hang_ms: Option<u64>,
    pub(super) settle_ms: Option<u64>,
    #[serde(default)]
    pub(super) check_concurrency: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    Agent,
    Loop,
    Proxy,
}

/// The options of an agent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AgentSetup {
    pub(super) system_prompt: Option<String>,
    pub(super) model: Option<String>,
    pub(super) thinking_level: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) messages: Vec<Value>,
    pub(super) steering_mode: Option<String>,
    pub(super) follow_up_mode: Option<String>,
    pub(super) tool_execution: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) thinking_budgets: Option<Value>,
    pub(super) transport: Option<String>,
    pub(super) max_retry_delay_ms: Option<u64>,
    #[serde(flatten)]
    pub(super) hooks: HookScripts,
}

/// The arguments of the bare loop.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LoopSetup {
    #[serde(rename = "fn")]
    pub(super) function: String,
    pub(super) prompts: Vec<Value>,
    pub(super) context: LoopContext,
    pub(super) config: LoopConfiguration,
    pub(super) signal: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LoopContext {
    pub(super) system_prompt: Option<String>,
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LoopConfiguration {
    pub(super) model: Option<String>,
    pub(super) tool_execution: Option<String>,
    pub(super) get_steering_messages: Option<Vec<Vec<Value>>>,
    pub(super) get_follow_up_messages: Option<Vec<Vec<Value>>>,
    #[serde(flatten)]
    pub(super) hooks: HookScripts,
    /// Options of the request.
    #[serde(flatten)]
    pub(super) options: Map<String, Value>,
}

/// The scripted hooks.
#[derive(Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HookScripts {
    pub(super) before_tool_call: Option<Rules>,
    pub(super) after_tool_call: Option<Rules>,
    pub(super) transform_context: Option<Calls>,
    pub(super) convert_to_llm: Option<Conversion>,
    pub(super) get_api_key: Option<Calls>,
}

#[derive(Default, Clone, Deserialize)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Rule {
    pub(super) tool: Option<String>,
    pub(super) id: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) throw: Option<String>,
    pub(super) result: Option<Value>,
}

/// What a hook does, call by call; the last entry is repeated.
#[derive(Default, Clone, Deserialize)]
pub(super) struct Calls {
    pub(super) calls: Vec<HookCall>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HookCall {
    pub(super) steps: Vec<Step>,
    pub(super) throw: Option<String>,
    pub(super) keep_last: Option<usize>,
    pub(super) prepend: Vec<Value>,
    pub(super) append: Vec<Value>,
    pub(super) key: Option<String>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Conversion {
    pub(super) drop: Vec<String>,
    pub(super) as_user: Vec<String>,
    pub(super) throw: Option<String>,
    pub(super) throw_on_call: Option<usize>,
}

/// A tool and what its calls do.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolScript {
    pub(super) name: String,
    #[serde(default)]
    pub(super) label: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) parameters: Value,
    pub(super) execution_mode: Option<String>,
    pub(super) prepare_arguments: Option<Preparation>,
    #[serde(default)]
    pub(super) script: Vec<Step>,
    /// One script for each call, the last one repeated.
    #[serde(default)]
    pub(super) scripts: Vec<Vec<Step>>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Preparation {
    pub(super) rename: BTreeMap<String, String>,
    pub(super) set: Map<String, Value>,
    pub(super) throw: Option<String>,
}

/// One step of a tool, a hook or a response.
#[derive(Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Step {
    pub(super) op: String,
    pub(super) ms: u64,
    /// The gate of `gate` and `release`.
    pub(super) name: String,
    /// The gate of `late_update`.
    pub(super) gate: String,
    pub(super) result: Option<Value>,
    pub(super) message: String,
    pub(super) actions: Vec<Action>,
    pub(super) index: usize,
    pub(super) delta: String,
}

/// One reply of the scripted model.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) message: Option<AssistantMessage>,
    #[serde(default)]
    pub(super) ops: Vec<Step>,
    #[serde(default)]
    pub(super) call: CallScript,
    pub(super) on_abort: Option<String>,
}

/// What happens when the model is called.
#[derive(Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct CallScript {
    pub(super) acts: Vec<Action>,
    pub(super) throw: Option<String>,
    pub(super) reject: Option<String>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Listener {
    pub(super) name: String,
    pub(super) subscribed: Option<bool>,
    #[serde(rename = "async")]
    pub(super) is_async: bool,
    pub(super) delay_ms: u64,
    pub(super) unsubscribe_on: Option<ListenerMoment>,
    pub(super) throw_on: Option<ListenerMoment>,
    pub(super) reject_on: Option<ListenerMoment>,
}

/// The moment in which a listener does something.
#[derive(Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct ListenerMoment {
    pub(super) event: String,
    pub(super) nth: Option<usize>,
    pub(super) every: bool,
    pub(super) target: Option<String>,
    pub(super) message: String,
}

/// Actions to perform when an event is seen.
#[derive(Clone, Deserialize)]
pub(super) struct Trigger {
    pub(super) event: String,
    pub(super) nth: usize,
    #[serde(rename = "where", default)]
    pub(super) condition: Map<String, Value>,
    #[serde(rename = "do")]
    pub(super) actions: Vec<Action>,
}

/// What the caller does.
#[derive(Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Action {
    #[serde(rename = "do")]
    pub(super) what: String,
    pub(super) text: Option<String>,
    pub(super) images: Vec<Value>,
    pub(super) message: Option<Value>,
    pub(super) messages: Option<Vec<Value>>,
    pub(super) model: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) value: Value,
    pub(super) listener: String,
    pub(super) ms: u64,
    pub(super) name: String,
    pub(super) background: bool,
}
