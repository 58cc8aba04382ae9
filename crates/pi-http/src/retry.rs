//! When a request is sent again, and after which wait.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pi_core::{ErrorKind, Phase, ProviderError};

use crate::failure::seconds;

/// The part of its own wait that a client may be early, so that clients do not come back together.
const JITTER: f64 = 0.25;

/// What a host's budget starts with and cannot exceed.
const FULL: u32 = 100;

/// What a reply that works gives back to the budget.
const REFUND: u32 = 1;

/// What sending a request again takes from the budget.
const PRICE: u32 = 10;

/// When a request is sent again.
///
/// Only failures before the first content event are repeated: a connection that cannot be made or
/// breaks before the response's headers, no headers in time, the statuses 408, 409, 429 and from 500
/// on, and a stream of events that begins with an overload or rate-limit error, breaks or ends
/// before it holds content. The header `x-should-retry` overrides this. A plan that is used up, a
/// prompt that is too long and a certificate that is not accepted are never repeated.
///
/// A client also keeps a budget for each host and port: 10 retries at first, of which every ten
/// replies that work give back one. An outage thus costs little more than the requests themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The most times that a request is sent again; 2. Zero turns retries off.
    pub max_retries: u32,
    /// The wait before the first retry; 0.5 s. Each further one waits twice as long, and each wait is
    /// shortened by a random part of at most a quarter.
    pub base_delay: Duration,
    /// The longest of these waits; 8 s.
    pub max_base_delay: Duration,
    /// The longest wait that a server may ask for; 60 s. `None`, or a duration of zero, means no
    /// limit. A server that asks for more fails the request at once, with the wait in the message.
    pub max_retry_delay: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 2,
            base_delay: Duration::from_millis(500),
            max_base_delay: Duration::from_secs(8),
            max_retry_delay: Some(Duration::from_secs(60)),
        }
    }
}

impl RetryPolicy {
    /// Returns a policy under which nothing is sent twice.
    #[must_use]
    pub fn off() -> Self {
        Self {
            max_retries: 0,
            ..Self::default()
        }
    }

    /// Returns the wait before a retry, the first one being number 0. `random` is from 0 to 1.
    fn own_delay(&self, number: u32, random: f64) -> Duration {
        // A source of another range, or of no number at all, must not break the wait.
        let random = if random.is_nan() {
            0.0
        } else {
            random.clamp(0.0, 1.0)
        };
        let doubled = 2_u32.saturating_pow(number);
        let longest = self.base_delay.saturating_mul(doubled);
        longest
            .min(self.max_base_delay)
            .mul_f64(1.0 - JITTER * random)
    }
}

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ProviderError,
    /// The host that was asked, if it may be asked again.
    pub(crate) ask_again: Option<String>,
}

impl From<ProviderError> for Failure {
    /// Makes a failure that is not repeated.
    fn from(error: ProviderError) -> Self {
        Self {
            error,
            ask_again: None,
        }
    }
}

impl Failure {
    /// Makes the failure of a call that got no headers.
    pub(crate) fn without_head(error: ProviderError, host: String) -> Self {
        let repeats = error.is_retryable() && error.phase() != Some(&Phase::Whole);
        Self {
            error,
            ask_again: repeats.then_some(host),
        }
    }

    /// Makes the failure of a call whose status is not 2xx.
    pub(crate) fn of_status(error: ProviderError, word: Option<bool>, host: String) -> Self {
        let repeats = match (error.status(), error.kind()) {
            // Who says when the plan has room again is taken at its word.
            (Some(429), ErrorKind::Quota) => error.retry_after().is_some(),
            (Some(408 | 409 | 429 | 500..), _) => error.is_retryable(),
            _ => false,
        };
        Self {
            error,
            ask_again: word.unwrap_or(repeats).then_some(host),
        }
    }

    /// Makes the failure of a reply that has no content yet. `is_cut` tells that it just ended.
    pub(crate) fn of_stream(
        error: ProviderError,
        is_cut: bool,
        word: Option<bool>,
        host: String,
    ) -> Self {
        let repeats = match error.kind() {
            ErrorKind::Overloaded | ErrorKind::RateLimited | ErrorKind::Transport => true,
            ErrorKind::Protocol => is_cut,
            _ => false,
        };
        Self {
            error,
            ask_again: word.unwrap_or(repeats).then_some(host),
        }
    }
}

/// What follows a failed attempt.
#[derive(Debug)]
pub(crate) enum Next {
    /// The request is sent again after a wait.
    Wait(Duration),
    /// The request has failed.
    Fail(ProviderError),
}

/// The retries of a client and its clones.
pub(crate) struct Retries {
    pub(crate) policy: RetryPolicy,
    pub(crate) random: Box<dyn Fn() -> f64 + Send + Sync>,
    budgets: Budgets,
}

impl Retries {
    pub(crate) fn new(
        policy: RetryPolicy,
        random: Option<Box<dyn Fn() -> f64 + Send + Sync>>,
    ) -> Self {
        Self {
            policy,
            random: random.unwrap_or_else(|| Box::new(fastrand::f64)),
            budgets: Budgets::default(),
        }
    }

    /// Decides what follows a failure, after `made` retries. `cap` is the request's own limit of the
    /// wait that a server may ask for.
    pub(crate) fn next(&self, failure: Failure, made: u32, cap: Option<Duration>) -> Next {
        let Failure { error, ask_again } = failure;
        let Some(host) = ask_again.filter(|_| made < self.policy.max_retries) else {
            return Next::Fail(error);
        };
        let asked = error.retry_after().filter(|wait| !wait.is_zero());
        let cap = cap.or(self.policy.max_retry_delay);
        match (asked, cap.filter(|cap| !cap.is_zero())) {
            (Some(wait), Some(cap)) if wait > cap => {
                return Next::Fail(too_long(&error, wait, cap));
            }
            _ => {}
        }
        if !self.budgets.take(&host) {
            return Next::Fail(error);
        }
        let wait = asked.unwrap_or_else(|| self.policy.own_delay(made, (self.random)()));
        tracing::debug!(
            host,
            retry = made + 1,
            wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            kind = error.kind().as_str(),
            status = error.status(),
            "the request is sent again"
        );
        Next::Wait(wait)
    }

    /// Notes that a host has begun to reply.
    pub(crate) fn succeeded(&self, host: &str) {
        self.budgets.refund(host);
    }
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}

/// What is left of the budget of each host. Hosts whose budget is full have no entry.
#[derive(Default)]
struct Budgets(Mutex<HashMap<String, u32>>);

impl Budgets {
    /// Takes the price of a retry; false if too little is left.
    fn take(&self, host: &str) -> bool {
        let mut budgets = self.lock();
        let left = budgets.get(host).copied().unwrap_or(FULL);
        let Some(left) = left.checked_sub(PRICE) else {
            return false;
        };
        budgets.insert(host.to_owned(), left);
        true
    }

    fn refund(&self, host: &str) {
        let mut budgets = self.lock();
        if let Some(left) = budgets.get_mut(host) {
            *left += REFUND;
            if *left >= FULL {
                budgets.remove(host);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_long(error: &ProviderError, wait: Duration, cap: Duration) -> ProviderError {
    let text = format!(
        "{error} (asks to wait {}, longer than the limit of {})",
        seconds(wait),
        seconds(cap)
    );
    ProviderError::from_info(error.info().clone(), text).with_source(error.clone())
}

#[cfg(test)]
mod tests;
