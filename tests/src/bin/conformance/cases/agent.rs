//! Layer `agent`: the agent against a scripted model.

mod answers;
mod facts;
mod tools;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use pi_agent::{Agent, QueueMode};
use pi_core::{AgentMessage, AssistantMessage, Message, Model, TextContent, UserMessage};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::model::Target;
use super::{Case, Findings, invariants, replay};
use answers::{Answer, Answers};
use facts::Played;
use integration_tests::apis;

/// How long one step may take, in the time of the run.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) async fn run(case: &Case) -> Result<Findings> {
    let scenario = case.json("scenario.json")?;
    let mut findings = Findings::default();
    let api = scenario
        .get("api")
        .and_then(Value::as_str)
        .unwrap_or("any scripted model");
    if api != "any scripted model" && apis::find(api).is_none() {
        findings.cannot(format!("the api {api}"));
        return Ok(findings);
    }
    for run in runs(case, &scenario)? {
        let name = run.name.clone();
        let played = tokio::task::spawn_blocking(move || on_paused_clock(run)).await;
        let played = match played.map_err(|error| anyhow!("the code under test: {error}"))? {
            Ok(played) => played,
            Err(error) => {
                findings.cannot(format!("{error:#}"));
                continue;
            }
        };
        let expected = match &name {
            Some(name) => case.expected_of(name)?,
            None => &case.expected,
        };
        let mut expected = expected.clone();
        for (key, seen) in &played.checks {
            let wanted = expected
                .as_object_mut()
                .and_then(|all| all.shift_remove(key));
            findings.compare(key, &wanted.with_context(|| format!("no {key}"))?, seen);
        }
        findings.compare(name.as_deref().unwrap_or("run"), &expected, &played.last);
        for sentence in case.invariants() {
            check_sentence(sentence, api, &played, &mut findings).await?;
        }
    }
    Ok(findings)
}

async fn check_sentence(
    sentence: &str,
    api: &str,
    played: &Played,
    findings: &mut Findings,
) -> Result<()> {
    let unknown = format!("the sentence \"{sentence}\"");
    if !sentence.contains("the second request") || apis::find(api).is_none() {
        findings.cannot(unknown);
        return Ok(());
    }
    let messages = played
        .requests
        .get(1)
        .cloned()
        .context("there was no second request")?;
    let body = replay::body(
        &Target {
            api,
            ..Target::default()
        },
        messages,
    )
    .await?;
    match invariants::of_body(sentence, &body) {
        Some(Ok(())) => {}
        Some(Err(text)) => findings.differ(text),
        None => findings.cannot(unknown),
    }
    Ok(())
}

/// One run of a scenario.
struct Run {
    name: Option<String>,
    answers: Vec<Answer>,
    repeat_last: bool,
    tools: Vec<Value>,
    history: Vec<AgentMessage>,
    all_steering: bool,
    steps: Vec<Value>,
    model: Model,
}

/// Lists the runs: those that are named, one for each first answer, or a single one.
fn runs(case: &Case, scenario: &Value) -> Result<Vec<Run>> {
    if let Some(named) = scenario.get("runs").and_then(Value::as_array) {
        return named
            .iter()
            .map(|run| read_run(case, scenario, run, None))
            .collect();
    }
    let Some(sentence) = scenario.get("firstAnswer").and_then(Value::as_str) else {
        return Ok(vec![read_run(case, scenario, &Value::Null, None)?]);
    };
    let second = scenario
        .get("secondAnswer")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let listed = sentence
        .strip_prefix("each of ")
        .and_then(|rest| rest.strip_suffix(" in turn"));
    let files: Vec<String> = match listed {
        Some("the other .sse files") => {
            let all = integration_tests::stored::files_below(&case.folder, &|name| {
                name.ends_with(".sse") && name != second
            })?;
            all.iter()
                .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
                .collect()
        }
        Some(names) => names.split(", ").map(str::to_owned).collect(),
        None => bail!("the sentence \"{sentence}\" is not known"),
    };
    files
        .iter()
        .map(|file| read_run(case, scenario, &Value::Null, Some(file)))
        .collect()
}

