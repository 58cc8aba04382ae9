//! A server on this machine that answers as it is told.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What the server does with one request: it sends bytes, and then closes the connection or keeps
/// it open without another word.
#[derive(Clone)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    hangs: bool,
}

impl Answer {
    /// A complete answer.
    pub(crate) fn new(status: &str, kind: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        Self {
            bytes: (head + body).into_bytes(),
            hangs: false,
        }
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::new("200 OK", "application/json", body)
    }

    /// A reply of a model whose end is missing: text that comes in these pieces.
    pub(crate) fn cut(pieces: &[&str]) -> Self {
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n"
            .to_vec();
        for piece in pieces {
            let chunk = text_event(piece);
            bytes.extend(format!("{:x}\r\n{chunk}\r\n", chunk.len()).bytes());
        }
        Self {
            bytes,
            hangs: false,
        }
    }

    /// The same, but the connection stays open.
    pub(crate) fn hanging(pieces: &[&str]) -> Self {
        Self {
            hangs: true,
            ..Self::cut(pieces)
        }
    }

    /// A whole reply of a model.
    pub(crate) fn text(pieces: &[&str]) -> Self {
        let mut body: String = pieces.iter().map(|piece| text_event(piece)).collect();
        body.push_str(&event(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#));
        body.push_str("data: [DONE]\n\n");
        Self::new("200 OK", "text/event-stream", &body)
    }

    /// A whole reply that tells how many tokens went in and came out.
    pub(crate) fn text_with_usage(pieces: &[&str], input: u64, output: u64) -> Self {
        let mut body: String = pieces.iter().map(|piece| text_event(piece)).collect();
        body.push_str(&event(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#));
        body.push_str(&format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{input},\
             \"completion_tokens\":{output}}}}}\n\ndata: [DONE]\n\n"
        ));
        Self::new("200 OK", "text/event-stream", &body)
    }

    /// A reply of a model that calls a tool.
    pub(crate) fn call(tool: &str, arguments: &str) -> Self {
        let call = serde_json::json!({
            "index": 0, "id": "call_1", "type": "function",
            "function": { "name": tool, "arguments": arguments },
        });
        let mut body = event(&format!(
            r#"{{"index":0,"delta":{{"tool_calls":[{call}]}}}}"#
        ));
        body.push_str(&event(
            r#"{"index":0,"delta":{},"finish_reason":"tool_calls"}"#,
        ));
        body.push_str("data: [DONE]\n\n");
        Self::new("200 OK", "text/event-stream", &body)
    }
}

fn text_event(text: &str) -> String {
    let text = serde_json::Value::from(text);
    event(&format!(r#"{{"index":0,"delta":{{"content":{text}}}}}"#))
}

fn event(choice: &str) -> String {
    format!(
        "data: {{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\
         \"choices\":[{choice}]}}\n\n"
    )
}

/// The server, which gives one answer after the other, and the last one to every further request.
pub(crate) struct Server {
    url: String,
    requests: Receiver<String>,
}

impl Server {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, requests) = channel();
        thread::spawn(move || {
            let last = answers.last().cloned().expect("an answer");
            for answer in answers.into_iter().chain(std::iter::repeat(last)) {
                let Ok((connection, _)) = listener.accept() else {
                    return;
                };
                serve(connection, answer, &sender);
            }
        });
        Self { url, requests }
    }

    /// The address without `/v1`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far: request line, headers in lower case, body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

/// Reads a request and answers it. A client that goes away is no failure of the test.
fn serve(connection: TcpStream, answer: Answer, requests: &Sender<String>) {
    let mut reader = BufReader::new(&connection);
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        request.push_str(if request.is_empty() { &line } else { &lower });
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    request.push_str(&String::from_utf8_lossy(&body));
    let _ = requests.send(request);
    let _ = (&connection).write_all(&answer.bytes);
    if answer.hangs {
        thread::spawn(move || {
            // Ends when the client closes the connection.
            let _ = (&connection).read(&mut [0]);
        });
    }
}

/// An address at which nobody listens.
pub(crate) fn nobody() -> String {
    // A port that was free a moment ago may be the next test's server; nobody serves port 1.
    "http://127.0.0.1:1/v1".to_owned()
}
