//! When requests become a batch: a pure state machine with the time passed in.
//!
//! A SIMD batch costs the same for 1 lane or 32, so requests wait for company, but only briefly. Each
//! tenant has 32 queues, one per lane; a batch takes the head of every non-empty queue. Queues, rather
//! than one open batch that is closed at the first repeated lane, because lanes are random: 32 random lanes repeat
//! after about seven requests, and closing there would leave three quarters of every batch empty.
//!
//! Tenants take turns: of those with a batch that is due, the one with the oldest last batch is next. So a tenant with
//! thousands of waiting requests delays another one by a batch.

use std::collections::{HashMap, VecDeque};

use trefoil_matching::LANES;

use crate::TenantId;
use crate::request::Batch;

/// Shortest and longest a request waits for its batch to fill, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Wait while workers are idle.
    pub idle_us_max: u64,
    /// Wait while every worker is busy: a fuller batch then delays no request.
    pub busy_us_max: u64,
}

impl Default for Delay {
    /// 0.5 ms idle and 2 ms busy: fills batches from about 100,000 requests per second upwards and adds
    /// less latency than one match step.
    fn default() -> Self {
        Delay { idle_us_max: 500, busy_us_max: 2_000 }
    }
}

impl Delay {
    /// Wait at `busy` of `workers`, linear between the two ends.
    pub fn at_load(&self, busy: usize, workers: usize) -> u64 {
        let busy = busy.min(workers) as u64;
        let spread = self.busy_us_max.saturating_sub(self.idle_us_max);
        self.idle_us_max + spread * busy / workers.max(1) as u64
    }
}

struct Queues<T> {
    /// For each lane: the time since which an item waits, microseconds, and the item.
    lanes: [VecDeque<(u64, T)>; LANES],
    /// The count of batches when its last one was taken, or when the tenant was added. The lowest is next.
    turn: u64,
}

/// Requests that wait for a batch.
pub struct Batcher<T> {
    tenants: HashMap<TenantId, Queues<T>>,
    waiting: usize,
    /// Batches taken.
    taken: u64,
}

impl<T> Default for Batcher<T> {
    fn default() -> Self {
        Batcher { tenants: HashMap::new(), waiting: 0, taken: 0 }
    }
}

impl<T> Batcher<T> {
    /// Number of waiting items.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds an item for `lane` (below 32) of `tenant`.
    pub fn push(&mut self, tenant: TenantId, lane: usize, item: T, now_us: u64) {
        let queues = self.tenants.entry(tenant).or_insert_with(|| Queues::new(self.taken));
        queues.lanes[lane].push_back((now_us, item));
        self.waiting += 1;
    }

    /// The next batch that is due: one with all lanes taken, or one whose oldest item has waited `delay_us`.
    /// Among several, that of the tenant whose turn it is; among tenants that never had one, the one that has waited longest.
    pub fn poll(&mut self, now_us: u64, delay_us: u64) -> Option<Batch<T>> {
        let tenant = self
            .tenants
            .iter()
            .filter(|(_, q)| q.is_full() || q.oldest_us().saturating_add(delay_us) <= now_us)
            .min_by_key(|(_, q)| (q.turn, q.oldest_us()))
            .map(|(tenant, _)| *tenant)?;
        Some(self.take(tenant))
    }

    /// The batch that has waited longest, due or not: for shutdown.
    pub fn flush(&mut self) -> Option<Batch<T>> {
        let tenant = *self.tenants.iter().min_by_key(|(_, q)| q.oldest_us())?.0;
        Some(self.take(tenant))
    }

    /// When the oldest item will have waited `delay_us`.
    pub fn next_deadline(&self, delay_us: u64) -> Option<u64> {
        self.tenants.values().map(|q| q.oldest_us().saturating_add(delay_us)).min()
    }

    fn take(&mut self, tenant: TenantId) -> Batch<T> {
        let mut lanes = Vec::with_capacity(LANES);
        self.taken += 1;
        if let Some(queues) = self.tenants.get_mut(&tenant) {
            queues.turn = self.taken;
            lanes.extend(queues.lanes.iter_mut().filter_map(VecDeque::pop_front).map(|(_, item)| item));
            if queues.lanes.iter().all(VecDeque::is_empty) {
                self.tenants.remove(&tenant);
            }
        }
        self.waiting -= lanes.len();
        Batch { tenant, lanes }
    }
}

impl<T> Queues<T> {
    fn new(turn: u64) -> Self {
        Queues { lanes: std::array::from_fn(|_| VecDeque::new()), turn }
    }

    fn is_full(&self) -> bool {
        self.lanes.iter().all(|q| !q.is_empty())
    }