fn read_run(case: &Case, scenario: &Value, run: &Value, first: Option<&str>) -> Result<Run> {
    let field = |key: &str| run.get(key).or(scenario.get(key));
    let list = |key: &str| {
        field(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let api = field("api").and_then(Value::as_str).unwrap_or("scripted");
    let target = Target {
        api,
        ..Target::default()
    };
    let answers = match first {
        Some(first) => {
            let second = field("secondAnswer").cloned().context("no second answer")?;
            vec![Value::from(first), second]
        }
        None => list("answers"),
    };
    let answers = answers.iter().map(|answer| Answer::read(case, api, answer));
    let steps = match field("prompt") {
        Some(prompt) => vec![serde_json::json!({ "prompt": prompt })],
        None => list("do"),
    };
    let name = run
        .get("name")
        .and_then(Value::as_str)
        .or(first)
        .map(str::to_owned);
    Ok(Run {
        name,
        answers: answers.collect::<Result<_>>()?,
        repeat_last: field("repeatLast").and_then(Value::as_bool).unwrap_or(true),
        tools: list("tools"),
        history: list("history")
            .iter()
            .map(stored_message)
            .collect::<Result<_>>()?,
        all_steering: field("steeringMode").is_some_and(|mode| mode == "all"),
        steps,
        model: target.model("127.0.0.1")?,
    })
}

fn stored_message(message: &Value) -> Result<AgentMessage> {
    let text = message
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match message.get("role").and_then(Value::as_str) {
        Some("user") => Ok(UserMessage::new(text, 1).into()),
        Some("assistant") => {
            let mut reply = AssistantMessage::empty(&Model::default(), 1);
            reply.content.push(TextContent::new(text).into());
            Ok(reply.into())
        }
        other => bail!("a stored message of role {other:?} is not known"),
    }
}

fn on_paused_clock(run: Run) -> Result<Played> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(play(run))
}

/// What the steps of a run share.
#[derive(Default)]
struct Stage {
    agent_ends: usize,
    aborted_at: Option<Instant>,
}

type SharedStage = Arc<Mutex<Stage>>;

async fn play(run: Run) -> Result<Played> {
    let answers = Answers::new(run.answers, run.repeat_last);
    let counter = tools::Runs::default();
    let tools = run.tools.iter().map(|tool| tools::make(tool, &counter));
    let mode = if run.all_steering {
        QueueMode::All
    } else {
        QueueMode::OneAtATime
    };
    let agent = Agent::builder(answers.clone(), run.model)
        .tools(tools.collect::<Result<Vec<_>>>()?)
        .messages(run.history)
        .steering_mode(mode)
        .build();
    let stage = SharedStage::default();
    arm(&agent, &stage, &run.steps)?;

    let mut played = Played::default();
    let mut facts = facts::Facts {
        agent: &agent,
        answers: &answers,
        counter: &counter,
        error: None,
    };
    let mut idle_at = Instant::now();
    for step in run.steps.iter().filter(|step| step.get("when").is_none()) {
        facts.error = perform(&agent, step).await?;
        if step.get("prompt").is_some() {
            idle_at = Instant::now();
        }
        if let Some(key) = step.get("check").and_then(Value::as_str) {
            let seen = staged(facts.collect(), &stage, idle_at);
            played.checks.push((key.to_owned(), seen));
        }
    }
    played.last = staged(facts.collect(), &stage, idle_at);
    for (key, _) in &played.checks {
        played.last.insert(key.clone(), Value::Null);
    }
    played.requests = answers.requests();
    Ok(played)
}

/// Adds what only the steps know.
fn staged(
    mut facts: Map<String, Value>,
    stage: &SharedStage,
    idle_at: Instant,
) -> Map<String, Value> {
    let stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
    facts.insert("agentEndEvents".to_owned(), stage.agent_ends.into());
    let waited = stage
        .aborted_at
        .map(|aborted_at| idle_at.duration_since(aborted_at).as_millis());
    let waited = waited.and_then(|millis| u64::try_from(millis).ok());
    facts.insert("msAfterAbort".to_owned(), waited.into());
    facts
}

/// Performs a step of the caller; returns the text of its error.
async fn perform(agent: &Agent, step: &Value) -> Result<Option<String>> {
    let fields = step.as_object().context("a step is no object")?;
    let (what, value) = fields.iter().next().context("a step is empty")?;
    let text = || value.as_str().unwrap_or_default().to_owned();
    let running = match what.as_str() {
        "prompt" => agent.prompt(text()),
        "continue" => agent.continue_run(),
        "continueOrPrompt" => {
            let continued = tokio::time::timeout(LIMIT, agent.continue_run()).await;
            match continued.context("no end in time")? {
                Ok(_) => return Ok(None),
                Err(_) => agent.prompt(text()),
            }
        }
        "waitForIdle" => {
            agent.wait_for_idle().await;
            return Ok(None);
        }
        "check" => return Ok(None),
        other => {
            act(agent, other, &text())?;
            return Ok(None);
        }
    };
    let ended = tokio::time::timeout(LIMIT, running)
        .await
        .context("no end in time")?;
    Ok(ended.err().map(|error| error.to_string()))
}

fn act(agent: &Agent, what: &str, text: &str) -> Result<()> {
    let message = UserMessage::new(text, 1);
    match what {
        "steer" => agent.steer(message)?,
        "followUp" => agent.follow_up(message)?,
        "abort" => agent.abort(),
        other => bail!("the step {other} is not known"),
    }
    Ok(())
}

/// Arms the steps that wait for an event.
fn arm(agent: &Agent, stage: &SharedStage, steps: &[Value]) -> Result<()> {
    let mut armed = Vec::<Armed>::new();
    for step in steps {
        let Some(when) = step.get("when").and_then(Value::as_str) else {
            continue;
        };
        let action = step
            .as_object()
            .into_iter()
            .flatten()
            .find(|(key, _)| *key != "when");
        let (what, value) = action.context("a step without action")?;
        let action = (what.clone(), value.as_str().unwrap_or_default().to_owned());
        if let Some(delay) = when.strip_suffix(" ms later") {
            let before = armed.last_mut().context("nothing acts before it")?;
            before
                .later
                .push((Duration::from_millis(delay.parse()?), action));
        } else {
            let event = when.strip_prefix("first ").unwrap_or(when);
            if event.contains(' ') {
                bail!("the moment \"{when}\" is not known");
            }
            armed.push(Armed {
                event: event.to_owned(),
                action,
                later: Vec::new(),
                acted: false,
            });
        }
    }
    let (inside, stage, armed) = (agent.clone(), Arc::clone(stage), Mutex::new(armed));
    let subscription = agent.subscribe(move |event| {
        if event.type_name() == "agent_end" {
            stage
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .agent_ends += 1;
        }
        let mut armed = armed.lock().unwrap_or_else(PoisonError::into_inner);
        for step in armed
            .iter_mut()
            .filter(|step| step.event == event.type_name())
        {
            if !std::mem::replace(&mut step.acted, true) {
                step.set_off(&inside, &stage);
            }
        }
    });
    subscription.detach();
    Ok(())
}

type NamedAction = (String, String);

/// A step that acts at an event, once, and those that follow it.
struct Armed {
    event: String,
    action: NamedAction,
    later: Vec<(Duration, NamedAction)>,
    acted: bool,
}

impl Armed {
    fn set_off(&self, agent: &Agent, stage: &SharedStage) {
        act_on_stage(agent, stage, &self.action);
        let (agent, stage, later) = (agent.clone(), Arc::clone(stage), self.later.clone());
        tokio::spawn(async move {
            for (delay, action) in later {
                tokio::time::sleep(delay).await;
                act_on_stage(&agent, &stage, &action);
            }
        });
    }
}

fn act_on_stage(agent: &Agent, stage: &SharedStage, (what, text): &NamedAction) {
    if what == "abort" {
        let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
        stage.aborted_at = Some(Instant::now());
    }
    // A refused action shows in what is compared: its message is missing.
    let _ = act(agent, what, text);
}

/// Returns the messages of a request, or of a transcript, that the model sees.
fn texts(messages: &[Message]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::User(message) => Some(message.content.text().into_owned()),
        Message::Assistant(message) => Some(message.text()),
        _ => None,
    });
    texts.collect()
}
