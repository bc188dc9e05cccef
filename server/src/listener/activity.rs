//! The state of one connection, and its deadlines.
//!
//! The connection's task, its requests and the table of connections share an [`Activity`]. A request *works* while its
//! handler computes and *waits* while it is the peer's turn: to send the rest of a body, or to take an answer. A
//! connection with a working request is never closed to make room. Every other state has a deadline here; handlers have
//! their own.
//!
//! All of it belongs to one connection, so requests of different connections share nothing.

#![expect(clippy::disallowed_methods, reason = "between the tasks of one connection")]

use crate::config::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes that a peer must take within the write deadline while bytes wait for it.
const PROGRESS_BYTES_MIN: u64 = 4096;
/// The first pause after a refusal for lack of capacity or of a credential. Each further refusal makes it four times as long, each answer a quarter.
const PAUSE_MIN_MS: u64 = 16;
/// How often it grows: up to four seconds, well within the write deadline of a peer.
const PAUSE_STEPS_MAX: u32 = 4;
/// Pause between two checks of a closing connection for which a handler works.
const CLOSING_POLL: Duration = Duration::from_millis(50);

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// TLS is not done.
    Handshake,
    /// It has sent no request yet.
    Silent,
    /// It was told to close, and no handler works for it.
    Closing,
    /// Between two requests.
    Idle,
    /// It is the peer's turn in every request.
    Waiting,
    /// A handler works for it.
    Working,
}

impl State {
    pub(crate) const ALL: [State; 6] =
        [State::Handshake, State::Silent, State::Closing, State::Idle, State::Waiting, State::Working];

    /// The label of metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Handshake => "handshake",
            State::Silent => "silent",
            State::Closing => "closing",
            State::Idle => "idle",
            State::Waiting => "waiting",
            State::Working => "working",
        }
    }

    /// The order in which connections are closed at the limit. A connection with a working handler never is.
    pub(super) fn gives_way(self) -> Option<u8> {
        match self {
            State::Handshake | State::Silent | State::Closing => Some(0),
            State::Idle => Some(1),
            State::Waiting => Some(2),
            State::Working => None,
        }
    }
}

/// A step that a peer did not take in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// Send a request.
    FirstRequest,
    /// Send the rest of a head, over HTTP/1.1.
    Head,
    /// Send another request.
    Idle,
    /// Take its answers.
    Stalled,
}

/// See the module.
pub(super) struct Activity {
    opened: Instant,
    established: AtomicBool,
    closing: AtomicBool,
    requests: AtomicU64,
    working: AtomicUsize,
    waiting: AtomicUsize,
    refusals_in_a_row: AtomicU32,
    /// Refusals for lack of capacity or of a credential, less answers, as far as they lengthen the next pause.
    crowding: AtomicU32,
    /// Nothing is read before that.
    paused_until: Stamp,
    /// When the last request began or ended.
    changed: Stamp,
    /// When the first bytes of a head came, over HTTP/1.1, while no request is in work.
    head: Stamp,
    /// Its next answer is its last, over HTTP/1.1.
    old: AtomicBool,
    /// The present period, a write deadline long, and the answers that were begun in it or in the one before and that the
    /// peer has not taken.
    period: AtomicUsize,
    unsent: [AtomicUsize; 2],
    /// The time since which bytes wait for the peer, and how many it has taken since.
    stalled: Stamp,
    taken: AtomicU64,
    /// It is to make room for another connection.
    pub(super) evicted: Notify,
    /// Too many of its requests in a row were refused, so it is to end.
    fed_up: AtomicBool,
    pub(super) leave: Notify,
}

/// A point in time after the connection was opened, or none.
#[derive(Default)]
struct Stamp(AtomicU64);

/// A request until its handler is done with it.
pub(super) struct Turn {
    activity: Arc<Activity>,
    /// It is the peer's turn.
    waits: AtomicBool,
}

