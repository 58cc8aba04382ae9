//! One run: a prompt, the answer, and how it ended.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use pi_agent::{Agent, RunEnd, RunOutcome, SystemClock};
use pi_core::{CancellationToken, Clock as _, ProviderError, UserMessage};

use crate::args::Args;
use crate::backend::{self, Backend};
use crate::exit::{Exit, usage};
use crate::output::Output;
use crate::render::{Render, renderer};
use crate::tools::Folder;
use crate::{hint, prompt, signals, terminal, tools};

/// Runs what the command line asks for.
///
/// # Errors
/// What was not shown to the user yet.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let folder = open_folder(args.cwd.as_deref())?;
    let prompt = prompt::read(&args.prompt)?;
    // The second thread hears signals while the first one waits for the reader of its output.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let exit = runtime.block_on(answer(args, folder, prompt));
    // A read from a dead network drive may never end.
    runtime.shutdown_background();
    exit
}

fn open_folder(path: Option<&Path>) -> anyhow::Result<Folder> {
    let path = path.unwrap_or(Path::new("."));
    Folder::new(path).map_err(|error| {
        usage(format!(
            "cannot work in the folder {}: {error}",
            path.display()
        ))
    })
}

async fn answer(args: &Args, folder: Folder, prompt: String) -> anyhow::Result<Exit> {
    let interrupted = signals::interruption()?;
    let backend = tokio::select! {
        biased;
        () = interrupted.cancelled() => return Ok(aborted()),
        backend = backend::choose(args) => backend,
    };
    let address = backend::shown_address(args);
    let backend = match backend {
        Ok(backend) => backend,
        Err(error) => return cannot_ask(error, &address),
    };
    if let Some(notice) = backend.notice {
        terminal::say(notice);
    }
    let agent = build_agent(args, folder, backend);
    let output = Output::stdout();
    let outcome = drive(&agent, prompt, &interrupted, args, &output).await?;
    if let Some(error) = output.take_error() {
        return reader_gone(error);
    }
    Ok(conclude(&outcome, &address))
}

fn build_agent(args: &Args, folder: Folder, backend: Backend) -> Agent {
    let system = args
        .system
        .clone()
        .unwrap_or_else(|| system_prompt(args, &folder));
    let builder = Agent::builder(backend.provider, backend.model).system_prompt(system);
    if args.no_tools {
        builder.build()
    } else {
        builder.tools(tools::read_only(folder)).build()
    }
}

fn system_prompt(args: &Args, folder: &Folder) -> String {
    if args.no_tools {
        return "You are a helpful assistant. Answer briefly.".to_owned();
    }
    format!(
        "You are a helpful assistant. Answer briefly. You work in the folder {}. Look at files with \
         your tools before you say something about them.",
        folder.root().display()
    )
}

/// Drives the run to its end, which comes early after a signal or when nobody reads the output.
async fn drive(
    agent: &Agent,
    prompt: String,
    interrupted: &CancellationToken,
    args: &Args,
    output: &Output,
) -> anyhow::Result<RunOutcome> {
    let render = Arc::new(Mutex::new(renderer(args, output.clone())));
    let shown = Arc::clone(&render);
    let _showing = agent.subscribe(move |event| lock(&shown).event(event));
    // As plain text: servers with a simple chat template drop a prompt that is a list of parts.
    let mut running = agent.prompt(UserMessage::new(prompt, SystemClock.now()));
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
fn cannot_ask(error: anyhow::Error, address: &str) -> anyhow::Result<Exit> {
    let Some(failure) = error.downcast_ref::<ProviderError>() else {
        return Err(error);
    };
    let hint = hint::of_listing(failure, address);
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

fn conclude(outcome: &RunOutcome, address: &str) -> Exit {
    match &outcome.end {
        RunEnd::Completed => Exit::Done,
        RunEnd::Aborted => aborted(),
        RunEnd::Failed(error) => {
            let text = match error.message() {
                "" => "the model failed without a word",
                text => text,
            };
            terminal::complain(text, hint::of(error, address).as_deref());
            Exit::Failed
        }
        _ => Exit::Failed,
    }
}

fn aborted() -> Exit {
    terminal::say("aborted");
    Exit::Aborted
}
