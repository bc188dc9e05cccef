//! What is wrong with a service, in the words of `trefoil doctor`: the operator's page shows the same.

mod recurring;
mod table;

use crate::config::Tls;
use crate::tls::SOON_S;
use std::collections::BTreeSet;
use std::fmt::Display;
use trefoil_api::{Finding, Level};
use trefoil_service::login::clock::Step;
use trefoil_service::login::outcomes::{Outcomes, TenantOutcomes};
use trefoil_service::login::past;
use trefoil_service::time::format as time;
use trefoil_storage::disk::Disk;
use trefoil_storage::store::fleet::{Node, NodeKeys};
use trefoil_types::TenantId;

pub(crate) use recurring::Recurring;
pub use table::Fault;

/// Refused attempts of a tenant in the last ten minutes from which on somebody should look: the rate of the alert `TrefoilBudgetsTrip`.
pub const TRIPS_MANY: u64 = 60;

const DAY_S: u64 = 86_400;

/// Logins that dispute the clock, from which on somebody should look.
const DISPUTED_MANY: u64 = 20;

/// What to do about the service's certificate before it ends.
fn renewal(tls: &Tls) -> &'static str {
    match tls.certificate.as_os_str().is_empty() {
        true => {
            "start the service again, which renews it with the same key: `trefoil` goes on with the old file, curl, Python and others that use \
             OpenSSL want the new one"
        }
        false => "renew it; its files are read again when they change, or at SIGHUP",
    }
}

/// A certificate that has expired or will soon.
pub fn certificate(place: impl Display, until: u64, now: u64, tls: &Tls) -> Option<Finding> {
    let faults = [Fault::CertificateExpired, Fault::CertificateExpires];
    ending(faults, place, "the certificate", [until, now], tls).map(|found| found.do_this(renewal(tls)))
}

/// An authority of callers' certificates that has expired or will soon.
pub fn client_ca(place: impl Display, until: u64, now: u64, tls: &Tls) -> Option<Finding> {
    let faults = [Fault::ClientCaExpired, Fault::ClientCaExpires];
    ending(faults, place, "an authority of callers' certificates", [until, now], tls)
}

fn ending(
    [over, soon]: [Fault; 2],
    place: impl Display,
    what: &str,
    [until, now]: [u64; 2],
    tls: &Tls,
) -> Option<Finding> {
    if until <= now {
        Some(over.at(place, format!("{what} expired at {}", time(until))))
    } else {
        (until - now < tls.warn_days * DAY_S)
            .then(|| soon.at(place, format!("{what} expires at {}", time(until))))
    }
}

/// What to do about a clock that is behind.
const SET_CLOCK: &str = "set the clock of this machine (NTP)";

/// A clock that is behind what the log of seals has reached, or the database of a fleet.
pub fn clock_behind(place: impl Display, reached: u64, now: u64) -> Finding {
    let what = format!("{}: no login is accepted meanwhile", past::behind(now, reached));
    Fault::ClockBehind.at(place, what)
}

/// A clock that was set while the service ran.
pub fn clock_stepped(place: impl Display, Step { by_s, to }: Step) -> Finding {
    let (by, how) = (by_s.unsigned_abs(), if by_s < 0 { "back" } else { "ahead" });
    let what = format!("the clock was set {how} by {by} s, to {}; told for an hour", time(to));
    Fault::ClockStepped.at(place, what)
}

/// A node's clock that is ahead of the database's by so many seconds.
pub fn clock_ahead(place: impl Display, by_s: u64) -> Finding {
    let what = format!(
        "this machine's clock is {by_s} s ahead of the database's, by which the fleet judges; requests of its callers are refused as too old or too new"
    );
    Fault::ClockAhead.at(place, what)
}

/// A clock by which almost all logins are too old or too new: so many more than others confirm it.
pub fn clock_disputed(disputed: u64, before: &Stood) -> Option<Finding> {
    let place = "clock";
    if disputed < if stood(before, Fault::ClockDisputed, &place) { 1 } else { DISPUTED_MANY } {
        return None;
    }
    let what = "almost all logins are refused as too old or too new (`request-not-fresh`), so this machine's clock may be wrong, or a caller's";
    Some(Fault::ClockDisputed.at(place, what))
}

