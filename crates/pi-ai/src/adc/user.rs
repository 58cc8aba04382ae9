//! The tokens of a user who logged in.

use std::time::Duration;

use pi_core::{ExposeSecret, HookError, ProviderError, ResponseHead, SecretString};
use pi_http::{Call, HttpClient};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::file::User;

/// How long before its end a token is no longer used.
const MARGIN: Duration = Duration::from_secs(60);

/// How long a token lasts whose answer does not say so, in seconds.
const DEFAULT_LIFE: u64 = 3600;

pub(super) struct UserTokens {
    user: User,
    pub(super) quota_project: Option<String>,
    current: Mutex<Option<Token>>,
}

struct Token {
    secret: SecretString,
    /// By the clock of the client.
    good_until: Duration,
}

impl UserTokens {
    pub(super) fn new(mut user: User) -> Self {
        Self {
            quota_project: user.quota_project_id.take(),
            user,
            current: Mutex::default(),
        }
    }

    /// Returns a token other than the refused one. Who comes while another fetches it waits for that.
    pub(super) async fn token(
        &self,
        client: &HttpClient,
        refused: Option<&SecretString>,
    ) -> Result<SecretString, HookError> {
        let mut current = self.current.lock().await;
        let is_refused = |token: &Token| {
            refused.is_some_and(|refused| refused.expose_secret() == token.secret.expose_secret())
        };
        let now = client.clock().monotonic();
        if let Some(token) = &*current
            && token.good_until > now
            && !is_refused(token)
        {
            return Ok(token.secret.clone());
        }
        let token = self.fetch(client).await.map_err(|error| {
            HookError::new(format!(
                "the login of Google Cloud gives no token ({error}): run `gcloud auth \
                 application-default login`"
            ))
        })?;
        Ok(current.insert(token).secret.clone())
    }

    async fn fetch(&self, client: &HttpClient) -> Result<Token, ProviderError> {
        let now = client.clock().monotonic();
        let question = Question {
            client_id: &self.user.client_id,
            client_secret: &self.user.client_secret,
            refresh_token: &self.user.refresh_token,
            grant_type: "refresh_token",
        };
        let invalid = |error| {
            let text = "the answer is no token";
            ProviderError::new(pi_core::ErrorKind::Protocol, text).with_source(error)
        };
        let question = serde_json::to_vec(&question).map_err(invalid)?;
        let call = Call::post(&self.user.token_uri, question);
        let body = client.fetch(call, read_error).await?;
        let answer: Answer = serde_json::from_slice(&body).map_err(invalid)?;
        let life = Duration::from_secs(answer.expires_in);
        Ok(Token {
            secret: answer.access_token.into(),
            good_until: now.saturating_add(life.saturating_sub(MARGIN)),
        })
    }
}

/// Shows the code of the error and nothing else: the secrets of the login are in the body of the
/// question, and a server could repeat it.
fn read_error(head: &ResponseHead, body: &[u8]) -> ProviderError {
    #[derive(Default, Deserialize)]
    struct Refusal {
        error: String,
    }

    let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
    let is_word =
        |text: &str| text.len() <= 40 && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let status = head.status;
    let text = match refusal.error.as_str() {
        code if !code.is_empty() && is_word(code) => format!("{status} {code}"),
        _ => format!("status {status}"),
    };
    ProviderError::new(pi_core::ErrorKind::Auth, text).with_status(status)
}

#[derive(Serialize)]
struct Question<'a> {
    client_id: &'a str,
    client_secret: &'a str,
    refresh_token: &'a str,
    grant_type: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default = "default_life")]
    expires_in: u64,
}

fn default_life() -> u64 {
    DEFAULT_LIFE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_shows_its_code_and_nothing_that_it_repeats() {
        for (body, expected) in [
            (
                r#"{"error":"invalid_grant","error_description":"bad 1//s3cret"}"#,
                "400 invalid_grant",
            ),
            (r#"{"error":"1//S3CRET"}"#, "status 400"),
            ("refresh_token=s3cret", "status 400"),
            ("", "status 400"),
        ] {
            let head = ResponseHead::new(400, Default::default());
            let error = read_error(&head, body.as_bytes());
            assert_eq!(error.message(), expected);
            assert!(!format!("{error:?}").to_lowercase().contains("s3cret"));
        }
    }
}
