//! Chains of increments: the gain of out-of-order work, and its loss under contention.
//!
//! Two threads read the clock, work on their own for a while, read the clock, and increment some lines one after the other.
//! The clock is a fence, so a core requests all lines together behind it. If the other one rarely wants them, four lines cost
//! hardly more than one; if it often does, each of them costs a transfer. Where between the two a chain lies
//! depends on how early in a transfer a line is taken from its owner, which nothing shows directly: [`request`] is the
//! share with which the model gives the chains that were measured. No part of the ladder is among them.

use super::machine::{Core, Machine, shards};
use super::model::{self, Program, Step};

/// The time of the same on two cores, with lines of each one's own and with lines that both write. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Both {
    pub own: f64,
    pub shared: f64,
}

impl Both {
    /// The added cost of sharing.
    pub(super) fn added(self) -> f64 {
        (self.shared - self.own).max(0.0)
    }
}

/// Increments of lines in this order, after about so many of an own line, or in every second turn of so many more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub order: &'static [usize],
    pub private: usize,
    pub or_more: usize,
}

const ONE: &[usize] = &[0];
const FOUR: &[usize] = &[0, 1, 2, 3];
const TWICE: &[usize] = &[0, 0, 1, 2, 2, 3];

/// Lines of the longest chain.
pub(super) const LINES: usize = 4;

/// One line; four in ever wider distances; four of which two are written twice; and these at distances that vary as those of
/// look-ups do, which sometimes wait for a line and sometimes not: what is evenly spaced falls into step.
pub(super) const CHAINS: [Chain; 12] = [
    Chain { order: ONE, private: 8, or_more: 0 },
    Chain { order: ONE, private: 16, or_more: 0 },
    Chain { order: FOUR, private: 4, or_more: 0 },
    Chain { order: FOUR, private: 8, or_more: 0 },
    Chain { order: FOUR, private: 16, or_more: 0 },
    Chain { order: TWICE, private: 4, or_more: 0 },
    Chain { order: TWICE, private: 8, or_more: 0 },
    Chain { order: TWICE, private: 16, or_more: 0 },
    Chain { order: FOUR, private: 4, or_more: WAIT },
    Chain { order: FOUR, private: 8, or_more: WAIT },
    Chain { order: TWICE, private: 4, or_more: WAIT },
    Chain { order: TWICE, private: 8, or_more: WAIT },
];

/// Increments that take about as long as a line.
const WAIT: usize = 12;

/// Chains of one line: what sharing adds to them is a transfer.
pub(super) const SINGLE: usize = 2;

impl Chain {
    /// The model's view of it, with what one turn costs on own lines.
    fn program(self, own: f64, increment: f64) -> Program {
        let written = self.order.len() as f64 * increment;
        // Every second turn has more.
        let more = self.or_more as f64 * increment;
        let private = Step::Work((own - written - more / 2.0).max(0.1));
        let mut steps = vec![private, Step::OnceIn(2, 1), Step::Work(more), Step::Clock];
        steps.extend(self.order.iter().flat_map(|&line| [Step::Write(line), Step::Work(increment)]));
        Program { steps, lines: LINES, locks: 0 }
    }
}

/// Shares of a transfer that are tried: the request has at least a fifth of the way, the line at least half.
const SHARES: std::ops::RangeInclusive<u32> = 8..=20;

/// The share of a transfer after which the owner has lost its line, by the chains' times; and these as the model then has
/// them, on `host` whose other properties are known.
pub(super) fn request(
    host: &Machine,
    increment: f64,
    measured: &[Both; CHAINS.len()],
    seed: u64,
) -> (f64, [f64; CHAINS.len()]) {
    let predicted = |share: f64| {
        let machine = Machine { core: Core { request: share, ..host.core }, ..host.clone() };
        let mut chains = CHAINS.iter().zip(measured);
        std::array::from_fn(|_| {
            let Some((chain, both)) = chains.next() else { return f64::NAN };
            2e9 / model::rounds_per_s(&machine, &chain.program(both.own, increment), 2, seed)
        })
    };
    let miss = |times: &[f64; CHAINS.len()]| -> f64 {
        times.iter().zip(measured).map(|(time, both)| (time / both.shared).ln().powi(2)).sum()
    };
    let tried = SHARES.map(|fortieth| f64::from(fortieth) / 40.0).map(|share| (share, predicted(share)));
    tried.min_by(|(_, a), (_, b)| miss(a).total_cmp(&miss(b))).unwrap_or((0.5, [f64::NAN; CHAINS.len()]))
}

