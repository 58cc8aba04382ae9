//! The protocol `mistral-conversations`: the chat API of Mistral.
//!
//! [`body`] writes a request, [`Decoder`] reads the response.
//!
//! # Examples
//! ```
//! use pi_ai_wire::mistral_conversations;
//! use pi_core::{Context, Message, Model, Request, UserMessage};
//!
//! let base_url = "https://api.mistral.ai";
//! let model = Model::new("mistral-large-latest", "mistral-conversations", "mistral", base_url);
//! let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
//! let request = Request::new(model, context);
//!
//! let url = mistral_conversations::url(&request.model.base_url);
//! assert_eq!(url, "https://api.mistral.ai/v1/chat/completions");
//! let body = serde_json::to_value(mistral_conversations::body(&request))?;
//! assert_eq!(body["messages"][0]["content"], "Hi");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod chunk;
mod decode;
mod endpoint;
mod errors;
mod ids;
mod messages;
mod request;

pub use self::decode::{Decoder, Reply};
pub use self::endpoint::{headers, url};
pub use self::errors::http_error;
pub(crate) use self::ids::call_id;
pub use self::request::{RequestBody, body};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "mistral-conversations";