/// Signing keys that are not valid yet, have expired or will soon. The clock is wrong if the keys are not valid yet.
pub fn signing_keys(place: impl Display, (from, until): (u64, u64), now: u64) -> Option<Finding> {
    if now < from {
        let what = format!(
            "the signing keys are valid from {}, and the clock says {}, {} s before that",
            time(from),
            time(now),
            from - now
        );
        Some(Fault::ClockBehind.at(place, what).do_this(SET_CLOCK))
    } else if until <= now {
        let what = format!("the signing keys ran out at {}", time(until));
        Some(Fault::KeysExpired.at(place, what))
    } else if until - now < SOON_S {
        let what = format!("the signing keys run out at {}", time(until));
        Some(Fault::KeysExpire.at(place, what))
    } else {
        None
    }
}

/// New signing keys that a running node does not use yet, while the ones it uses retire at `since`.
pub fn awaits_restart(place: impl Display, since: u64, now: u64) -> Finding {
    let what =
        format!("the node signs with keys that retire at {}: new ones wait for its restart", time(since));
    let level = if since <= now { Level::Broken } else { Level::Warning };
    Finding { level, ..Fault::KeysAwaitRestart.at(place, what) }
}

/// Keys and trust roots of the fleet's nodes against those of the node with this name.
pub fn fleet_keys(own: &NodeKeys, own_name: &str, nodes: &[Node]) -> Vec<Finding> {
    let others = nodes.iter().filter(|node| node.name != own_name);
    let mut found = Vec::new();
    for (name, theirs) in others.filter_map(|node| Some((&node.name, node.keys?))) {
        let place = format!("node {name}");
        if theirs.version > own.version {
            let what =
                format!("version {} of the trust root, and this node has {}", theirs.version, own.version);
            let remedy = format!(
                "copy trust-roots/{}.json and the versions after it from its data directory into trust-roots of this node's",
                own.version + 1
            );
            found.push(Fault::TrustRootBehind.at(&place, what).do_this(remedy));
        } else if theirs.version == own.version && theirs.digest != own.digest {
            let what = format!(
                "another version {} of the trust root than this node's: relying parties refuse one of the two",
                own.version
            );
            found.push(Fault::TrustRootSplit.at(&place, what));
        }
        if theirs.key_set == own.key_set {
            let what = format!(
                "key set {} signs here too: a rotation at one of the two nodes retires the keys of the other",
                hex::encode(own.key_set)
            );
            found.push(Fault::KeysShared.at(&place, what));
        }
    }
    found
}

/// What stood when the service was last asked, by code and place: such a finding goes only once its value is clearly better than the one at
/// which it came.
pub type Stood = BTreeSet<(String, String)>;

/// Whether this finding stood.
fn stood(before: &Stood, fault: Fault, place: &impl Display) -> bool {
    before.contains(&(fault.code().to_owned(), place.to_string()))
}

/// Too little free space on the disk, or soon too little, in MiB.
pub fn disk(place: impl Display, free: u64, low: u64, before: &Stood) -> Option<Finding> {
    let (refuses, soon) = (stood(before, Fault::DiskLow, &place), stood(before, Fault::DiskLowSoon, &place));
    let below = |mark: u64, stood: bool| free < if stood { Disk::clear_of(mark) } else { mark };
    if below(low, refuses) {
        let what = format!("{free} MiB are free, and disk.low_water_mib is {low}: logins are refused");
        Some(Fault::DiskLow.at(place, what))
    } else if below(low.saturating_mul(2), refuses || soon) {
        let what = format!("{free} MiB are free; below {low} logins are refused");
        Some(Fault::DiskLowSoon.at(place, what))
    } else {
        None
    }
}

/// Frozen tenants, and malformed jobs on the way there.
pub fn malformed(place: impl Display, count: u64, frozen_tenants: &[TenantId]) -> Vec<Finding> {
    let mut found: Vec<Finding> = frozen_tenants.iter().map(|tenant| frozen(&place, tenant)).collect();
    if found.is_empty() && count > 0 {
        let what = format!("{count} malformed jobs");
        found.push(Fault::MalformedJobs.at(place, what));
    }
    found
}

