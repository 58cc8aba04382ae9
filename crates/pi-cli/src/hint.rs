//! What a user can do about a failure.

use pi_core::{ErrorKind, ProviderError};

/// Returns what to do about a failure; `None` if the error says it all.
pub(crate) fn of(error: &ProviderError, address: &str) -> Option<String> {
    let hint = match error.kind() {
        ErrorKind::Connect => format!("start the server, or check --base-url (now {address})"),
        ErrorKind::Auth => "name the variable that holds your key by --api-key-env NAME; \
            OPENAI_API_KEY is sent to api.openai.com only"
            .to_owned(),
        ErrorKind::Quota => "the account has no credit left, or its limit is reached".to_owned(),
        ErrorKind::RateLimited | ErrorKind::Overloaded => match error.retry_after() {
            Some(wait) => format!("try again in {} s", wait.as_secs().max(1)),
            None => "try again in a moment".to_owned(),
        },
        ErrorKind::InvalidRequest if error.status() == Some(404) => {
            format!("check the model (--model) and the address (--base-url, now {address})")
        }
        ErrorKind::ContextOverflow => {
            "shorten the prompt, or start the server with a larger context window".to_owned()
        }
        ErrorKind::Transport => {
            "the log of the server may say why it closed the connection".to_owned()
        }
        ErrorKind::Protocol => format!(
            "is {address} an OpenAI-compatible server? Some report a failure, such as a prompt that \
             is too long, in their log only"
        ),
        ErrorKind::Server => "the log of the server may say why".to_owned(),
        ErrorKind::Tls => "is the address really https://, and its certificate trusted?".to_owned(),
        ErrorKind::Proxy => "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY".to_owned(),
        ErrorKind::Timeout => "the server may be busy, or still loading the model".to_owned(),
        _ => return None,
    };
    Some(hint)
}

/// Returns what to do about a server that could not be asked for its models.
pub(crate) fn of_listing(error: &ProviderError, address: &str) -> Option<String> {
    match error.kind() {
        ErrorKind::Protocol | ErrorKind::InvalidRequest => Some(format!(
            "is {address} an OpenAI-compatible server? One without a list of models needs --model"
        )),
        _ => of(error, address),
    }
}
