//! Model providers: ask any model, get one stream of events.
//!
//! **Who should depend on this:** applications that call a model's provider directly. With
//! `pi-agent` it is the line that says which models the agent can use; libraries that only need to
//! *name* a provider take `pi_core::Provider` and leave the choice to the application.
//!
//! Each provider is a plain value that implements [`Provider`](pi_core::Provider). There is no
//! registry and no global: it is passed in, and swapped by passing in another. [`Providers`] is all
//! of them as one. Keys come from the request, from the provider value, or, only if it was made with
//! `from_env`, from the environment.
//!
//! ```text
//! Request ──> OpenAiCompletions ──> AssistantStream ──> TextDelta, ToolCallStart, .., Done | Error
//!              key, body, headers     retries, deadlines, typed errors, abort by drop or by token
//! ```
//!
//! # Examples
//! Ask a server on this machine (llama.cpp, Ollama, vLLM, LM Studio) and print as it answers:
//! ```no_run
//! use futures_util::StreamExt;
//! use pi_ai::OpenAiCompletions;
//! use pi_core::{Context, Message, Provider, Request, UserMessage};
//!
//! # async fn run() -> Result<(), pi_core::ProviderError> {
//! let model = pi_ai::local_model("http://127.0.0.1:8080", "qwen3-4b");
//! let context = Context::new(vec![Message::from(UserMessage::new("Say hello", 0))]);
//!
//! let mut reply = OpenAiCompletions::new().stream(Request::new(model, context));
//! while let Some(event) = reply.next().await {
//!     if let Some(text) = event.text_delta() {
//!         print!("{text}");
//!     }
//! }
//! let message = reply.finish().await?;
//! println!("\n{} tokens", message.usage.output);
//! # Ok(())
//! # }
//! ```
//! The same with whatever provider the model names, its key in the environment:
//! ```no_run
//! use pi_ai::Providers;
//! use pi_core::{Context, Model, Provider, Request};
//!
//! let model = Model::new("gpt-4.1", "openai-responses", "openai", "https://api.openai.com/v1");
//! let reply = Providers::from_env().stream(Request::new(model, Context::default()));
//! ```
//!
//! # Errors
//! A request never fails by a panic or an `Err`: whatever goes wrong is the last event of its
//! stream, with a typed kind, and `AssistantStream::finish` returns it as a
//! [`ProviderError`](pi_core::ProviderError).
//!
//! # Runtime
//! Streams are polled inside a tokio runtime with I/O and time drivers, such as under
//! `#[tokio::main]`. Outside of one they end in an error of kind `Hook`.
//!
//! # Features
//! - `anthropic` (default): [`Anthropic`].
//! - `google` (default): [`Google`].
//! - `mistral` (default): [`Mistral`].
//! - `bedrock`: `Bedrock`, with crates of AWS for signatures and credentials. Off by default, since they
//!   are many.
//! - `openai` (default): [`OpenAiResponses`], [`AzureOpenAi`], [`OpenAiCompletions`], and what goes
//!   with local servers.
//! - `catalog` (default): the lookup of models in [`catalog`], and the models of those who serve their
//!   own.
//! - `catalog-aggregators`: the models of those who pass on the models of others, such as OpenRouter
//!   and Bedrock. They are most of the catalogue, so they are off by default.
//! - `otel`: `Traced`, which puts each request into a `tracing` span with the attributes of
//!   OpenTelemetry's conventions for generative AI.
//! - `reqwest`: [`HttpClient`]s that use a `reqwest::Client` of the application.
//! - `vertex`: `Vertex`, Gemini models on Vertex AI, by API key or by application-default credentials.

pub mod catalog;

#[cfg(feature = "vertex")]
mod adc;
#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "openai")]
mod azure_openai;
#[cfg(feature = "bedrock")]
mod bedrock;
mod credentials;
mod env;
#[cfg(feature = "google")]
mod google;
mod http_provider;
#[cfg(feature = "openai")]
mod local;
#[cfg(feature = "mistral")]
mod mistral;
#[cfg(feature = "openai")]
mod openai_completions;
#[cfg(feature = "openai")]
mod openai_responses;
#[cfg(feature = "otel")]
mod otel;
mod protocol;
mod providers;
#[cfg(feature = "vertex")]
mod vertex;

pub use pi_ai_wire::errors::is_context_overflow;
pub use pi_ai_wire::handoff_report;
pub use pi_http::{HttpClient, Limits, RetryPolicy, Timeouts};

#[cfg(feature = "vertex")]
pub use crate::adc::ApplicationDefault;
#[cfg(feature = "anthropic")]
pub use crate::anthropic::Anthropic;
#[cfg(feature = "openai")]
pub use crate::azure_openai::AzureOpenAi;
#[cfg(feature = "bedrock")]
pub use crate::bedrock::Bedrock;
pub use crate::credentials::{Credential, Credentials, LOCAL_PROVIDER};
pub use crate::env::key_variables;
#[cfg(feature = "google")]
pub use crate::google::Google;
pub use crate::http_provider::HttpProvider;
#[cfg(feature = "openai")]
pub use crate::local::{list_models, local_model, normalize_base_url};
#[cfg(feature = "mistral")]
pub use crate::mistral::Mistral;
#[cfg(feature = "openai")]
pub use crate::openai_completions::OpenAiCompletions;
#[cfg(feature = "openai")]
pub use crate::openai_responses::OpenAiResponses;
#[cfg(feature = "otel")]
pub use crate::otel::Traced;
pub use crate::providers::Providers;
#[cfg(feature = "vertex")]
pub use crate::vertex::Vertex;
