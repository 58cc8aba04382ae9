//! The protocol `openai-responses`: OpenAI's Responses API, and the services that speak it.
//!
//! [`body`] writes a request, [`Decoder`] reads the response. Azure has another address and another
//! header for the key, see [`azure_openai_responses`](crate::azure_openai_responses).
//!
//! Nothing is kept at the service (`store` is false): the whole conversation goes out each time, and
//! what the model thought goes back to it encrypted.
//!
//! # Examples
//! ```
//! use pi_ai_wire::openai_responses;
//! use pi_core::{Context, Message, Model, Request, UserMessage};
//!
//! let model = Model::new("m", openai_responses::API, "openai", "https://api.openai.com/v1");
//! let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
//! let request = Request::new(model, context);
//!
//! let url = openai_responses::url(&request.model.base_url);
//! assert_eq!(url, "https://api.openai.com/v1/responses");
//! let body = serde_json::to_value(openai_responses::body(&request))?;
//! assert_eq!(body["input"][0]["content"][0]["text"], "Hi");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod decode;
mod endpoint;
mod errors;
mod ids;
mod input;
mod items;
mod reasoning;
mod request;
mod tools;
mod types;
mod usage;

pub use self::decode::{Decoder, Reply};
pub use self::endpoint::{headers, url};
pub(crate) use self::ids::call_id;
pub(crate) use self::request::azure_body;
pub use self::request::{RequestBody, body};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "openai-responses";
