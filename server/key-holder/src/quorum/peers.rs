//! The links to the other two key-holders. Sending never waits.

#![expect(
    clippy::disallowed_types,
    reason = "a queue for each of two machines, whose sender must not wait for them"
)]

use super::name;
use crate::address::Address;
use crate::connection_pool::Bounds;
use crate::protocol::request_frame;
use crate::remote::Remote;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trefoil_host::identity::Identity;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{KeyHolding as _, Request};
use trefoil_storage::supervisor::Supervisor;
use zeroize::Zeroizing;

/// Most messages that wait for each of the others; the oldest are dropped first.
const QUEUE_MAX: usize = 256;
/// Most messages in flight to each.
const SENDERS: usize = 2;
/// Timeout of the connection to each: enough for a handshake on a busy machine.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(5), connections: SENDERS };

/// One of the others, and its connection.
pub(crate) struct Link {
    pub(crate) seat: Seat,
    pub(crate) address: Address,
    pub(crate) identity: Identity,
}

/// See the module. Its threads end with the process.
pub(crate) struct Peers {
    peers: Vec<Arc<Peer>>,
    /// Age at which a message is useless.
    lifetime: Duration,
}

struct Peer {
    seat: Seat,
    remote: Remote,
    queue: Mutex<VecDeque<Message>>,
    filled: Condvar,
}

struct Message {
    about: [u8; 32],
    frame: Zeroizing<Vec<u8>>,
    until: Instant,
}

impl Peers {
    /// Starts to connect. A peer that comes back gets the waiting messages that are not older than `lifetime`.
    pub(crate) fn start(supervisor: &Supervisor, links: Vec<Link>, lifetime: Duration) -> io::Result<Peers> {
        let mut peers = Vec::with_capacity(links.len());
        for Link { seat, address, identity } in links {
            let remote = Remote::start(supervisor, address, identity, BOUNDS, Some(seat))?;
            let peer = Arc::new(Peer { seat, remote, queue: Mutex::default(), filled: Condvar::new() });
            for _ in 0..SENDERS {
                let sender = Arc::clone(&peer);
                let name = format!("to-{}", name(seat));
                supervisor.spawn(name, move || -> () { sender.send_all() })?;
            }
            peers.push(peer);
        }
        Ok(Peers { peers, lifetime })
    }

    /// Sends each of both its message about the batch with this digest, without waiting.
    pub(crate) fn send(&self, about: [u8; 32], request: impl Fn(Seat) -> Request) {
        let until = Instant::now() + self.lifetime;
        for peer in &self.peers {
            let frame = request_frame(&request(peer.seat));
            let mut queue = peer.queue();
            if queue.len() == QUEUE_MAX {
                queue.pop_front();
            }
            queue.push_back(Message { about, frame, until });
            drop(queue);
            peer.filled.notify_one();
        }
    }

    /// Withdraws the messages about a batch. Returns whether neither peer has got one: a message that has left its queue may have arrived.
    pub(crate) fn withdraw(&self, about: &[u8; 32]) -> bool {
        let withdrawn = |peer: &Arc<Peer>| {
            let mut queue = peer.queue();
            let before = queue.len();
            queue.retain(|message| message.about != *about);
            queue.len() < before
        };
        self.peers.iter().filter(|peer| withdrawn(peer)).count() == self.peers.len()
    }

    /// Whether `seat` can be reached, as far as is known.
    pub(crate) fn is_up(&self, seat: Seat) -> bool {
        self.peers.iter().any(|peer| peer.seat == seat && peer.remote.unready().is_none())
    }
}

impl Peer {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_all(&self) -> ! {
        loop {
            let empty = |queue: &mut VecDeque<Message>| queue.is_empty();
            let waited = self.filled.wait_while(self.queue(), empty);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            // Takes messages only when one can be sent, so that newer ones are sent as well.
            if self.remote.wait_until_ready(Instant::now() + RETRY).is_err() {
                continue;
            }
            let Some(message) = self.queue().pop_front() else { continue };
            if message.until < Instant::now() {
                continue;
            }
            if let Err(cause) = self.remote.call_with(&message.frame) {
                tracing::debug!(%cause, "a part did not arrive");
                // It would refuse a refused message again.
                if self.remote.unready().is_some() {
                    self.queue().push_front(message);
                }
            }
        }
    }
}

/// How often to check whether a peer is back.
const RETRY: Duration = Duration::from_millis(500);