/// A tenant that is frozen by malformed jobs.
pub fn frozen(place: impl Display, tenant: &TenantId) -> Finding {
    let what = format!("tenant {} is frozen after malformed jobs, and decides nothing", hex::encode(tenant));
    Fault::TenantFrozen.at(place, what)
}

/// Subjects of a tenant that are tried again and again without an attempt left: so many times `recent`ly, in the last ten minutes.
pub fn budget_trips(name: impl Display, tenant: &TenantId, recent: u64, before: &Stood) -> Option<Finding> {
    let place = format!("tenant {name}");
    if recent < if stood(before, Fault::BudgetsTrip, &place) { TRIPS_MANY / 2 } else { TRIPS_MANY } {
        return None;
    }
    let what = format!(
        "{recent} attempts on its subjects were refused in the last ten minutes, because their budgets are spent: somebody may be trying faces"
    );
    let remedy = format!(
        "see with `trefoil admin usage {}` whose logins fail, and have that caller stopped; `trefoil admin api-key revoke` ends a key that is in \
         wrong hands, and `trefoil admin budget reset` lets a subject in again afterwards",
        hex::encode(tenant)
    );
    Some(Fault::BudgetsTrip.at(place, what).do_this(remedy))
}

/// Almost as many nonces as are remembered.
pub fn nonces(remembered: usize, most: usize, before: &Stood) -> Option<Finding> {
    let place = "pipeline.nonces";
    let fifths = if stood(before, Fault::NoncesFullSoon, &place) { 3 } else { 4 };
    if remembered * 5 <= most * fifths {
        return None;
    }
    let what = format!(
        "{remembered} nonces of the last two minutes are remembered, of at most {most}; at that number logins are refused"
    );
    Some(Fault::NoncesFullSoon.at(place, what))
}

/// More logins wait for a batch than is usual.
pub fn queue(waiting: usize, most: usize, before: &Stood) -> Option<Finding> {
    let place = "pipeline.queue";
    let quarters = if stood(before, Fault::QueueFullSoon, &place) { 1 } else { 2 };
    if waiting * 4 <= most * quarters {
        return None;
    }
    let what =
        format!("{waiting} of at most {most} logins wait for a batch; at that number logins are refused");
    Some(Fault::QueueFullSoon.at(place, what))
}

