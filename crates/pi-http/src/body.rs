//! The body of a response, in pieces.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body as _;
use pi_core::ProviderError;

use crate::failure;

/// The body of a response. Dropping it stops the response.
pub(crate) struct Body {
    inner: reqwest::Body,
    host: String,
}

impl Body {
    pub(crate) fn new(response: reqwest::Response, host: String) -> Self {
        Self {
            inner: response.into(),
            host,
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the next piece, `None` at the end.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ProviderError>>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(failure::reading(error, &self.host))));
                }
                None => return Poll::Ready(None),
            };
            // Trailers are of no interest.
            if let Ok(piece) = frame.into_data() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }

    /// Reads until the end or until `read` holds more than `limit` bytes.
    ///
    /// # Cancel safety
    /// Cancel safe: what came so far is in `read`.
    pub(crate) async fn read_to(
        &mut self,
        read: &mut Vec<u8>,
        limit: usize,
    ) -> Result<(), ProviderError> {
        while read.len() <= limit {
            match poll_fn(|cx| self.poll_piece(cx)).await {
                Some(piece) => read.extend_from_slice(&piece?),
                None => break,
            }
        }
        Ok(())
    }
}
