//! What a user can do about a failure.

use pi_core::{ErrorKind, ProviderError};

/// Who was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The address, as it may be shown.
    pub(crate) address: String,
    /// Who runs the server.
    pub(crate) host: Host,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// A server that the user named by its address.
    OfUser,
    /// A provider of the catalogue, whose key is in this variable.
    Provider { key_variable: Option<String> },
}

impl Asked {
    /// Returns what to do about a failure; `None` if the error says it all.
    pub(crate) fn hint(&self, error: &ProviderError) -> Option<String> {
        let address = &self.address;
        let hint = match (error.kind(), &self.host) {
            (ErrorKind::Connect, Host::OfUser) => {
                format!("start the server, or check --base-url (now {address})")
            }
            (ErrorKind::Connect, Host::Provider { .. }) => {
                format!("is this machine online? The address is {address}")
            }
            (ErrorKind::Auth, Host::OfUser) => {
                "name the variable that holds your key by --api-key-env NAME; \
                 OPENAI_API_KEY is sent to api.openai.com only"
                    .to_owned()
            }
            (ErrorKind::Auth, Host::Provider { key_variable }) => match key_variable {
                Some(variable) => format!("check the key in {variable}"),
                None => "name the variable that holds your key by --api-key-env NAME".to_owned(),
            },
            (ErrorKind::InvalidRequest, host) if error.status() == Some(404) => match host {
                Host::OfUser => {
                    format!("check the model (--model) and the address (--base-url, now {address})")
                }
                Host::Provider { .. } => {
                    "the model may be gone, or closed to your account; pi --list-models shows others"
                        .to_owned()
                }
            },
            (ErrorKind::Protocol, Host::OfUser) => format!(
                "is {address} an OpenAI-compatible server? Some report a failure, such as a prompt \
                 that is too long, in their log only"
            ),
            (ErrorKind::Transport, Host::OfUser) => {
                "the log of the server may say why it closed the connection".to_owned()
            }
            (ErrorKind::Server, Host::OfUser) => "the log of the server may say why".to_owned(),
            _ => return of_any_host(error),
        };
        Some(hint)
    }

    /// Returns what to do about a server that could not be asked for its models.
    pub(crate) fn hint_of_listing(&self, error: &ProviderError) -> Option<String> {
        let address = &self.address;
        match error.kind() {
            ErrorKind::Protocol | ErrorKind::InvalidRequest => Some(format!(
                "is {address} an OpenAI-compatible server? One without a list of models needs \
                 --model"
            )),
            _ => self.hint(error),
        }
    }
}

fn of_any_host(error: &ProviderError) -> Option<String> {
    let hint = match error.kind() {
        ErrorKind::Quota => "the account has no credit left, or its limit is reached",
        ErrorKind::RateLimited | ErrorKind::Overloaded => {
            return Some(match error.retry_after() {
                Some(wait) => format!("try again in {} s", wait.as_secs().max(1)),
                None => "try again in a moment".to_owned(),
            });
        }
        ErrorKind::ContextOverflow => {
            "shorten the prompt, or start the server with a larger context window"
        }
        ErrorKind::Tls => "is the address really https://, and its certificate trusted?",
        ErrorKind::Proxy => "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY",
        ErrorKind::Timeout => "the server may be busy, or still loading the model",
        _ => return None,
    };
    Some(hint.to_owned())
}
