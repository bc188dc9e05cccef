//! What a process refuses because a process before it may have accepted it, so that no login is accepted twice whatever the clock does.
//!
//! **In one process** the guard against replays forgets a nonce only when it refuses every request as old as that ([`crate::login::replay`]).
//!
//! **Over a restart.** No seal is dated before an earlier one, nor more than [`AHEAD_S`] before a request that it may cover
//! ([`crate::login::door::FrontDoor`] tells the sealer). An answer waits until its seal is stored. So every request that was answered is dated at most
//! [`AHEAD_S`] after the newest seal, and a process refuses all up to then. What the machine's clock said is of no matter. In a fleet the
//! register remembers instead, and begins anew no earlier than at the newest seal ([`crate::login::register`]).
//!
//! **After a seal that is dated far ahead** every login would be refused until then. With `--accept-clock` the operator says that the clock is
//! right now ([`accept_clock`]). What is refused then is every request up to that moment, and, for good, every request dated
//! in the time of the seals that are ahead of it, because their requests become fresh when that time comes.
//!
//! Requests from before the start of this process are refused too, in case that the newest seals are lost.

use crate::AHEAD_S;
use crate::log::log_store::{self, LogError};
use crate::login::logins::Logins;
use crate::login::register::FAST_S;
use crate::refused::{NotFresh, Refused};
use crate::time;
use std::sync::atomic::{AtomicU64, Ordering};
use trefoil_attest::SealHeader;
use trefoil_storage::store::{AcceptedClock, Store};

/// How far the clock may be behind the newest seal, seconds: NTP corrects so much now and then. When it is further behind, logins are refused.
pub const BEHIND_S: u64 = 2;
/// How far a register may remember requests only from later on, seconds.
const REGISTER_AHEAD_S: u64 = 60;
/// How much earlier than the first seal that is dated ahead a request under it may be dated, seconds. A request is at most two minutes old when it
/// is decided, and this leaves room for a seal that waited.
const BEFORE_SEAL_S: u64 = 3_600;

/// See the module.
pub struct Past {
    started_at: AtomicU64,
    /// Requests up to here may have been answered.
    attested_until: u64,
    accepted: Vec<AcceptedClock>,
}

impl Past {
    /// Of the log in this store, for a process that starts now; also returns the time from which its seals are dated on. `restored_at` is when the
    /// store was restored: before that there were seals that it does not know.
    pub fn of(store: &dyn Store, started_at: u64, restored_at: Option<u64>) -> Result<(Past, u64), LogError> {
        let accepted = store.accepted_clocks()?;
        let newest = log_store::last_header(store)?;
        let of_log = newest.map(|newest| reached(accepted.last().copied(), newest.seal_number, newest.time));
        let reached = of_log.max(restored_at);
        let attested_until = reached.map_or(0, |reached| reached.saturating_add(AHEAD_S));
        let past = Past { started_at: started_at.into(), attested_until, accepted };
        Ok((past, reached.unwrap_or(0)))
    }

    /// What was accepted by operators, oldest first.
    pub fn accepted(&self) -> &[AcceptedClock] {
        &self.accepted
    }

    /// Requests up to here may have been answered by a process before this one.
    pub(crate) fn attested_until(&self) -> u64 {
        self.attested_until
    }

    /// Refuses a request from before the start, or of a time in which the clock was wrong.
    pub(crate) fn check(&self, issued_at: u64, now: u64) -> Result<(), NotFresh> {
        let started_at = self.started_at.load(Ordering::Relaxed);
        if now < started_at {
            // The clock was set back: by this clock the process started no later than now.
            self.started_at.store(now, Ordering::Relaxed);
        }
        if issued_at < started_at.min(now) {
            return Err(NotFresh::BeforeStart);
        }
        self.closed(issued_at).map_or(Ok(()), |until| Err(NotFresh::WrongClock { until }))
    }

    /// Until when requests of this time are refused, if they are because the clock was wrong when it showed it before.
    pub(crate) fn closed(&self, time: u64) -> Option<u64> {
        let is_of_it = |accepted: &&AcceptedClock| (accepted.from..=accepted.until).contains(&time);
        self.accepted.iter().find(is_of_it).map(|accepted| accepted.until)
    }
}

