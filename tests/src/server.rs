//! A scripted HTTP/1.1 server on a local port: it sends what it was told, piece by piece, and keeps
//! what it received.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pi_core::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How long a connection stays after its last byte before it is reset, so that the peer can read
/// what was sent: a reset discards what lies in its buffer.
const BEFORE_RESET: Duration = Duration::from_millis(60);

/// The largest request that is read.
const MOST_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// What happens after the last byte of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// The body is complete.
    #[default]
    Clean,
    /// The connection is reset inside the body.
    Reset,
    /// The connection stays open and silent inside the body.
    Open,
}

/// One response.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, each piece a chunk of its own.
    pub pieces: Vec<Bytes>,
    /// What happens then.
    pub end: End,
}

/// One request as the server received it.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method.
    pub method: String,
    /// Path and query, or the whole URL of a request to a proxy.
    pub target: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Bytes,
    /// The time since the server was started, or the monotonic time of its clock.
    pub at: Duration,
}

/// A running server. Dropping it closes the port.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server that answers the n-th request with the n-th response, and later ones with the
    /// last. It must be called inside a tokio runtime.
    ///
    /// # Errors
    /// If no local port can be opened.
    pub async fn start(responses: Vec<Response>) -> io::Result<Self> {
        Self::run(responses, None).await
    }

    /// Starts such a server, which notes the times of requests by a clock.
    ///
    /// # Errors
    /// If no local port can be opened.
    pub async fn start_with_clock(responses: Vec<Response>, clock: impl Clock) -> io::Result<Self> {
        Self::run(responses, Some(Box::new(clock))).await
    }

    async fn run(responses: Vec<Response>, clock: Option<Box<dyn Clock>>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let received = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Script {
            responses,
            received: Arc::clone(&received),
            started: Instant::now(),
            clock,
        });
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let script = Arc::clone(&script);
                connections.spawn(async move {
                    // A client that goes away in mid-answer is part of the tests.
                    let _ = script.serve(stream).await;
                });
            }
        });
        Ok(Self {
            address,
            received,
            task,
        })
    }

    /// Returns `address:port`.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        lock(&self.received).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Script {
    responses: Vec<Response>,
    received: Arc<Mutex<Vec<Received>>>,
    started: Instant,
    clock: Option<Box<dyn Clock>>,
}

impl Script {
    /// Answers one request, then closes the connection.
    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut request = read_request(&mut stream, self.started).await?;
        if let Some(clock) = &self.clock {
            request.at = clock.monotonic();
        }
        let index = {
            let mut received = lock(&self.received);
            received.push(request);
            received.len() - 1
        };
        let Some(response) = self.responses.get(index).or(self.responses.last()) else {
            return Ok(());
        };
        stream.write_all(head(response).as_bytes()).await?;
        for piece in response.pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).await?;
        }
        match response.end {
            End::Clean => {
                stream.write_all(b"0\r\n\r\n").await?;
                stream.shutdown().await
            }
            End::Reset => {
                stream.flush().await?;
                tokio::time::sleep(BEFORE_RESET).await;
                stream.set_zero_linger()
            }
            End::Open => {
                stream.flush().await?;
                std::future::pending().await
            }
        }
    }
}

fn head(response: &Response) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    head
}

pub(crate) async fn read_request(stream: &mut TcpStream, started: Instant) -> io::Result<Received> {
    let mut buffer = Vec::new();
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        read_more(stream, &mut buffer).await?;
    };
    let at = started.elapsed();
    let head = String::from_utf8_lossy(buffer.get(..head_end).unwrap_or_default()).into_owned();
    let mut body: Vec<u8> = buffer.split_off(head_end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (
        first.next().unwrap_or_default(),
        first.next().unwrap_or_default(),
    );
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let name = name.to_ascii_lowercase();
        let value = value.trim();
        headers
            .entry(name)
            .and_modify(|known| *known = format!("{known}, {value}"))
            .or_insert_with(|| value.to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse::<usize>().ok());
    if let Some(length) = length {
        while body.len() < length {
            read_more(stream, &mut body).await?;
        }
        body.truncate(length);
    } else if headers
        .get("transfer-encoding")
        .is_some_and(|coding| coding == "chunked")
    {
        while !body.ends_with(b"0\r\n\r\n") {
            read_more(stream, &mut body).await?;
        }
        body = unchunked(&body);
    }
    Ok(Received {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: body.into(),
        at,
    })
}

async fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    if buffer.len() > MOST_REQUEST_BYTES {
        return Err(io::Error::other("the request is too large"));
    }
    if stream.read_buf(buffer).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn unchunked(mut coded: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = coded.windows(2).position(|window| window == b"\r\n") {
        let size = coded
            .get(..end)
            .and_then(|line| std::str::from_utf8(line).ok());
        let size = size
            .and_then(|line| usize::from_str_radix(line.trim(), 16).ok())
            .unwrap_or(0);
        let Some(chunk) = coded.get(end + 2..end + 2 + size) else {
            break;
        };
        if size == 0 {
            break;
        }
        body.extend_from_slice(chunk);
        coded = coded.get(end + 4 + size..).unwrap_or_default();
    }
    body
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
