//! What is wrong with a service, in the words of `trefoil doctor`: the operator's page shows the same.

use crate::config::Tls;
use crate::tls::SOON_S;
use std::collections::BTreeSet;
use std::fmt::Display;
use trefoil_api::Finding;
use trefoil_service::clock::Step;
use trefoil_service::outcomes::{Outcomes, TenantOutcomes};
use trefoil_service::past;
use trefoil_service::time::format as time;
use trefoil_storage::disk::Disk;
use trefoil_storage::store::fleet::{Node, NodeKeys};
use trefoil_types::TenantId;

/// What to do about malformed jobs.
pub const MALFORMED: &str = "find out which gateway sent them (the key-holder's job log), then `trefoil admin reset-malformed TENANT`";
/// What to do about a key-holder that cannot be reached.
pub const KEY_HOLDER_AWAY: &str =
    "start the key-holder, or correct keyholder.url; its fingerprint and the list of its clients have to fit";
/// What to do about signing keys that expire.
pub const ROTATE: &str =
    "`trefoil keys rotate`, give relying parties the next trust root, and start the service again";
/// What to do about an older vault.
pub const RESTORE_ALL: &str = "restore the whole directory from the newest backup";

/// Refused attempts of a tenant in the last ten minutes from which on somebody should look: the rate of the alert `TrefoilBudgetsTrip`.
pub const TRIPS_MANY: u64 = 60;

/// Logins that dispute the clock, from which on somebody should look.
const DISPUTED_MANY: u64 = 20;

/// What to do about the service's certificate before it ends.
pub fn renewal(tls: &Tls) -> &'static str {
    match tls.certificate.as_os_str().is_empty() {
        true => {
            "start the service again, which renews it with the same key: `trefoil` goes on with the old file, curl, Python and others that use \
             OpenSSL want the new one"
        }
        false => "renew it; its files are read again when they change, or at SIGHUP",
    }
}

/// A certificate that has expired or will soon.
pub fn certificate(place: impl Display, until: u64, now: u64, renew: &str) -> Option<Finding> {
    if until <= now {
        let what = format!("the certificate expired at {}", time(until));
        Some(Finding::broken("certificate-expired", place, what).do_this(renew))
    } else if until - now < SOON_S {
        let what = format!("the certificate expires at {}", time(until));
        Some(Finding::warning("certificate-expires", place, what).do_this(renew))
    } else {
        None
    }
}

/// What to do about authorities of callers whose certificates expire.
pub const RENEW_CLIENT_CA: &str =
    "add the authority's next certificate to the file, and give callers certificates that it signed";

/// An authority of callers' certificates that has expired or will soon.
pub fn client_ca(place: impl Display, until: u64, now: u64) -> Option<Finding> {
    let found = certificate(place, until, now, RENEW_CLIENT_CA)?;
    let code = found.code.replace("certificate", "client-ca");
    let what = found.what.replace("the certificate", "an authority of callers' certificates");
    Some(Finding { code, what, ..found })
}

/// What to do about a clock that is behind.
const SET_CLOCK: &str = "set the clock of this machine (NTP)";

/// A clock that is behind what the log of seals has reached, or the database of a fleet.
pub fn clock_behind(place: impl Display, reached: u64, now: u64) -> Finding {
    let what = format!("{}: no login is accepted meanwhile", past::behind(now, reached));
    Finding::broken("clock-behind", place, what).do_this(
        "set the clock of this machine (NTP); if it is right, and was ahead when that seal was made, see OPERATING.md, \"A clock that was wrong\"",
    )
}

/// A clock that was set while the service ran.
pub fn clock_stepped(place: impl Display, Step { by_s, to }: Step) -> Finding {
    let (by, how) = (by_s.unsigned_abs(), if by_s < 0 { "back" } else { "ahead" });
    let what = format!("the clock was set {how} by {by} s, to {}; told for an hour", time(to));
    let remedy = "find out who sets it: a time service should slew it (chrony, systemd-timesyncd), and a machine that slept or was moved is set once";
    Finding::warning("clock-stepped", place, what).do_this(remedy)
}

/// A node's clock that is ahead of the database's by so many seconds.
pub fn clock_ahead(place: impl Display, by_s: u64) -> Finding {
    let what = format!(
        "this machine's clock is {by_s} s ahead of the database's, by which the fleet judges; requests of its callers are refused as too old or too new"
    );
    Finding::warning("clock-ahead", place, what)
        .do_this("set the clocks of this machine and of the database (NTP)")
}

/// A clock by which almost all logins are too old or too new: so many more than others confirm it.
pub fn clock_disputed(disputed: u64, before: &Stood) -> Option<Finding> {
    let place = "clock";
    if disputed < if stood(before, "clock-disputed", &place) { 1 } else { DISPUTED_MANY } {
        return None;
    }
    let what = "almost all logins are refused as too old or too new (`request-not-fresh`), so this machine's clock may be wrong, or a caller's";
    Some(Finding::warning("clock-disputed", place, what).do_this(SET_CLOCK))
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
        Some(Finding::broken("clock-behind", place, what).do_this(SET_CLOCK))
    } else if until <= now {
        let what = format!("the signing keys ran out at {}", time(until));
        Some(Finding::broken("keys-expired", place, what).do_this(ROTATE))
    } else if until - now < SOON_S {
        let what = format!("the signing keys run out at {}", time(until));
        Some(Finding::warning("keys-expire", place, what).do_this(ROTATE))
    } else {
        None
    }
}

