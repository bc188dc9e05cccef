//! The open connections of a listener: limits per peer and in total, and the choice of the connection to close at the limit.
//!
//! Every accepted connection gets a place. When there is none, the oldest idle connection
//! is closed for the new one: one without a request first, then one between two requests, then one whose peer does not
//! send its body or take its answer. So silent connections cannot shut out others, however many there are. A
//! connection for which a handler works is never closed; if handlers work for all of them, a new one waits.
//!
//! Peers are counted by address, and by network of 64 bits for IPv6, which is the least that a provider assigns to a customer.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "when a connection comes or goes")]

use super::activity::{Activity, State};
use super::turns::Turns;
use crate::limits::LiveLimits;
use crate::text::Text;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Age before which a handshake is not closed for another one: a burst of honest clients must not evict itself.
const HANDSHAKE_AGE_MIN: Duration = Duration::from_millis(500);

/// See the module.
pub(crate) struct Connections {
    limits: Arc<LiveLimits>,
    handshake_age_min: Duration,
    table: Mutex<Table>,
    /// A place is free.
    freed: Notify,
    /// Connections that lost their place and are about to end.
    leaving: AtomicUsize,
    accepted: AtomicU64,
    refused: [AtomicU64; Refused::ALL.len()],
    closed: [AtomicU64; Closed::ALL.len()],
}

#[derive(Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Open>,
    peers: HashMap<Peer, Shared>,
}

/// The shared state of one peer's connections.
struct Shared {
    open: usize,
    turns: Arc<Turns>,
}

struct Open {
    peer: Peer,
    activity: Arc<Activity>,
}

/// An address, or a network of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Peer(IpAddr);

/// Why a connection was accepted and dropped at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// Handlers work for all connections of its peer.
    PeerFull,
}

impl Refused {
    const ALL: [Refused; 1] = [Refused::PeerFull];

    fn name(self) -> &'static str {
        match self {
            Refused::PeerFull => "peer-full",
        }
    }
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// The peer closed it.
    Peer,
    /// The service drains.
    Drain,
    /// It was old.
    Age,
    /// Too many refusals in a row.
    Refusals,
    /// It made room for another.
    Evicted,
    /// TLS failed.
    Handshake,
    /// TLS took too long.
    HandshakeTimeout,
    /// No request came.
    FirstRequest,
    /// No head, or only a part of one, came over HTTP/1.1.
    Head,
    /// No further request came.
    Idle,
    /// The peer did not take its answers.
    Stalled,
    /// The HTTP library could not read a head: 400 over HTTP/1.1, a protocol error over HTTP/2.
    Malformed,
    /// The HTTP library found a head too large: 431 or 414 over HTTP/1.1.
    HeadTooLarge,
    /// The network broke.
    Broken,
}

impl Closed {
    const ALL: [Closed; 14] = [
        Closed::Peer,
        Closed::Drain,
        Closed::Age,
        Closed::Refusals,
        Closed::Evicted,
        Closed::Handshake,
        Closed::HandshakeTimeout,
        Closed::FirstRequest,
        Closed::Head,
        Closed::Idle,
        Closed::Stalled,
        Closed::Malformed,
        Closed::HeadTooLarge,
        Closed::Broken,
    ];

    fn name(self) -> &'static str {
        match self {
            Closed::Peer => "peer",
            Closed::Drain => "drain",
            Closed::Age => "age",
            Closed::Refusals => "refusals",
            Closed::Evicted => "evicted",
            Closed::Handshake => "handshake",
            Closed::HandshakeTimeout => "handshake-timeout",
            Closed::FirstRequest => "first-request-timeout",
            Closed::Head => "head-timeout",
            Closed::Idle => "idle-timeout",
            Closed::Stalled => "write-timeout",
            Closed::Malformed => "malformed",
            Closed::HeadTooLarge => "head-too-large",
            Closed::Broken => "broken",
        }
    }
}

/// The place of one connection; free again when dropped.
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub(super) activity: Arc<Activity>,
    /// The turns of its peer's requests.
    pub(super) turns: Arc<Turns>,
}

/// The outcome for a new connection.
enum Admission {
    In(Place),
    Refused,
    /// Handlers work for every connection.
    Full,
}

impl Connections {
    pub(crate) fn new(limits: &Arc<LiveLimits>) -> Arc<Connections> {
        Connections::with_handshakes_of(HANDSHAKE_AGE_MIN, limits)
    }

    fn with_handshakes_of(handshake_age_min: Duration, limits: &Arc<LiveLimits>) -> Arc<Connections> {
        Arc::new(Connections {
            limits: Arc::clone(limits),
            handshake_age_min,
            table: Mutex::default(),
            freed: Notify::new(),
            leaving: AtomicUsize::new(0),
            accepted: AtomicU64::new(0),
            refused: Default::default(),
            closed: Default::default(),
        })
    }

