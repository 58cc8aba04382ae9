//! What happens between the user and the agent.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::{Agent, AgentError, RunEnd, RunOutcome, Running, Subscription};
use pi_core::{AgentEvent, AgentMessage, CancellationToken, ImageContent, ThinkingLevel, Usage};
use tokio::sync::mpsc::Receiver;

use super::command::{Command, HELP, parse};
use super::editor::{Editor, Input};
use super::questions::{InTalk, Open};
use super::screen::Screen;
use crate::approve::Answer;
use crate::args::Args;
use crate::backend::{self, Backend};
use crate::conversation::{self, Conversation, Say};
use crate::exit::Exit;
use crate::hint::Asked;
use crate::models::{Models, tokens};
use crate::render::{Render, dollars, on_screen, usage_line};
use crate::run::{Inputs, message, said};
use crate::session;
use crate::terminal::{Colours, compact, complaint};

const LEAVE: &str = "Ctrl-C again, Ctrl-D or /quit ends the talk";

/// Returns true if nothing was asked and a person can be talked to.
pub(crate) fn is_wanted(args: &Args) -> bool {
    let person = io::stdin().is_terminal() && io::stdout().is_terminal();
    args.prompt.is_empty() && person && args.json.is_none() && !args.print
}

/// Talks until the user has enough.
///
/// # Errors
/// If the terminal cannot be used, or the last conversation cannot be read.
pub(crate) async fn talk(
    args: &Args,
    inputs: Inputs,
    backend: Backend,
    terminated: CancellationToken,
) -> anyhow::Result<Exit> {
    let state = session::state_dir(|name| std::env::var_os(name)).filter(|_| !args.no_session);
    let editor = Editor::start(state.map(|state| state.join("history")))?;
    let screen = editor.screen.clone();
    let say: Say = Arc::new(move |line: &str| screen.say(line));
    let Backend {
        provider,
        model,
        asked,
        notice,
    } = backend;
    say(&format!(
        "pi {}, model {}; /help tells the commands",
        env!("CARGO_PKG_VERSION"),
        model.id
    ));
    if let Some(notice) = notice {
        say(notice);
    }
    let Inputs {
        tools,
        system,
        images,
        models,
    } = inputs;
    let (asker, questions) = InTalk::new();
    let asker = Box::new(asker);
    let conversation = conversation::begin(args, tools, system, provider, model, asker, &say)?;
    let mut talk = Talk {
        args,
        models,
        images,
        conversation,
        questions,
        open: None,
        asked,
        wanted: args.thinking.map(ThinkingLevel::from),
        editor,
        say,
        colours: Colours::of(&io::stdout()),
        terminated,
        asked_to_leave: false,
    };
    talk.recall();
    while talk.next().await == Flow::GoOn {}
    talk.conversation.end().await;
    Ok(Exit::Done)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoOn,
    Quit,
}

struct Talk<'a> {
    args: &'a Args,
    models: Models,
    /// Images that go with the next prompt.
    images: Vec<ImageContent>,
    conversation: Conversation,
    questions: Receiver<Open>,
    /// The question that the next line answers.
    open: Option<Open>,
    asked: Asked,
    /// The level that the user wants, whatever the model offers.
    wanted: Option<ThinkingLevel>,
    editor: Editor,
    say: Say,
    colours: Colours,
    terminated: CancellationToken,
    asked_to_leave: bool,
}

