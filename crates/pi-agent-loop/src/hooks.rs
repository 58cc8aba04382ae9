//! What an application does in between the steps of a run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use pi_core::{AgentMessage, BoxFuture, CancellationToken, HookError, Message, SecretString};

use crate::verdict::{
    AfterToolCall, AfterTurn, BeforeToolCall, FinishTurn, PrepareRequest, RequestOverride,
    ResultOverride, Verdict,
};

/// What an application does in between the steps of a run. Every method has a default that does
/// nothing.
///
/// A hook intervenes; who only wants to watch reads the events. Hooks run one at a time, on the
/// task that polls the run. A hook that fails or panics ends its call with an error result
/// (`before_tool_call`, `after_tool_call`) or the run with an error message (all others).
///
/// # Cancel safety
/// After an abort a hook's future may be dropped at any await: at once in the preparation of a
/// request, after the grace period in the tool hooks.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// Prepares a request, first of all: it may take long, for example to shorten the transcript.
    /// What it returns goes through the other steps. `None` leaves everything as it is. If it
    /// returns something and nothing was queued before, steering is asked for once more.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn prepare_request(
        &self,
        _request: PrepareRequest,
    ) -> Result<Option<RequestOverride>, HookError> {
        Ok(None)
    }

    /// Prunes or extends the transcript for the next request; `None` leaves it as it is. The
    /// transcript itself does not change.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn transform_context(
        &self,
        _messages: &[AgentMessage],
        _abort: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, HookError> {
        Ok(None)
    }

    /// Turns the transcript into what the model sees; [`default_convert`] by default.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn convert_to_llm(&self, messages: &[AgentMessage]) -> Result<Vec<Message>, HookError> {
        Ok(default_convert(messages))
    }

    /// Returns the key for the next request, for keys that expire. `None` leaves it to the options
    /// and the provider.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn api_key(&self, _provider: &str) -> Result<Option<SecretString>, HookError> {
        Ok(None)
    }

    /// Decides about a call whose arguments are valid.
    ///
    /// # Errors
    /// The call is not run and the model sees the error's text.
    async fn before_tool_call(&self, _call: BeforeToolCall) -> Result<Verdict, HookError> {
        Ok(Verdict::Allow)
    }

    /// Replaces parts of a call's result before anyone sees it.
    ///
    /// # Errors
    /// The model sees the error's text instead of the result.
    async fn after_tool_call(&self, _call: AfterToolCall) -> Result<ResultOverride, HookError> {
        Ok(ResultOverride::none())
    }

    /// Decides whether the run goes on after a turn; asked before `TurnEnd`, unless the reply
    /// failed.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn finish_turn(&self, _turn: FinishTurn) -> Result<AfterTurn, HookError> {
        Ok(AfterTurn::Continue)
    }

    /// Returns messages that go in before the next request; asked for at the start of a run and
    /// after each turn.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn steering_messages(&self) -> Result<Vec<AgentMessage>, HookError> {
        Ok(Vec::new())
    }

    /// Returns messages that go in when the run would end otherwise.
    ///
    /// # Errors
    /// The run ends with the error's text.
    async fn follow_up_messages(&self) -> Result<Vec<AgentMessage>, HookError> {
        Ok(Vec::new())
    }
}

/// Keeps the messages that a model knows and leaves out custom roles.
#[must_use]
pub fn default_convert(messages: &[AgentMessage]) -> Vec<Message> {
    messages
        .iter()
        .filter_map(AgentMessage::to_message)
        .collect()
}

/// What the future of a hook closure may give: the value, or a `Result` of it.
pub trait IntoHookResult<T> {
    /// Turns it into a result.
    ///
    /// # Errors
    /// If the hook failed.
    fn into_hook_result(self) -> Result<T, HookError>;
}

impl<T> IntoHookResult<T> for T {
    fn into_hook_result(self) -> Result<T, HookError> {
        Ok(self)
    }
}

impl<T, E: Into<HookError>> IntoHookResult<T> for Result<T, E> {
    fn into_hook_result(self) -> Result<T, HookError> {
        self.map_err(Into::into)
    }
}

/// A hook made of a function: owned argument, boxed future.
type HookFn<A, T> = Arc<dyn Fn(A) -> BoxFuture<'static, Result<T, HookError>> + Send + Sync>;

/// What a transform is given.
type Transcript = (Vec<AgentMessage>, CancellationToken);

/// [`Hooks`] made of closures; what is not set is left to a base, or to the defaults.
#[derive(Clone, Default)]
pub struct FnHooks {
    base: Option<Arc<dyn Hooks>>,
    prepare_request: Option<HookFn<(PrepareRequest,), Option<RequestOverride>>>,
    finish_turn: Option<HookFn<(FinishTurn,), AfterTurn>>,
    transform_context: Option<HookFn<Transcript, Vec<AgentMessage>>>,
    convert_to_llm: Option<HookFn<(Vec<AgentMessage>,), Vec<Message>>>,
    api_key: Option<HookFn<(String,), Option<SecretString>>>,
    before_tool_call: Option<HookFn<(BeforeToolCall,), Verdict>>,
    after_tool_call: Option<HookFn<(AfterToolCall,), ResultOverride>>,
    steering_messages: Option<HookFn<(), Vec<AgentMessage>>>,
    follow_up_messages: Option<HookFn<(), Vec<AgentMessage>>>,
}

