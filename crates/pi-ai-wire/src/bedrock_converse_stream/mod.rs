//! The protocol `bedrock-converse-stream`: the Converse API of Amazon Bedrock, which is one for the
//! models of all vendors.
//!
//! [`body`] writes a request, [`Decoder`] reads the response, whose framing is
//! [`Framing::AwsEventStream`](crate::framing::Framing::AwsEventStream). Requests are signed by who
//! sends them.
//!
//! # Examples
//! ```
//! use pi_ai_wire::bedrock_converse_stream;
//! use pi_core::{Context, Message, Model, Request, UserMessage};
//!
//! let base_url = "https://bedrock-runtime.eu-west-1.amazonaws.com";
//! let model = Model::new("amazon.nova-lite-v1:0", "bedrock-converse-stream", "amazon-bedrock", base_url);
//! let context = Context::new(vec![Message::from(UserMessage::new("Hi", 0))]);
//! let request = Request::new(model, context);
//!
//! let url = bedrock_converse_stream::url(&request.model.base_url, &request.model.id);
//! assert!(url.ends_with("/model/amazon.nova-lite-v1%3A0/converse-stream"));
//! let body = serde_json::to_value(bedrock_converse_stream::body(&request))?;
//! assert_eq!(body["messages"][0]["content"][0]["text"], "Hi");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod compat;
mod decode;
mod endpoint;
mod errors;
mod event;
mod messages;
mod request;
mod thinking;

pub use self::decode::{Decoder, Reply};
pub use self::endpoint::{headers, url};
pub use self::errors::http_error;
pub(crate) use self::request::call_id;
pub use self::request::{RequestBody, body};

/// The name of the protocol in [`Model::api`](pi_core::Model::api).
pub const API: &str = "bedrock-converse-stream";
