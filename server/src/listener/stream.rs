//! The bytes of a connection: tracks whether the peer takes them, pauses after refusals, and closes without losing the last answer. Where the
//! HTTP library refuses a request by itself, its answer is replaced by a [`refusal`].
//!
//! A connection that keeps sending after refusals is not read for a moment ([`Activity::crowds`]). The kernel's buffers fill, and the peer's writes
//! wait. This backpressure costs the service less than further refusals. Writing goes on meanwhile.
//!
//! A request refused before its body was read (too large, wrong media type, no such caller) is answered while the peer
//! still sends. Closing the socket then makes the kernel answer the rest with a reset, and a reset can overtake the
//! answer: the peer sees a broken pipe instead of the problem. So the sending side closes first, and further bytes
//! are read and discarded, undecrypted, until the peer closes or a bound is reached (RFC 9112 section 9.6).

use super::activity::Activity;
use super::exchange::DISCARDED_BYTES_MAX;
use super::refusal;
use hyper::body::{Buf as _, Bytes};
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until};
use tokio_rustls::server::TlsStream;

/// How long a peer may take to notice the close.
const LINGER_TIME_MAX: Duration = Duration::from_secs(5);

/// A TLS stream that pauses, and whose shutdown lingers.
pub(super) struct Stream {
    stream: TlsStream<TcpStream>,
    http2: bool,
    /// What is left of the answer that replaces one of the HTTP library.
    refusal: Bytes,
    pause: Option<Pin<Box<Sleep>>>,
    closing: Option<Closing>,
    activity: Arc<Activity>,
}

/// The sending side is closed; the peer may continue for this long.
struct Closing {
    deadline: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl Stream {
    pub(super) fn new(stream: TlsStream<TcpStream>, http2: bool, activity: Arc<Activity>) -> Stream {
        Stream { stream, http2, refusal: Bytes::new(), pause: None, closing: None, activity }
    }

    fn write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(written)
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.activity.stalls(),
            Poll::Ready(Ok(bytes)) => self.activity.takes(*bytes),
            Poll::Ready(Err(_)) => {}
        }
        written
    }
}

impl Closing {
    fn poll(&mut self, socket: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut discarded = [0; 4096];
        while self.bytes_left > 0 && self.deadline.as_mut().poll(cx).is_pending() {
            let mut room = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(&mut *socket).poll_read(cx, &mut room)) {
                Ok(()) if !room.filled().is_empty() => {
                    self.bytes_left = self.bytes_left.saturating_sub(room.filled().len());
                }
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(until) = self.activity.paused() {
            let pause = self.pause.get_or_insert_with(|| Box::pin(sleep_until(until)));
            ready!(pause.as_mut().poll(cx));
            // If it was made longer meanwhile, there is another pause.
            self.pause = None;
        }
        let Stream { stream, http2, activity, .. } = &mut *self;
        let filled = buffer.filled().len();
        let read = Pin::new(stream).poll_read(cx, buffer);
        if !*http2 && buffer.filled().len() > filled {
            activity.receives();
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.http2 {
            return self.write(cx, bytes);
        }
        if self.refusal.is_empty() {
            match refusal::in_place_of(bytes) {
                Some(refusal) => self.refusal = refusal,
                None => return self.write(cx, bytes),
            }
        }
        while !self.refusal.is_empty() {
            let rest = self.refusal.clone();
            let written = ready!(self.write(cx, &rest))?;
            self.refusal.advance(written);
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [bytes] = parts {
            return self.poll_write(cx, bytes);
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        match &flushed {
            Poll::Pending => self.activity.stalls(),
            Poll::Ready(_) => self.activity.flows(),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Stream { stream, closing, .. } = &mut *self;
        if closing.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
        }
        let closing = closing.get_or_insert_with(|| Closing {
            deadline: Box::pin(tokio::time::sleep(LINGER_TIME_MAX)),
            bytes_left: DISCARDED_BYTES_MAX,
        });
        ready!(closing.poll(stream.get_mut().0, cx));
        Poll::Ready(Ok(()))
    }
}
