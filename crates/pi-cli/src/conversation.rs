//! The agent of a conversation, and what is kept of it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use pi_agent::{Agent, Subscription, SystemClock};
use pi_core::{AgentEvent, AgentMessage, Clock as _, Model, Provider, ThinkingLevel};

use crate::approve::{Approver, Asker};
use crate::args::{Args, Tools};
use crate::exit::usage;
use crate::session::{self, Session};
use crate::tools::Toolbox;

/// Where a line for the user goes that is no part of an answer.
pub(crate) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// A conversation that has begun.
pub(crate) struct Conversation {
    pub(crate) agent: Agent,
    tools: Toolbox,
    /// Writes every message to disk for as long as it lives.
    _keeping: Option<Subscription>,
}

impl Conversation {
    /// Ends what its commands left running.
    ///
    /// # Cancel safety
    /// What is not ended yet is ended by force when the conversation is dropped.
    pub(crate) async fn end(&self) {
        self.tools.shutdown().await;
    }
}

/// Makes the agent, with the messages of the last conversation if it is gone on with.
///
/// # Errors
/// If that conversation cannot be read.
pub(crate) fn begin(
    args: &Args,
    tools: Toolbox,
    system: String,
    provider: Box<dyn Provider>,
    model: Model,
    asker: Box<dyn Asker>,
    say: &Say,
) -> anyhow::Result<Conversation> {
    let opened = open(args, tools.folder(), say)?;
    let (session, messages) = opened.unzip();
    let level = thinking(args.thinking.map(ThinkingLevel::from), &model, say);
    let builder = Agent::builder(provider, model)
        .system_prompt(system)
        .thinking_level(level)
        .messages(messages.unwrap_or_default())
        .tools(tools.tools());
    let builder = if args.yes {
        builder
    } else {
        let approver = Arc::new(Approver::new(asker, Arc::clone(say)));
        builder.before_tool_call(move |call| {
            let approver = Arc::clone(&approver);
            async move { approver.decide(&call).await }
        })
    };
    let agent = builder.build();
    let keeping = session.map(|session| keep(&agent, session, Arc::clone(say)));
    Ok(Conversation {
        agent,
        tools,
        _keeping: keeping,
    })
}

/// Returns the level that the model offers for the wanted one, and says if they differ.
pub(crate) fn thinking(wanted: Option<ThinkingLevel>, model: &Model, say: &Say) -> ThinkingLevel {
    let Some(wanted) = wanted else {
        return model.clamp_thinking(&ThinkingLevel::Off);
    };
    let level = model.clamp_thinking(&wanted);
    if level != wanted {
        let (id, wanted) = (&model.id, wanted.as_str());
        say(&match level {
            ThinkingLevel::Off => {
                format!("note: {id} is not known to think; --thinking has no effect")
            }
            _ => format!(
                "note: {id} does not offer {wanted}; it thinks at {}",
                level.as_str()
            ),
        });
    }
    level
}

/// Returns the system prompt: that of the command line, perhaps from a file, or the usual one.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn system_prompt(args: &Args, folder: &Path) -> anyhow::Result<String> {
    match args
        .system
        .as_deref()
        .map(|text| (text, text.strip_prefix('@')))
    {
        Some((_, Some(file))) => std::fs::read_to_string(file)
            .map_err(|error| usage(format!("cannot read {file} of --system: {error}"))),
        Some((text, None)) => Ok(text.to_owned()),
        None => Ok(match args.tools {
            Tools::None => "You are a helpful assistant. Answer briefly.".to_owned(),
            Tools::ReadOnly => format!(
                "You are a helpful assistant. Answer briefly. You work in the folder {}. Look at \
                 files with your tools before you say something about them.",
                folder.display()
            ),
            Tools::Coding => format!(
                "You are a helpful programmer. Answer briefly. You work in the folder {}. Look at \
                 files with your tools before you say something about them or change them. Change \
                 them with your tools, and check what you did.",
                folder.display()
            ),
        }),
    }
}

/// Opens the conversation that is kept; `None` if none is.
fn open(
    args: &Args,
    folder: &Path,
    say: &Say,
) -> anyhow::Result<Option<(Session, Vec<AgentMessage>)>> {
    let state = session::state_dir(|name| std::env::var_os(name));
    let Some(state) = state.filter(|_| !args.no_session || args.resume) else {
        if args.resume {
            anyhow::bail!("no folder for conversations is known: set PI_STATE_DIR");
        }
        return Ok(None);
    };
    let sessions = session::folder_of(&state, folder);
    let now = SystemClock.now();
    if args.resume {
        let resumed =
            Session::resume(&sessions, now).context("cannot go on with the last conversation")?;
        match resumed {
            Some(resumed) => {
                for report in &resumed.reports {
                    say(&format!("note: {report}"));
                }
                return Ok(Some((resumed.session, resumed.messages)));
            }
            None => say("note: this folder has no conversation yet; a new one begins"),
        }
    }
    Ok(Some((Session::new(&sessions, now), Vec::new())))
}

/// Writes each message when it is complete. An answer that cannot be kept is still an answer.
fn keep(agent: &Agent, session: Session, say: Say) -> Subscription {
    let session = Mutex::new(session);
    agent.subscribe(move |event| {
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            AgentEvent::MessageEnd { message } => {
                if let Err(error) = session.append(message) {
                    let path = session.path().display();
                    say(&format!(
                        "note: the conversation is not kept any more, {path} cannot be written: {error}"
                    ));
                }
            }
            AgentEvent::AgentEnd { .. } => session.sync(),
            _ => {}
        }
    })
}
