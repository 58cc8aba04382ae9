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

fn read_error(head: &ResponseHead, body: &[u8]) -> ProviderError {
    pi_ai_wire::errors::http_error(head.status, body)
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
