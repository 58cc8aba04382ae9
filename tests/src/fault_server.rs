//! A server that misbehaves as it is told: a script for each connection, on a raw socket.
//!
//! The [`server`](crate::server) beside it answers as a server should, and can break off; here every
//! byte and every pause is the script's.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::server::{Received, read_request};

/// What happens on one connection. At the end of the script the connection is closed.
///
/// # Examples
/// ```
/// use integration_tests::fault_server::Script;
///
/// // A reply that breaks off in the middle, once the test says so.
/// let script = Script::on_request().event_stream(&["data: {}\n\n"]).gate().reset();
/// # drop(script);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Script(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    ReadRequest,
    Send(Bytes),
    Gate,
    Wait(Duration),
    Reset,
    HalfClose,
    Hold,
}

impl Script {
    /// Creates a script that begins when a client has connected.
    #[must_use]
    pub fn on_connect() -> Self {
        Self::default()
    }

    /// Creates a script that begins when a request has been read and recorded.
    #[must_use]
    pub fn on_request() -> Self {
        Self::on_connect().then(Step::ReadRequest)
    }

    /// Sends bytes as they are.
    #[must_use]
    pub fn send(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Send(bytes.into()))
    }

    /// Sends the head of an answer. Each header ends in a line break.
    #[must_use]
    pub fn head(self, status: u16, headers: &str) -> Self {
        let headers = headers.replace('\n', "\r\n");
        self.send(format!(
            "HTTP/1.1 {status} Scripted\r\nconnection: close\r\n{headers}\r\n"
        ))
    }

    /// Sends a whole answer. Each header ends in a line break.
    #[must_use]
    pub fn answer(self, status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let headers = format!("{headers}content-length: {length}\n");
        self.head(status, &headers).send(body.to_owned())
    }

    /// Sends the head of an event stream in chunks, then each text as one chunk.
    #[must_use]
    pub fn event_stream(self, pieces: &[&str]) -> Self {
        let headers = "content-type: text/event-stream\ntransfer-encoding: chunked\n";
        let head = self.head(200, headers);
        pieces
            .iter()
            .fold(head, |script, piece| script.chunk(piece))
    }

    /// Sends one chunk.
    #[must_use]
    pub fn chunk(self, piece: impl AsRef<[u8]>) -> Self {
        let piece = piece.as_ref();
        let head = format!("{:x}\r\n", piece.len());
        self.send([head.as_bytes(), piece, b"\r\n"].concat())
    }

    /// Ends a body of chunks.
    #[must_use]
    pub fn last_chunk(self) -> Self {
        self.send("0\r\n\r\n")
    }

    /// Waits until the test opens the gate once more.
    #[must_use]
    pub fn gate(self) -> Self {
        self.then(Step::Gate)
    }

    /// Waits for some real time.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.then(Step::Wait(time))
    }

    /// Breaks the connection; nothing of the script follows.
    #[must_use]
    pub fn reset(self) -> Self {
        self.then(Step::Reset)
    }

    /// Closes the server's half of the connection.
    #[must_use]
    pub fn half_close(self) -> Self {
        self.then(Step::HalfClose)
    }

    /// Does nothing until the client closes the connection.
    #[must_use]
    pub fn hold(self) -> Self {
        self.then(Step::Hold)
    }

    fn then(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
}

/// A running server. Dropping it closes the port and all connections.
#[derive(Debug)]
pub struct FaultServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    received: Mutex<Vec<Received>>,
    gate: Semaphore,
    /// How many connections were closed.
    closed: watch::Sender<usize>,
}

impl FaultServer {
    /// Starts a server that follows the n-th script on the n-th connection, and the last one on later
    /// ones. It must be called inside a tokio runtime.
    ///
    /// # Errors
    /// If no local port can be opened.
    pub async fn start(scripts: impl IntoIterator<Item = Script>) -> io::Result<Self> {
        let mut scripts: VecDeque<Script> = scripts.into_iter().collect();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            started: Instant::now(),
            received: Mutex::default(),
            gate: Semaphore::new(0),
            closed: watch::Sender::new(0),
        });
        let of_server = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let next = if scripts.len() > 1 {
                    scripts.pop_front()
                } else {
                    scripts.front().cloned()
                };
                let shared = Arc::clone(&of_server);
                connections.spawn(async move {
                    // A client that goes away in mid-script is part of the tests.
                    let _ = shared.follow(socket, next.unwrap_or_default()).await;
                    shared.closed.send_modify(|closed| *closed += 1);
                });
            }
        });
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// Returns `address:port`.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns the address with a path below it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        lock(&self.shared.received).clone()
    }

    /// Returns how many connections have sent a request and are not closed. It counts where every
    /// script reads one.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        let received = lock(&self.shared.received).len();
        received.saturating_sub(*self.shared.closed.borrow())
    }

    /// Lets one waiting script go on.
    pub fn open_gate(&self) {
        self.shared.gate.add_permits(1);
    }

    /// Waits until this many connections have been closed, by either side.
    pub async fn closed(&self, count: usize) {
        let mut closed = self.shared.closed.subscribe();
        // The sender lives in `self`.
        let _ = closed.wait_for(|closed| *closed >= count).await;
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    async fn follow(&self, mut socket: TcpStream, script: Script) -> io::Result<()> {
        socket.set_nodelay(true)?;
        for step in script.0 {
            match step {
                Step::ReadRequest => {
                    let request = read_request(&mut socket, self.started).await?;
                    lock(&self.received).push(request);
                }
                Step::Send(bytes) => socket.write_all(&bytes).await?,
                Step::Gate => match self.gate.acquire().await {
                    Ok(permit) => permit.forget(),
                    Err(_) => break,
                },
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Reset => return socket.set_zero_linger(),
                Step::HalfClose => socket.shutdown().await?,
                Step::Hold => {
                    let mut buffer = [0; 256];
                    while socket.read(&mut buffer).await? > 0 {}
                }
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
