//! Credentials that the service refuses.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use pi_ai::{Credential, Credentials};
use pi_core::{BoxFuture, ErrorKind, ExposeSecret, HookError, Provider};

use super::world::{OPENAI, World, done, good, refused, request_to, serve};

/// Tokens of an application, handed out one behind the other.
struct Login {
    current: AtomicUsize,
    last: usize,
    asked: Arc<AtomicUsize>,
}

impl Login {
    /// A login that has this many tokens.
    fn with(tokens: usize) -> (Self, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let login = Self {
            current: AtomicUsize::new(1),
            last: tokens,
            asked: Arc::clone(&asked),
        };
        (login, asked)
    }

    fn token(&self) -> Credential {
        Credential::token(format!("t0ken-{}", self.current.load(Relaxed)))
    }
}

impl Credentials for Login {
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
        Box::pin(async { Ok(Some(self.token())) })
    }

    fn refresh<'a>(
        &'a self,
        provider: &'a str,
        refused: &'a Credential,
    ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
        Box::pin(async move {
            assert_eq!(provider, "tests");
            assert_eq!(
                refused.secret().expose_secret(),
                self.token().secret().expose_secret()
            );
            self.asked.fetch_add(1, Relaxed);
            if self.current.load(Relaxed) == self.last {
                return Ok(None);
            }
            self.current.fetch_add(1, Relaxed);
            Ok(Some(self.token()))
        })
    }
}

#[tokio::test]
async fn f14_an_expired_token_is_refreshed_once() {
    let busy = || refused(429, "");
    for (tokens, answers, ended, sent) in [
        (2, vec![refused(401, ""), good()], done(), vec![1, 2]),
        (
            2,
            vec![refused(401, ""), busy(), good()],
            done(),
            vec![1, 2, 2],
        ),
        (
            2,
            vec![busy(), refused(401, ""), good()],
            done(),
            vec![1, 1, 2],
        ),
        (
            3,
            vec![refused(401, ""), refused(401, "")],
            Err(ErrorKind::Auth),
            vec![1, 2],
        ),
        (1, vec![refused(401, "")], Err(ErrorKind::Auth), vec![1]),
        (2, vec![refused(403, "")], Err(ErrorKind::Auth), vec![1]),
    ] {
        let (server, world) = (serve(answers).await, World::new(|_| {}));
        let (login, asked) = Login::with(tokens);
        let providers = world.providers.clone().with_credentials(login);
        let mut request = request_to(OPENAI, &server.url("/v1"));
        request.options.api_key = None;
        let mut stream = providers.stream(request);
        let reply = world.end_of(&mut stream).await;
        assert_eq!(reply.map_err(|error| error.kind().clone()), ended);
        let shown: Vec<String> = server
            .received()
            .iter()
            .map(|request| request.headers["authorization"].clone())
            .collect();
        let expected: Vec<String> = sent.iter().map(|n| format!("Bearer t0ken-{n}")).collect();
        assert_eq!(shown, expected);
        let unauthorized = usize::from(sent != [1] || tokens == 1);
        assert_eq!(asked.load(Relaxed), unauthorized, "{expected:?}");
    }
}

#[tokio::test]
async fn f14_a_refresh_that_fails_ends_the_stream() {
    struct Broken;
    impl Credentials for Broken {
        fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
            Box::pin(async { Ok(Some("k3y".into())) })
        }
        fn refresh<'a>(
            &'a self,
            _: &'a str,
            _: &'a Credential,
        ) -> BoxFuture<'a, Result<Option<Credential>, HookError>> {
            Box::pin(async { Err(HookError::new("the vault is locked")) })
        }
    }
    let (server, world) = (serve([refused(401, "")]).await, World::new(|_| {}));
    let mut request = request_to(OPENAI, &server.url("/v1"));
    request.options.api_key = None;
    let providers = world.providers.clone().with_credentials(Broken);
    let error = world.end_of(&mut providers.stream(request)).await;
    let error = error.expect_err("nothing is refreshed");
    assert_eq!(*error.kind(), ErrorKind::Hook);
    assert!(error.message().contains("the vault is locked"), "{error}");
    assert_eq!(server.received().len(), 1);
}
