//! Replies as a whole, for who does not watch them being written.

use std::future::Future;
use std::sync::Arc;

use crate::context::Request;
use crate::error::ProviderError;
use crate::message::AssistantMessage;
use crate::provider::Provider;
#[cfg(feature = "schemars")]
use crate::structured::{self, Structured, StructuredError};

/// Ways to ask a provider that every provider has. They build on [`Provider::stream`] and cannot be
/// implemented otherwise.
pub trait ProviderExt: Provider {
    /// Asks a model and returns its whole reply.
    ///
    /// # Errors
    /// The failure that ended the reply.
    ///
    /// # Cancel safety
    /// Dropping the future stops the request; what came of the reply is lost.
    ///
    /// # Examples
    /// ```
    /// # use pi_core::{AssistantEvent, AssistantMessage, AssistantStream, Provider, StopReason, Usage};
    /// use pi_core::{Context, Model, ProviderExt, Request, UserMessage};
    /// # struct Parrot;
    /// # impl Provider for Parrot {
    /// #     fn stream(&self, request: Request) -> AssistantStream {
    /// #         let events = [
    /// #             AssistantEvent::Start,
    /// #             AssistantEvent::TextStart { content_index: 0 },
    /// #             AssistantEvent::TextDelta { content_index: 0, delta: "Hi!".into() },
    /// #             AssistantEvent::TextEnd { content_index: 0, content: None, content_signature: None },
    /// #             AssistantEvent::Done { reason: StopReason::Stop, usage: Usage::default(), response_id: None },
    /// #         ];
    /// #         AssistantStream::new(AssistantMessage::empty(&request.model, 0), futures_util::stream::iter(events))
    /// #     }
    /// # }
    ///
    /// # async fn run(provider: Parrot, model: Model) -> Result<(), pi_core::ProviderError> {
    /// let context = Context::new(vec![UserMessage::new("Say hi", 0).into()]);
    /// let reply = provider.complete(Request::new(model, context)).await?;
    /// assert_eq!(reply.text(), "Hi!");
    /// # Ok(())
    /// # }
    /// # let model = Model::new("m", "api", "provider", "");
    /// # futures_util::FutureExt::now_or_never(run(Parrot, model)).expect("it never waits")?;
    /// # Ok::<(), pi_core::ProviderError>(())
    /// ```
    fn complete(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Arc<AssistantMessage>, ProviderError>> + Send + use<Self> {
        let mut reply = self.stream(request);
        async move { reply.finish().await }
    }

    /// Asks a model for a value of a type.
    ///
    /// The JSON Schema of the type goes into [`StreamOptions::output`](crate::StreamOptions::output):
    /// services that can be held to a schema are, the others are told to call a tool whose arguments
    /// are the value. A reply that is no such value is shown to the model with what is wrong, once.
    ///
    /// # Errors
    /// The failure that ended a reply, or that the corrected reply is no such value either.
    ///
    /// # Cancel safety
    /// Dropping the future stops the request; what came of the reply is lost.
    ///
    /// # Examples
    /// ```no_run
    /// use pi_core::{Context, Model, Provider, ProviderExt, Request, UserMessage};
    ///
    /// /// A town.
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Town {
    ///     name: String,
    ///     /// Of the last census.
    ///     inhabitants: u32,
    /// }
    ///
    /// # async fn run(provider: &dyn Provider, model: Model) -> Result<(), pi_core::StructuredError> {
    /// let context = Context::new(vec![UserMessage::new("The largest town of Iceland?", 0).into()]);
    /// let town = provider.complete_as::<Town>(Request::new(model, context)).await?.value;
    /// println!("{} ({})", town.name, town.inhabitants);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "schemars")]
    fn complete_as<T>(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Structured<T>, StructuredError>> + Send
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        structured::complete_as(self, request)
    }
}

impl<P: Provider + ?Sized> ProviderExt for P {}
