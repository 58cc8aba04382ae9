//! What an application does in between the steps of a run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use pi_core::{
    AgentMessage, AssistantMessage, BoxFuture, CancellationToken, HookError, Message, SecretString,
    ToolCall, ToolOutput, UserContent,
};
use serde_json::{Map, Value};

/// A call that is about to run, with validated arguments.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeToolCall {
    /// The reply that asked for the call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The call as the model wrote it.
    pub call: Arc<ToolCall>,
    /// The arguments, validated and coerced.
    pub arguments: Map<String, Value>,
    /// The transcript, the reply included. Let go of it soon: the loop copies the list if somebody
    /// holds it when the next message is added.
    pub messages: Arc<Vec<AgentMessage>>,
    /// Tells whether the run was aborted.
    pub abort: CancellationToken,
}

impl BeforeToolCall {
    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.call.name
    }
}

/// A call that has run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AfterToolCall {
    /// The reply that asked for the call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The call as the model wrote it.
    pub call: Arc<ToolCall>,
    /// The arguments that the tool received.
    pub arguments: Map<String, Value>,
    /// What the tool answered; the text of its failure if it failed.
    pub result: ToolOutput,
    /// True if the model is about to see a failure.
    pub is_error: bool,
    /// The transcript, the reply included. Let go of it soon.
    pub messages: Arc<Vec<AgentMessage>>,
    /// Tells whether the run was aborted.
    pub abort: CancellationToken,
}

impl AfterToolCall {
    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.call.name
    }
}

/// What a before-hook decides.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Run the call.
    Allow,
    /// Do not run it; the model sees an error with this reason, or a general one.
    Block {
        /// The reason, for the model.
        reason: Option<String>,
    },
    /// Run it with these arguments, which are validated again.
    Edit {
        /// The arguments.
        arguments: Map<String, Value>,
    },
}

impl Verdict {
    /// Refuses the call with a reason for the model.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block {
            reason: Some(reason.into()),
        }
    }
}

/// What an after-hook replaces, field by field; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultOverride {
    /// Replaces what the model sees.
    pub content: Option<Vec<UserContent>>,
    /// Replaces what UIs and logs see.
    pub details: Option<Value>,
    /// Replaces whether the model sees a failure.
    pub is_error: Option<bool>,
    /// Replaces whether the run may end after this batch.
    pub terminate: Option<bool>,
}

impl ResultOverride {
    /// Replaces nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Replaces what the model sees.
    #[must_use]
    pub fn with_content(mut self, content: Vec<UserContent>) -> Self {
        self.content = Some(content);
        self
    }

    /// Replaces what UIs and logs see.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Replaces whether the model sees a failure.
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }
}

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
