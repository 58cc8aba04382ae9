//! A server that follows a script, on a socket of this machine.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// One step of a script, after the request has been read.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(String),
    /// Waits until the test opens the gate once more.
    Gate,
    /// Breaks the connection.
    Reset,
    /// Keeps the connection open until the client closes it.
    Hold,
}

/// A running server. It answers the n-th connection by the n-th script, later ones by the last.
pub(crate) struct Server {
    pub(crate) url: String,
    gate: Arc<Semaphore>,
    requests: mpsc::UnboundedReceiver<String>,
    closed: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Starts a server that answers every connection by the same script.
    pub(crate) async fn start(script: impl Into<Vec<Act>>) -> Self {
        Self::start_each([script.into()]).await
    }

    pub(crate) async fn start_each(scripts: impl IntoIterator<Item = Vec<Act>>) -> Self {
        let mut scripts: VecDeque<_> = scripts.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/words", listener.local_addr().unwrap());
        let gate = Arc::new(Semaphore::new(0));
        let (request, requests) = mpsc::unbounded_channel();
        let (close, closed) = mpsc::unbounded_channel();
        let gate_of_server = Arc::clone(&gate);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let script = match scripts.len() {
                    0 | 1 => scripts.front().cloned().unwrap_or_default(),
                    _ => scripts.pop_front().unwrap_or_default(),
                };
                let gate = Arc::clone(&gate_of_server);
                let (request, close) = (request.clone(), close.clone());
                tokio::spawn(async move {
                    follow(socket, &script, &gate, &request).await;
                    let _ = close.send(());
                });
            }
        });
        Self {
            url,
            gate,
            requests,
            closed,
        }
    }

    /// Lets one waiting step go on.
    pub(crate) fn open_gate(&self) {
        self.gate.add_permits(1);
    }

    /// Returns the text of the next request.
    pub(crate) async fn request(&mut self) -> String {
        self.requests.recv().await.unwrap()
    }

    /// Returns true if a request has come that was not taken yet.
    pub(crate) fn has_request(&mut self) -> bool {
        self.requests.try_recv().is_ok()
    }

    /// Waits until the end of a script, of which `Act::Hold` ends when the client closes.
    pub(crate) async fn closed(&mut self) {
        self.closed.recv().await.unwrap();
    }
}

/// Sends a body of unknown length, as chunks: the head, then each piece by itself.
pub(crate) fn chunked(pieces: &[&str]) -> Vec<Act> {
    let mut acts = vec![head("text/event-stream")];
    acts.extend(pieces.iter().map(|piece| chunk(piece)));
    acts
}

pub(crate) fn head(content_type: &str) -> Act {
    Act::Send(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nx-request-id: req-7\r\n\
         transfer-encoding: chunked\r\n\r\n"
    ))
}

pub(crate) fn chunk(piece: &str) -> Act {
    Act::Send(format!("{:x}\r\n{piece}\r\n", piece.len()))
}

/// Ends a chunked body.
pub(crate) fn last_chunk() -> Act {
    Act::Send("0\r\n\r\n".into())
}

/// Sends a whole answer.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    vec![Act::Send(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    ))]
}

async fn follow(
    mut socket: TcpStream,
    script: &[Act],
    gate: &Semaphore,
    request: &mpsc::UnboundedSender<String>,
) {
    let Some(text) = read_request(&mut socket).await else {
        return;
    };
    let _ = request.send(text);
    for act in script {
        match act {
            Act::Send(text) => {
                if socket.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Act::Gate => gate.acquire().await.unwrap().forget(),
            Act::Reset => socket.set_zero_linger().unwrap(),
            Act::Hold => {
                let mut buffer = [0; 64];
                while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            }
        }
    }
}

/// Reads a request with its body, whose length the head must tell.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return Some(text);
            }
        }
        let mut buffer = [0; 4096];
        match socket.read(&mut buffer).await {
            Ok(count) if count > 0 => read.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
