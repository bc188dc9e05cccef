//! The way to the other two key-holders. The sender waits for nothing that it sends.

#![expect(
    clippy::disallowed_types,
    reason = "a queue for each of two machines, whose sender must not wait for them"
)]

use super::seat_name::name;
use crate::address::Address;
use crate::connection_pool::Bounds;
use crate::identity::Identity;
use crate::protocol::request_frame;
use crate::remote::Remote;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trefoil_matching::quorum::Seat;
use trefoil_matching::{KeyHolding as _, Request};
use trefoil_storage::supervisor::Supervisor;
use zeroize::Zeroizing;

/// Messages that wait for each of the others; the oldest are dropped first.
const QUEUE_MAX: usize = 256;
/// Messages under way to each at one time.
const SENDERS: usize = 2;
/// Of the connection to each: enough for a handshake on a busy machine.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(5), connections: SENDERS };

/// One of the others, and who connects to it.
pub(crate) struct Link {
    pub(crate) seat: Seat,
    pub(crate) address: Address,
    pub(crate) identity: Identity,
}

/// See the module. Its threads end with the process.
pub(crate) struct Peers {
    peers: Vec<Arc<Peer>>,
    /// Age at which a message is of no use any more.
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
    /// Starts to connect. A peer that is away is sent what is not older than `lifetime` when it is back.
    pub(crate) fn start(supervisor: &Supervisor, links: Vec<Link>, lifetime: Duration) -> io::Result<Peers> {
        let mut peers = Vec::with_capacity(links.len());
        for Link { seat, address, identity } in links {
            let remote = Remote::start_under(supervisor, address, identity, BOUNDS)?;
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

    /// Sends to each of both what is for it, about a batch of this digest, without waiting.
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

    /// Takes back what was to be sent about a batch. Whether neither has heard of it: what is not in a queue any more may have arrived.
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
            // Taken once it can be sent: what is newer by then is sent as well.
            if self.remote.wait_until_ready(Instant::now() + RETRY).is_err() {
                continue;
            }
            let Some(message) = self.queue().pop_front() else { continue };
            if message.until < Instant::now() {
                continue;
            }
            if let Err(cause) = self.remote.call_with(&message.frame) {
                tracing::debug!(%cause, "a part did not arrive");
                // What it has refused it would refuse again.
                if self.remote.unready().is_some() {
                    self.queue().push_front(message);
                }
            }
        }
    }
}

/// How often it is looked whether a peer that is away is back.
const RETRY: Duration = Duration::from_millis(500);
