//! Playing a scenario from beginning to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use futures_util::StreamExt;
use integration_tests::normalise;
use pi_agent::{Agent, AgentBuilder};
use pi_agent_loop::{AgentContext, LoopConfig, RunOutcome, agent_loop, agent_loop_continue};
use pi_core::{AgentEvent, StreamOptions};
use serde_json::{Value, json};

use super::label::label;
use super::model::ScriptedModel;
use super::scenario::{Kind, Listener, ListenerMoment, Scenario, Trigger};
use super::world::{World, lock, messages, queue_mode, read};
use super::{hooks, state, tools};
use integration_tests::observe::to_value;

/// How long the final state is waited for, in milliseconds.
const SETTLE_MS: u64 = 8;

/// The listener that sees the state and sets off the triggers.
const MAIN: &str = "main";

/// Plays a scenario, and returns what was seen in the shape of the stored expectations.
pub(super) async fn play(scenario: Scenario) -> Result<Value> {
    let world = World::new(scenario);
    let last = match world.scenario.kind {
        Kind::Agent => play_agent(&world).await?,
        Kind::Loop => play_loop(&world).await?,
        Kind::Proxy => return Err(anyhow!("the proxy client is not built yet")),
    };
    let log = world.take_log();
    let main = log
        .iter()
        .filter(|entry| entry["k"] == "event" && entry.get("listener").is_none());
    let flow: Vec<String> = main.map(|entry| label(&entry["event"])).collect();
    let mut seen = json!({
        "format": 1,
        "name": world.scenario.name,
        "flow": flow,
        "log": log,
        "unhandled": [],
        "final": last,
    });
    normalise::strip_own_fields(&mut seen);
    normalise::clear_clock_times(&mut seen);
    close_open_calls(&mut seen);
    Ok(seen)
}

/// Makes the arguments of calls that still stream empty, as the scripted model shows them.
fn close_open_calls(seen: &mut Value) {
    let mut open = Vec::<usize>::new();
    let Some(log) = seen.get_mut("log").and_then(Value::as_array_mut) else {
        return;
    };
    for entry in log.iter_mut().filter(|entry| entry["k"] == "event") {
        let Some(event) = entry.get_mut("event") else {
            continue;
        };
        if event["type"] == "message_start" {
            open.clear();
        }
        if let Some(update) = event.get("assistantMessageEvent") {
            let index = update.get("contentIndex").and_then(Value::as_u64);
            let index = index
                .and_then(|index| usize::try_from(index).ok())
                .unwrap_or(usize::MAX);
            match update.get("type").and_then(Value::as_str) {
                Some("toolcall_start") => open.push(index),
                Some("toolcall_end") => open.retain(|known| *known != index),
                _ => {}
            }
        }
        if let Some(message) = event.get_mut("message") {
            normalise::empty_open_calls(message, |index| open.contains(&index));
        }
    }
}

async fn play_agent(world: &Arc<World>) -> Result<Value> {
    let agent = make_agent(world)?;
    let default = [Listener {
        name: MAIN.to_owned(),
        ..Listener::default()
    }];
    let listeners = match world.scenario.listeners.as_slice() {
        [] => default.as_slice(),
        listeners => listeners,
    };
    world
        .agent
        .set(agent.clone())
        .map_err(|_| anyhow!("two agents"))?;
    for listener in listeners
        .iter()
        .filter(|listener| listener.subscribed != Some(false))
    {
        subscribe_listener(world, &agent, listener.clone());
    }
    let mut background = Vec::new();
    for (number, action) in world.scenario.actions.iter().enumerate() {
        world
            .perform(action, &format!("a{number}"), &mut background)
            .await;
    }
    let settle = world.scenario.settle_ms.unwrap_or(SETTLE_MS);
    tokio::time::sleep(Duration::from_millis(settle)).await;
    Ok(state::last(world, &agent))
}

fn make_agent(world: &Arc<World>) -> Result<Agent> {
    let setup = &world.scenario.agent;
    let provider = ScriptedModel(Arc::clone(world));
    let mut builder = match &setup.model {
        Some(key) => Agent::builder(provider, model(world, Some(key))?),
        None => Agent::builder_without_model(provider),
    };
    builder = builder
        .messages(messages(&setup.messages).map_err(|error| anyhow!(error))?)
        .tools(tools::named(world, &setup.tools))
        .hooks(hooks::install(world, &setup.hooks));
    Ok(with_options(builder, world)?.build())
}

