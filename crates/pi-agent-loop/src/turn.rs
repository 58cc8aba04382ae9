//! One reply of the model.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use pi_core::{
    AgentEvent, AgentMessage, AssistantContent, AssistantEvent, AssistantMessage, AssistantStream,
    CancellationToken, Context, ErrorKind, HookError, Message, ProviderError, Request,
    SecretString, StopReason, TextContent, ThinkingLevel,
};

use crate::run::{Run, guard, log_panic};
use crate::verdict::{PrepareRequest, RequestOverride};

/// Why a request could not be prepared.
enum Unprepared {
    Failed(HookError),
    Aborted,
}

impl Run {
    /// Asks the model and emits its reply, which is also added to the transcript.
    ///
    /// `was_queued` tells that messages went in before it in this turn.
    pub(crate) async fn reply(&mut self, was_queued: bool) -> Arc<AssistantMessage> {
        let request = match self.prepare_request(was_queued).await {
            Ok(request) => request,
            Err(Unprepared::Failed(error)) => return self.failed_reply(&error).await,
            Err(Unprepared::Aborted) => {
                return self
                    .close_reply(StopReason::Aborted, &ProviderError::aborted())
                    .await;
            }
        };
        let provider = &self.config.provider;
        match catch_unwind(AssertUnwindSafe(|| provider.stream(request))) {
            Ok(stream) => {
                self.stream_reply(stream.abort_on(self.config.abort.clone()))
                    .await
            }
            Err(panic) => {
                log_panic("provider", panic.as_ref());
                self.close_reply(StopReason::Error, &provider_panic()).await
            }
        }
    }

    /// Emits a reply that failed before it could be asked for.
    pub(crate) async fn failed_reply(&mut self, error: &HookError) -> Arc<AssistantMessage> {
        let error = ProviderError::new(ErrorKind::Hook, error.to_string());
        self.close_reply(StopReason::Error, &error).await
    }

    async fn prepare_request(&mut self, was_queued: bool) -> Result<Request, Unprepared> {
        let changes = self.ask_prepare_hook(was_queued).await?;
        let model = changes
            .model
            .unwrap_or_else(|| Arc::clone(&self.config.model));
        let own = Arc::clone(&self.context.messages);
        let messages = changes.messages.as_deref().unwrap_or(&own);
        let (messages, key) = self.ask_request_hooks(messages, &model.provider).await?;

        let mut context = Context::new(messages);
        context.system_prompt = changes
            .system_prompt
            .or_else(|| self.context.system_prompt.clone());
        let tools = changes.tools.as_ref().or(self.context.tools.as_ref());
        context.tools = tools.map(|tools| {
            tools
                .iter()
                .map(|tool| Arc::clone(tool.definition()))
                .collect()
        });
        self.turn_tools = changes.tools;
        let mut options = self.config.options.clone();
        if key.is_some() {
            options.api_key = key;
        }
        if let Some(level) = changes.thinking_level {
            options.reasoning = Some(level).filter(|level| *level != ThinkingLevel::Off);
        }
        Ok(Request::new(model, context)
            .with_options(options)
            .with_abort(self.config.abort.clone()))
    }

    /// Asks the hook that comes first. It may take long, so steering is asked for once more.
    async fn ask_prepare_hook(&mut self, was_queued: bool) -> Result<RequestOverride, Unprepared> {
        let question = PrepareRequest {
            system_prompt: self.context.system_prompt.clone(),
            messages: Arc::clone(&self.context.messages),
            tools: self.context.tools.clone(),
            model: Arc::clone(&self.config.model),
            thinking_level: self.config.options.thinking().cloned(),
            spent: self.spent.clone(),
            abort: self.config.abort.clone(),
        };
        let hook = guard(
            "prepare_request",
            self.config.hooks.prepare_request(question),
        );
        let Some(mut changes) = until_abort(&self.config.abort, hook).await? else {
            return Ok(RequestOverride::none());
        };
        if !was_queued {
            let steering = self.poll_steering().await.map_err(Unprepared::Failed)?;
            if let Some(messages) = &mut changes.messages {
                messages.extend(steering.iter().cloned());
            }
            self.take_in(steering).await;
        }
        Ok(changes)
    }