    fn oldest_us(&self) -> u64 {
        self.lanes.iter().filter_map(|q| q.front()).map(|(since_us, _)| *since_us).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: TenantId = TenantId::new([1; 16]);
    const B: TenantId = TenantId::new([2; 16]);

    #[test]
    fn the_thirty_second_lane_seals() {
        let mut batcher = Batcher::default();
        for lane in 0..31 {
            batcher.push(A, lane, (lane, lane), 0);
            assert!(batcher.poll(0, 500).is_none());
        }
        batcher.push(A, 31, (31, 31), 0);
        let batch = batcher.poll(0, 500).expect("full");
        assert_eq!(batch.lanes, (0..32).map(|i| (i, i)).collect::<Vec<_>>());
        assert!(batcher.is_empty());
    }

    #[test]
    fn the_deadline_seals_and_not_a_microsecond_before() {
        let mut batcher = Batcher::default();
        batcher.push(A, 3, (3, 'x'), 100);
        assert_eq!(batcher.next_deadline(500), Some(600));
        assert!(batcher.poll(599, 500).is_none());
        assert_eq!(batcher.poll(600, 500).expect("due").lanes, [(3, 'x')]);
        assert_eq!(batcher.next_deadline(500), None);
    }

    #[test]
    fn a_repeated_lane_goes_into_the_next_batch() {
        let mut batcher = Batcher::default();
        batcher.push(A, 3, (3, 1), 0);
        batcher.push(A, 3, (3, 2), 10);
        batcher.push(A, 4, (4, 3), 20);
        assert_eq!(batcher.poll(500, 500).expect("due").lanes, [(3, 1), (4, 3)]);
        assert!(batcher.poll(509, 500).is_none());
        assert_eq!(batcher.poll(510, 500).expect("due").lanes, [(3, 2)]);
    }

    #[test]
    fn whoever_has_waited_longest_is_first_and_wakes_the_dispatcher() {
        let mut batcher = Batcher::default();
        // Seven and 32 have no common divisor: every waiting time occurs once.
        for tenant in 0..32u8 {
            let since = u64::from(tenant) * 7 % 32;
            batcher.push(TenantId::new([tenant; 16]), 0, (0, since), 100 + since);
        }
        for since in 0..32 {
            assert_eq!(batcher.next_deadline(500), Some(600 + since));
            let batch = if since < 16 { batcher.poll(1000, 500) } else { batcher.flush() };
            assert_eq!(batch.expect("due").lanes, [(0, since)]);
        }
    }

    /// Claim V19.
    #[test]
    fn a_tenant_with_a_thousand_waiting_delays_another_by_one_batch() {
        let mut batcher = Batcher::default();
        for item in 0..1_000 {
            batcher.push(A, item % LANES, (A, item), 0);
        }
        for round in 0..5 {
            // B's is the younger request every time, and its second waits for one batch of A.
            batcher.push(B, 3, (B, round), 10 + round as u64);
            batcher.push(B, 3, (B, round), 10 + round as u64);
            let order: Vec<TenantId> =
                (0..4).map(|_| batcher.poll(1_000, 500).expect("due").tenant).collect();
            assert_eq!(order.iter().filter(|tenant| **tenant == B).count(), 2, "{round}: {order:?}");
            assert!(order[..2].contains(&B) && order[..2].contains(&A), "{round}: {order:?}");
        }
    }

    /// Claim I7.
    #[test]
    fn tenants_that_come_and_go_do_not_starve_one_that_stays() {
        let mut batcher = Batcher::default();
        for item in 0..100 {
            batcher.push(A, item % LANES, item, 0);
        }
        let mut of_a = 0;
        for visit in 0..8_u8 {
            // Two visitors a round, each with one request, older or younger.
            batcher.push(TenantId::new([10 + visit; 16]), 0, 0, u64::from(visit % 2));
            batcher.push(TenantId::new([50 + visit; 16]), 0, 0, u64::from(visit % 2));
            for _ in 0..3 {
                of_a += usize::from(batcher.poll(1_000, 500).is_some_and(|batch| batch.tenant == A));
            }
        }
        assert!(of_a >= 4, "100 requests in lanes of four, in 24 turns: {of_a}");
    }

    #[test]
    fn delay_grows_with_load() {
        let delay = Delay::default();
        assert_eq!(delay.at_load(0, 4), 500);
        assert_eq!(delay.at_load(4, 4), 2_000);
        assert_eq!(delay.at_load(9, 4), 2_000);
    }

    proptest! {
        /// No item is lost, doubled, reordered within its lane, or put beside another tenant's.
        #[test]
        fn items_are_conserved(pushes in prop::collection::vec((any::<bool>(), 0..LANES, 0u64..50), 0..400)) {
            let mut batcher = Batcher::default();
            let (mut now, mut out) = (0, Vec::new());
            for (id, (tenant, lane, wait)) in pushes.iter().enumerate() {
                now += wait;
                batcher.push(if *tenant { A } else { B }, *lane, (*tenant, *lane, id), now);
                while let Some(batch) = batcher.poll(now, 300) {
                    out.push(batch);
                }
            }
            while let Some(batch) = batcher.flush() {
                out.push(batch);
            }
            prop_assert!(batcher.is_empty());
            let mut last = HashMap::new();
            let mut seen = 0;
            for batch in out {
                prop_assert!(batch.lanes.windows(2).all(|w| w[0].1 < w[1].1), "one item per lane");
                for (tenant, lane, id) in batch.lanes {
                    prop_assert_eq!(batch.tenant, if tenant { A } else { B });
                    let previous = last.insert((tenant, lane), id);
                    prop_assert!(previous.is_none_or(|p| p < id), "first in, first out");
                    seen += 1;
                }
            }
            prop_assert_eq!(seen, pushes.len());
        }
    }
}
