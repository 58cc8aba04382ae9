//! What went wrong below the protocol, as typed errors.

use std::error::Error;
use std::io;
use std::time::Duration;

use pi_core::{ErrorKind, Phase, ProviderError};
use reqwest::Url;

use crate::address::host_and_port;

/// Returns the error of a request that got no response.
pub(crate) fn sending(
    error: reqwest::Error,
    url: &Url,
    connect: Option<Duration>,
) -> ProviderError {
    let host = host_and_port(url);
    let kind = kind_of(&error);
    let text = match &kind {
        ErrorKind::Timeout => {
            let limit = seconds(connect.unwrap_or_default());
            return ProviderError::new(kind, format!("no connection to {host} within {limit}"))
                .with_phase(Phase::Connect)
                .with_source(error.without_url());
        }
        ErrorKind::Connect if error.is_dns() => {
            format!("cannot connect to {host}: the name of the host cannot be resolved")
        }
        ErrorKind::Connect => match io_cause(&error) {
            Some(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
                format!("cannot connect to {host}: connection refused, is the server running?")
            }
            Some(cause) => format!("cannot connect to {host}: {cause}"),
            None => format!("cannot connect to {host}: {}", root_cause(&error)),
        },
        ErrorKind::Tls => {
            format!(
                "no secure connection to {host}: {}",
                tls_cause(&error).unwrap_or_default()
            )
        }
        ErrorKind::Proxy => {
            format!(
                "the proxy refused the connection to {host}: {}",
                root_cause(&error)
            )
        }
        ErrorKind::InvalidRequest => {
            format!(
                "the request to {host} cannot be sent: {}",
                root_cause(&error)
            )
        }
        _ => format!(
            "{host} closed the connection before it answered: {}",
            root_cause(&error)
        ),
    };
    ProviderError::new(kind, text).with_source(error.without_url())
}

/// Returns the error of a body that broke.
pub(crate) fn reading(error: reqwest::Error, host: &str) -> ProviderError {
    let text = match io_cause(&error) {
        Some(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            format!("{host} closed the connection in mid-reply")
        }
        Some(cause) => format!("the connection to {host} broke in mid-reply: {cause}"),
        None => format!(
            "the connection to {host} broke in mid-reply: {}",
            root_cause(&error)
        ),
    };
    ProviderError::new(ErrorKind::Transport, text).with_source(error.without_url())
}

/// Returns the error of a time limit that passed.
pub(crate) fn timeout(phase: Phase, limit: Duration, host: &str) -> ProviderError {
    let limit = seconds(limit);
    let text = match phase {
        Phase::Headers => format!("no answer from {host} within {limit}"),
        Phase::Socket => format!("{host} sent nothing for {limit}"),
        Phase::FirstContent => format!("no content from {host} within {limit}"),
        Phase::Content => format!("no further content from {host} for {limit}"),
        _ => format!("the reply of {host} took longer than {limit}"),
    };
    ProviderError::new(ErrorKind::Timeout, text).with_phase(phase)
}

/// Returns the error of a stream that is polled where it cannot run.
pub(crate) fn no_runtime() -> ProviderError {
    ProviderError::new(
        ErrorKind::Hook,
        "no tokio runtime: a request must be polled inside one, such as under #[tokio::main]",
    )
}

fn kind_of(error: &reqwest::Error) -> ErrorKind {
    if error.is_builder() {
        return ErrorKind::InvalidRequest;
    }
    if tls_cause(error).is_some() {
        return ErrorKind::Tls;
    }
    if !error.is_connect() {
        return ErrorKind::Transport;
    }
    let refused_by_proxy = chain(error).any(|cause| cause.to_string().contains("tunnel error"));
    match (refused_by_proxy, error.is_timeout()) {
        (true, _) => ErrorKind::Proxy,
        (false, true) => ErrorKind::Timeout,
        (false, false) => ErrorKind::Connect,
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        // An I/O error shows what it wraps by `get_ref` only; its `source` skips a level.
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => {
                let inner: &(dyn Error + 'static) = inner;
                Some(inner)
            }
            None => error.source(),
        }
    })
}

fn io_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    chain(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .last()
}

fn tls_cause(error: &(dyn Error + 'static)) -> Option<String> {
    chain(error)
        .find_map(|cause| cause.downcast_ref::<rustls::Error>())
        .map(ToString::to_string)
}

fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Writes a duration for people: `120 s`, `0.25 s`.
pub(crate) fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
