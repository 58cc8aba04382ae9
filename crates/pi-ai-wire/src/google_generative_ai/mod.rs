//! The protocol `google-generative-ai`: the Gemini API. Vertex AI speaks it too, at other addresses.
//!
//! [`body`] writes a request, [`Decoder`] reads the response.
//!
//! # Examples
//! ```
//! use pi_ai_wire::google_generative_ai;
//! use pi_core::{Context, Message, Model, Request, UserMessage};
//!
//! let base_url = "https://generativelanguage.googleapis.com/v1beta";
//! let model = Model::new("gemini-2.5-flash", google_generative_ai::API, "google", base_url);
//! let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
//! let request = Request::new(model, context);
//!
//! let url = google_generative_ai::url(&request.model.base_url, &request.model.id);
//! assert!(url.ends_with("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"));
//! let body = serde_json::to_value(google_generative_ai::body(&request))?;
//! assert_eq!(body["contents"][0]["parts"][0]["text"], "Hi");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod chunk;
mod contents;
mod decode;
mod endpoint;
mod errors;
mod family;
mod pieces;
mod request;
mod thinking;
mod usage;

pub use self::decode::{Decoder, Reply};
pub use self::endpoint::{KEY_HEADER, VERTEX_BASE_URL, headers, url, vertex_base_url, vertex_url};
pub use self::errors::{http_error, stream_error};
pub(crate) use self::request::call_id;
pub use self::request::{RequestBody, body};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "google-generative-ai";

/// The name of the protocol in [`Model::api`](pi_core::Model::api) where Vertex AI speaks it.
pub const VERTEX_API: &str = "google-vertex";
