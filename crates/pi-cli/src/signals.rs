//! Ctrl-C and termination.

use std::process;

use pi_core::CancellationToken;

use crate::exit::ABORTED;

/// Returns a token that the first signal cancels. The second one ends the process, after
/// `before_exit`.
///
/// It must be called inside a runtime with more than one thread, so that the second signal is heard
/// even while a write to standard output blocks.
pub(crate) fn interruption(
    before_exit: impl Fn() + Send + 'static,
) -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut signals = Signals::new()?;
    let interrupted = token.clone();
    tokio::spawn(async move {
        signals.next().await;
        interrupted.cancel();
        signals.next().await;
        before_exit();
        process::exit(i32::from(ABORTED));
    });
    Ok(token)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> anyhow::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