/// An answer until the peer has taken it.
pub(super) struct Unsent {
    activity: Arc<Activity>,
    period: usize,
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity {
            opened: Instant::now(),
            established: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            working: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            refusals_in_a_row: AtomicU32::new(0),
            crowding: AtomicU32::new(0),
            paused_until: Stamp::default(),
            changed: Stamp::default(),
            head: Stamp::default(),
            old: AtomicBool::new(false),
            period: AtomicUsize::new(0),
            unsent: Default::default(),
            stalled: Stamp::default(),
            taken: AtomicU64::new(0),
            evicted: Notify::new(),
            fed_up: AtomicBool::new(false),
            leave: Notify::new(),
        }
    }

    /// TLS is done.
    pub(super) fn established(&self) {
        self.changed.set(self);
        self.established.store(true, Ordering::Release);
    }

    pub(super) fn state(&self) -> State {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Acquire);
        if !self.established.load(Ordering::Acquire) {
            State::Handshake
        } else if count(&self.working) > 0 {
            State::Working
        } else if self.closing.load(Ordering::Acquire) {
            State::Closing
        } else if count(&self.waiting) > 0 {
            State::Waiting
        } else if self.requests.load(Ordering::Acquire) == 0 {
            State::Silent
        } else {
            State::Idle
        }
    }

    /// Time since its last change of state.
    pub(super) fn unchanged(&self) -> Duration {
        self.changed_at().elapsed()
    }

    fn changed_at(&self) -> Instant {
        self.changed.get(self).unwrap_or(self.opened)
    }

    /// A request was answered. Returns whether that made `max` refusals in a row, so that the connection is to end.
    pub(super) fn answered(&self, refused: bool, max: u32) -> bool {
        if !refused {
            self.refusals_in_a_row.store(0, Ordering::Relaxed);
        } else if self.refusals_in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= max {
            self.fed_up.store(true, Ordering::Relaxed);
            self.leave.notify_one();
        }
        self.is_fed_up()
    }

    /// A request was refused for lack of capacity or of a credential: the connection is not read for a moment, so that a peer that sends
    /// again at once costs the service little. The pause grows with each refusal, and is returned.
    pub(super) fn crowds(&self) -> Duration {
        let steps = self.crowding.load(Ordering::Relaxed);
        let longer = (steps + 1).min(PAUSE_STEPS_MAX);
        self.crowding.store(longer, Ordering::Relaxed);
        let pause = Duration::from_millis(PAUSE_MIN_MS << (2 * steps));
        self.paused_until.set_after(self, pause);
        pause
    }

    /// A request was answered with capacity.
    pub(super) fn eases(&self) {
        let steps = self.crowding.load(Ordering::Relaxed);
        if steps > 0 {
            self.crowding.store(steps - 1, Ordering::Relaxed);
        }
    }

    /// When the connection may be read again, if not now.
    pub(super) fn paused(&self) -> Option<Instant> {
        let until = self.paused_until.get(self)?;
        (Instant::now() < until).then_some(until)
    }

    /// Whether too many of its requests in a row were refused.
    pub(super) fn is_fed_up(&self) -> bool {
        self.fed_up.load(Ordering::Relaxed)
    }

    /// It is older than a connection gets: over HTTP/1.1 the next answer says that it closes.
    pub(super) fn ages(&self) {
        self.old.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_old(&self) -> bool {
        self.old.load(Ordering::Relaxed)
    }

    /// Bytes came over HTTP/1.1. Between two requests they begin a head.
    pub(super) fn receives(&self) {
        if matches!(self.state(), State::Silent | State::Idle) && self.head.get(self).is_none() {
            self.head.set(self);
        }
    }

    /// The peer does not take bytes that are ready for it.
    pub(super) fn stalls(&self) {
        if self.stalled.get(self).is_none() {
            self.taken.store(0, Ordering::Relaxed);
            self.stalled.set(self);
        }
    }

    /// The peer took this many bytes.
    pub(super) fn takes(&self, bytes: usize) {
        if self.stalled.get(self).is_some()
            && self.taken.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 >= PROGRESS_BYTES_MIN
        {
            self.stalled.clear();
        }
    }

    /// The peer took everything.
    pub(super) fn flows(&self) {
        self.stalled.clear();
    }

    /// Waits until the peer has missed a deadline.
    pub(super) async fn overdue(&self, limits: &Limits) -> Overdue {
        let write = limits.write_timeout();
        let mut period_ends = Instant::now() + write;
        loop {
            let now = Instant::now();
            if now >= period_ends {
                if !self.next_period() {
                    return Overdue::Stalled;
                }
                period_ends = now + write;
            }
            let stalled = self.stalled.get(self).map(|since| (since + write, Overdue::Stalled));
            let quiet = match self.state() {
                State::Silent => Some((limits.first_request_timeout(), Overdue::FirstRequest)),
                State::Idle => Some((limits.idle_timeout(), Overdue::Idle)),
                _ => None,
            };
            let head =
                quiet.and(self.head.get(self)).map(|since| (since + limits.header_timeout(), Overdue::Head));
            let quiet = quiet.map(|(time, what)| (self.changed_at() + time, what));
            // A change after this check is seen at the next one.
            let mut next = period_ends.min(now + limits.header_timeout());
            for (deadline, what) in [stalled, head, quiet].into_iter().flatten() {
                if now >= deadline {
                    return what;
                }
                next = next.min(deadline);
            }
            sleep_until(next).await;
        }
    }

    /// Begins the next period; false if an answer has waited for a whole one.
    fn next_period(&self) -> bool {
        let period = self.period.load(Ordering::Acquire);
        let late = self.unsent[(period + 1) % 2].load(Ordering::Acquire) > 0;
        self.period.store(period + 1, Ordering::Release);
        !late
    }

    /// The peer is told that the connection closes.
    pub(super) fn closes(&self) {
        self.closing.store(true, Ordering::Release);
    }

    /// After the peer was told that the connection closes, waits until every handler has answered and the peer has had
    /// [`Limits::close_timeout`] to take the answers. If the peer keeps sending requests, waits no longer than a
    /// request may take.
    pub(super) async fn finished(&self, limits: &Limits) {
        let begun = Instant::now();
        let longest = begun + limits.answer_timeout() + limits.close_timeout();
        loop {
            while self.working.load(Ordering::Acquire) > 0 {
                sleep(CLOSING_POLL).await;
            }
            let until = longest.min(begun.max(self.changed_at()) + limits.close_timeout());
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }
}

impl Stamp {
    fn set(&self, activity: &Activity) {
        self.set_after(activity, Duration::ZERO);
    }

    fn set_after(&self, activity: &Activity, time: Duration) {
        let ms = u64::try_from((activity.opened.elapsed() + time).as_millis()).unwrap_or(u64::MAX);
        self.0.store(ms.saturating_add(1), Ordering::Release);
    }

    fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }

    fn get(&self, activity: &Activity) -> Option<Instant> {
        let ms = self.0.load(Ordering::Acquire).checked_sub(1)?;
        Some(activity.opened + Duration::from_millis(ms))
    }
}

