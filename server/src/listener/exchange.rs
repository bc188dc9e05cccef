//! One request and its answer on a connection.
//!
//! Some clients lose a refusal that overtakes the body of its request: in HTTP/2 the server resets the stream, and
//! curl before 8.x then reports the reset. So the rest of a body is read and discarded before the answer, within bounds.
//! A client that waits for `100 Continue` has sent no body, and is answered at once.

#![expect(clippy::disallowed_types, reason = "between the two ends of one exchange")]

use super::activity::{Activity, Turn, Unsent};
use super::turns::Turns;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::header::{CONNECTION, EXPECT, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Buf, Bytes, Frame, Incoming, SizeHint};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Most bytes of a body that are discarded: four times the largest body of any route.
pub(super) const DISCARDED_BYTES_MAX: usize = 1 << 20;
/// How long a peer may take to send them.
const DISCARDED_TIME_MAX: Duration = Duration::from_secs(5);

/// Serves the requests of one connection.
pub(super) struct Exchange {
    router: TowerToHyperService<Router>,
    activity: Arc<Activity>,
    turns: Arc<Turns>,
    refusals_max: u32,
}

impl Exchange {
    pub(super) fn new(
        router: Router,
        activity: Arc<Activity>,
        turns: Arc<Turns>,
        refusals_max: u32,
    ) -> Exchange {
        Exchange { router: TowerToHyperService::new(router), activity, turns, refusals_max }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>>;

impl Service<Request<Incoming>> for Exchange {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let turn = Arc::new(Turn::begin(&self.activity));
        let (http2, unread) = (request.version() == Version::HTTP_2, Arc::<Mutex<_>>::default());
        let expects = !http2 && request.headers().contains_key(EXPECT);
        let request = request.map(|body| match body.is_end_stream() {
            true => Body::empty(),
            false => Body::new(Asked {
                body: Some(body),
                turn: Arc::clone(&turn),
                unread: Arc::clone(&unread),
                // Reading from it tells the client to send it.
                expected: expects,
            }),
        });
        let (answering, activity, refusals_max) =
            (self.router.call(request), Arc::clone(&self.activity), self.refusals_max);
        let turns = Arc::clone(&self.turns);
        Box::pin(async move {
            let mut response = turns.in_turn(answering).await?;
            let rest = unread.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(body) = rest {
                turn.wait();
                discard(body).await;
            }
            let (status, headers) = (response.status(), response.headers_mut());
            if (answered(&activity, status, refusals_max, headers) || activity.is_old()) && !http2 {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            let unsent = Arc::new(Unsent::begin(&activity));
            drop(turn);
            Ok(response.map(|body| Answer { body, unsent }))
        })
    }
}

/// Notes how a request was answered. Returns whether the connection is to end because of too many refusals in a row.
fn answered(activity: &Activity, status: StatusCode, refusals_max: u32, headers: &mut HeaderMap) -> bool {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            tell(activity.crowds(), headers);
        }
        _ => activity.eases(),
    }
    activity.answered(status.is_client_error() || status.is_server_error(), refusals_max)
}

/// Says for how long the connection is not read, if that is a second or more and the answer does not say a longer time.
fn tell(pause: Duration, headers: &mut HeaderMap) {
    let said = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0);
    if pause >= Duration::from_secs(1) && pause.as_secs() >= said {
        headers.insert(RETRY_AFTER, HeaderValue::from(pause.as_secs() + 1));
    }
}

async fn discard(mut body: Incoming) {
    if body.size_hint().lower() > DISCARDED_BYTES_MAX as u64 {
        return;
    }
    let all = async {
        let mut left = DISCARDED_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(bytes) else { return };
            left = rest;
        }
    };
    // A peer that is too slow or sends too much still gets its answer.
    let _ = tokio::time::timeout(DISCARDED_TIME_MAX, all).await;
}

/// The body of a request. The part that its handler does not read goes to `unread`.
struct Asked {
    body: Option<Incoming>,
    turn: Arc<Turn>,
    unread: Arc<Mutex<Option<Incoming>>>,
    /// Whether the client waits for `100 Continue`, which was not sent yet.
    expected: bool,
}

impl HttpBody for Asked {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Asked { body, turn, expected, .. } = &mut *self;
        let Some(body) = body else { return Poll::Ready(None) };
        *expected = false;
        let frame = Pin::new(body).poll_frame(cx);
        match frame {
            Poll::Pending => turn.wait(),
            Poll::Ready(_) => turn.work(),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.turn.work();
        if let Some(body) = self.body.take()
            && !body.is_end_stream()
            && !self.expected
        {
            *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

/// The body of an answer.
pub(super) struct Answer {
    body: Body,
    unsent: Arc<Unsent>,
}

impl HttpBody for Answer {
    type Data = Chunk;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let chunk = |bytes| Chunk { bytes, _unsent: Arc::clone(&self.unsent) };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes of an answer, which the HTTP library drops once the peer's flow control has let them through.
pub(super) struct Chunk {
    bytes: Bytes,
    _unsent: Arc<Unsent>,
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.bytes.chunks_vectored(slices)
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use hyper_util::rt::TokioIo;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::task::yield_now;

    /// Claim V150.
    ///
    /// A request may be on its way to an idle connection, so none is closed for its age without an answer that says so.
    #[tokio::test]
    async fn an_old_connection_ends_with_an_answer_that_says_so() {
        let activity = Arc::new(Activity::new());
        let router = Router::new().route("/", get(async || ""));
        let exchange = Exchange::new(router, Arc::clone(&activity), Arc::new(Turns::of_requests()), u32::MAX);
        let (mut peer, service) = tokio::io::duplex(1 << 16);
        let serving =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(service), exchange);
        let serving = tokio::spawn(serving);
        let ask = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        peer.write_all(ask).await.unwrap();
        let mut first = vec![0; 4096];
        let read = peer.read(&mut first).await.unwrap();
        activity.ages();
        peer.write_all(ask).await.unwrap();
        let (mut last, first) = (String::new(), String::from_utf8_lossy(&first[..read]));
        peer.read_to_string(&mut last).await.unwrap();
        let says = "\r\nconnection: close\r\n";
        assert!(first.starts_with("HTTP/1.1 200") && !first.contains(says), "{first}");
        assert!(last.starts_with("HTTP/1.1 200") && last.contains(says), "{last}");
        serving.await.unwrap().unwrap();
    }

    /// Claim V47.
    #[expect(clippy::disallowed_methods, reason = "counts in a test")]
    #[tokio::test]
    async fn requests_that_were_sent_at_once_let_others_go_between() {
        let (count, answered) = (32, Arc::<AtomicUsize>::default());
        let handler = {
            let answered = Arc::clone(&answered);
            move || async move {
                answered.fetch_add(1, Ordering::Relaxed);
            }
        };
        let exchange = Exchange::new(
            Router::new().route("/", get(handler)),
            Arc::new(Activity::new()),
            Arc::new(Turns::of_requests()),
            u32::MAX,
        );
        let (mut peer, service) = tokio::io::duplex(1 << 16);
        peer.write_all("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(count).as_bytes()).await.unwrap();
        let serving =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(service), exchange);
        let serving = tokio::spawn(serving);
        for hops in 1..=count {
            yield_now().await;
            assert!(answered.load(Ordering::Relaxed) <= hops, "more than one request at a time");
        }
        while answered.load(Ordering::Relaxed) < count {
            yield_now().await;
        }
        drop(peer);
        let _ = serving.await;
    }
}
