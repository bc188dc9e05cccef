//! Refusals that callers cannot cure, told by one rule for all of their codes.
//!
//! A code's episode begins with a refusal and ends an hour after its last one. The finding stands from the time at which the episode lasts a minute or
//! has [`MANY`] refusals, to its end. So one that comes again within an hour is one finding, and one that comes alone is none.

use super::Fault;
use crate::problem::Code;
use std::collections::BTreeMap;
use trefoil_api::Finding;
use trefoil_service::time::format as time;

/// An episode ends after so long without a refusal.
const QUIET_S: u64 = 3_600;
/// An episode that lasts so long is told.
const LASTING_S: u64 = 60;
/// An episode with so many refusals is told.
const MANY: u64 = 20;

/// The episode of each code, and its count at the last look.
#[derive(Debug, Default)]
pub(crate) struct Recurring(BTreeMap<Code, Episode>);

#[derive(Debug, Default)]
struct Episode {
    counted: u64,
    before: u64,
    first_s: u64,
    last_s: u64,
}

impl Recurring {
    /// The findings at this time, monotonic and unix seconds, at which so many refusals of each code were counted since the start.
    pub(crate) fn look(&mut self, counts: &BTreeMap<Code, u64>, now_s: u64, unix_s: u64) -> Vec<Finding> {
        let told = counts.iter().filter_map(|(code, count)| {
            let next = next_step(*code)?;
            let episode = self.0.entry(*code).or_default();
            let is_over = episode.counted == episode.before || now_s - episode.last_s >= QUIET_S;
            if *count > episode.counted {
                if is_over {
                    (episode.first_s, episode.before) = (now_s, episode.counted);
                }
                (episode.counted, episode.last_s) = (*count, now_s);
            } else if is_over {
                return None;
            }
            let (lasts_s, refused) = (episode.last_s - episode.first_s, count - episode.before);
            if lasts_s < LASTING_S && refused < MANY {
                return None;
            }
            let at = |then_s: u64| time(unix_s.saturating_sub(now_s - then_s));
            let name = code.name();
            let what = format!(
                "{refused} requests got `{name}` since {}, the last one at {}",
                at(episode.first_s),
                at(episode.last_s)
            );
            Some(Fault::RequestsRefused.at(format!("`{name}`"), what).do_this(next))
        });
        told.collect()
    }
}

/// The operator's next step for refusals that callers cannot cure.
fn next_step(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::Internal => "read the log: each such request has a line with its request id",
        Code::Overloaded => {
            "see the queue, the processor and `pipeline.nonces`; add cores or another service, or let callers send fewer"
        }
        Code::QuotaExceeded => {
            "see which tenant sends more than is answered in time; add cores, or raise limits.in_flight_per_tenant"
        }
        Code::Unsealed => "make room on the disk, and see the log: logins were decided and not attested",
        Code::StorageDamaged => {
            "keep a copy, check the disk, then restore the whole directory from the newest backup"
        }
        Code::DiskLow => "make room; the service recovers within seconds",
        Code::KeyHolderUnavailable => {
            "start the key-holder, or correct keyholder.url; its fingerprint and the list of its clients have to fit"
        }
        Code::Undecided => "see the log of the key-holder",
        Code::PolicyOutOfStep => "set the tenant's policy again, or the key-holder's threshold",
        Code::TimedOut => "see the stages on the page /operator: which one became slow",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the finding came, and whether it stands at the end, if `many` requests are refused at each of these times of a day, seconds.
    fn appearances(times: impl Iterator<Item = u64>, many: u64) -> (usize, bool) {
        let (mut recurring, mut count, mut stands, mut came) = (Recurring::default(), 0, false, 0);
        let mut times = times.peekable();
        for now_s in (0..86_400).step_by(10) {
            while times.next_if(|at| *at <= now_s).is_some() {
                count += many;
            }
            let counts = BTreeMap::from([(Code::Overloaded, count), (Code::NonceReplayed, count)]);
            let found = recurring.look(&counts, now_s, 1_795_000_000 + now_s);
            came += usize::from(!stands && !found.is_empty());
            stands = !found.is_empty();
        }
        (came, stands)
    }

    /// Claim V145.
    #[test]
    fn a_refusal_that_recurs_is_one_finding_whatever_its_period() {
        for period_s in [1, 30, 61, 240, 420, 660, 1_800, 3_500] {
            let until_noon = (1_000..43_200).step_by(period_s);
            assert_eq!(appearances(until_noon, 1), (1, false), "every {period_s} s until noon");
            assert_eq!(appearances((1_000..86_400).step_by(period_s), 1), (1, true), "every {period_s} s");
        }
        assert_eq!(appearances((0..86_400).step_by(4_000), 1), (0, false), "single ones hours apart");
        assert_eq!(appearances([5_000].into_iter(), 19), (0, false), "a moment");
        assert_eq!(appearances([5_000].into_iter(), 20), (1, false), "a burst");
        assert_eq!(appearances([5_000, 5_070, 50_000, 50_070].into_iter(), 1), (2, false), "two episodes");
    }

    #[test]
    fn a_finding_says_what_was_refused_how_often_since_when_and_what_to_do() {
        let (mut recurring, begun) = (Recurring::default(), 1_795_000_000);
        let mut look = |count, now_s| {
            let counts = BTreeMap::from([(Code::TimedOut, count), (Code::NonceReplayed, count)]);
            recurring.look(&counts, now_s, begun + now_s)
        };
        assert!(look(7, 5).is_empty());
        let found = look(9, 75);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.code.as_str(), one.place.as_str()), ("requests-refused", "`timed-out`"));
        let says =
            "9 requests got `timed-out` since 2026-11-18T11:06:45Z, the last one at 2026-11-18T11:07:55Z";
        assert_eq!(one.what, says);
        assert!(one.remedy.contains("stages"), "{one:?}");
        assert_eq!(look(9, 75 + 3_599).len(), 1);
        assert!(look(9, 75 + 3_600).is_empty());
    }
}