impl Logins {
    /// The time that the log has reached, if this machine's clock is so far behind it that logins are refused; in a fleet the database's time.
    pub fn clock_behind(&self) -> Option<u64> {
        let (now, mut reached, mut allowed) = (self.node.now(), self.log.standing.reached(), BEHIND_S);
        if let Some(register) = &self.node.register {
            // A register that begins anew is some seconds ahead for some seconds.
            let since = Some(register.since()).filter(|since| *since > now + REGISTER_AHEAD_S);
            let databases = now.saturating_add_signed(self.clock_watch.register_ahead());
            reached = reached.max(databases).max(since.unwrap_or(0));
            allowed += FAST_S;
        }
        (reached > now.saturating_add(allowed)).then_some(reached)
    }

    /// Looks whether the clock steps, whether it is that of the register, and what other nodes of a fleet have sealed. Blocks.
    pub fn look_at_clock(&self) {
        if self.node.register.is_some()
            && let Ok(Some(newest)) = log_store::last_header(self.node.store.as_ref())
        {
            let accepted = self.past.accepted.last().copied();
            self.log.standing.reach(reached(accepted, newest.seal_number, newest.time));
        }
        let told =
            self.node.register.as_ref().and_then(|register| register.spend(&[]).ok()).map(|told| told.now);
        let monotonic_s = self.node.clock.monotonic_ns() / 1_000_000_000;
        self.clock_watch.look(self.node.now(), monotonic_s, told, self.clock_behind());
        self.clock_watch.weigh(self.node.counters.by_time());
    }

    /// Refuses a login while the clock is behind.
    pub(crate) fn check_clock(&self) -> Result<(), Refused> {
        let behind = self.clock_behind().map(|reached| reached.saturating_sub(self.node.now()));
        behind.map_or(Ok(()), |behind_s| Err(Refused::ClockBehind { behind_s }))
    }
}

/// In words.
pub fn behind(now: u64, reached: u64) -> String {
    let (by_s, now, reached) = (reached.saturating_sub(now), time::format(now), time::format(reached));
    format!(
        "this machine's clock says {now}, {by_s} s behind the newest seal, or the fleet's database, which says {reached}"
    )
}

/// The time that the log has reached with this newest seal, before which no next one is dated: the seal's, or what the clock said that an operator
/// accepted after it.
pub fn reached(accepted: Option<AcceptedClock>, newest: u64, sealed_at: u64) -> u64 {
    accepted.filter(|accepted| accepted.first > newest).map_or(sealed_at, |accepted| accepted.at)
}

