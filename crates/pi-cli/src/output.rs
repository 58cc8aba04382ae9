//! Standard output, whose reader may go away.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use pi_core::CancellationToken;

/// A handle for standard output. After a failed write it writes nothing more.
#[derive(Clone)]
pub(crate) struct Output {
    sink: Arc<Mutex<Sink>>,
    failed: CancellationToken,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    error: Option<io::Error>,
}

impl Output {
    pub(crate) fn stdout() -> Self {
        Self::new(io::stdout())
    }

    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        let sink = Sink {
            writer: Box::new(writer),
            error: None,
        };
        Self {
            sink: Arc::new(Mutex::new(sink)),
            failed: CancellationToken::new(),
        }
    }

    /// Writes all of `bytes` at once, past every buffer.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.error.is_some() {
            return;
        }
        let written = sink
            .writer
            .write_all(bytes)
            .and_then(|()| sink.writer.flush());
        if let Err(error) = written {
            sink.error = Some(error);
            self.failed.cancel();
        }
    }

    /// Waits until a write has failed.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn failed(&self) {
        self.failed.cancelled().await;
    }

    /// Takes the error of the write that failed.
    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.sink
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .error
            .take()
    }
}
