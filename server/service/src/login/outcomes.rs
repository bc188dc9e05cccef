//! How the logins of each tenant ended in the last hour and day, and whether more were refused than the model of its policy explains. A tenant with
//! two models is counted and tested for each, so that one cannot hide behind the other.
//!
//! Each thread that answers logins counts for itself ([`Uses`]), and the key-holder counts spent budgets. One task in the background and operators read them.
//!
//! **The test.** A model refuses a known share of the right people at its threshold ([`trefoil_types::Threshold::refuses`]). A tenant refuses too many if the
//! lower end of a 99.87 % confidence interval (Wilson's, 3 standard deviations) of its share is above [`limit`], from [`LOGINS_MIN`] logins on.
//! The margin between the model's share and the limit keeps a tenant at its model's share below it however often it is looked at: at class 4 that
//! would take 5 standard deviations. What was found stays until the share itself, and not its lower end, is no longer above the limit. Then the
//! test begins with the logins of the last hour, so that a bad morning does not bring it back.

#![expect(clippy::disallowed_types, reason = "held by operators and one task, never by a login")]

use crate::log::seal_log::Answer;
use crate::login::logins::Logins;
use crate::refused::Refused;
use crate::tenants::usage::{Used, Uses};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use trefoil_attest::Decision;
use trefoil_storage::store::UsageCounts;
use trefoil_types::TenantId;

/// Logins from which on a share says something.
pub const LOGINS_MIN: u64 = 100;
/// Standard deviations between a share and what it must exceed.
const SIGMAS: f64 = 3.0;
/// The limit where the share of the model is not known: a threshold that its operator calibrated.
const UNKNOWN_LIMIT: f64 = 0.5;
/// Seconds between the counts that are kept, and how far back they reach: an hour and a day.
const WINDOWS: [(u64, u64); 2] = [(300, 3_600), (3_600, 86_400)];

/// How logins of a tenant ended with one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Decided with a match.
    pub matched: u64,
    /// Decided with none.
    pub not_matched: u64,
    /// Attempts that the key-holder refused because a budget of the subject was spent. Their answers are among those without a match.
    pub locked_out: u64,
    /// Not decided, because an API key or a source failed for too many different subjects.
    pub turned_away: u64,
}

impl Outcomes {
    fn of(uses: &Uses, locked_out: u64) -> Outcomes {
        let UsageCounts { matched, not_matched, refusals, .. } = uses.sums();
        Outcomes { matched, not_matched, locked_out, turned_away: refusals }
    }

    /// Logins in which nobody was let in.
    pub fn refused(&self) -> u64 {
        self.not_matched + self.turned_away
    }

    /// All logins.
    pub fn logins(&self) -> u64 {
        self.matched + self.refused()
    }

    fn since(&self, before: &Outcomes) -> Outcomes {
        Outcomes {
            matched: self.matched.saturating_sub(before.matched),
            not_matched: self.not_matched.saturating_sub(before.not_matched),
            locked_out: self.locked_out.saturating_sub(before.locked_out),
            turned_away: self.turned_away.saturating_sub(before.turned_away),
        }
    }

    fn share(&self) -> f64 {
        self.refused() as f64 / self.logins().max(1) as f64
    }

    /// Whether surely more than this share is refused.
    fn exceeds(&self, limit: f64) -> bool {
        let (n, share, z2) = (self.logins() as f64, self.share(), SIGMAS * SIGMAS);
        let spread = SIGMAS * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        self.logins() >= LOGINS_MIN && (share + z2 / (2.0 * n) - spread) / (1.0 + z2 / n) > limit
    }
}

/// The share of refusals that is surely exceeded when too many are refused, for a model that refuses this share of the right people.
fn limit(share: Option<f64>) -> f64 {
    share.map_or(UNKNOWN_LIMIT, |share| share + (share + 0.02).min(0.1))
}

/// What is known of one tenant, or of one model of a tenant with two.
#[derive(Clone, Debug)]
pub struct TenantOutcomes {
    /// The tenant.
    pub tenant: TenantId,
    /// Its name.
    pub name: String,
    /// The model, and the share of the right people that it refuses at its threshold, if that is known.
    pub model: (String, Option<f64>),
    /// Whether the tenant has another one.
    pub is_one_of_two: bool,
    /// Since its policy changed or the process began.
    pub all: Outcomes,
    /// The last 60 to 65 minutes, or since its policy changed or the process began.
    pub hour: Outcomes,
    /// The last 24 to 25 hours, likewise.
    pub day: Outcomes,
    /// The logins in which more were refused than the model explains, and whether they are those of the hour.
    pub excess: Option<(Outcomes, bool)>,
}