impl Talk<'_> {
    fn agent(&self) -> &Agent {
        &self.conversation.agent
    }

    fn note(&self, text: &str) {
        (self.say)(&self.colours.dim(text));
    }

    /// Tells what was said last in a conversation that is gone on with.
    fn recall(&self) {
        let messages = self.agent().messages();
        let last = messages.iter().rev().find_map(|message| match message {
            AgentMessage::User(message) => Some(message.content.text().into_owned()),
            _ => None,
        });
        if let Some(last) = last {
            let count = messages.len();
            self.note(&format!(
                "going on with {count} messages; you said last: {}",
                compact(&last)
            ));
        }
    }

    /// Does what the user wants next.
    async fn next(&mut self) -> Flow {
        let input = tokio::select! {
            biased;
            () = self.terminated.cancelled() => return Flow::Quit,
            input = self.editor.inputs.recv() => input.unwrap_or(Input::End),
        };
        let line = match input {
            Input::End => return Flow::Quit,
            Input::Interrupt { at_empty_line } => return self.interrupted(at_empty_line),
            Input::Line(line) => line,
        };
        self.asked_to_leave = false;
        match parse(&line) {
            Command::Say(text) => {
                let images = std::mem::take(&mut self.images);
                let prompt = self.agent().prompt(message(text.into_owned(), images));
                self.run(prompt, true).await
            }
            Command::Abort => {
                self.note("nothing is on its way");
                Flow::GoOn
            }
            command => self.command(command).await,
        }
    }

    fn interrupted(&mut self, at_empty_line: bool) -> Flow {
        if !at_empty_line {
            self.asked_to_leave = false;
            return Flow::GoOn;
        }
        if std::mem::replace(&mut self.asked_to_leave, true) {
            return Flow::Quit;
        }
        self.note(LEAVE);
        Flow::GoOn
    }

    /// Follows a run, and those that queued messages begin, to the end.
    async fn run(&mut self, mut running: Running, mut is_typed: bool) -> Flow {
        loop {
            let (outcome, flow) = self.follow(running, is_typed).await;
            let is_done = match outcome {
                Ok(outcome) => self.conclude(&outcome),
                Err(error) => {
                    (self.say)(&complaint(self.colours, &error.to_string(), None));
                    false
                }
            };
            let is_queued = self.agent().has_queued_messages();
            if flow == Flow::Quit {
                return flow;
            }
            if !is_queued {
                return Flow::GoOn;
            }
            if !is_done {
                self.note("what is queued goes in with your next prompt");
                return Flow::GoOn;
            }
            // It was typed when the run was over already.
            running = self.agent().continue_run();
            is_typed = false;
        }
    }

    /// Follows one run, and listens to the user meanwhile.
    async fn follow(
        &mut self,
        mut running: Running,
        is_typed: bool,
    ) -> (Result<RunOutcome, AgentError>, Flow) {
        let render = Arc::new(Mutex::new(on_screen(self.editor.screen.clone())));
        let _showing = show(
            self.agent(),
            &render,
            self.editor.screen.clone(),
            self.colours,
            is_typed,
        );
        self.editor.is_busy.store(true, Ordering::Relaxed);
        let mut flow = Flow::GoOn;
        let outcome = loop {
            let input = tokio::select! {
                biased;
                outcome = &mut running => break outcome,
                Some(question) = self.questions.recv() => {
                    self.ask(question);
                    continue;
                }
                () = self.terminated.cancelled(), if flow == Flow::GoOn => Input::End,
                input = self.editor.inputs.recv(), if flow == Flow::GoOn => {
                    input.unwrap_or(Input::End)
                }
            };
            flow = self.meanwhile(input).await;
            if flow == Flow::Quit {
                self.agent().abort();
            }
        };
        self.open = None;
        self.editor.is_busy.store(false, Ordering::Relaxed);
        if let Ok(outcome) = &outcome {
            render
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .finish(outcome);
        }
        (outcome, flow)
    }

    /// Shows a question; the next line that is no command answers it.
    fn ask(&mut self, open: Open) {
        (self.say)(&open.question.lines(self.colours));
        (self.say)(&open.question.choice());
        self.open = Some(open);
    }

    /// Takes a line as the answer to the open question, if there is one.
    fn answered(&mut self, line: &str) -> bool {
        let Some(open) = self.open.take_if(|open| !open.is_taken_back()) else {
            return false;
        };
        match Answer::read(line) {
            Some(answer) => open.answer(answer),
            None => self.ask(open),
        }
        true
    }

    /// Does what the user wants while a run is on.
    async fn meanwhile(&mut self, input: Input) -> Flow {
        let line = match input {
            Input::End => return Flow::Quit,
            Input::Interrupt { .. } => {
                self.agent().abort();
                return Flow::GoOn;
            }
            Input::Line(line) => line,
        };
        match parse(&line) {
            Command::Say(text) if self.answered(&text) => Flow::GoOn,
            Command::Nothing if self.answered("") => Flow::GoOn,
            Command::Say(text) => {
                let queued = self
                    .agent()
                    .steer(message(text.clone().into_owned(), Vec::new()));
                match queued {
                    Ok(()) => self.note(&format!("queued: {}", compact(&text))),
                    Err(error) => {
                        (self.say)(&complaint(self.colours, &error.to_string(), None));
                    }
                }
                Flow::GoOn
            }
            Command::Abort => {
                self.agent().abort();
                Flow::GoOn
            }
            command => self.command(command).await,
        }
    }

    /// Does what can be done at any time.
    async fn command(&mut self, command: Command<'_>) -> Flow {
        match command {
            Command::Quit => return Flow::Quit,
            Command::Help => self.note(HELP),
            Command::Cost => self.note(&cost(&self.agent().messages())),
            Command::Model(None) => self.note(&self.model()),
            Command::Model(Some(name)) => self.change_model(name).await,
            Command::Thinking(None) => self.note(&self.levels()),
            Command::Thinking(Some(level)) => self.change_thinking(level),
            Command::Unknown(line) => self.note(&format!(
                "there is no command {}; /help tells those that are there",
                compact(line)
            )),
            Command::Nothing | Command::Say(_) | Command::Abort => {}
        }
        Flow::GoOn
    }

    async fn change_model(&mut self, name: &str) {
        let backend = match backend::choose(self.args, &self.models, Some(name)).await {
            Ok(backend) => backend,
            Err(error) => {
                return (self.say)(&complaint(self.colours, &format!("{error:#}"), None));
            }
        };
        let level = conversation::thinking(self.wanted.clone(), &backend.model, &self.say);
        let agent = self.agent();
        agent.set_provider(backend.provider);
        agent.set_model(backend.model);
        agent.set_thinking_level(level);
        self.asked = backend.asked;
        self.note(&self.model());
    }

    fn change_thinking(&mut self, name: &str) {
        let level = ThinkingLevel::from(name.to_lowercase().as_str());
        let state = self.agent().state();
        let Some(model) = state
            .model
            .filter(|_| !matches!(level, ThinkingLevel::Other(_)))
        else {
            return self.note(&self.levels());
        };
        self.wanted = Some(level.clone());
        let level = conversation::thinking(Some(level), &model, &self.say);
        self.agent().set_thinking_level(level);
        self.note(&self.levels());
    }

    /// Describes the model.
    fn model(&self) -> String {
        let Some(model) = self.agent().state().model else {
            return "no model".to_owned();
        };
        let mut text = format!("model {}/{}", model.provider, model.id);
        if model.context_window > 0 {
            text.push_str(&format!(", context {}", tokens(model.context_window)));
        }
        if model.cost.input > 0.0 || model.cost.output > 0.0 {
            let (input, output) = (model.cost.input, model.cost.output);
            text.push_str(&format!(
                ", ${input:.2} in and ${output:.2} out for a million tokens"
            ));
        }
        text
    }

    /// Tells how much the model thinks, and could.
    fn levels(&self) -> String {
        let state = self.agent().state();
        let levels = state.model.map(|model| model.thinking_levels());
        let levels = levels.unwrap_or_default();
        let levels: Vec<&str> = levels.iter().map(ThinkingLevel::as_str).collect();
        format!(
            "thinking {}; this model offers {}",
            state.thinking_level.as_str(),
            levels.join(", ")
        )
    }

    /// Tells how a run ended, and returns true if it came to its natural end.
    fn conclude(&self, outcome: &RunOutcome) -> bool {
        match &outcome.end {
            RunEnd::Completed | RunEnd::Stopped => return true,
            RunEnd::Aborted => self.note("aborted"),
            RunEnd::Failed(error) => {
                let hint = self.asked.hint(error);
                (self.say)(&complaint(self.colours, said(error), hint.as_deref()));
            }
            _ => {}
        }
        false
    }
}

