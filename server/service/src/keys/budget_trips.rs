//! Attempts that the key-holder refused lately because a budget of the subject was spent, by tenant.
//!
//! The key-holder counts since its process began, which says little about the present. So the service keeps its count of some minutes ago beside
//! the newest: the difference came in the last five to ten minutes, or in less if the service has not watched for so long.

use std::collections::BTreeMap;
use std::sync::Arc;
use trefoil_types::TenantId;

/// Seconds between two counts that are kept. Two are, so a difference is at most twice as old.
const KEPT_S: u64 = 300;

/// Counts at one time.
#[derive(Debug, Default)]
struct Counted {
    /// Seconds of a clock that never steps.
    at_s: u64,
    of: BTreeMap<TenantId, u64>,
}

/// See the module. Each answer of the key-holder makes another one.
#[derive(Clone, Debug, Default)]
pub struct BudgetTrips {
    newest: Arc<Counted>,
    /// Those that came since the first answer.
    seen: Arc<BTreeMap<TenantId, u64>>,
    /// The older one first; `None` before the first answer.
    kept: Option<[Arc<Counted>; 2]>,
}

impl Counted {
    fn of(&self, tenant: &TenantId) -> u64 {
        self.of.get(tenant).copied().unwrap_or(0)
    }
}

impl BudgetTrips {
    /// After the key-holder's answer with these counts, at `now_s` of a clock that never steps.
    pub(crate) fn then(&self, counts: &[(TenantId, u64)], now_s: u64) -> BudgetTrips {
        let newest = Arc::new(Counted { at_s: now_s, of: counts.iter().copied().collect() });
        let both = || [Arc::clone(&newest), Arc::clone(&newest)];
        let began_again = self.began_again(counts);
        let came = |(tenant, count): &(TenantId, u64)| {
            let before = if began_again { 0 } else { self.newest.of(tenant) };
            let more = if self.kept.is_some() { count.saturating_sub(before) } else { 0 };
            (*tenant, self.seen(tenant) + more)
        };
        let seen = Arc::new(counts.iter().map(came).collect());
        let kept = match &self.kept {
            // What a key-holder in another process counted before is not known to be of late.
            None => both(),
            Some(_) if began_again => {
                let nothing = Arc::new(Counted { at_s: now_s, of: BTreeMap::new() });
                [Arc::clone(&nothing), nothing]
            }
            Some([older, newer]) => match now_s.saturating_sub(newer.at_s) / KEPT_S {
                0 => [Arc::clone(older), Arc::clone(newer)],
                1 => [Arc::clone(newer), Arc::clone(&newest)],
                _ => both(),
            },
        };
        BudgetTrips { newest, seen, kept: Some(kept) }
    }

    /// How many of a tenant came in the last minutes, at most ten.
    pub fn recent(&self, tenant: &TenantId) -> u64 {
        let before = self.kept.as_ref().map_or(0, |[older, _]| older.of(tenant));
        self.newest.of(tenant).saturating_sub(before)
    }

    /// How many of a tenant came since the service began to watch.
    pub fn seen(&self, tenant: &TenantId) -> u64 {
        self.seen.get(tenant).copied().unwrap_or(0)
    }

    /// A count that fell is one of another process.
    fn began_again(&self, counts: &[(TenantId, u64)]) -> bool {
        counts.iter().any(|(tenant, count)| *count < self.newest.of(tenant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TenantId = TenantId::new([1; 16]);
    const OTHER: TenantId = TenantId::new([2; 16]);

    /// The trips of the last minutes after answers at these seconds, with a count for [`ONE`].
    fn recent(answers: &[(u64, u64)]) -> u64 {
        let then = |trips: BudgetTrips, (at_s, count): &(u64, u64)| trips.then(&[(ONE, *count)], *at_s);
        answers.iter().fold(BudgetTrips::default(), then).recent(&ONE)
    }

    #[test]
    fn trips_count_for_five_to_ten_minutes_and_what_was_before_the_service_does_not() {
        assert_eq!(recent(&[]), 0);
        assert_eq!(recent(&[(50, 1_000)]), 0, "counted before");
        assert_eq!(recent(&[(50, 1_000), (51, 1_007)]), 7);
        assert_eq!(recent(&[(50, 0), (51, 7), (349, 7), (350, 7), (649, 7)]), 7, "not yet");
        assert_eq!(recent(&[(50, 0), (51, 7), (350, 7), (650, 9)]), 2);
        assert_eq!(recent(&[(50, 0), (51, 7), (651, 9)]), 0, "nothing is known of the time between");
        let always: Vec<(u64, u64)> = (0..5_000).map(|second| (second, second)).collect();
        for until in (400..5_000).step_by(37) {
            let recent = recent(&always[..until]);
            assert!((300..=600).contains(&recent), "{recent} at {until}");
        }
    }

    #[test]
    fn a_key_holder_that_began_again_counts_from_nothing() {
        assert_eq!(recent(&[(50, 1_000), (51, 1_007), (52, 3)]), 3);
        assert_eq!(recent(&[(50, 1_000), (51, 1_007), (52, 3), (53, 1_010)]), 1_010);
    }

    #[test]
    fn tenants_are_counted_apart_and_one_that_is_new_from_nothing() {
        let trips = BudgetTrips::default().then(&[(ONE, 5)], 1).then(&[(ONE, 6), (OTHER, 9)], 2);
        assert_eq!([trips.recent(&ONE), trips.recent(&OTHER)], [1, 9]);
        let deleted = trips.then(&[(OTHER, 9)], 3);
        assert_eq!([deleted.recent(&ONE), deleted.recent(&OTHER)], [0, 9]);
    }

    #[test]
    fn those_that_were_seen_add_up_over_a_key_holder_that_began_again() {
        let mut trips = BudgetTrips::default();
        for (at_s, (count, seen)) in (0..).step_by(400).zip([(50, 0), (52, 2), (52, 2), (1, 3), (4, 6)]) {
            trips = trips.then(&[(ONE, count)], at_s);
            assert_eq!((trips.seen(&ONE), trips.seen(&OTHER)), (seen, 0), "{count}");
        }
    }
}