fn with_options(mut builder: AgentBuilder, world: &World) -> Result<AgentBuilder> {
    let setup = &world.scenario.agent;
    if let Some(prompt) = &setup.system_prompt {
        builder = builder.system_prompt(prompt);
    }
    if let Some(level) = &setup.thinking_level {
        builder = builder.thinking_level(level.as_str().into());
    }
    if let Some(mode) = &setup.steering_mode {
        builder = builder.steering_mode(queue_mode(mode));
    }
    if let Some(mode) = &setup.follow_up_mode {
        builder = builder.follow_up_mode(queue_mode(mode));
    }
    if let Some(mode) = &setup.tool_execution {
        builder = builder.tool_execution(mode.as_str().into());
    }
    if let Some(id) = &setup.session_id {
        builder = builder.session_id(id);
    }
    if let Some(budgets) = &setup.thinking_budgets {
        builder = builder.thinking_budgets(read(budgets.clone()).map_err(|error| anyhow!(error))?);
    }
    if let Some(transport) = &setup.transport {
        builder = builder.transport(transport.as_str().into());
    }
    if let Some(millis) = setup.max_retry_delay_ms {
        builder = builder.max_retry_delay(Duration::from_millis(millis));
    }
    Ok(builder)
}

fn model(world: &World, key: Option<&String>) -> Result<pi_core::Model> {
    let key = key.map_or("m1", String::as_str);
    let model = world.scenario.models.get(key);
    model
        .cloned()
        .ok_or_else(|| anyhow!("the scenario has no model {key}"))
}

/// Subscribes a listener of the scenario by its name.
pub(super) fn subscribe(world: &Arc<World>, agent: &Agent, name: &str) {
    let known = world
        .scenario
        .listeners
        .iter()
        .find(|listener| listener.name == name);
    let listener = known.cloned().unwrap_or_else(|| Listener {
        name: name.to_owned(),
        ..Listener::default()
    });
    subscribe_listener(world, agent, listener);
}

fn subscribe_listener(world: &Arc<World>, agent: &Agent, listener: Listener) {
    let name = listener.name.clone();
    let (weak, is_async) = (Arc::downgrade(world), listener.is_async);
    let subscription = if is_async {
        let delay = Duration::from_millis(listener.delay_ms);
        let listener = Arc::new(listener);
        agent.subscribe_async(move |event| {
            let event = to_value(&event);
            let fails = weak
                .upgrade()
                .is_some_and(|world| hear(&world, &listener, &event));
            let (weak, listener) = (weak.clone(), Arc::clone(&listener));
            async move {
                tokio::time::sleep(delay).await;
                if let Some(world) = weak.upgrade().filter(|_| !fails) {
                    world.note(json!({
                        "k": "listener_done",
                        "listener": listener.name,
                        "flow": label(&event),
                    }));
                }
            }
        })
    } else {
        agent.subscribe(move |event: &AgentEvent| {
            if let Some(world) = weak.upgrade() {
                hear(&world, &listener, &to_value(event));
            }
        })
    };
    lock(&world.subscriptions).insert(name, subscription);
}

/// What a listener does with an event; returns whether its asynchronous part is to fail.
fn hear(world: &Arc<World>, listener: &Listener, event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    let number = world.count(&format!("listener {} {kind}", listener.name));
    if listener.name == MAIN {
        let mut entry = json!({ "k": "event", "event": event });
        if let Some(agent) = world.agent.get() {
            entry["state"] = state::seen(agent);
        }
        world.note(entry);
        set_off_triggers(world, event);
    } else {
        world.note(json!({
            "k": "event",
            "listener": listener.name,
            "event": { "type": kind },
            "flow": label(event),
        }));
    }
    let is_moment = |moment: &&ListenerMoment| {
        moment.event == kind && (moment.every || moment.nth.is_none_or(|nth| nth == number))
    };
    if let Some(moment) = listener.unsubscribe_on.as_ref().filter(is_moment) {
        let target = moment.target.as_ref().unwrap_or(&listener.name);
        let subscription = lock(&world.subscriptions).remove(target);
        drop(subscription);
    }
    if let Some(moment) = listener.throw_on.as_ref().filter(is_moment) {
        // A listener cannot fail here but by a panic; this one is not printed.
        std::panic::resume_unwind(Box::new(moment.message.clone()));
    }
    listener.reject_on.as_ref().filter(is_moment).is_some()
}

