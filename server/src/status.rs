//! The service's health for the operator's page, from the values of `/metrics` at the time of the request.

use crate::app::App;
use crate::findings::{self, Fault, Stood};
use crate::listener::connections::Connections;
use crate::metrics::{Gauges, process, requests};
use crate::node_name;
use crate::text;
use std::cmp::Reverse;
use std::sync::{Arc, PoisonError};
use trefoil_api::{
    BatchCounts, BudgetTrips, CacheCounts, DiskRoom, Filled, Finding, FleetNode, Hex, KeyHolderCounts,
    KeyHolderSeat, Level, ListenerConnections, LoginCounts, LoginOutcomes, ProblemCount, ProofCounts,
    RequestTimes, SealCounts, ServiceStatus, StageTimes, TenantLogins,
};
use trefoil_cache::Cache as _;
use trefoil_host::logging;
use trefoil_matching::{LANES, SeatState, Status};
use trefoil_service::counters::{Counters, Counts};
use trefoil_service::keys::signing_keys::TRUST_ROOT_FILE;
use trefoil_service::login::outcomes::{Outcomes, TenantOutcomes};
use trefoil_service::login::register::FAST_S;
use trefoil_service::tenants::tenant::Tenant;
use trefoil_service::tenants::wiring::observer;
use trefoil_storage::store::fleet;
use trefoil_types::TenantId;

/// The service's counts, its present values, and findings that need attention.
pub(crate) fn status(app: &App) -> ServiceStatus {
    let (service, gauges) = (&app.service, app.gauges());
    let Counts { submitted, matches, denials, batches, lanes, seals } = service.node.counters.counts();
    let trips = budget_trips(app, &gauges);
    let [pruned, archived] = gauges.retained;
    let [accepted, refused] = service.node.counters.proofs.outcomes();
    let [free_bytes, low_water_bytes] = gauges.disk;
    let [certificate_until, signing_keys_until, _] = gauges.expiries;
    let sums = app.metrics.requests.sums();
    let requests = sums.durations.into_iter().map(|((route, method, status), total)| RequestTimes {
        method: method.to_owned(),
        route,
        status,
        count: total.count(),
        seconds: total.seconds(),
        below: total.below().collect(),
    });
    let problems = sums.problems.into_iter().map(|((code, route), count)| {
        let explained = code.explain();
        let (title, cure) = (explained.title.to_owned(), explained.cure.to_owned());
        ProblemCount { code: code.name().to_owned(), route, count, title, cure }
    });
    ServiceStatus {
        version: crate::VERSION.to_owned(),
        issuer: service.keys.root().issuer().to_owned(),
        started_at: app.metrics.process.started_at(),
        now: service.node.now(),
        clock_ms: service.node.clock.monotonic_ns() / 1_000_000,
        ready: gauges.ready,
        attention: attention(app, &gauges),
        logins: LoginCounts { submitted, matched: matches, not_matched: denials },
        batches: BatchCounts { sealed: batches, lanes, lanes_max: LANES as u64 },
        seals: SealCounts { stored: seals, pruned, archived, waits: gauges.seal_waited.is_some() },
        stage_bounds_s: text::bounds_ns().map(|bound| bound as f64 / 1e9).collect(),
        stages: stages(&service.node.counters),
        request_bounds_s: requests::bounds_s().collect(),
        requests: requests.collect(),
        problems: problems.collect(),
        caches: service.tenants.all().iter().map(|tenant| cache(tenant)).collect(),
        tenants: gauges.outcomes.iter().map(logins_of).collect(),
        key_holders: gauges.key_holders.into_iter().map(seat).collect(),
        nodes: service
            .node
            .store
            .fleet()
            .map_or_else(Vec::new, |fleet| fleet.nodes().into_iter().map(node).collect()),
        key_holder: gauges.counted.as_deref().map(|status| counted(status, trips)),
        proofs: ProofCounts { accepted, refused, waiting: gauges.proofs.depth },
        queue: Filled { used: gauges.intake_depth, limit: app.config.pipeline.queue },
        nonces: Filled { used: gauges.nonces[0], limit: gauges.nonces[1] },
        in_flight_limit: gauges.in_flight_limit,
        templates: Filled { used: gauges.templates, limit: app.config.store.templates_in_memory },
        disk: DiskRoom { free_bytes, low_water_bytes },
        connections: gauges.connections.map(|(name, all)| listener(app, name, all)).to_vec(),
        certificate_until,
        signing_keys_until,
        log_lines_lost: logging::lines_lost(),
        process: process::figures(),
    }
}

