//! Frames of AWS event streams, written by AWS's own crate.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use serde_json::Value;

/// Writes an event.
#[must_use]
pub fn event(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [(":message-type", "event"), (":event-type", name)];
    frame(headers, payload.to_string())
}

/// Writes an exception.
#[must_use]
pub fn exception(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [(":message-type", "exception"), (":exception-type", name)];
    frame(headers, payload.to_string())
}

fn frame(headers: [(&'static str, &str); 2], payload: String) -> Vec<u8> {
    let message = headers
        .into_iter()
        .fold(Message::new(payload), |message, (name, value)| {
            let value = HeaderValue::String(value.to_owned().into());
            message.add_header(Header::new(name, value))
        });
    let mut bytes = Vec::new();
    // It fails only where a header or the payload is longer than a frame can say.
    let written = write_message_to(&message, &mut bytes);
    debug_assert!(written.is_ok());
    bytes
}