fn set_off_triggers(world: &Arc<World>, event: &Value) {
    for (place, trigger) in world.scenario.on.iter().enumerate() {
        if fits(trigger, event) && world.count(&format!("trigger {place}")) == trigger.nth {
            world.act(&trigger.actions, &format!("on:{}", trigger.event));
        }
    }
}

fn fits(trigger: &Trigger, event: &Value) -> bool {
    let holds = |(key, value): (&String, &Value)| match key.as_str() {
        "role" => event.pointer("/message/role") == Some(value),
        "update" => event.pointer("/assistantMessageEvent/type") == Some(value),
        other => event.get(other) == Some(value),
    };
    event["type"] == trigger.event.as_str() && trigger.condition.iter().all(holds)
}

async fn play_loop(world: &Arc<World>) -> Result<Value> {
    let setup = &world.scenario.bare_loop;
    let transcript = Arc::new(messages(&setup.context.messages).map_err(|error| anyhow!(error))?);
    let mut context = AgentContext::new(Arc::clone(&transcript));
    context
        .system_prompt
        .clone_from(&setup.context.system_prompt);
    if let Some(keys) = &setup.context.tools {
        context = context.with_tools(tools::named(world, keys));
    }
    if setup
        .signal
        .as_ref()
        .is_some_and(|signal| signal == "aborted")
    {
        world.signal.cancel();
    }
    let config = loop_config(world)?;
    let prompts = messages(&setup.prompts).map_err(|error| anyhow!(error))?;
    let stream = match setup.function.as_str() {
        "agentLoopContinue" => agent_loop_continue(context, config),
        _ => Ok(agent_loop(prompts, context, config)),
    };
    let mut noted = json!({ "k": "action", "id": "a0", "do": setup.function, "at": "ok" });
    let mut outcome: Option<RunOutcome> = None;
    match stream {
        Err(error) => {
            noted["at"] = "error".into();
            noted["error"] = error.to_string().into();
        }
        Ok(mut stream) => {
            while let Some(event) = stream.next().await {
                let event = to_value(&event);
                world.note(json!({ "k": "event", "event": event }));
                set_off_triggers(world, &event);
            }
            outcome = stream.into_outcome();
        }
    }
    world.note(noted);
    let mut after = (*transcript).clone();
    if setup.function == "agentLoopContinue" {
        // Upstream adds to the caller's list itself; here the list is the caller's own affair.
        after.extend(
            outcome
                .iter()
                .flat_map(|outcome| outcome.messages.iter().cloned()),
        );
    }
    Ok(json!({
        "result": outcome.map(|outcome| to_value(&*outcome.messages)),
        "contextMessagesAfter": to_value(&after),
        "llmCalls": world.llm_calls.load(Ordering::Relaxed),
    }))
}

fn loop_config(world: &Arc<World>) -> Result<LoopConfig> {
    let setup = &world.scenario.bare_loop.config;
    let options: StreamOptions = serde_json::from_value(Value::Object(setup.options.clone()))?;
    let provider = ScriptedModel(Arc::clone(world));
    let mut hooks = hooks::install(world, &setup.hooks);
    if let Some(lists) = &setup.get_steering_messages {
        let (polled, lists) = (AtomicUsize::new(0), lists.clone());
        let world = Arc::clone(world);
        hooks.set_steering_messages(move || {
            world.note(json!({ "k": "hook", "hook": "getSteeringMessages" }));
            let list = lists.get(polled.fetch_add(1, Ordering::Relaxed)).cloned();
            std::future::ready(messages(&list.unwrap_or_default()))
        });
    }
    if let Some(lists) = &setup.get_follow_up_messages {
        let (polled, lists) = (AtomicUsize::new(0), lists.clone());
        let world = Arc::clone(world);
        hooks.set_follow_up_messages(move || {
            world.note(json!({ "k": "hook", "hook": "getFollowUpMessages" }));
            let list = lists.get(polled.fetch_add(1, Ordering::Relaxed)).cloned();
            std::future::ready(messages(&list.unwrap_or_default()))
        });
    }
    let mut config = LoopConfig::new(provider, model(world, setup.model.as_ref())?)
        .with_options(options)
        .with_hooks(hooks)
        .with_abort(world.signal.clone());
    if let Some(mode) = &setup.tool_execution {
        config = config.with_tool_execution(mode.as_str().into());
    }
    Ok(config)
}
