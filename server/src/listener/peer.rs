//! The connection of a handler that answers while it receives its request: a stream of logins.
//!
//! For the connection, each login of a stream is like a request of its own: it computes in a turn of its peer, the connection works
//! while it is in flight, its refusal lengthens the pauses, and its answer must be taken in time.

use super::activity::{Activity, Turn, Unsent};
use super::exchange;
use super::turns::Turns;
use axum::http::StatusCode;
use hyper::body::Bytes;
use std::sync::Arc;

/// The other end of a connection. A request has it among its extensions.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Shared>);

struct Shared {
    activity: Arc<Activity>,
    turns: Arc<Turns>,
    refusals_max: u32,
}

/// A part of an answer, and a value that is dropped once the peer has taken it.
struct Part<T> {
    bytes: Vec<u8>,
    _held: (Unsent, T),
}

impl<T> AsRef<[u8]> for Part<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Peer {
    pub(super) fn new(activity: Arc<Activity>, turns: Arc<Turns>, refusals_max: u32) -> Peer {
        Peer(Arc::new(Shared { activity, turns, refusals_max }))
    }

    /// The result of `future`, polled in turns of the peer.
    pub(crate) async fn in_turn<F: Future>(&self, future: F) -> F::Output {
        self.0.turns.in_turn(future).await
    }

    /// Like this, and the connection works until then.
    pub(crate) async fn works<F: Future>(&self, future: F) -> F::Output {
        let _turn = Turn::begin(&self.0.activity);
        self.in_turn(future).await
    }

    /// A login was answered like this.
    pub(crate) fn answered(&self, status: StatusCode) {
        exchange::answered(&self.0.activity, status, self.0.refusals_max);
    }

    /// Whether the connection is about to end, so that nothing more should be begun on it.
    pub(crate) fn leaves(&self) -> bool {
        self.0.activity.leaves()
    }

    /// A part of an answer. The connection ends unless the peer takes it within the write deadline; `held` is dropped then, or once it did.
    pub(crate) fn part<T: Send + 'static>(&self, bytes: Vec<u8>, held: T) -> Bytes {
        Bytes::from_owner(Part { bytes, _held: (Unsent::begin(&self.0.activity), held) })
    }
}
