//! A node's use of the register that the nodes of a fleet share, so that a login that was accepted at one is refused at all others.
//!
//! The register's clock decides. A request counts only if it was issued in the time that the register remembers by its own clock, so a node
//! whose clock is wrong accepts nothing twice: it refuses. Of a request that is accepted at `t1` and again at `t2` by that clock, `t1` is at
//! least its `issued_at` less [`EARLY_S`], and `t2` at most [`WAITED_S_MAX`] and [`SKEW_S`] after. [`KEEP_S`] is more than what is between.
//!
//! The register may begin anew, after a start of its database for example. What was accepted before that was issued at most [`EARLY_S`] after
//! the time at which it began, by the clock of a server that may be another one now, and so [`CLOCKS_S`] ahead. Requests up to then are
//! refused. So that this is soon over, a request that is dated ahead waits at its node until it is at most [`AHEAD_S`] ahead, where a
//! node alone would take it at once.

use crate::login::replay::{Half, WAITED_S_MAX};
use trefoil_pipeline::Refusal;
use trefoil_storage::store::{Register, Registered, Spending, Spent};

/// How far a node's clock may be behind the register's, seconds: a node that is further behind does not start.
pub const SKEW_S: u64 = 2;
/// The same for one that is ahead. The request of a caller that is [`AHEAD_S`] ahead of it is [`EARLY_S`] ahead of the register.
pub const FAST_S: u64 = EARLY_S - AHEAD_S;
/// A register that begins anew when a node starts remembers what comes so much later, seconds: a process alone, whose clock nobody compared,
/// may have used the database until then, and takes requests that are dated further ahead.
pub const ALONE_S: u64 = 6;
const _: () = assert!(ALONE_S + EARLY_S > crate::AHEAD_S + SKEW_S);
/// A request that is dated further ahead of its node's clock waits, seconds.
pub(crate) const AHEAD_S: u64 = 1;
/// A request that is dated further ahead of the register's clock is refused, seconds.
pub const EARLY_S: u64 = 2;
/// How far the clocks of two servers may differ, of which one has the register after the other, seconds.
const CLOCKS_S: u64 = 1;
/// How long the register remembers a nonce at least, seconds.
pub const KEEP_S: u64 = 180;
const _: () = assert!(KEEP_S > EARLY_S + WAITED_S_MAX + SKEW_S + 30, "room for a clock that is corrected");

/// Requests that were issued up to this time may have been accepted before the register began, at `since`.
pub fn forgotten_until(since: u64) -> u64 {
    since.saturating_add(EARLY_S + CLOCKS_S)
}

/// One lane's part of a batch that is registered.
pub(crate) struct Lane {
    /// Its place among the batch's requests.
    pub(crate) place: usize,
    pub(crate) nonce: Half,
    pub(crate) issued_at: u64,
}

/// Registers what these lanes spend, in one call, and returns those that are refused.
pub(crate) fn refused(register: &dyn Register, lanes: &[Lane], now: u64) -> Vec<(usize, Refusal)> {
    if lanes.is_empty() {
        return Vec::new();
    }
    let spending = |lane: &Lane| Spending { nonce: lane.nonce, issued_at: lane.issued_at };
    let batch: Vec<Spending> = lanes.iter().map(spending).collect();
    let found = match register.spend(&batch) {
        Ok(found) => found,
        Err(cause) => {
            tracing::debug!(%cause, "a batch was not registered");
            return lanes.iter().map(|lane| (lane.place, Refusal::RegisterUnavailable)).collect();
        }
    };
    let refused: Vec<_> = lanes
        .iter()
        .zip(&found.spent)
        .filter_map(|(lane, spent)| Some((lane.place, refusal(lane, *spent, &found)?)))
        .collect();
    let is_off = now > found.now + FAST_S || found.now > now + SKEW_S;
    if is_off && refused.iter().any(|(_, why)| *why == Refusal::Unremembered) {
        let ahead_s = now.wrapping_sub(found.now).cast_signed();
        tracing::warn!(ahead_s, "this node's clock is not the database's: set the clocks");
    }
    refused
}

fn refusal(lane: &Lane, spent: Spent, found: &Registered) -> Option<Refusal> {
    let Lane { issued_at, .. } = *lane;
    let is_late = found.now.saturating_sub(issued_at) > WAITED_S_MAX + SKEW_S;
    let is_early = issued_at.saturating_sub(found.now) > EARLY_S;
    if is_late || is_early || issued_at <= forgotten_until(found.since) {
        return Some(Refusal::Unremembered);
    }
    match spent {
        Spent::First => None,
        Spent::Repeated => Some(Refusal::NonceUsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_storage::store::StoreError;

    const NOW: u64 = 10_000;

    /// Answers with the times that it is given, and `spent` for each.
    struct Told(Result<(u64, u64, Vec<Spent>), StoreError>);

    impl Register for Told {
        fn unready(&self) -> Option<String> {
            None
        }

        fn since(&self) -> u64 {
            0
        }

        fn spend(&self, batch: &[Spending]) -> Result<Registered, StoreError> {
            let (now, since, spent) = self.0.clone()?;
            assert_eq!(batch.len(), spent.len(), "one call for all");
            Ok(Registered { now, since, spent })
        }
    }

    fn lane(place: usize, issued_at: u64) -> Lane {
        Lane { place, nonce: [place as u8; 16], issued_at }
    }

    #[test]
    fn each_lane_gets_its_own_refusal_and_the_others_none() {
        let spent = vec![Spent::First, Spent::Repeated, Spent::First, Spent::Repeated];
        let lanes: Vec<Lane> = [0, 2, 3, 5].map(|place| lane(place, NOW)).into();
        let refused = refused(&Told(Ok((NOW, 0, spent))), &lanes, NOW);
        assert_eq!(refused, [2, 5].map(|place| (place, Refusal::NonceUsed)));
    }

    #[test]
    fn without_an_answer_every_lane_is_refused_and_without_a_lane_nothing_is_asked() {
        let away = Told(Err(StoreError::Unreachable("away".to_owned())));
        let lanes = [lane(1, NOW), lane(4, NOW)];
        assert_eq!(refused(&away, &lanes, NOW), [1, 4].map(|place| (place, Refusal::RegisterUnavailable)));
        assert_eq!(refused(&away, &[], NOW), []);
    }

    /// Claim V130.
    ///
    /// Whatever the node's clock says.
    #[test]
    fn a_request_counts_only_in_the_time_that_the_register_remembers_by_its_clock() {
        let is_accepted = |issued_at, since| {
            let refused = refused(&Told(Ok((NOW, since, vec![Spent::First]))), &[lane(0, issued_at)], 1);
            assert!(refused.is_empty() || refused == [(0, Refusal::Unremembered)]);
            refused.is_empty()
        };
        let all: Vec<u64> = (NOW - 400..NOW + 400).filter(|issued_at| is_accepted(*issued_at, 0)).collect();
        let (first, last) = (all[0], all[all.len() - 1]);
        assert_eq!((first, last), (NOW - WAITED_S_MAX - SKEW_S, NOW + EARLY_S));
        assert!(last - first < KEEP_S, "a nonce outlives every request that may have it");
        // What was accepted before the register began at `since`, by a clock at most 1 s ahead of the present one, is not accepted now.
        for since in NOW - 200..=NOW {
            let accepted_last = since + 1 + EARLY_S;
            let again = all.iter().filter(|issued_at| is_accepted(**issued_at, since)).min();
            assert!(again.is_none_or(|issued_at| *issued_at > accepted_last), "{since}");
        }
        assert!(is_accepted(NOW, NOW - 4), "soon after it began");
    }
}
