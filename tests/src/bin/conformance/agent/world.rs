//! What the parts of a played scenario share: the log, the gates, and the caller's hands.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use pi_agent::{Agent, Prompt, QueueMode, Subscription};
use pi_core::{AgentMessage, BoxFuture, CancellationToken, ImageContent};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::scenario::{Action, Kind, Scenario};
use super::{hooks, play, state, tools};

/// How long an awaited action may take before it counts as hanging, in milliseconds.
const HANG_MS: u64 = 3000;

/// A scenario on stage.
pub(super) struct World {
    pub(super) scenario: Scenario,
    /// The agent; only in scenarios of that kind, once it is made.
    pub(super) agent: OnceLock<Agent>,
    /// The signal of the bare loop.
    pub(super) signal: CancellationToken,
    pub(super) llm_calls: AtomicUsize,
    pub(super) concurrency: Concurrency,
    pub(super) subscriptions: Mutex<HashMap<String, Subscription>>,
    log: Mutex<Vec<Value>>,
    /// A gate is open once its token is cancelled.
    gates: Mutex<HashMap<String, CancellationToken>>,
    counts: Mutex<HashMap<String, usize>>,
}

/// How many tools run at the same time.
#[derive(Default)]
pub(super) struct Concurrency {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Concurrency {
    pub(super) fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    pub(super) fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

/// What becomes of an action that is waited for.
type Settling = BoxFuture<'static, Result<(), String>>;

impl World {
    pub(super) fn new(scenario: Scenario) -> Arc<Self> {
        Arc::new(Self {
            scenario,
            agent: OnceLock::new(),
            signal: CancellationToken::new(),
            llm_calls: AtomicUsize::new(0),
            concurrency: Concurrency::default(),
            subscriptions: Mutex::default(),
            log: Mutex::default(),
            gates: Mutex::default(),
            counts: Mutex::default(),
        })
    }

    pub(super) fn note(&self, entry: Value) {
        lock(&self.log).push(entry);
    }

    pub(super) fn take_log(&self) -> Vec<Value> {
        std::mem::take(&mut *lock(&self.log))
    }

    /// Counts a call of something; the first call is number 1.
    pub(super) fn count(&self, what: &str) -> usize {
        let mut counts = lock(&self.counts);
        let count = counts.entry(what.to_owned()).or_default();
        *count += 1;
        *count
    }

    pub(super) fn gate(&self, name: &str) -> CancellationToken {
        lock(&self.gates)
            .entry(name.to_owned())
            .or_default()
            .clone()
    }

    /// Says how a token looks to a tool or a hook.
    pub(super) fn signal_word(&self, token: &CancellationToken) -> &'static str {
        let has_none = self.scenario.kind == Kind::Loop && self.scenario.bare_loop.signal.is_none();
        match (token.is_cancelled(), has_none) {
            (true, _) => "aborted",
            (false, true) => "none",
            (false, false) => "live",
        }
    }

    /// Performs actions from inside a run; nothing is waited for.
    pub(super) fn act(self: &Arc<Self>, actions: &[Action], id: &str) {
        for action in actions {
            if let Some(settling) = self.begin(action, id) {
                let mut rest = self
                    .clone()
                    .settle(action.clone(), id.to_owned(), settling, None);
                if rest.as_mut().now_or_never().is_none() {
                    tokio::spawn(rest);
                }
            }
        }
    }

    /// Performs an action of the list, and waits for it.
    pub(super) async fn perform(
        self: &Arc<Self>,
        action: &Action,
        id: &str,
        background: &mut Vec<tokio::task::JoinHandle<()>>,
    ) {
        if action.what == "join" {
            for handle in background.drain(..) {
                // A panic of the code under test was reported by its own entry.
                let _ = handle.await;
            }
            return;
        }
        let Some(settling) = self.begin(action, id) else {
            return;
        };
        let hang = self.scenario.hang_ms.unwrap_or(HANG_MS);
        let hang = (!action.background).then_some(hang);
        let mut rest = self
            .clone()
            .settle(action.clone(), id.to_owned(), settling, hang);
        if !action.background {
            rest.await;
        } else if rest.as_mut().now_or_never().is_none() {
            background.push(tokio::spawn(rest));
        }
    }