fn node(node: fleet::Node) -> FleetNode {
    let fleet::Node { name, address, since, keeps_house, keys } = node;
    FleetNode { name, address, since, keeps_house, key_set: keys.map(|keys| hex::encode(keys.key_set)) }
}

/// Findings that need attention, the worst first.
pub(crate) fn attention(app: &App, gauges: &Gauges<'_>) -> Vec<Finding> {
    let (service, now) = (&app.service, app.service.node.now());
    let directory = &app.config.server.data_dir;
    let mut stood = app.stood.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = Vec::new();
    let [certificate, keys, authority] = gauges.expiries;
    let tls = &app.config.tls;
    let file = app.certificate.certificate().display();
    found.extend(certificate.and_then(|until| findings::certificate(file, until, now, tls)));
    found.extend(app.certificate.refused().map(|why| {
        let place = app.certificate.certificate().display();
        Fault::CertificateNotRenewed.at(place, why.as_str())
    }));
    if let Some(callers) = app.certificate.client_ca() {
        let place = callers.path().display();
        found.extend(authority.and_then(|until| findings::client_ca(place, until, now, tls)));
    }
    let trust_root = directory.join(TRUST_ROOT_FILE);
    let valid = keys.map(|until| (service.keys.from().unwrap_or(0), until));
    found.extend(valid.and_then(|valid| findings::signing_keys(trust_root.display(), valid, now)));
    let behind = service.logins.clock_behind().map(|reached| findings::clock_behind("clock", reached, now));
    let monotonic_s = service.node.clock.monotonic_ns() / 1_000_000_000;
    let stepped =
        service.logins.clock_watch.step(monotonic_s).map(|step| findings::clock_stepped("clock", step));
    let ahead_s = service.logins.clock_watch.register_ahead().saturating_neg();
    let ahead = u64::try_from(ahead_s).ok().filter(|by_s| *by_s > FAST_S);
    found.extend(ahead.map(|by_s| findings::clock_ahead("clock", by_s)));
    found.extend(findings::clock_disputed(service.logins.clock_watch.disputed(), &stood));
    let awaited = service.keys.retires(directory);
    found.extend(awaited.map(|since| findings::awaits_restart(trust_root.display(), since, now)));
    if let Some(fleet) = service.node.store.fleet() {
        let differences = findings::fleet_keys(&service.keys.told(), &node_name(), &fleet.nodes());
        // Rotated keys wait for a restart together with the version that lists them.
        let waits = |found: &Finding| awaited.is_some() && found.code == Fault::TrustRootBehind.code();
        found.extend(differences.into_iter().filter(|found| !waits(found)));
    }
    let [free, low] = gauges.disk;
    let short = findings::disk(directory.display(), free >> 20, low >> 20, &stood);
    let key_holder = "key-holder";
    let mut away: Vec<Finding> = gauges.key_holders.iter().filter_map(seat_away).collect();
    // The only key-holder, or more than one of three.
    if let Some(why) = service.node.key_holder.unready() {
        away.push(Fault::KeyHolderAway.at(key_holder, why));
    }
    let older = service.node.key_holder_watch.older_vault();
    let older = older.map(|why| Fault::VaultOlder.at(key_holder, why));
    let is_told = short.is_some() || !away.is_empty() || older.is_some() || behind.is_some();
    if let Some(why) = service.undecided().filter(|_| !is_told) {
        found.push(Fault::ServiceNotReady.at("service", why));
    }
    found.extend(behind);
    found.extend(stepped);
    found.extend(short);
    found.extend(away);
    found.extend(older);
    if let Some(status) = gauges.counted.as_deref() {
        found.extend(findings::malformed(key_holder, status.malformed_jobs(), &status.frozen));
    }
    found.extend(app.recurring());
    found.extend(tripping(app, &stood));
    found.extend(gauges.outcomes.iter().filter_map(findings::refusals));
    let [nonces, most] = gauges.nonces;
    found.extend(findings::nonces(nonces, most, &stood));
    found.extend(findings::queue(gauges.intake_depth, app.config.pipeline.queue, &stood));
    let lost = logging::lines_lost();
    if lost > 0 {
        let what = format!("{lost} lines could not be written since the start");
        found.push(Fault::LogLinesLost.at("log", what));
    }
    found.sort_by_key(|finding| Reverse(finding.level));
    *stood = found.iter().map(|finding| (finding.code.clone(), finding.place.clone())).collect();
    found
}

