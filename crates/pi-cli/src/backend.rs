//! Which model answers, and over which provider.

use std::io::IsTerminal;

use pi_core::{Model, Provider};

use crate::args::Args;
use crate::demo::{self, DemoModel};

const DEMO_NOTICE: &str = "demo model in use: its answers follow simple rules. For a real model: \
    --base-url URL (any OpenAI-compatible server) or the environment variable OPENAI_API_KEY";

/// A model and what it is asked through.
pub(crate) struct Backend {
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) model: Model,
    /// What the user should know before the answer comes.
    pub(crate) notice: Option<&'static str>,
}

/// Chooses the model.
pub(crate) async fn choose(_args: &Args) -> anyhow::Result<Backend> {
    Ok(demo())
}

fn demo() -> Backend {
    Backend {
        provider: Box::new(DemoModel::new(std::io::stdout().is_terminal())),
        model: demo::model(),
        notice: Some(DEMO_NOTICE),
    }
}