/// Shows the events of a run. The user's own messages are repeated where they go in, apart from the
/// prompt, which is there already.
fn show(
    agent: &Agent,
    render: &Arc<Mutex<Box<dyn Render>>>,
    screen: Screen,
    colours: Colours,
    is_typed: bool,
) -> Subscription {
    let render = Arc::clone(render);
    let prompt = Mutex::new(is_typed);
    agent.subscribe(move |event| {
        if let AgentEvent::MessageStart {
            message: AgentMessage::User(message),
        } = event
        {
            let mut prompt = prompt.lock().unwrap_or_else(PoisonError::into_inner);
            if !std::mem::take(&mut *prompt) {
                let line = format!("> {}", compact(&message.content.text()));
                screen.say(&colours.cyan(&line));
            }
        }
        render
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .event(event);
    })
}

/// Tells what a conversation has used.
fn cost(messages: &[AgentMessage]) -> String {
    let mut usage = Usage::default();
    let replies = messages.iter().filter_map(AgentMessage::as_assistant);
    replies.for_each(|reply| usage.add(&reply.usage));
    match usage_line(&usage) {
        None => "no usage was told so far".to_owned(),
        Some(line) if usage.cost.usd() > 0.0 => {
            let tokens = line
                .rsplit_once(", ")
                .map_or(line.as_str(), |(tokens, _)| tokens);
            format!("{} for {tokens}", dollars(usage.cost.usd()))
        }
        Some(line) => format!("{line}; the price of the model is not known, or nothing"),
    }
}
