//! The steps that tools, hooks and responses have in common.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pi_core::{BoxFuture, CancellationToken};

use super::scenario::Step;
use super::world::World;

/// Plays a step; returns false if it is not one of the common ones.
///
/// Steps that wait for nothing still let others go on first, as an awaited call does in JavaScript:
/// the recorded order of tools that run side by side depends on it.
pub(super) async fn play(
    world: &Arc<World>,
    step: &Step,
    id: &str,
    signal: &CancellationToken,
) -> bool {
    match step.op.as_str() {
        "sleep" => tokio::time::sleep(Duration::from_millis(step.ms)).await,
        "gate" => {
            let gate = world.gate(&step.name);
            if gate.is_cancelled() {
                tick().await
            } else {
                gate.cancelled().await
            }
            tick().await;
        }
        "release" => {
            world.gate(&step.name).cancel();
            tick().await;
        }
        "wait_abort" => signal.cancelled().await,
        "act" => {
            world.act(&step.actions, id);
            tick().await;
        }
        _ => return false,
    }
    true
}

/// Runs a future up to its first wait at once, as the body of a JavaScript function does.
pub(super) fn eagerly<T: Send + 'static>(
    mut future: BoxFuture<'static, T>,
) -> BoxFuture<'static, T> {
    // Whoever polls it again registers its own waker.
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(value) => Box::pin(std::future::ready(value)),
        Poll::Pending => future,
    }
}

/// Lets everything else that is ready go on first.
pub(super) async fn tick() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
