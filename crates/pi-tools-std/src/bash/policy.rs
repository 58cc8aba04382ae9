//! Which commands may run. A policy is a seat belt, not a wall: what a command does can always be
//! written in another way. The wall is the sandbox.

use std::path::PathBuf;
use std::sync::Arc;

use pi_core::BoxFuture;

#[cfg(feature = "policy")]
mod prefix;
#[cfg(feature = "policy")]
pub use self::prefix::{PolicyError, PrefixPolicy, PrefixRule};

/// A command that wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandRequest {
    /// The command as the model wrote it.
    pub command: String,
    /// Where it would run.
    pub folder: PathBuf,
    /// The id of the call.
    pub call_id: Arc<str>,
}

/// What becomes of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow,
    /// It does not run; the model is told why.
    Deny {
        /// Why.
        reason: String,
    },
    /// Whoever embeds the tool decides; without somebody to ask it does not run.
    Ask {
        /// Why.
        reason: String,
    },
}

/// Decides which commands may run.
pub trait CommandPolicy: Send + Sync {
    /// Decides on one command. It is asked right before the command would start, and must not block.
    fn decide(&self, request: &CommandRequest) -> Decision;
}

/// Asks whoever embeds the tool.
pub(super) type AskHook =
    Arc<dyn Fn(CommandRequest, String) -> BoxFuture<'static, bool> + Send + Sync>;