/// See the module. Of each tenant the version of its policy, and what is known of each model.
#[derive(Default)]
pub struct Watch(Mutex<BTreeMap<TenantId, (u32, [Watched; 2])>>);

/// Counts of one tenant and model at earlier times.
#[derive(Debug)]
struct Watched {
    /// In the order of [`WINDOWS`], the oldest first: one that is at least as old as the window, or the first.
    kept: [VecDeque<(u64, Outcomes)>; 2],
    /// Logins up to here are not tested any more.
    tested: Outcomes,
    is_found: bool,
}

impl Watched {
    /// Counts from `from` on.
    fn new(from: Outcomes, now_s: u64) -> Watched {
        let kept = [(); 2].map(|()| VecDeque::from([(now_s, from)]));
        Watched { kept, tested: Outcomes::default(), is_found: false }
    }

    /// The counts are these at `now_s`: those of the hour, of the day, and of the tested ones that are too many.
    fn look(&mut self, now: Outcomes, now_s: u64, limit: f64) -> ([Outcomes; 2], Option<(Outcomes, bool)>) {
        for (kept, (step_s, reach_s)) in self.kept.iter_mut().zip(WINDOWS) {
            if kept.back().is_none_or(|(at_s, _)| now_s.saturating_sub(*at_s) >= step_s) {
                kept.push_back((now_s, now));
            }
            while kept.get(1).is_some_and(|(at_s, _)| now_s.saturating_sub(*at_s) >= reach_s) {
                kept.pop_front();
            }
        }
        let [before_hour, before_day] = self.kept.each_ref().map(|kept| kept[0].1);
        let [hour, day] = [before_hour, before_day].map(|before| now.since(&before));
        let tested = match self.tested.logins() > before_day.logins() {
            true => now.since(&self.tested),
            false => day,
        };
        let found = [(hour, true), (tested, false)].into_iter().find(|(some, _)| match self.is_found {
            false => some.exceeds(limit),
            true => some.logins() >= LOGINS_MIN,
        });
        let found = found.filter(|(some, _)| some.share() > limit);
        if self.is_found && found.is_none() {
            self.tested = before_hour;
        }
        self.is_found = found.is_some();
        ([hour, day], found)
    }
}

/// Counts the login of a subject that is enrolled.
pub(crate) fn count(uses: &Uses, answer: &Result<Answer, Refused>) {
    uses.count(match answer.as_ref().map(|answer| answer.decision) {
        Ok(Some(Decision::Match)) => Used::Matched,
        Ok(Some(Decision::NoMatch)) => Used::NotMatched,
        Err(Refused::DistinctFailures { .. } | Refused::SourceFailures { .. }) => Used::Refused,
        Ok(None) | Err(_) => return,
    });
}

