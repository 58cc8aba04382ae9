//! Scripted hooks.

use std::sync::Arc;

use pi_agent::{AfterToolCall, BeforeToolCall, FnHooks, ResultOverride, Verdict};
use pi_core::{
    AgentMessage, BoxFuture, CancellationToken, HookError, Message, SecretString, ToolCall,
    UserContent, UserMessage,
};
use serde_json::{Map, Value, json};

use super::scenario::{Conversion, HookCall, HookScripts, Rule, Rules};
use super::steps;
use super::world::{World, messages, read};

type Hooked<T> = BoxFuture<'static, Result<T, HookError>>;

/// Makes the hooks that a scenario installs.
pub(super) fn install(world: &Arc<World>, scripts: &HookScripts) -> FnHooks {
    let mut hooks = FnHooks::new();
    if let Some(rules) = &scripts.before_tool_call {
        hooks.set_before_tool_call(before(world, Some(rules.clone())));
    }
    if let Some(rules) = &scripts.after_tool_call {
        hooks.set_after_tool_call(after(world, Some(rules.clone())));
    }
    if let Some(script) = &scripts.transform_context {
        let (world, calls) = (Arc::clone(world), script.calls.clone());
        hooks.set_transform_context(move |messages, abort| {
            transform(Arc::clone(&world), calls.clone(), messages, abort)
        });
    }
    if let Some(conversion) = &scripts.convert_to_llm {
        let (world, conversion) = (Arc::clone(world), conversion.clone());
        hooks.set_convert_to_llm(move |messages| {
            std::future::ready(convert(&world, &conversion, &messages))
        });
    }
    if let Some(script) = &scripts.get_api_key {
        let (world, calls) = (Arc::clone(world), script.calls.clone());
        hooks.set_api_key(move |provider| std::future::ready(api_key(&world, &calls, &provider)));
    }
    hooks
}

/// Makes the hook that decides about calls; without rules it allows all and is not noted.
pub(super) fn before(
    world: &Arc<World>,
    rules: Option<Rules>,
) -> impl Fn(BeforeToolCall) -> Hooked<Verdict> + Send + Sync + 'static {
    let world = Arc::clone(world);
    move |call| {
        let (world, rules) = (Arc::clone(&world), rules.clone());
        Box::pin(async move {
            let Some(rules) = rules else {
                return Ok(Verdict::Allow);
            };
            let question = entry(
                &world,
                "beforeToolCall",
                &call.call,
                &call.arguments,
                &call.messages,
            );
            world.note(signalled(&world, question, &call.abort));
            let result = decide(&world, &rules, "beforeToolCall", &call.call, &call.abort).await?;
            let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
            match result.get("block") {
                Some(Value::Bool(true)) => Ok(match text("reason") {
                    Some(reason) => Verdict::block(reason),
                    None => Verdict::Block { reason: None },
                }),
                _ => Ok(Verdict::Allow),
            }
        })
    }
}

/// Makes the hook that changes results; without rules it changes nothing and is not noted.
pub(super) fn after(
    world: &Arc<World>,
    rules: Option<Rules>,
) -> impl Fn(AfterToolCall) -> Hooked<ResultOverride> + Send + Sync + 'static {
    let world = Arc::clone(world);
    move |call| {
        let (world, rules) = (Arc::clone(&world), rules.clone());
        Box::pin(async move {
            let Some(rules) = rules else {
                return Ok(ResultOverride::none());
            };
            let mut question = entry(
                &world,
                "afterToolCall",
                &call.call,
                &call.arguments,
                &call.messages,
            );
            question["result"] = integration_tests::observe::to_value(&call.result);
            question["isError"] = call.is_error.into();
            world.note(signalled(&world, question, &call.abort));
            let result = decide(&world, &rules, "afterToolCall", &call.call, &call.abort).await?;
            let mut changes = ResultOverride::none();
            if let Some(content) = result.get("content") {
                changes.content = Some(read::<Vec<UserContent>>(content.clone())?);
            }
            changes.details = result.get("details").cloned();
            changes.is_error = result.get("isError").and_then(Value::as_bool);
            Ok(changes)
        })
    }
}