    /// A place for a connection of this peer, once there is one; `None` if the peer has too many.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        loop {
            match self.try_admit(Peer::of(peer)) {
                Admission::In(place) => return Some(place),
                Admission::Refused => return None,
                // A place that was freed meanwhile is remembered, because only the accept loop waits.
                Admission::Full => self.freed.notified().await,
            }
        }
    }

    fn try_admit(self: &Arc<Self>, peer: Peer) -> Admission {
        let limits = self.limits.now();
        let mut table = self.table();
        if table.peers.get(&peer).is_some_and(|peer| peer.open >= limits.connections_per_peer)
            && !self.evict(&mut table, |open| (open.peer == peer).then(|| open.activity.state()))
        {
            drop(table);
            self.refused[Refused::PeerFull as usize].fetch_add(1, Ordering::Relaxed);
            return Admission::Refused;
        }
        if table.open.len() >= limits.connections
            && !self.evict(&mut table, |open| Some(open.activity.state()))
        {
            return Admission::Full;
        }
        let in_handshake = |open: &Open| {
            let state = open.activity.state();
            (state == State::Handshake).then_some(state)
        };
        if table.open.len() >= limits.handshakes
            && table.open.values().filter_map(in_handshake).count() >= limits.handshakes
        {
            self.evict(&mut table, |open| {
                in_handshake(open).filter(|_| open.activity.unchanged() >= self.handshake_age_min)
            });
        }
        let (number, activity) = (table.next, Arc::new(Activity::new()));
        table.next += 1;
        table.open.insert(number, Open { peer, activity: Arc::clone(&activity) });
        let shared = table
            .peers
            .entry(peer)
            .or_insert_with(|| Shared { open: 0, turns: Arc::new(Turns::of_requests()) });
        shared.open += 1;
        let turns = Arc::clone(&shared.turns);
        drop(table);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Admission::In(Place { connections: Arc::clone(self), number, activity, turns })
    }

    /// Closes the first connection in the order, because the process has no file descriptor left.
    pub(super) fn make_room(&self) -> bool {
        self.evict(&mut self.table(), |open| Some(open.activity.state()))
    }

    /// Takes the place of the first connection in the order among those in one of these states. Returns whether there is one.
    fn evict(&self, table: &mut Table, state: impl Fn(&Open) -> Option<State>) -> bool {
        let first = table
            .open
            .iter()
            .filter_map(|(number, open)| {
                let rank = state(open)?.gives_way()?;
                Some((rank, std::cmp::Reverse(open.activity.unchanged()), *number))
            })
            .min();
        let Some((_, _, number)) = first else { return false };
        if let Some(open) = table.remove(number) {
            self.leaving.fetch_add(1, Ordering::Relaxed);
            open.activity.evicted.notify_one();
        }
        true
    }

    /// A connection ended, or is about to.
    pub(super) fn closed(&self, why: Closed) {
        self.closed[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether none is left.
    pub(super) fn is_empty(&self) -> bool {
        self.table().open.is_empty() && self.leaving.load(Ordering::Relaxed) == 0
    }

    /// Whether a handler works for one of them.
    pub(super) fn any_works(&self) -> bool {
        self.table().open.values().any(|open| open.activity.state() == State::Working)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Open connections, accepted ones, and those dropped on arrival.
    pub(crate) fn sums(&self) -> (usize, u64, u64) {
        let refused = self.refused.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        (self.counts().iter().sum(), self.accepted.load(Ordering::Relaxed), refused)
    }

    fn counts(&self) -> [usize; State::ALL.len()] {
        let mut counts = [0; State::ALL.len()];
        for open in self.table().open.values() {
            counts[open.activity.state() as usize] += 1;
        }
        counts[State::Closing as usize] += self.leaving.load(Ordering::Relaxed);
        counts
    }
}

impl Table {
    fn remove(&mut self, number: u64) -> Option<Open> {
        let open = self.open.remove(&number)?;
        if let Some(shared) = self.peers.get_mut(&open.peer) {
            shared.open -= 1;
            if shared.open == 0 {
                self.peers.remove(&open.peer);
            }
        }
        Some(open)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.connections.table().remove(self.number).is_none() {
            self.connections.leaving.fetch_sub(1, Ordering::Relaxed);
        }
        self.connections.freed.notify_one();
    }
}

impl Peer {
    fn of(address: IpAddr) -> Peer {
        Peer(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        })
    }
}

/// The connections of these listeners as metrics.
pub(crate) fn render(text: &mut Text, listeners: &[(&str, &Connections)]) {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let help = "Open connections: handshake, silent (no request yet), closing, idle (between two requests), waiting (for the caller to send or read), working";
    text.family("trefoil_connections", "gauge", help);
    for (listener, connections) in listeners {
        for (state, count) in State::ALL.into_iter().zip(connections.counts()) {
            let labels = format!("{{listener=\"{listener}\",state=\"{}\"}}", state.name());
            text.sample("trefoil_connections", &labels, count as f64);
        }
    }
    text.family("trefoil_connections_accepted_total", "counter", "Connections that got a place");
    for (listener, connections) in listeners {
        let labels = format!("{{listener=\"{listener}\"}}");
        text.sample("trefoil_connections_accepted_total", &labels, read(&connections.accepted));
    }
    text.family(
        "trefoil_connections_refused_total",
        "counter",
        "Connections dropped on arrival; peer-full: the service works for all that this address may have",
    );
    for (listener, connections) in listeners {
        for (why, count) in Refused::ALL.into_iter().zip(&connections.refused) {
            let labels = format!("{{listener=\"{listener}\",reason=\"{}\"}}", why.name());
            text.sample("trefoil_connections_refused_total", &labels, read(count));
        }
    }
    let help = "Connections closed by the caller (peer), by a timeout, for refusals, to make room (evicted), because TLS failed (handshake), and only here: \
                for a head that the HTTP library refused (malformed, head-too-large)";
    text.family("trefoil_connections_closed_total", "counter", help);
    for (listener, connections) in listeners {
        for (why, count) in Closed::ALL.into_iter().zip(&connections.closed) {
            let labels = format!("{{listener=\"{listener}\",reason=\"{}\"}}", why.name());
            text.sample("trefoil_connections_closed_total", &labels, read(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::activity::{Turn, Unsent};
    use super::*;

    fn connections(all: usize, per_peer: usize, handshakes: usize) -> Arc<Connections> {
        connections_with(Duration::MAX, all, per_peer, handshakes)
    }

    fn connections_with(
        handshake_age_min: Duration,
        all: usize,
        per_peer: usize,
        handshakes: usize,
    ) -> Arc<Connections> {
        let mut limits = crate::config::Config::embedded().limits;
        (limits.connections, limits.connections_per_peer, limits.handshakes) = (all, per_peer, handshakes);
        Connections::with_handshakes_of(handshake_age_min, &LiveLimits::new(limits))
    }

    fn admit(connections: &Arc<Connections>, peer: &str) -> Option<Place> {
        match connections.try_admit(Peer::of(peer.parse().unwrap())) {
            Admission::In(place) => Some(place),
            Admission::Refused | Admission::Full => None,
        }
    }

    fn evicted(place: &Place) -> bool {
        !place.connections.table().open.contains_key(&place.number)
    }

    #[test]
    fn at_the_limit_silent_connections_give_way_before_idle_ones_and_working_ones_stay() {
        let connections = connections(4, 4, 4);
        let [working, waiting, idle, silent] =
            std::array::from_fn(|_| admit(&connections, "192.0.2.1").unwrap());
        for place in [&working, &waiting, &idle, &silent] {
            place.activity.established();
        }
        let turn = Turn::begin(&working.activity);
        drop(Turn::begin(&waiting.activity));
        let unsent = Unsent::begin(&waiting.activity);
        drop(Turn::begin(&idle.activity));
        let counts = connections.counts();
        let count = |state: State| counts[state as usize];
        for state in [State::Working, State::Waiting, State::Idle, State::Silent] {
            assert_eq!(count(state), 1, "{state:?}");
        }
        let mut later = Vec::new();
        for next in [&silent, &idle, &waiting] {
            assert!(!evicted(next));
            let place = admit(&connections, "192.0.2.2").unwrap();
            assert!(evicted(next));
            // From now on it works, and cannot be closed instead.
            place.activity.established();
            later.push((Turn::begin(&place.activity), place));
        }
        assert!(admit(&connections, "192.0.2.3").is_none() && !evicted(&working));
        drop((turn, unsent));
        assert!(admit(&connections, "192.0.2.3").is_some() && evicted(&working));
    }

    #[test]
    fn the_oldest_gives_way_and_places_come_back() {
        let connections = connections(2, 2, 2);
        let first = admit(&connections, "192.0.2.1").unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let second = admit(&connections, "192.0.2.2").unwrap();
        let third = admit(&connections, "192.0.2.3").unwrap();
        assert!(evicted(&first) && !evicted(&second));
        assert_eq!(connections.leaving.load(Ordering::Relaxed), 1);
        drop((first, second, third));
        assert!(connections.is_empty());
        assert!(connections.table().peers.is_empty());
    }

    #[test]
    fn a_peer_is_an_address_or_a_network_of_64_bits() {
        let same =
            |one: &str, other: &str| Peer::of(one.parse().unwrap()) == Peer::of(other.parse().unwrap());
        assert!(same("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1"));
        assert!(!same("192.0.2.1", "192.0.2.2"));
    }

    #[test]
    fn half_open_handshakes_give_way_once_they_are_old() {
        for (age_min, gives_way) in [(Duration::MAX, false), (Duration::ZERO, true)] {
            let connections = connections_with(age_min, 100, 100, 2);
            let [first, second, late] = [(); 3].map(|()| admit(&connections, "192.0.2.1").unwrap());
            assert_eq!(evicted(&first), gives_way, "a burst evicts none of its own");
            assert!(!evicted(&second) && !evicted(&late));
        }
    }
}