/// Declares the setters of one hook: by value, and in place.
macro_rules! setters {
    ($($(#[$meta:meta])* $with:ident, $set:ident, $field:ident: ($($arg:ident: $ty:ty),*) -> $out:ty;)+) => {
        $(
            $(#[$meta])*
            #[must_use]
            pub fn $with<F, R>(mut self, hook: F) -> Self
            where
                F: Fn($($ty),*) -> R + Send + Sync + 'static,
                R: Future<Output: IntoHookResult<$out>> + Send + 'static,
            {
                self.$set(hook);
                self
            }

            $(#[$meta])*
            pub fn $set<F, R>(&mut self, hook: F)
            where
                F: Fn($($ty),*) -> R + Send + Sync + 'static,
                R: Future<Output: IntoHookResult<$out>> + Send + 'static,
            {
                self.$field = Some(Arc::new(move |($($arg,)*)| {
                    let running = hook($($arg),*);
                    Box::pin(async move { running.await.into_hook_result() })
                }));
            }
        )+
    };
}

impl FnHooks {
    /// Creates hooks that do nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves to `base` what is not set here.
    #[must_use]
    pub fn over(base: impl Hooks + 'static) -> Self {
        Self {
            base: Some(Arc::new(base)),
            ..Self::default()
        }
    }

    setters! {
        /// Sets [`Hooks::prepare_request`].
        with_prepare_request, set_prepare_request, prepare_request:
            (request: PrepareRequest) -> Option<RequestOverride>;
        /// Sets [`Hooks::finish_turn`].
        with_finish_turn, set_finish_turn, finish_turn: (turn: FinishTurn) -> AfterTurn;
        /// Sets [`Hooks::transform_context`].
        with_transform_context, set_transform_context, transform_context:
            (messages: Vec<AgentMessage>, abort: CancellationToken) -> Vec<AgentMessage>;
        /// Sets [`Hooks::convert_to_llm`].
        with_convert_to_llm, set_convert_to_llm, convert_to_llm:
            (messages: Vec<AgentMessage>) -> Vec<Message>;
        /// Sets [`Hooks::api_key`].
        with_api_key, set_api_key, api_key: (provider: String) -> Option<SecretString>;
        /// Sets [`Hooks::before_tool_call`].
        with_before_tool_call, set_before_tool_call, before_tool_call:
            (call: BeforeToolCall) -> Verdict;
        /// Sets [`Hooks::after_tool_call`].
        with_after_tool_call, set_after_tool_call, after_tool_call:
            (call: AfterToolCall) -> ResultOverride;
        /// Sets [`Hooks::steering_messages`].
        with_steering_messages, set_steering_messages, steering_messages:
            () -> Vec<AgentMessage>;
        /// Sets [`Hooks::follow_up_messages`].
        with_follow_up_messages, set_follow_up_messages, follow_up_messages:
            () -> Vec<AgentMessage>;
    }
}

#[async_trait]
impl Hooks for FnHooks {
    async fn prepare_request(
        &self,
        request: PrepareRequest,
    ) -> Result<Option<RequestOverride>, HookError> {
        match (&self.prepare_request, &self.base) {
            (Some(hook), _) => hook((request,)).await,
            (None, Some(base)) => base.prepare_request(request).await,
            (None, None) => Ok(None),
        }
    }

    async fn finish_turn(&self, turn: FinishTurn) -> Result<AfterTurn, HookError> {
        match (&self.finish_turn, &self.base) {
            (Some(hook), _) => hook((turn,)).await,
            (None, Some(base)) => base.finish_turn(turn).await,
            (None, None) => Ok(AfterTurn::Continue),
        }
    }

    async fn transform_context(
        &self,
        messages: &[AgentMessage],
        abort: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, HookError> {
        match (&self.transform_context, &self.base) {
            (Some(hook), _) => hook((messages.to_vec(), abort.clone())).await.map(Some),
            (None, Some(base)) => base.transform_context(messages, abort).await,
            (None, None) => Ok(None),
        }
    }

    async fn convert_to_llm(&self, messages: &[AgentMessage]) -> Result<Vec<Message>, HookError> {
        match (&self.convert_to_llm, &self.base) {
            (Some(hook), _) => hook((messages.to_vec(),)).await,
            (None, Some(base)) => base.convert_to_llm(messages).await,
            (None, None) => Ok(default_convert(messages)),
        }
    }

    async fn api_key(&self, provider: &str) -> Result<Option<SecretString>, HookError> {
        match (&self.api_key, &self.base) {
            (Some(hook), _) => hook((provider.to_owned(),)).await,
            (None, Some(base)) => base.api_key(provider).await,
            (None, None) => Ok(None),
        }
    }

    async fn before_tool_call(&self, call: BeforeToolCall) -> Result<Verdict, HookError> {
        match (&self.before_tool_call, &self.base) {
            (Some(hook), _) => hook((call,)).await,
            (None, Some(base)) => base.before_tool_call(call).await,
            (None, None) => Ok(Verdict::Allow),
        }
    }

    async fn after_tool_call(&self, call: AfterToolCall) -> Result<ResultOverride, HookError> {
        match (&self.after_tool_call, &self.base) {
            (Some(hook), _) => hook((call,)).await,
            (None, Some(base)) => base.after_tool_call(call).await,
            (None, None) => Ok(ResultOverride::none()),
        }
    }

    async fn steering_messages(&self) -> Result<Vec<AgentMessage>, HookError> {
        match (&self.steering_messages, &self.base) {
            (Some(hook), _) => hook(()).await,
            (None, Some(base)) => base.steering_messages().await,
            (None, None) => Ok(Vec::new()),
        }
    }

    async fn follow_up_messages(&self) -> Result<Vec<AgentMessage>, HookError> {
        match (&self.follow_up_messages, &self.base) {
            (Some(hook), _) => hook(()).await,
            (None, Some(base)) => base.follow_up_messages().await,
            (None, None) => Ok(Vec::new()),
        }
    }
}

impl fmt::Debug for FnHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnHooks").finish_non_exhaustive()
    }
}
