//! A protocol for the tests: every data line is a word, `start` is the start, `[DONE]` the end, `!`
//! an error.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt;
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::sse::SseFrame;
use pi_core::{
    AssistantEvent, AssistantMessage, AssistantStream, ErrorKind, Model, Progress, ProviderError,
    ResponseHead, StopReason, Usage,
};
use pi_http::{Call, CallSource, Exchange, HttpClient, RetryPolicy};

/// The decoder of the protocol.
#[derive(Default)]
pub(crate) struct Words {
    words: u64,
    is_ended: bool,
}

impl Decoder for Words {
    fn frame(
        &mut self,
        frame: &SseFrame,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Result<(), ProviderError> {
        let data = frame.data();
        if data == "start" {
            events.push_back(AssistantEvent::Start);
            return Ok(());
        }
        if data == "!" {
            return Err(ProviderError::new(ErrorKind::Overloaded, "overloaded"));
        }
        if self.words == 0 && !self.is_ended && data != "ping" {
            events.push_back(AssistantEvent::TextStart { content_index: 0 });
        }
        match &*data {
            "ping" => {}
            "[DONE]" => {
                events.push_back(AssistantEvent::TextEnd {
                    content_index: 0,
                    content: None,
                    content_signature: None,
                });
                events.push_back(AssistantEvent::Done {
                    reason: StopReason::Stop,
                    usage: self.progress().usage,
                    response_id: None,
                });
                self.is_ended = true;
            }
            word => {
                self.words += 1;
                let delta = word.to_owned();
                events.push_back(AssistantEvent::TextDelta {
                    content_index: 0,
                    delta,
                });
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut VecDeque<AssistantEvent>) -> Result<(), ProviderError> {
        Err(ProviderError::new(
            ErrorKind::Protocol,
            "stream ended before [DONE]",
        ))
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn progress(&self) -> Progress {
        Progress::new(Usage::new(0, self.words, 0, 0), None)
    }
}

/// Reads errors of the protocol: the body is the text.
pub(crate) fn read_error(head: &ResponseHead, body: &[u8]) -> ProviderError {
    let kind = match head.status {
        401 => ErrorKind::Auth,
        429 => ErrorKind::RateLimited,
        _ => ErrorKind::Server,
    };
    ProviderError::new(
        kind,
        format!("{} {}", head.status, String::from_utf8_lossy(body)),
    )
}

pub(crate) fn exchange(url: &str) -> Exchange<Words> {
    exchange_of(Call::post(url, "{}"))
}

pub(crate) fn exchange_of(calls: impl CallSource + 'static) -> Exchange<Words> {
    Exchange::new(model(), calls, Words::default, read_error)
}

pub(crate) fn model() -> Arc<Model> {
    Arc::new(Model::new("words-1", "words", "tests", ""))
}

/// Returns a client that sends every request once.
pub(crate) fn once() -> HttpClient {
    HttpClient::builder().retry(RetryPolicy::off()).build()
}

/// Asks a server with a client and lets the stream build its message.
pub(crate) fn ask(client: &HttpClient, exchange: Exchange<Words>) -> AssistantStream {
    let seed = AssistantMessage::empty(&model(), 0);
    AssistantStream::from_source(seed, client.stream_events(exchange))
}

/// Asks a server and returns the text that came and how it ended.
pub(crate) async fn outcome(client: &HttpClient, url: &str) -> (String, Option<ProviderError>) {
    let mut stream = ask(client, exchange(url));
    let error = stream.finish().await.err();
    (stream.partial().text(), error)
}

/// Reads the next event, which must be the word.
pub(crate) async fn expect_word(stream: &mut AssistantStream, word: &str) {
    loop {
        let event = stream.next().await.expect("the stream goes on");
        assert!(!event.is_terminal(), "{event:?}");
        if let Some(text) = event.text_delta() {
            assert_eq!(text, word);
            return;
        }
    }
}
