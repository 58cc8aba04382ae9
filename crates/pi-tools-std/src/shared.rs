//! What the tools of one set have in common.

use std::path::Path;
use std::sync::Arc;

use pi_core::{CancellationToken, ToolContext, ToolError};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::abort::aborted;
use crate::call::require_runtime;
use crate::limits::Limits;
use crate::order::{Access, Order, Ordering, Ticket};
use crate::path::Base;
use crate::seen::Seen;
use crate::workspace::{Protected, Workspace};

/// What the tools of one set have in common.
pub(crate) struct Shared {
    pub(crate) base: Base,
    pub(crate) limits: Limits,
    pub(crate) protected: Protected,
    pub(crate) seen: Seen,
    /// Whether the model can be sent to `bash`.
    pub(crate) has_bash: bool,
    order: Order,
    ordering: Ordering,
    blocking: Arc<Semaphore>,
    images: Semaphore,
}

/// What an abort does to blocking work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnAbort {
    /// The call ends; the work sees the token soon and has no effects.
    LetGo,
    /// The call ends with the work, which says what became of it.
    Wait,
}

impl Shared {
    pub(crate) fn new(
        workspace: &Workspace,
        limits: Limits,
        ordering: Ordering,
        has_bash: bool,
    ) -> Self {
        Self {
            base: workspace.base.clone(),
            protected: workspace.protected.clone(),
            seen: Seen::default(),
            has_bash,
            order: workspace.order.clone(),
            ordering,
            blocking: Arc::new(Semaphore::new(limits.blocking_calls.max(1))),
            images: Semaphore::new(limits.image_calls.max(1)),
            limits,
        }
    }

    /// Takes the next place in the order of calls.
    pub(crate) fn ticket(&self, access: Access) -> Ticket {
        self.order.take(self.ordering, access)
    }

    /// Runs blocking work when no earlier call is in the way, on the blocking pool. The place in the
    /// order is kept until the work has ended, even if nobody waits for it any more.
    ///
    /// # Errors
    /// Those of the work, and "Operation aborted" if the run is aborted before it begins.
    ///
    /// # Cancel safety
    /// Work that has begun goes on until it sees the token.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        cx: &ToolContext,
        mut ticket: Ticket,
        on_abort: OnAbort,
        work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        ticket.ready(cx).await?;
        let permit = tokio::select! {
            biased;
            () = cx.aborted() => return Err(aborted()),
            permit = Arc::clone(&self.blocking).acquire_owned() => permit,
        };
        require_runtime()?;
        // A call that is dropped takes its work along, as an abort does.
        let token = cx.abort_token().child_token();
        let guard = token.clone().drop_guard();
        let work = tokio::task::spawn_blocking(move || {
            let result = work(&token);
            drop(permit);
            drop(ticket);
            result
        });
        let ended = async { work.await.unwrap_or_else(|error| Err(broken(&error))) };
        let result = match on_abort {
            OnAbort::Wait => ended.await,
            OnAbort::LetGo => tokio::select! {
                biased;
                result = ended => result,
                () = cx.aborted() => Err(aborted()),
            },
        };
        drop(guard);
        result
    }

    /// Makes sure that a path without links may be changed; `shown` is what the model called it.
    ///
    /// # Errors
    /// If it is protected.
    pub(crate) fn check_protected(&self, shown: &str, real: &Path) -> Result<(), ToolError> {
        if self.protected.covers(real) {
            return Err(ToolError::new(format!(
                "{shown} is protected and cannot be changed."
            )));
        }
        Ok(())
    }

    /// Waits until one more image may be decoded. For blocking work only.
    ///
    /// # Errors
    /// If the run is aborted first.
    pub(crate) fn image_permit(
        &self,
        abort: &CancellationToken,
    ) -> Result<SemaphorePermit<'_>, ToolError> {
        let waiting = async {
            tokio::select! {
                biased;
                () = abort.cancelled() => Err(aborted()),
                permit = self.images.acquire() => permit.map_err(|_| aborted()),
            }
        };
        tokio::runtime::Handle::current().block_on(waiting)
    }
}

fn broken(error: &tokio::task::JoinError) -> ToolError {
    tracing::error!(%error, "work on a file broke off");
    ToolError::new("The tool failed unexpectedly. Try again.")
}