impl Turn {
    pub(super) fn begin(activity: &Arc<Activity>) -> Turn {
        activity.working.fetch_add(1, Ordering::AcqRel);
        activity.requests.fetch_add(1, Ordering::AcqRel);
        activity.changed.set(activity);
        activity.head.clear();
        Turn { activity: Arc::clone(activity), waits: AtomicBool::new(false) }
    }

    /// It is the peer's turn.
    pub(super) fn wait(&self) {
        if !self.waits.swap(true, Ordering::AcqRel) {
            self.activity.waiting.fetch_add(1, Ordering::AcqRel);
            self.activity.working.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// It is the handler's turn.
    pub(super) fn work(&self) {
        if self.waits.swap(false, Ordering::AcqRel) {
            self.activity.working.fetch_add(1, Ordering::AcqRel);
            self.activity.waiting.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let waits = self.waits.load(Ordering::Acquire);
        self.activity.changed.set(&self.activity);
        let counter = if waits { &self.activity.waiting } else { &self.activity.working };
        counter.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Unsent {
    pub(super) fn begin(activity: &Arc<Activity>) -> Unsent {
        let period = activity.period.load(Ordering::Acquire) % 2;
        activity.waiting.fetch_add(1, Ordering::AcqRel);
        activity.unsent[period].fetch_add(1, Ordering::AcqRel);
        Unsent { activity: Arc::clone(activity), period }
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.activity.changed.set(&self.activity);
        self.activity.unsent[self.period].fetch_sub(1, Ordering::AcqRel);
        self.activity.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claim V150: An idle connection is kept for 120 s unless room is short, one that is old ends with an answer that says so, and half a
    /// head buys a connection no more than the time for heads.
    ///
    /// What an idle connection of HTTP/1.1 may do: nothing for the idle time, and nothing but end a head that it has begun.
    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_has_the_idle_time_and_one_with_half_a_head_the_time_for_heads() {
        let limits = crate::config::Config::embedded().limits;
        assert!(
            limits.idle_timeout_s > 90 && limits.header_timeout_s < 10,
            "clients keep connections for 90 s"
        );
        for (head, expected, least, most) in [
            (None, Overdue::Idle, limits.idle_timeout(), limits.idle_timeout()),
            (Some(3), Overdue::Head, limits.header_timeout(), 2 * limits.header_timeout()),
            (Some(60), Overdue::Head, limits.header_timeout(), 2 * limits.header_timeout()),
        ] {
            let activity = Arc::new(Activity::new());
            activity.established();
            drop(Turn::begin(&activity));
            let late = Arc::clone(&activity);
            tokio::spawn(async move {
                let Some(seconds) = head else { return };
                sleep(Duration::from_secs(seconds)).await;
                late.receives();
                sleep(Duration::from_secs(1)).await;
                // More bytes of it buy no time.
                late.receives();
            });
            let begun = Instant::now() + Duration::from_secs(head.unwrap_or(0));
            assert_eq!(activity.overdue(&limits).await, expected);
            let took = begun.elapsed();
            assert!(least <= took && took <= most + Duration::from_millis(2), "{head:?}: {took:?}");
            drop(Turn::begin(&activity));
            assert_eq!(activity.head.get(&activity), None, "a request that came has a head");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_with_refusals_shrink_with_answers_and_end() {
        let activity = Activity::new();
        let pause = || activity.paused().map_or(Duration::ZERO, |until| until - Instant::now()).as_millis();
        assert_eq!(pause(), 0);
        for expected in [16, 64, 256, 1024, 4096, 4096] {
            activity.crowds();
            assert_eq!(pause(), expected);
        }
        sleep(Duration::from_millis(4096)).await;
        assert_eq!(pause(), 0, "it is read again");
        activity.eases();
        activity.eases();
        activity.crowds();
        assert_eq!(pause(), 256);
        (0..20).for_each(|_| activity.eases());
        sleep(Duration::from_millis(256)).await;
        activity.crowds();
        assert_eq!(pause(), 16);
    }
}
