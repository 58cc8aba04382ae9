//! Application-default credentials of Google Cloud.

mod file;
mod user;

use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use gcp_auth::{CustomServiceAccount, MetadataServiceAccount, TokenProvider};
use pi_core::{BoxFuture, ExposeSecret, HookError, SecretString};
use pi_http::HttpClient;

use self::file::File;
use self::user::UserTokens;
use crate::credentials::{Credential, Credentials};

/// What the tokens are good for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// How long a token may take; outside of Google's cloud nobody answers for its metadata server.
const PATIENCE: Duration = Duration::from_secs(30);

/// Application-default credentials of Google Cloud, as [`Vertex`](crate::Vertex) uses them.
///
/// They are looked for where Google's own libraries look: in the file that
/// `GOOGLE_APPLICATION_CREDENTIALS` names, in the one that `gcloud auth application-default login`
/// writes, and at the metadata server of a machine in Google's cloud. Files of service accounts and of
/// users are read. A token is kept until shortly before it expires, and fetched anew when the service
/// refuses it. Clones share it.
#[derive(Clone, Default)]
pub struct ApplicationDefault {
    client: HttpClient,
    path: Option<PathBuf>,
    found: Arc<Mutex<Option<Arc<Account>>>>,
}

/// Who asks.
enum Account {
    User(UserTokens),
    /// A service account, behind the crate's cache of its tokens.
    Service(Service),
}

struct Service {
    /// The key file; `None` where the metadata server speaks for the account.
    key: Option<SecretString>,
    tokens: tokio::sync::Mutex<Option<Arc<dyn TokenProvider>>>,
}

impl ApplicationDefault {
    /// Creates credentials; nothing is looked up before a request needs them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates credentials from a file, and from nothing else.
    #[must_use]
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: Some(path.into()),
            ..Self::default()
        }
    }

    /// Sets the HTTP client that fetches the tokens of users. Those of service accounts come by a
    /// client of their own, which takes no proxy.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = client;
        self
    }

    /// Returns the project that a user's requests count against, `None` for service accounts.
    pub(crate) fn quota_project(&self) -> Option<String> {
        match &*self.account().ok()? {
            Account::User(user) => user.quota_project.clone(),
            Account::Service(_) => None,
        }
    }

    /// Finds the account. The file is read once: it is small, and on a local disk.
    fn account(&self) -> Result<Arc<Account>, HookError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = &*found {
            return Ok(Arc::clone(account));
        }
        let file = match &self.path {
            Some(path) => Some(File::read(path)?),
            None => File::find()?,
        };
        let account = Arc::new(match file {
            Some(File::User(user)) => Account::User(UserTokens::new(user)),
            Some(File::Service(key)) => Account::Service(Service::new(Some(key))),
            None => Account::Service(Service::new(None)),
        });
        Ok(Arc::clone(found.insert(account)))
    }

    async fn token(&self, refused: Option<&SecretString>) -> Result<Credential, HookError> {
        let account = self.account()?;
        let fetching = pin!(async {
            match &*account {
                Account::User(user) => user.token(&self.client, refused).await,
                Account::Service(service) => service.token(refused).await,
            }
        });
        match select(fetching, self.client.clock().sleep(PATIENCE)).await {
            Either::Left((token, _)) => token.map(Credential::Token),
            Either::Right(_) => Err(HookError::new("no token came in time")),
        }
    }
}

impl Service {
    fn new(key: Option<SecretString>) -> Self {
        Self {
            key,
            tokens: tokio::sync::Mutex::default(),
        }
    }

    async fn token(&self, refused: Option<&SecretString>) -> Result<SecretString, HookError> {
        let mut tokens = self.tokens.lock().await;
        for is_last in [false, true] {
            let provider = match &*tokens {
                Some(provider) => Arc::clone(provider),
                None => Arc::clone(tokens.insert(self.connect().await?)),
            };
            let token = provider.token(&[SCOPE]).await.map_err(failed)?;
            let is_refused = refused.is_some_and(|r| r.expose_secret() == token.as_str());
            if !is_refused || is_last {
                return Ok(SecretString::from(token.as_str()));
            }
            // A new value has no token in its cache.
            *tokens = None;
        }
        Err(HookError::new("no token"))
    }

    async fn connect(&self) -> Result<Arc<dyn TokenProvider>, HookError> {
        match &self.key {
            Some(key) => {
                let account = CustomServiceAccount::from_json(key.expose_secret());
                Ok(Arc::new(account.map_err(failed)?))
            }
            None => match MetadataServiceAccount::new().await {
                Ok(account) => Ok(Arc::new(account)),
                Err(_) => Err(HookError::new(
                    "no application-default credentials: run `gcloud auth application-default \
                     login`, or set GOOGLE_APPLICATION_CREDENTIALS",
                )),
            },
        }
    }
}

impl Credentials for ApplicationDefault {
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
        Box::pin(async { Ok(Some(self.token(None).await?)) })
    }

    fn refresh<'a>(
        &'a self,
        _: &'a str,
        refused: &'a Credential,
    ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
        Box::pin(async move { Ok(Some(self.token(Some(refused.secret())).await?)) })
    }
}

impl fmt::Debug for ApplicationDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApplicationDefault")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn failed(error: gcp_auth::Error) -> HookError {
    HookError::new(error.to_string())
}