/// What a look-up costs more than a transfer when its shard comes from another core: with that the model gives the time of
/// look-ups in a small map by both cores. It stands for two things: the search waits with the lock, and a core that works ahead
/// requests the next shard so early that it may lose it again.
pub(super) fn claim_more(host: &Machine, increment: f64, measured: Both, seed: u64) -> f64 {
    let shards = shards(host.cores());
    let inside = Step::Work((measured.own - increment).max(1.0));
    let steps = vec![Step::ClaimOneOf(0, shards), inside, Step::Release, Step::Work(increment)];
    let program = Program { steps, lines: shards, locks: 0 };
    let is_too_little = |more: f64| {
        let machine = Machine { core: Core { claim_more: more, ..host.core }, ..host.clone() };
        2e9 / model::rounds_per_s(&machine, &program, 2, seed) < measured.shared
    };
    let (mut low, mut high) = (0.0, measured.shared);
    for _ in 0..12 {
        let middle = (low + high) / 2.0;
        *if is_too_little(middle) { &mut low } else { &mut high } = middle;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Transfer, Waiting};
    use super::*;

    /// Two cores of this kind.
    fn machine(request: f64, claim_more: f64) -> Machine {
        let transfer = 75.0;
        Machine {
            name: "test",
            source: "test",
            sockets: 1,
            cores_per_socket: 2,
            cores_per_cluster: 2,
            transfer: Transfer { in_cluster: transfer, in_socket: transfer, across_sockets: transfer },
            core: Core { request, hold: 10.0, claim_more },
            waiting: Waiting { poll: 10.0, call: 500.0, wake: 2_000.0 },
        }
    }

    /// The share with which a model's own chains were made is found again.
    #[test]
    fn the_share_is_found_from_the_times_of_chains() {
        let machine = |request| machine(request, 0.0);
        let made = |chain: Chain| {
            let own = 50.0 + 8.0 * (chain.private + chain.order.len()) as f64;
            let rate = model::rounds_per_s(&machine(0.3), &chain.program(own, 8.0), 2, 5);
            Both { own, shared: 2e9 / rate }
        };
        let (share, times) = request(&machine(0.5), 8.0, &CHAINS.map(made), 6);
        assert!((share - 0.3).abs() < 0.06, "{share}");
        // Crowded, four lines cost more than far apart, and one costs least.
        let added = |chain: usize| times[chain] - made(CHAINS[chain]).own;
        assert!(added(2) > 1.2 * added(4) && added(4) > 1.2 * added(0), "{times:?}");
    }

    /// So is what a shard costs besides, from a model's own look-ups.
    #[test]
    fn what_a_shard_costs_besides_is_found_from_look_ups() {
        let machine = |claim_more| machine(0.4, claim_more);
        let (own, increment) = (18.0, 8.0);
        let steps =
            vec![Step::ClaimOneOf(0, 8), Step::Work(own - increment), Step::Release, Step::Work(increment)];
        let program = Program { steps, lines: 8, locks: 0 };
        for more in [5.0, 20.0] {
            let shared = 2e9 / model::rounds_per_s(&machine(more), &program, 2, 5);
            let found = claim_more(&machine(0.0), increment, Both { own, shared }, 6);
            assert!((found - more).abs() < 4.0, "{found} {more}");
        }
        assert_eq!(claim_more(&machine(0.0), increment, Both { own, shared: own }, 6), 0.0);
    }
}