/// Plays the first rule that fits a call, and returns its result.
async fn decide(
    world: &Arc<World>,
    rules: &Rules,
    hook: &str,
    call: &ToolCall,
    abort: &CancellationToken,
) -> Result<Value, HookError> {
    let fits = |rule: &&Rule| {
        rule.tool.as_ref().is_none_or(|tool| *tool == call.name)
            && rule.id.as_ref().is_none_or(|id| *id == call.id)
    };
    let Some(rule) = rules.rules.iter().find(fits) else {
        return Ok(Value::Null);
    };
    for step in &rule.steps {
        steps::play(world, step, hook, abort).await;
    }
    match &rule.throw {
        Some(text) => Err(HookError::new(text)),
        None => Ok(rule.result.clone().unwrap_or_default()),
    }
}

fn entry(
    world: &World,
    hook: &str,
    call: &ToolCall,
    arguments: &Map<String, Value>,
    transcript: &[AgentMessage],
) -> Value {
    let mut entry = json!({
        "k": "hook",
        "hook": hook,
        "id": call.id,
        "tool": call.name,
        "rawArgs": call.arguments,
        "args": arguments,
        "contextRoles": roles(transcript),
    });
    if let Some(agent) = world.agent.get() {
        let messages = agent.messages();
        entry["stateMessages"] = messages.len().into();
        entry["stateLastRole"] = messages.last().map(AgentMessage::role).into();
    }
    entry
}

fn signalled(world: &World, mut entry: Value, abort: &CancellationToken) -> Value {
    entry["signal"] = world.signal_word(abort).into();
    entry
}

fn transform(
    world: Arc<World>,
    calls: Vec<HookCall>,
    transcript: Vec<AgentMessage>,
    abort: CancellationToken,
) -> Hooked<Vec<AgentMessage>> {
    Box::pin(async move {
        let number = world.count("transformContext");
        let entry = json!({
            "k": "hook",
            "hook": "transformContext",
            "n": number,
            "messages": roles(&transcript),
        });
        world.note(signalled(&world, entry, &abort));
        let call = nth(&calls, number);
        for step in &call.steps {
            steps::play(&world, step, "transformContext", &abort).await;
        }
        if let Some(text) = call.throw {
            return Err(HookError::new(text));
        }
        let skipped = call
            .keep_last
            .map_or(0, |kept| transcript.len().saturating_sub(kept));
        let mut changed = messages(&call.prepend)?;
        changed.extend(transcript.into_iter().skip(skipped));
        changed.extend(messages(&call.append)?);
        Ok(changed)
    })
}

fn convert(
    world: &World,
    conversion: &Conversion,
    transcript: &[AgentMessage],
) -> Result<Vec<Message>, HookError> {
    let number = world.count("convertToLlm");
    world.note(json!({
        "k": "hook",
        "hook": "convertToLlm",
        "n": number,
        "messages": roles(transcript),
    }));
    if let Some(text) = &conversion.throw
        && conversion.throw_on_call.is_none_or(|call| call == number)
    {
        return Err(HookError::new(text));
    }
    let named = |list: &[String], message: &AgentMessage| list.iter().any(|r| r == message.role());
    let kept = transcript
        .iter()
        .filter(|message| !named(&conversion.drop, message));
    let converted = kept.filter_map(|message| {
        if named(&conversion.as_user, message) {
            let AgentMessage::Custom(custom) = message else {
                return message.to_message();
            };
            let text = custom
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let timestamp = message.timestamp().unwrap_or_default();
            let content = vec![UserContent::text(text)];
            return Some(UserMessage::new(content, timestamp).into());
        }
        message.to_message()
    });
    Ok(converted.collect())
}

fn api_key(
    world: &World,
    calls: &[HookCall],
    provider: &str,
) -> Result<Option<SecretString>, HookError> {
    let number = world.count("getApiKey");
    world.note(json!({ "k": "hook", "hook": "getApiKey", "n": number, "provider": provider }));
    let call = nth(calls, number);
    match call.throw {
        Some(text) => Err(HookError::new(text)),
        None => Ok(call.key.map(SecretString::from)),
    }
}

/// Returns the entry for the n-th call, or the last one.
fn nth(calls: &[HookCall], number: usize) -> HookCall {
    calls
        .get(number - 1)
        .or(calls.last())
        .cloned()
        .unwrap_or_default()
}

fn roles(messages: &[AgentMessage]) -> Vec<&str> {
    messages.iter().map(AgentMessage::role).collect()
}