    /// Waits for an action and notes what becomes of it.
    fn settle(
        self: Arc<Self>,
        action: Action,
        id: String,
        mut settling: Settling,
        hang_ms: Option<u64>,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let settled = match hang_ms {
                None => settling.await,
                Some(limit) => {
                    match tokio::time::timeout(Duration::from_millis(limit), &mut settling).await {
                        Ok(settled) => settled,
                        Err(_) => {
                            self.note(entry(&id, &action.what, "hang"));
                            tokio::spawn(settling);
                            return;
                        }
                    }
                }
            };
            if action.what == "sleep" {
                return;
            }
            let mut noted = entry(&id, &action.what, "ok");
            if let Err(error) = settled {
                noted["at"] = "error".into();
                noted["error"] = error.into();
            }
            if let Some(agent) = self.agent.get() {
                noted["state"] = state::seen(agent);
            }
            self.note(noted);
        })
    }

    /// Does what an action does at once; returns what it has to wait for.
    fn begin(self: &Arc<Self>, action: &Action, id: &str) -> Option<Settling> {
        let what = action.what.as_str();
        if what == "inspect" {
            if let Some(agent) = self.agent.get() {
                self.note(state::inspected(agent, id));
            }
            return None;
        }
        if what == "sleep" {
            let duration = Duration::from_millis(action.ms);
            return Some(Box::pin(tokio::time::sleep(duration).map(Ok)));
        }
        if let Some(settling) = self.begin_waiting(action) {
            self.note(entry(id, what, "call"));
            return Some(settling);
        }
        let mut noted = entry(id, what, "done");
        if let Err(error) = self.change(action) {
            noted["at"] = "error".into();
            noted["error"] = error.into();
        }
        self.note(noted);
        None
    }

    fn begin_waiting(&self, action: &Action) -> Option<Settling> {
        let agent = self.agent.get()?.clone();
        match action.what.as_str() {
            "prompt" => {
                let running = agent.prompt(prompt(action));
                Some(Box::pin(
                    running.map(|run| run.map(drop).map_err(|e| e.to_string())),
                ))
            }
            "continue" => {
                let running = agent.continue_run();
                Some(Box::pin(
                    running.map(|run| run.map(drop).map_err(|e| e.to_string())),
                ))
            }
            "waitForIdle" => Some(Box::pin(async move {
                agent.wait_for_idle().await;
                Ok(())
            })),
            _ => None,
        }
    }

    /// Performs an action that is done at once.
    fn change(self: &Arc<Self>, action: &Action) -> Result<(), String> {
        match (action.what.as_str(), self.agent.get()) {
            ("release", _) => {
                self.gate(&action.name).cancel();
                Ok(())
            }
            ("abort", None) => {
                self.signal.cancel();
                Ok(())
            }
            (_, Some(agent)) => self.change_agent(agent, action),
            (other, None) => Err(format!("the action {other} needs an agent")),
        }
    }

    fn change_agent(self: &Arc<Self>, agent: &Agent, action: &Action) -> Result<(), String> {
        let message = || read::<AgentMessage>(action.message.clone().unwrap_or_default());
        match action.what.as_str() {
            "abort" => agent.abort(),
            "steer" => agent.steer(message()?).map_err(text)?,
            "followUp" => agent.follow_up(message()?).map_err(text)?,
            "appendMessage" => agent.append_message(message()?).map_err(text)?,
            "clearSteeringQueue" => agent.clear_steering_queue(),
            "clearFollowUpQueue" => agent.clear_follow_up_queue(),
            "clearAllQueues" => agent.clear_all_queues(),
            "reset" => agent.reset().map_err(text)?,
            "clearMessages" => agent.clear_messages().map_err(text)?,
            "replaceMessages" => {
                let messages = messages(action.messages.as_deref().unwrap_or_default())?;
                agent.replace_messages(messages).map_err(text)?;
            }
            "dropLastMessage" => {
                let mut messages = agent.messages().to_vec();
                messages.pop();
                agent.replace_messages(messages).map_err(text)?;
            }
            "subscribe" => play::subscribe(self, agent, &action.listener),
            "unsubscribe" => {
                lock(&self.subscriptions).remove(&action.listener);
            }
            _ => return self.set(agent, action),
        }
        Ok(())
    }

    fn set(self: &Arc<Self>, agent: &Agent, action: &Action) -> Result<(), String> {
        let value = || action.value.clone();
        let word = || action.value.as_str().unwrap_or_default();
        match action.what.as_str() {
            "setModel" => {
                let key = action
                    .model
                    .as_deref()
                    .or(action.value.as_str())
                    .unwrap_or_default();
                let model = self.scenario.models.get(key).ok_or("no such model")?;
                agent.set_model(model.clone());
            }
            "setTools" => agent.set_tools(tools::named(self, &action.tools)),
            "setSystemPrompt" => agent.set_system_prompt(word()),
            "setThinkingLevel" => agent.set_thinking_level(word().into()),
            "setSteeringMode" => agent.set_steering_mode(queue_mode(word())),
            "setFollowUpMode" => agent.set_follow_up_mode(queue_mode(word())),
            "setToolExecution" => agent.set_tool_execution(word().into()),
            "setBeforeToolCall" => {
                agent.set_before_tool_call(hooks::before(self, read(value())?));
            }
            "setAfterToolCall" => agent.set_after_tool_call(hooks::after(self, read(value())?)),
            "setSessionId" => agent.set_session_id(read(value())?),
            "setThinkingBudgets" => agent.set_thinking_budgets(read(value())?),
            "setTransport" => agent.set_transport(word().into()),
            "setMaxRetryDelayMs" => {
                let millis: Option<u64> = read(value())?;
                agent.set_max_retry_delay(millis.map(Duration::from_millis));
            }
            other => return Err(format!("the action {other} is not known")),
        }
        Ok(())
    }
}

fn entry(id: &str, what: &str, at: &str) -> Value {
    json!({ "k": "action", "id": id, "do": what, "at": at })
}

fn prompt(action: &Action) -> Prompt {
    if let Some(list) = &action.messages {
        return messages(list).unwrap_or_default().into();
    }
    if let Some(message) = &action.message {
        return messages(std::slice::from_ref(message))
            .unwrap_or_default()
            .into();
    }
    let images = action
        .images
        .iter()
        .filter_map(|image| read::<ImageContent>(image.clone()).ok());
    Prompt::with_images(action.text.clone().unwrap_or_default(), images.collect())
}

/// Reads messages of a scenario.
pub(super) fn messages(list: &[Value]) -> Result<Vec<AgentMessage>, String> {
    list.iter().map(|message| read(message.clone())).collect()
}

pub(super) fn queue_mode(word: &str) -> QueueMode {
    if word == "all" {
        QueueMode::All
    } else {
        QueueMode::OneAtATime
    }
}

pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(text)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