/// Notes that the clock, which says `now`, is right and the newest seals are dated ahead of it. `None` if they are not.
///
/// # Errors
/// The store failed, or its log is damaged.
pub fn accept_clock(store: &dyn Store, now: u64) -> Result<Option<AcceptedClock>, LogError> {
    let before = store.accepted_clocks()?;
    let Some(SealHeader { seal_number, time, .. }) = log_store::last_header(store)? else { return Ok(None) };
    let (reached, first) = (reached(before.last().copied(), seal_number, time), seal_number + 1);
    if reached <= now {
        return Ok(None);
    }
    // Times only rise from the last seal that was accepted on, so the first one that is ahead is found by halving.
    let (mut low, mut high) = (before.last().map_or(0, |accepted| accepted.first), first);
    while low < high {
        let middle = low + (high - low) / 2;
        match log_store::time_of(store, middle)? > now {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    let first_ahead = if low < first { log_store::time_of(store, low)? } else { reached };
    let from = first_ahead.saturating_sub(BEFORE_SEAL_S).max(now);
    let until = reached.saturating_add(AHEAD_S);
    let accepted = AcceptedClock { id: before.len() as u64, first, at: now, from, until };
    store.put_accepted_clock(accepted)?;
    Ok(Some(accepted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::scratch;
    use trefoil_attest::{Family, Seal, Suite};
    use trefoil_types::KeySetId;

    /// Seals these times after those that are there.
    fn seal(store: &dyn Store, times: &[u64]) {
        let next = store.last_seal().unwrap().map_or(0, |(number, _)| number + 1);
        for (number, time) in (next..).zip(times) {
            let header = SealHeader {
                issuer: "auth.example".to_owned(),
                key_set_id: KeySetId::new([1; 32]),
                seal_number: number,
                previous: [0; 32],
                log_root: [0; 32],
                tree_size: 1,
                root: [1; 32],
                time: *time,
                suite: Suite::One,
                vaults: Vec::new(),
                restored: None,
            };
            let signatures = Family::ALL.map(|family| vec![0; family.signature_bytes()]);
            store.put_seal(number, Seal { header, signatures }.encode(), vec![]).unwrap();
        }
    }

    fn answered_until(store: &dyn Store, now: u64) -> u64 {
        Past::of(store, now, None).unwrap().0.attested_until()
    }

    #[test]
    fn what_is_refused_after_a_restart_goes_by_the_log_and_not_by_the_clock() {
        let (store, _folder) = scratch();
        assert_eq!(answered_until(&store, 50_000), 0, "nothing was answered");
        seal(&store, &[10_000, 10_000, 10_300]);
        for now in [0, 9_000, 10_300, 50_000] {
            assert_eq!(answered_until(&store, now), 10_305);
        }
        let restored = Past::of(&store, 0, Some(10_400)).unwrap();
        assert_eq!((restored.0.attested_until(), restored.1), (10_405, 10_400));
    }

    /// Claim V160.
    #[test]
    fn a_clock_is_accepted_where_seals_are_ahead_of_it_and_their_requests_stay_refused() {
        let (store, _folder) = scratch();
        assert_eq!(accept_clock(&store, 1).unwrap(), None);
        let (now, day) = (1_000_000, 86_400);
        seal(&store, &[now - 9, now - 5, now, now + day, now + day + 7, now + day + 7]);
        assert_eq!(accept_clock(&store, now + day + 7).unwrap(), None, "no seal is ahead of it");
        let accepted = accept_clock(&store, now).unwrap().unwrap();
        let (from, until) = (now + day - BEFORE_SEAL_S, now + day + 7 + AHEAD_S);
        assert_eq!(accepted, AcceptedClock { id: 0, first: 6, at: now, from, until });
        // What was accepted by the right clock is dated up to 5 s after that.
        assert_eq!(answered_until(&store, now), now + AHEAD_S);
        seal(&store, &[now + 20]);
        assert_eq!(answered_until(&store, now), now + 20 + AHEAD_S, "the log goes on");
        let (past, _) = Past::of(&store, now, None).unwrap();
        assert_eq!(past.check(now + 30, now + 30), Ok(()));
        for issued_at in [from, now + day, until] {
            assert_eq!(past.check(issued_at, issued_at), Err(NotFresh::WrongClock { until }));
            assert_eq!(past.closed(issued_at), Some(until));
        }
        assert_eq!((past.check(from - 1, from - 1), past.check(until + 1, until + 1)), (Ok(()), Ok(())));
        // Once more, while the first time is still ahead: by minutes, so all of it is refused.
        seal(&store, &[now + 400]);
        let again = accept_clock(&store, now + 100).unwrap().unwrap();
        let expected =
            AcceptedClock { id: 1, first: 8, at: now + 100, from: now + 100, until: now + 400 + AHEAD_S };
        assert_eq!(again, expected);
        assert_eq!(Past::of(&store, now, None).unwrap().0.accepted(), [accepted, again]);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_make_a_process_younger_than_its_callers_requests() {
        let (store, _folder) = scratch();
        let (past, _) = Past::of(&store, 1_000, None).unwrap();
        assert_eq!(past.check(999, 1_001), Err(NotFresh::BeforeStart));
        assert_eq!(
            (past.check(1_000, 1_001), past.check(700, 700), past.check(701, 760)),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(past.check(699, 760), Err(NotFresh::BeforeStart));
    }
}
