//! What the command line asks for: a list, one answer, or a talk.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use pi_agent::{Agent, Prompt, RunEnd, RunOutcome, SystemClock};
use pi_core::{
    CancellationToken, Clock as _, ImageContent, ProviderError, UserContent, UserMessage,
};

use crate::approve::OnTerminal;
use crate::args::Args;
use crate::backend::{self, Backend};
use crate::conversation::{self, Say};
use crate::exit::Exit;
use crate::hint::Asked;
use crate::models::{self, Models};
use crate::output::Output;
use crate::render::{Render, renderer};
use crate::tools::Toolbox;
use crate::{image, interactive, prompt, signals, terminal};

/// What was read before anything is asked.
pub(crate) struct Inputs {
    pub(crate) tools: Toolbox,
    pub(crate) system: String,
    pub(crate) images: Vec<ImageContent>,
    pub(crate) models: Models,
}

/// Runs what the command line asks for.
///
/// # Errors
/// What was not shown to the user yet.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(filter) = &args.list_models {
        let output = Output::stdout();
        let exit = models::list(args, filter, &output)?;
        return output.take_error().map_or(Ok(exit), reader_gone);
    }
    let tools = Toolbox::open(args)?;
    let prompt = if interactive::is_wanted(args) {
        None
    } else {
        Some(prompt::read(&args.prompt)?)
    };
    let inputs = Inputs {
        system: conversation::system_prompt(args, tools.folder())?,
        images: image::read(&args.image)?,
        models: Models::load(args.models.as_deref())?,
        tools,
    };
    // The second thread hears signals while the first one waits for the reader of its output.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let exit = runtime.block_on(start(args, inputs, prompt));
    // A read from a dead network drive may never end.
    runtime.shutdown_background();
    exit
}

async fn start(args: &Args, inputs: Inputs, prompt: Option<String>) -> anyhow::Result<Exit> {
    let interrupted = signals::interruption(inputs.tools.killer())?;
    let backend = tokio::select! {
        biased;
        () = interrupted.cancelled() => return Ok(aborted()),
        backend = backend::choose(args, &inputs.models, args.model.as_deref()) => backend,
    };
    let backend = match backend {
        Ok(backend) => backend,
        Err(error) => return cannot_ask(error, &backend::asked_first(args)),
    };
    image::check(&inputs.images, &backend.model)?;
    match prompt {
        Some(prompt) => answer(args, inputs, backend, prompt, &interrupted).await,
        None => interactive::talk(args, inputs, backend, interrupted).await,
    }
}

/// Answers one prompt.
async fn answer(
    args: &Args,
    inputs: Inputs,
    backend: Backend,
    prompt: String,
    interrupted: &CancellationToken,
) -> anyhow::Result<Exit> {
    let Backend {
        provider,
        model,
        asked,
        notice,
    } = backend;
    if let Some(notice) = notice {
        terminal::say(notice);
    }
    let say: Say = Arc::new(terminal::say);
    let Inputs {
        tools,
        system,
        images,
        ..
    } = inputs;
    let asker = Box::new(OnTerminal);
    let talk = conversation::begin(args, tools, system, provider, model, asker, &say)?;
    let output = Output::stdout();
    let prompt = message(prompt, images);
    let outcome = drive(&talk.agent, prompt, interrupted, args, &output).await;
    talk.end().await;
    let outcome = outcome?;
    if let Some(error) = output.take_error() {
        return reader_gone(error);
    }
    Ok(conclude(&outcome, &asked))
}

/// Makes the message of a prompt. Without images it is plain text: servers with a simple chat
/// template drop a prompt that is a list of parts.
pub(crate) fn message(text: String, images: Vec<ImageContent>) -> UserMessage {
    let now = SystemClock.now();
    if images.is_empty() {
        return UserMessage::new(text, now);
    }
    let mut content = vec![UserContent::text(text)];
    content.extend(images.into_iter().map(UserContent::Image));
    UserMessage::new(content, now)
}

/// Drives the run to its end, which comes early after a signal or when nobody reads the output.
async fn drive(
    agent: &Agent,
    prompt: impl Into<Prompt>,
    interrupted: &CancellationToken,
    args: &Args,
    output: &Output,
) -> anyhow::Result<RunOutcome> {
    let render = Arc::new(Mutex::new(renderer(args, output.clone())));
    let shown = Arc::clone(&render);
    let _showing = agent.subscribe(move |event| lock(&shown).event(event));
    let mut running = agent.prompt(prompt);
    let outcome = tokio::select! {
        biased;
        outcome = &mut running => outcome,
        () = stopped(interrupted, output) => {
            agent.abort();
            running.await
        }
    }?;
    lock(&render).finish(&outcome);
    Ok(outcome)
}

async fn stopped(interrupted: &CancellationToken, output: &Output) {
    tokio::select! {
        () = interrupted.cancelled() => {}
        () = output.failed() => {}
    }
}

fn lock(render: &Mutex<Box<dyn Render>>) -> std::sync::MutexGuard<'_, Box<dyn Render>> {
    render.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows why a server could not be asked for its models; other errors are passed on.
fn cannot_ask(error: anyhow::Error, asked: &Asked) -> anyhow::Result<Exit> {
    let Some(failure) = error.downcast_ref::<ProviderError>() else {
        return Err(error);
    };
    let hint = asked.hint_of_listing(failure);
    // The causes below the failure repeat it in the words of other layers.
    terminal::complain(&format!("{error}: {failure}"), hint.as_deref());
    Ok(Exit::Failed)
}

/// A reader that has seen enough is no failure.
fn reader_gone(error: io::Error) -> anyhow::Result<Exit> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        _ => Err(error).context("cannot write to standard output"),
    }
}

fn conclude(outcome: &RunOutcome, asked: &Asked) -> Exit {
    match &outcome.end {
        RunEnd::Completed | RunEnd::Stopped => Exit::Done,
        RunEnd::Aborted => aborted(),
        RunEnd::Failed(error) => {
            terminal::complain(said(error), asked.hint(error).as_deref());
            Exit::Failed
        }
        _ => Exit::Failed,
    }
}

/// Returns the text of an error that was shown to nobody yet.
pub(crate) fn said(error: &ProviderError) -> &str {
    match error.message() {
        "" => "the model failed without a word",
        text => text,
    }
}

fn aborted() -> Exit {
    terminal::say("aborted");
    Exit::Aborted
}
