//! The HTTP transport of model providers: one shared client, one stream of events per request,
//! deadlines, retries, and failures that say what to do.
//!
//! **Who should depend on this:** authors of provider crates that speak HTTP. Applications use
//! `pi-ai`, which builds on it.
//!
//! It knows no vendor: what to send comes from a [`CallSource`], what comes back is read by the
//! [`Decoder`](pi_ai_wire::codec::Decoder) and the [`ErrorReader`] that the provider hands in. It
//! follows no redirect, keeps no cookie, reads no key and spawns no task of its own.
//!
//! ```text
//! Exchange { calls, decoder, read_error } --HttpClient::stream_events--> EventStream
//!
//! poll_next: socket --Bytes--> SseDecoder --frame--> Decoder --AssistantEvent--> who polled
//! ```
//!
//! There is no channel or queue between the socket and who polls: a slow reader slows the socket,
//! and dropping the stream closes it.
//!
//! A request that fails before its first content event is sent again as the [`RetryPolicy`] says.
//! After it, what was shown is kept and the failure ends the stream: nothing is asked twice silently.
//!
//! # Examples
//! A provider in a dozen lines. `new_decoder` and `read_error` belong to the protocol.
//! ```no_run
//! use pi_ai_wire::codec::Decoder;
//! use pi_core::{AssistantMessage, AssistantStream, Request, SecretString};
//! use pi_http::{Call, ErrorReader, Exchange, HttpClient};
//!
//! fn stream<D: Decoder + 'static>(
//!     client: &HttpClient,
//!     request: &Request,
//!     key: SecretString,
//!     new_decoder: impl Fn() -> D + Send + 'static,
//!     read_error: ErrorReader,
//! ) -> AssistantStream {
//!     let url = format!("{}/chat/completions", request.model.base_url);
//!     let call = Call::post(url, "{\"stream\":true}").with_bearer(&key);
//!     let exchange = Exchange::new(request.model.clone(), call, new_decoder, read_error);
//!     let seed = AssistantMessage::empty(&request.model, client.clock().now());
//!     AssistantStream::from_source(seed, client.stream_events(exchange))
//! }
//! ```
//!
//! # Runtime
//! Streams and futures of this crate must be polled inside a tokio runtime whose I/O and time
//! drivers are on (`enable_all`). Without a runtime they end in an error of kind
//! [`Hook`](pi_core::ErrorKind::Hook).
//!
//! # Features
//! - `reqwest`: `HttpClientBuilder::reqwest` takes a client of the application. It is the only
//!   place where a type of that crate is in a signature.

mod address;
mod body;
mod call;
mod client;
mod clock;
mod deadlines;
mod failure;
mod head;
mod limits;
mod retry;
mod secrets;
mod stream;
mod tls;

pub use crate::address::{is_loopback, server_of, shown_url};
pub use crate::call::{Call, CallSource};
pub use crate::client::{HttpClient, HttpClientBuilder};
pub use crate::clock::TokioClock;
pub use crate::limits::{Limits, Timeouts};
pub use crate::retry::RetryPolicy;
pub use crate::stream::{ErrorReader, EventStream, Exchange};