/// A tenant that refuses more logins than the model of its policy explains; of one with two models, named with the model.
pub fn refusals(of: &TenantOutcomes) -> Option<Finding> {
    let (found, is_of_hour) = of.excess?;
    let Outcomes { not_matched, locked_out, turned_away, .. } = found;
    let (embedder, share) = &of.model;
    let window = if is_of_hour { "hour" } else { "day" };
    let expected = share.map_or_else(
        || "more than half".to_owned(),
        |share| {
            format!("and `{embedder}` refuses {:.1} % of the right people at its threshold", 100.0 * share)
        },
    );
    let what = format!(
        "{} of {} logins of the last {window} were refused ({not_matched} did not match, {turned_away} were turned away for too many failing subjects; \
         {locked_out} attempts had no budget left), {expected}",
        found.refused(),
        found.logins()
    );
    let remedy = format!(
        "see that the application sends what `{embedder}` gives, unchanged and for photographs like those enrolled; for another model set \
         a policy with its name and a score that you calibrated, and this one as `previous` (API.md, \"A policy\"). If the model is right, somebody may be trying faces: `trefoil admin usage {}` shows with which \
         API key, and `trefoil admin api-key revoke` ends it",
        hex::encode(of.tenant)
    );
    let model = if of.is_one_of_two { format!(", model {embedder}") } else { String::new() };
    Some(Fault::RefusalsMany.at(format!("tenant {}{model}", of.name), what).do_this(remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_nodes_keys_are_findings_where_they_do_not_fit_this_nodes() {
        let own = NodeKeys { key_set: [1; 4], version: 3, digest: [3; 3] };
        let codes = |name: &str, keys: Option<NodeKeys>| {
            let address = "192.0.2.7".to_owned();
            let node = Node { name: name.to_owned(), address, since: 1, keeps_house: false, keys };
            fleet_keys(&own, "me/1", &[node]).into_iter().map(|found| found.code).collect::<Vec<_>>()
        };
        let other = NodeKeys { key_set: [2; 4], ..own };
        assert_eq!(codes("you/1", None), [""; 0]);
        assert_eq!(codes("you/1", Some(other)), [""; 0]);
        assert_eq!(codes("you/1", Some(NodeKeys { version: 2, digest: [2; 3], ..other })), [""; 0]);
        assert_eq!(
            codes("you/1", Some(NodeKeys { version: 4, digest: [4; 3], ..other })),
            ["trust-root-behind"]
        );
        assert_eq!(codes("you/1", Some(NodeKeys { digest: [4; 3], ..other })), ["trust-root-split"]);
        assert_eq!(codes("you/1", Some(own)), ["keys-shared"]);
        assert_eq!(codes("me/1", Some(own)), [""; 0], "its own connection");
        assert_eq!(NodeKeys::read(&own.to_string()), Some(own));
        assert_eq!(NodeKeys::read("01010101 3:0303"), None, "cut off");
    }

    /// Claim V145.
    ///
    /// Values that go to and fro around a mark make one finding, which comes once and goes once.
    #[test]
    fn a_finding_of_a_measured_value_does_not_flap() {
        type Measured = fn(u64, &Stood) -> Option<Finding>;
        let free: Measured = |free, before| disk("/data", free, 100, before);
        let used: Measured = |used, before| nonces(used as usize, 100, before);
        let trips: Measured = |trips, before| budget_trips("shop", &TenantId::new([7; 16]), trips, before);
        let disputed: Measured = clock_disputed;
        let (low, soon, wrong) = ("disk-low", "disk-low-soon", "clock-disputed");
        let queued: Measured = |waiting, before| queue(waiting as usize, 100, before);
        let (full, tripping, waits) = ("nonces-full-soon", "budgets-trip", "queue-full-soon");
        let measured: [(Measured, &[(u64, &str)]); 6] = [
            (disputed, &[(19, ""), (20, wrong), (19, wrong), (1, wrong), (0, ""), (19, ""), (20, wrong)]),
            (queued, &[(50, ""), (51, waits), (50, waits), (26, waits), (25, ""), (50, ""), (51, waits)]),
            (free, &[(300, ""), (99, low), (101, low), (111, low), (112, soon), (101, soon), (99, low)]),
            (free, &[(201, ""), (199, soon), (201, soon), (224, soon), (225, ""), (201, ""), (199, soon)]),
            (used, &[(80, ""), (81, full), (80, full), (61, full), (60, ""), (80, ""), (81, full)]),
            (trips, &[(59, ""), (60, tripping), (59, tripping), (30, tripping), (29, ""), (59, "")]),
        ];
        for (finding, values) in measured {
            let mut before = Stood::new();
            for (value, expected) in values {
                let found = finding(*value, &before);
                let code = found.as_ref().map_or("", |found| found.code.as_str());
                assert_eq!(code, *expected, "{value} of {values:?}");
                before = found.into_iter().map(|found| (found.code, found.place)).collect();
            }
        }
    }

    #[test]
    fn keys_that_wait_for_a_restart_are_broken_once_the_old_ones_retire() {
        let level = |now| awaits_restart("trust-root.json", 100, now).level;
        assert_eq!((level(99), level(100)), (trefoil_api::Level::Warning, trefoil_api::Level::Broken));
    }

    #[test]
    fn refused_attempts_are_a_finding_at_the_rate_of_the_alert() {
        let tenant = TenantId::new([7; 16]);
        let new = Stood::new();
        assert_eq!(budget_trips("shop", &tenant, TRIPS_MANY - 1, &new), None);
        let found = budget_trips("shop", &tenant, TRIPS_MANY, &new).unwrap();
        assert_eq!((found.level, found.place.as_str()), (trefoil_api::Level::Warning, "tenant shop"));
        assert!(found.remedy.contains(&format!("usage {}", "07".repeat(16))), "{found:?}");
        let alerts = include_str!("../../scripts/deploy/prometheus/alerts.yml");
        let rate = TRIPS_MANY as f64 / 600.0;
        assert!(alerts.contains(&format!("rate(trefoil_budget_trips_total[10m]) > {rate}")));
    }
}