    /// Asks what the model sees of the messages, and with which key.
    async fn ask_request_hooks(
        &self,
        messages: &[AgentMessage],
        provider: &str,
    ) -> Result<(Vec<Message>, Option<SecretString>), Unprepared> {
        let hooks = &self.config.hooks;
        let abort = &self.config.abort;
        let transform = guard(
            "transform_context",
            hooks.transform_context(messages, abort),
        );
        let transformed = until_abort(abort, transform).await?;
        let messages = transformed.as_deref().unwrap_or(messages);
        let convert = guard("convert_to_llm", hooks.convert_to_llm(messages));
        let mut messages = until_abort(abort, convert).await?;
        messages.retain(|message| !self.is_left_out(message));
        let key = until_abort(abort, guard("api_key", hooks.api_key(provider))).await?;
        Ok((messages, key))
    }

    fn is_left_out(&self, message: &Message) -> bool {
        match message {
            Message::Assistant(reply) => self
                .left_out
                .iter()
                .any(|failed| Arc::ptr_eq(failed, reply)),
            _ => false,
        }
    }

    async fn stream_reply(&mut self, mut stream: AssistantStream) -> Arc<AssistantMessage> {
        let mut started = false;
        while let Some(event) = self.next_event(&mut stream).await {
            match event {
                Ok(event) if event.is_terminal() => break,
                Ok(event) => {
                    let message = stream.partial();
                    if !started {
                        started = true;
                        let message = Arc::clone(&message).into();
                        self.emitter
                            .emit(AgentEvent::MessageStart { message })
                            .await;
                    }
                    if event.is_content() {
                        self.emitter
                            .emit(AgentEvent::MessageUpdate { message, event })
                            .await;
                    }
                }
                Err(panic) => {
                    let mut message = (*stream.partial()).clone();
                    fail(&mut message, StopReason::Error, &panic);
                    return self.finish_reply(Arc::new(message), started).await;
                }
            }
        }
        self.finish_reply(stream.partial(), started).await
    }

    /// Waits for the next event of a reply. The shown snapshot is let go before the poll and taken
    /// again after it, so that the message can grow in place.
    async fn next_event(
        &self,
        stream: &mut AssistantStream,
    ) -> Option<Result<AssistantEvent, ProviderError>> {
        poll_fn(|cx| {
            self.emitter.show_partial(None);
            let polled = catch_unwind(AssertUnwindSafe(|| stream.poll_next_unpin(cx)));
            self.emitter.show_partial(Some(stream.partial()));
            match polled {
                Ok(polled) => polled.map(|event| event.map(Ok)),
                Err(panic) => {
                    log_panic("provider", panic.as_ref());
                    Poll::Ready(Some(Err(provider_panic())))
                }
            }
        })
        .await
    }

    /// Emits the end of a reply, and its start if that is still due.
    async fn finish_reply(
        &mut self,
        message: Arc<AssistantMessage>,
        started: bool,
    ) -> Arc<AssistantMessage> {
        self.emitter.show_partial(None);
        if !started {
            let message = Arc::clone(&message).into();
            self.emitter
                .emit(AgentEvent::MessageStart { message })
                .await;
        }
        self.emitter
            .emit(AgentEvent::MessageEnd {
                message: Arc::clone(&message).into(),
            })
            .await;
        self.add(Arc::clone(&message).into());
        message
    }

    /// Emits a reply of which nothing was streamed. It holds one empty text, as upstream's does.
    async fn close_reply(
        &mut self,
        reason: StopReason,
        error: &ProviderError,
    ) -> Arc<AssistantMessage> {
        let mut message = AssistantMessage::empty(&self.config.model, self.config.clock.now());
        message
            .content
            .push(AssistantContent::Text(TextContent::default()));
        fail(&mut message, reason, error);
        self.finish_reply(Arc::new(message), false).await
    }
}

/// Waits for a hook until the run is aborted; a hook that is ready by then still counts.
async fn until_abort<T>(
    abort: &CancellationToken,
    hook: impl Future<Output = Result<T, HookError>>,
) -> Result<T, Unprepared> {
    let mut hook = pin!(hook);
    let mut cancelled = pin!(abort.cancelled());
    poll_fn(|cx| match hook.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(result.map_err(Unprepared::Failed)),
        Poll::Pending => cancelled
            .as_mut()
            .poll(cx)
            .map(|()| Err(Unprepared::Aborted)),
    })
    .await
}

fn fail(message: &mut AssistantMessage, reason: StopReason, error: &ProviderError) {
    message.stop_reason = reason;
    message.error_message = Some(error.message().to_owned());
    message.error_info = Some(Box::new(error.info().clone()));
}

fn provider_panic() -> ProviderError {
    ProviderError::new(ErrorKind::Protocol, "the provider failed unexpectedly")
}
