//! The protocol `openai-completions`: OpenAI's Chat Completions, and the many services that speak
//! something like it.
//!
//! [`body`] writes a request, [`Decoder`] reads the response. How a service differs from OpenAI is
//! in [`Compat`], which goes by the flags of the model and guesses the rest from its address.
//!
//! # Examples
//! ```
//! use pi_ai_wire::openai_completions;
//! use pi_core::{Context, Message, Model, Request, UserMessage};
//!
//! let model = Model::new("m", "openai-completions", "local", "http://127.0.0.1:8080/v1/");
//! let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
//! let request = Request::new(model, context);
//!
//! let url = openai_completions::url(&request.model.base_url);
//! assert_eq!(url, "http://127.0.0.1:8080/v1/chat/completions");
//! let body = serde_json::to_value(openai_completions::body(&request))?;
//! assert_eq!(body["messages"][0]["content"], "Hi");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod chunk;
mod compat;
mod decode;
mod endpoint;
mod messages;
mod request;

pub use self::compat::{Compat, MaxTokensField, ThinkingFormat};
pub use self::decode::{Decoder, Reply};
pub use self::endpoint::{headers, url};
pub(crate) use self::request::call_id;
pub use self::request::{RequestBody, body};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "openai-completions";