/// New signing keys that a running node does not use yet, while the ones it uses retire at `since`.
pub fn awaits_restart(place: impl Display, since: u64, now: u64) -> Finding {
    let what =
        format!("the node signs with keys that retire at {}: new ones wait for its restart", time(since));
    let found = match since <= now {
        true => Finding::broken("keys-await-restart", place, what),
        false => Finding::warning("keys-await-restart", place, what),
    };
    found.do_this("give relying parties the next trust root, then restart this node; seals by the old keys are refused from that time on")
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
            found.push(Finding::warning("trust-root-behind", &place, what).do_this(remedy));
        } else if theirs.version == own.version && theirs.digest != own.digest {
            let what = format!(
                "another version {} of the trust root than this node's: relying parties refuse one of the two",
                own.version
            );
            let remedy = "see FLEET.md, \"A split trust root\"";
            found.push(Finding::broken("trust-root-split", &place, what).do_this(remedy));
        }
        if theirs.key_set == own.key_set {
            let what = format!(
                "key set {} signs here too: a rotation at one of the two nodes retires the keys of the other",
                hex::encode(own.key_set)
            );
            let remedy = "give it a directory of its own with `trefoil keys add-node`, or change keys only while every node with these keys is stopped";
            found.push(Finding::warning("keys-shared", &place, what).do_this(remedy));
        }
    }
    found
}

/// What stood when the service was last asked, by code and place: such a finding goes only once its value is clearly better than the one at
/// which it came.
pub type Stood = BTreeSet<(String, String)>;

/// Whether this finding stood.
fn stood(before: &Stood, code: &str, place: &impl Display) -> bool {
    before.contains(&(code.to_owned(), place.to_string()))
}

/// Too little free space on the disk, or soon too little, in MiB.
pub fn disk(place: impl Display, free: u64, low: u64, before: &Stood) -> Option<Finding> {
    let (refuses, soon) = (stood(before, "disk-low", &place), stood(before, "disk-low-soon", &place));
    let below = |mark: u64, stood: bool| free < if stood { Disk::clear_of(mark) } else { mark };
    if below(low, refuses) {
        let what = format!("{free} MiB are free, and disk.low_water_mib is {low}: logins are refused");
        Some(
            Finding::broken("disk-low", place, what)
                .do_this("make room; the service recovers within seconds"),
        )
    } else if below(low.saturating_mul(2), refuses || soon) {
        let what = format!("{free} MiB are free; below {low} logins are refused");
        Some(Finding::warning("disk-low-soon", place, what).do_this("make room"))
    } else {
        None
    }
}

/// Frozen tenants, and malformed jobs on the way there.
pub fn malformed(place: impl Display, count: u64, frozen_tenants: &[TenantId]) -> Vec<Finding> {
    let mut found: Vec<Finding> = frozen_tenants.iter().map(|tenant| frozen(&place, tenant)).collect();
    if found.is_empty() && count > 0 {
        let what = format!("{count} malformed jobs");
        found.push(Finding::warning("malformed-jobs", place, what).do_this(MALFORMED));
    }
    found
}

/// A tenant that is frozen by malformed jobs.
pub fn frozen(place: impl Display, tenant: &TenantId) -> Finding {
    let what = format!("tenant {} is frozen after malformed jobs, and decides nothing", hex::encode(tenant));
    Finding::broken("tenant-frozen", place, what).do_this(MALFORMED)
}

/// Subjects of a tenant that are tried again and again without an attempt left: so many times `recent`ly, in the last ten minutes.
pub fn budget_trips(name: impl Display, tenant: &TenantId, recent: u64, before: &Stood) -> Option<Finding> {
    let place = format!("tenant {name}");
    if recent < if stood(before, "budgets-trip", &place) { TRIPS_MANY / 2 } else { TRIPS_MANY } {
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
    Some(Finding::warning("budgets-trip", place, what).do_this(remedy))
}

/// Almost as many nonces as are remembered.
pub fn nonces(remembered: usize, most: usize, before: &Stood) -> Option<Finding> {
    let place = "pipeline.nonces";
    let fifths = if stood(before, "nonces-full-soon", &place) { 3 } else { 4 };
    if remembered * 5 <= most * fifths {
        return None;
    }
    let what = format!(
        "{remembered} nonces of the last two minutes are remembered, of at most {most}; at that number logins are refused"
    );
    let remedy = "raise pipeline.nonces, which costs memory, and start the service again";
    Some(Finding::warning("nonces-full-soon", place, what).do_this(remedy))
}

/// More logins wait for a batch than is usual.
pub fn queue(waiting: usize, most: usize, before: &Stood) -> Option<Finding> {
    let place = "pipeline.queue";
    let quarters = if stood(before, "queue-full-soon", &place) { 1 } else { 2 };
    if waiting * 4 <= most * quarters {
        return None;
    }
    let what =
        format!("{waiting} of at most {most} logins wait for a batch; at that number logins are refused");
    let remedy = "more logins come than the cores match: add cores or another service";
    Some(Finding::warning("queue-full-soon", place, what).do_this(remedy))
}

/// A tenant that refuses more logins than the model of its policy explains.
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
        "see that the application sends what `{embedder}` gives, unchanged and for photographs like those enrolled; for another model make a tenant with \
         its name and a score that you calibrated (API.md, \"A policy\"). If the model is right, somebody may be trying faces: `trefoil admin usage {}` shows with which \
         API key, and `trefoil admin api-key revoke` ends it",
        hex::encode(of.tenant)
    );
    Some(Finding::warning("refusals-many", format!("tenant {}", of.name), what).do_this(remedy))
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