impl Logins {
    /// How the logins of each tenant ended with each model of its policy, those with most refusals of the day first.
    pub fn outcomes(&self) -> Vec<TenantOutcomes> {
        let now_s = self.node.clock.monotonic_ns() / 1_000_000_000;
        let mut watched = self.outcomes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *watched);
        let mut all = Vec::new();
        for tenant in self.tenants.all() {
            let locked_out = self.node.key_holder_watch.trips_by_model(&tenant.id);
            let begun = |locked_out| Watched::new(Outcomes { locked_out, ..Outcomes::default() }, now_s);
            let mut own = match before.remove(&tenant.id) {
                Some(own) if own.0 == tenant.policy_version => own,
                // What was refused under another threshold says nothing about this one.
                Some(_) => (tenant.policy_version, locked_out.map(begun)),
                None => (tenant.policy_version, [0; 2].map(begun)),
            };
            let counted = tenant.ended.iter().zip(locked_out).zip(&mut own.1);
            for ((_, embedder, dimension, threshold), counted) in tenant.policy.models().zip(counted) {
                let ((uses, locked_out), of_model) = counted;
                let (so_far, share) =
                    (Outcomes::of(uses, locked_out), threshold.refuses(embedder, dimension));
                let ([hour, day], excess) = of_model.look(so_far, now_s, limit(share));
                all.push(TenantOutcomes {
                    tenant: tenant.id,
                    name: tenant.name.clone(),
                    model: (embedder.to_owned(), share),
                    is_one_of_two: tenant.policy.previous.is_some(),
                    all: so_far,
                    hour,
                    day,
                    excess,
                });
            }
            watched.insert(tenant.id, own);
        }
        all.sort_by_key(|of| (std::cmp::Reverse(of.day.refused()), of.tenant));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};
    use trefoil_types::Threshold;

    /// The share of ArcFace vectors, cut to 128 numbers, whose own person the class refuses.
    const ARCFACE_AT_4: f64 = 0.537;

    fn new() -> Watched {
        Watched::new(Outcomes::default(), 0)
    }

    fn limit_of(threshold: Threshold) -> f64 {
        limit(threshold.refuses("facenet-128", 128))
    }

    /// At which logins, looked at after each of them, the finding comes and goes.
    fn changes(limit: f64, logins: u64, every_s: u64, is_refused: impl Fn(u64) -> bool) -> Vec<u64> {
        let (mut watched, mut now) = (new(), Outcomes::default());
        let mut was = watched.look(now, 0, limit).1.is_some();
        let mut changed = Vec::new();
        for login in 1..=logins {
            if is_refused(login) {
                now.not_matched += 1
            } else {
                now.matched += 1
            }
            let is = watched.look(now, login * every_s, limit).1.is_some();
            if std::mem::replace(&mut was, is) != is {
                changed.push(login);
            }
        }
        changed
    }

    /// Refusals at random, each login by itself, with this share.
    fn random(seed: u64, share: f64, logins: u64) -> Vec<bool> {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..=logins).map(|_| rng.random::<f64>() < share).collect()
    }

    /// Claim V145.
    #[test]
    fn a_wrong_model_is_found_within_200_logins_and_a_right_one_never() {
        for (threshold, share, most) in [
            (Threshold::FmrClass(4), ARCFACE_AT_4, 1),
            (Threshold::FmrClass(3), 0.25, 1),
            (Threshold::FmrClass(2), 0.15, 1),
            (Threshold::FmrClass(4), 0.2303, 0),
            (Threshold::FmrClass(3), 0.0257, 0),
            (Threshold::FmrClass(2), 0.0031, 0),
            (Threshold::Calibrated { score: 18_000, fmr_class: 3 }, 0.75, 1),
            (Threshold::Calibrated { score: 18_000, fmr_class: 3 }, 0.4, 0),
        ] {
            let mut found = 0;
            for seed in 0..100 {
                let (few, many) = (200, if most == 0 { 5_000 } else { 200 });
                let refused = random(seed, share, many);
                let changed = changes(limit_of(threshold), many, 20, |login| refused[login as usize]);
                match most {
                    0 => assert_eq!(changed, [0; 0], "{threshold:?} at its own share, seed {seed}"),
                    _ => found += usize::from(changed.first().is_some_and(|login| *login <= few)),
                }
            }
            // A run of luck is allowed for.
            assert!(found >= 97 * most, "{threshold:?}: {found} of 100 at {share}");
        }
    }

    #[test]
    fn it_comes_once_and_goes_once_when_the_model_is_mended() {
        let limit = limit_of(Threshold::FmrClass(4));
        for seed in 0..50 {
            for every_s in [1, 20, 200] {
                let (bad, good) = (random(seed, ARCFACE_AT_4, 400), random(seed, 0.2303, 3_000));
                let is_refused = |login: u64| match login {
                    ..=400 => bad[login as usize],
                    _ => good[login as usize - 401],
                };
                let changed = changes(limit, 3_400, every_s, is_refused);
                assert!(matches!(changed[..], [from, until] if from <= 300 && until > 400), "{changed:?}");
            }
        }
    }

    #[test]
    fn few_logins_say_nothing_and_old_ones_are_forgotten() {
        assert_eq!(changes(0.3, LOGINS_MIN - 1, 1, |_| true), [0; 0]);
        assert_eq!(changes(0.3, LOGINS_MIN, 1, |_| true), [LOGINS_MIN]);
        let mut watched = new();
        let at = |watched: &mut Watched, refused, hour: u64| {
            let now = Outcomes { not_matched: refused, ..Outcomes::default() };
            let ([of_hour, of_day], found) = watched.look(now, hour * 3_600, 0.3);
            (of_hour.refused(), of_day.refused(), found.is_some())
        };
        assert_eq!(at(&mut watched, 0, 0), (0, 0, false));
        assert_eq!(at(&mut watched, 500, 1), (500, 500, true));
        assert_eq!(at(&mut watched, 500, 2), (0, 500, true), "the day");
        assert_eq!(at(&mut watched, 500, 24), (0, 500, true));
        assert_eq!(at(&mut watched, 500, 26), (0, 0, false));
    }
}
