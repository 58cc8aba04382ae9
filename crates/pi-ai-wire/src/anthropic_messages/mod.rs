//! The protocol `anthropic-messages`: Anthropic's Messages API, and the gateways that speak it.
//!
//! [`body`] writes a request, [`Decoder`] reads the response. How a service or a model differs from
//! the API is in [`Compat`], which goes by the flags of the model and guesses the rest from its id
//! and address.
//!
//! # Examples
//! ```
//! use pi_ai_wire::anthropic_messages;
//! use pi_core::{Context, Message, Model, Request, UserMessage};
//!
//! let model = Model::new("m", anthropic_messages::API, "anthropic", "https://api.anthropic.com");
//! let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
//! let request = Request::new(model, context);
//!
//! let url = anthropic_messages::url(&request.model.base_url);
//! assert_eq!(url, "https://api.anthropic.com/v1/messages");
//! let body = serde_json::to_value(anthropic_messages::body(&request))?;
//! assert_eq!(body["messages"][0]["content"][0]["text"], "Hi");
//! # Ok::<(), serde_json::Error>(())
//! ```

pub(crate) mod compat;
mod decode;
mod endpoint;
mod errors;
mod messages;
mod request;
pub(crate) mod thinking;
mod types;
mod usage;

pub use self::compat::Compat;
pub use self::decode::{Decoder, Reply};
pub use self::endpoint::{headers, key_header, url};
pub use self::errors::{http_error, stream_error};
pub(crate) use self::request::call_id;
pub use self::request::{RequestBody, body};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "anthropic-messages";