/// One of three key-holders cannot be reached: the other two decide, and enrolments wait.
fn seat_away(holder: &SeatState) -> Option<Finding> {
    let why = holder.away.as_ref()?;
    let place = format!("key-holder {} of 3 ({})", holder.seat, holder.address);
    let what = format!("{why}; enrolments and deletions need all three");
    Some(Finding { level: Level::Warning, ..Fault::KeyHolderAway.at(place, what) })
}

/// Tenants whose subjects are tried again and again without an attempt left.
fn tripping(app: &App, before: &Stood) -> Vec<Finding> {
    let recent = app.service.node.key_holder_watch.budget_trips();
    let found = |tenant: &Arc<Tenant>| {
        findings::budget_trips(&tenant.name, &tenant.id, recent.recent(&tenant.id), before)
    };
    app.service.tenants.all().iter().filter_map(found).collect()
}

/// Attempts that the key-holder refused, of each tenant with such.
fn budget_trips(app: &App, gauges: &Gauges<'_>) -> Vec<BudgetTrips> {
    let recent = app.service.node.key_holder_watch.budget_trips();
    let counts = gauges.budget_trips.iter().filter(|(_, trips)| *trips > 0);
    let of = |(tenant, trips): &(TenantId, u64)| BudgetTrips {
        tenant: Hex(tenant.to_bytes()),
        trips: *trips,
        recent: recent.recent(tenant),
    };
    counts.map(of).collect()
}

fn stages(counters: &Counters) -> Vec<StageTimes> {
    let times = counters.stages().map(|(stage, durations)| StageTimes {
        stage: stage.to_owned(),
        count: durations.samples(),
        seconds: durations.sum_ns() as f64 / 1e9,
        below: text::bounds_ns().map(|bound| durations.below(bound)).collect(),
    });
    times.collect()
}

fn cache(tenant: &Tenant) -> CacheCounts {
    let cache = tenant.verdicts.cache();
    let stats = observer(&cache).map(trefoil_cache::Observer::stats).unwrap_or_default();
    CacheCounts {
        tenant: Hex(tenant.id.to_bytes()),
        name: tenant.name.clone(),
        disabled: tenant.disabled_at.is_some(),
        entries: cache.len(),
        capacity: cache.capacity(),
        hits: stats.hits,
        misses: stats.misses,
        evictions: stats.evictions,
        admissions_won: stats.admissions_won,
        admissions_lost: stats.admissions_lost,
    }
}

fn logins_of(tenant: &TenantOutcomes) -> TenantLogins {
    let outcomes = |Outcomes { matched, not_matched, locked_out, turned_away }| LoginOutcomes {
        matched,
        not_matched,
        locked_out,
        turned_away,
    };
    TenantLogins {
        tenant: Hex(tenant.tenant.to_bytes()),
        name: tenant.name.clone(),
        model: tenant.is_one_of_two.then(|| tenant.model.0.clone()),
        hour: outcomes(tenant.hour),
        day: outcomes(tenant.day),
        model_refuses: tenant.model.1,
        refuses_too_many: tenant.excess.is_some(),
    }
}

fn seat(state: SeatState) -> KeyHolderSeat {
    let SeatState { seat, address, away, silent, disagreed, convicted, accused } = state;
    KeyHolderSeat { seat, address, away, silent, disagreed, lied: convicted, accused }
}

fn counted(status: &Status, budget_trips_by_tenant: Vec<BudgetTrips>) -> KeyHolderCounts {
    let Status { attempts, failures, enrolments, frozen, trips, tenants, templates, .. } = status;
    KeyHolderCounts {
        attempts: *attempts,
        failures: *failures,
        enrolments: *enrolments,
        malformed: status.malformed_jobs(),
        frozen: frozen.iter().map(|tenant| Hex(tenant.to_bytes())).collect(),
        budget_trips: trips.iter().map(|(_, trips)| trips).sum(),
        budget_trips_by_tenant,
        tenants: *tenants,
        templates: *templates,
    }
}

fn listener(app: &App, name: &str, all: &Connections) -> ListenerConnections {
    let (open, accepted, refused) = all.sums();
    let limit = app.limits.now().connections;
    ListenerConnections { listener: name.to_owned(), open, limit, accepted, refused }
}
