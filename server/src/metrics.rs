//! Counters, and the Prometheus text form. Never labelled by subject, and no score is ever counted.
//!
//! Requests are counted by each thread for itself ([`requests`]); what the service counts is in [`trefoil_service::counters`].

pub(crate) mod process;
pub(crate) mod proofs;
pub(crate) mod requests;
pub(crate) mod tenants;
pub(crate) mod verdicts;

use crate::listener::connections::{self, Connections};
use crate::problem::Code;
use crate::text::Text;
use proofs::ProofGauges;
use std::sync::Arc;
use std::time::Duration;
use trefoil_host::logging;
use trefoil_matching::{ArenaSize, KeyStructure, SeatState, Status};
use trefoil_service::counters::{Counters, Counts, Durations};
use trefoil_service::login::outcomes::TenantOutcomes;
use trefoil_storage::store::fleet::Figures;
use trefoil_types::TenantId;

/// The content type of [`Metrics::render`].
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

/// See the module.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) requests: requests::Requests,
    shed: Durations,
    pub(crate) process: process::Process,
}

/// Values that are read at scrape time rather than counted.
pub(crate) struct Gauges<'a> {
    /// Requests that wait for a batch.
    pub intake_depth: usize,
    /// Nonces remembered of the current two minutes, and their bound.
    pub nonces: [usize; 2],
    /// Requests of one tenant that may be in flight.
    pub in_flight_limit: usize,
    /// Of these, logins in work; the others wait.
    pub work_limit: usize,
    /// The proof intake.
    pub proofs: ProofGauges,
    /// Proof sessions that are open in the store, once they were counted.
    pub open_sessions: Option<u64>,
    /// Templates in memory.
    pub templates: usize,
    /// How often requests looked up a tenant.
    pub tenant_look_ups: u64,
    /// Logins that were refused because an API key failed for too many different subjects.
    pub refused_for_failures: u64,
    /// Those of them refused because too many different subjects had failed from one source.
    pub refused_for_source: u64,
    /// The memory that holds the templates.
    pub arenas: [(KeyStructure, ArenaSize); 2],
    /// Whether the service takes requests.
    pub ready: bool,
    /// Three key-holders, where there are three.
    pub key_holders: Vec<SeatState>,
    /// The key-holder's counts, if it has reported them.
    pub counted: Option<Arc<Status>>,
    /// Attempts that a spent budget refused, for each tenant that exists.
    pub budget_trips: Vec<(TenantId, u64)>,
    /// How the logins of each tenant ended lately.
    pub outcomes: Vec<TenantOutcomes>,
    /// Bytes under the data directory: free, and the mark below which requests are refused.
    pub disk: [u64; 2],
    /// For how long a seal has waited for the store, if one waits.
    pub seal_waited: Option<Duration>,
    /// When the TLS certificate, the signing keys and the first authority of callers' certificates expire, unix seconds.
    pub expiries: [Option<u64>; 3],
    /// The part of this node in its fleet, if it is in one: how many nodes it sees, and its figures.
    pub fleet: Option<(usize, Figures)>,
    /// Seals pruned and archived.
    pub retained: [u64; 2],
    /// The connections of each listener.
    pub connections: [(&'static str, &'a Connections); 2],
}

impl Metrics {
    /// A response with this status was made in `ns`; `problem` is set for refusals and faults.
    pub(crate) fn responded(&self, method: &str, route: &str, status: u16, problem: Option<Code>, ns: u64) {
        self.requests.responded(method, route, status, problem, ns);
        if matches!(problem, Some(Code::QuotaExceeded | Code::Overloaded)) {
            self.shed.record(ns);
        }
    }

    /// A login in a request with others, to this route, was refused.
    pub(crate) fn refused_entry(&self, route: &str, code: Code) {
        self.requests.refused_entry(route, code);
    }

    /// The Prometheus text form.
    pub(crate) fn render(&self, counters: &Counters, gauges: &Gauges<'_>) -> String {
        let Counts { submitted, matches, denials, batches, lanes, seals } = counters.counts();
        let mut text = Text::default();
        self.process.render(&mut text);
        self.requests.render(&mut text);
        text.single(
            "trefoil_submitted_total",
            "counter",
            "Logins handed to the workers, with those that are refused there; one that is handed over again counts again",
            submitted as f64,
        );
        text.family("trefoil_authentications_total", "counter", "Logins answered, by decision");
        text.sample("trefoil_authentications_total", "{decision=\"match\"}", matches as f64);
        text.sample("trefoil_authentications_total", "{decision=\"no_match\"}", denials as f64);
        let help = "Look-ups of a tenant: one for each request with an API key, including a batch";
        text.single("trefoil_tenant_lookups_total", "counter", help, gauges.tenant_look_ups as f64);
        let help = "Logins refused because an API key or a source failed for too many different subjects";
        let name = "trefoil_distinct_failures_refused_total";
        text.single(name, "counter", help, gauges.refused_for_failures as f64);
        let help = "Those of them refused by the limit of a source";
        let name = "trefoil_source_failures_refused_total";
        text.single(name, "counter", help, gauges.refused_for_source as f64);
        connections::render(&mut text, &gauges.connections);
        proofs::render(&mut text, &counters.proofs, &gauges.proofs);
        text.single(
            "trefoil_batches_total",
            "counter",
            "Batches of logins that a seal covers",
            batches as f64,
        );
        text.single(
            "trefoil_batch_lanes_total",
            "counter",
            "Logins in these batches, at most 32 in each",
            lanes as f64,
        );
        text.single(
            "trefoil_seals_total",
            "counter",
            "Seals stored, with those that cover only changes",
            seals as f64,
        );
        let help = "Time of each batch in a stage; seal: each seal; total: a batch with its seal";
        text.family("trefoil_stage_seconds", "histogram", help);
        for (stage, durations) in counters.stages() {
            text.histogram(
                "trefoil_stage_seconds",
                &format!("stage=\"{stage}\""),
                durations,
                crate::text::bounds_ns(),
            );
        }
        render_disk(&mut text, gauges);
        render_expiries(&mut text, gauges.expiries);
        render_fleet(&mut text, gauges.fleet);
        render_key_holders(&mut text, &gauges.key_holders);
        render_counted(&mut text, gauges.counted.as_deref(), &gauges.budget_trips);
        tenants::outcomes(&mut text, gauges);
        let Gauges { intake_depth, in_flight_limit, work_limit, templates, arenas, ready, .. } = gauges;
        text.single(
            "trefoil_intake_depth",
            "gauge",
            "Logins that wait for a batch, of pipeline.queue",
            *intake_depth as f64,
        );
        let [nonces, nonces_max] = gauges.nonces;
        let help = "Nonces remembered of the current two minutes";
        text.single("trefoil_nonces_remembered", "gauge", help, nonces as f64);
        let help = "Nonces that may be remembered in two minutes; beyond that logins are refused";
        text.single("trefoil_nonces_limit", "gauge", help, nonces_max as f64);
        let help = "Requests of one tenant that may be in flight";
        text.single("trefoil_in_flight_limit", "gauge", help, *in_flight_limit as f64);
        let help = "Logins of one tenant in work at the same time; the others wait";
        text.single("trefoil_work_limit", "gauge", help, *work_limit as f64);
        let help = "Time to refuse a request for which there is no room, from its head to its answer";
        text.family("trefoil_shed_seconds", "summary", help);
        text.summary("trefoil_shed_seconds", "", &self.shed);
        let help = "Proof sessions that are open in the store, counted every ten seconds; each node of a fleet shows all";
        text.single("trefoil_open_sessions", "gauge", help, gauges.open_sessions.map(|open| open as f64));
        text.single(
            "trefoil_templates_in_memory",
            "gauge",
            "Templates in memory, of store.templates_in_memory",
            *templates as f64,
        );
        render_arenas(&mut text, arenas);
        let lost = logging::lines_lost() as f64;
        text.single("trefoil_log_lines_lost_total", "counter", "Log lines that could not be written", lost);
        text.single("trefoil_ready", "gauge", "1 if the service takes requests", f64::from(u8::from(*ready)));
        text.into_string()
    }
}

/// Free disk space, and the pruning that frees more.
fn render_disk(text: &mut Text, Gauges { disk: [free, low_water], seal_waited, retained, .. }: &Gauges<'_>) {
    let [pruned, archived] = retained.map(|count| count as f64);
    text.family("trefoil_disk_free_bytes", "gauge", "Free bytes of the file system under a directory");
    text.sample("trefoil_disk_free_bytes", "{directory=\"data\"}", *free as f64);
    let help = "Free bytes below which logins and enrolments are refused";
    text.single("trefoil_disk_low_water_bytes", "gauge", help, *low_water as f64);
    let help = "1 while a seal waits to be stored";
    text.single("trefoil_seal_waits", "gauge", help, f64::from(u8::from(seal_waited.is_some())));
    let help = "For how long the oldest seal has waited to be stored, which is the age of its decided and unanswered logins; 0 if none waits";
    let seconds = seal_waited.unwrap_or_default().as_secs_f64();
    text.single("trefoil_seal_wait_seconds", "gauge", help, seconds);
    text.single("trefoil_seals_pruned_total", "counter", "Seals whose signatures were pruned", pruned);
    text.single("trefoil_seals_archived_total", "counter", "Seals written to the archive", archived);
}

/// When its certificate, its signing keys and the authorities of its callers expire.
fn render_expiries(text: &mut Text, [certificate, keys, callers]: [Option<u64>; 3]) {
    for (name, help, until) in [
        ("trefoil_tls_certificate", "End of the TLS certificate that new connections get", certificate),
        ("trefoil_signing_keys", "End of the keys that sign seals", keys),
        ("trefoil_client_ca", "End of the first authority of callers' certificates that ends", callers),
    ] {
        let name = format!("{name}_expiry_timestamp_seconds");
        text.single(&name, "gauge", &format!("{help}, unix seconds"), until.map(|until| until as f64));
    }
}

/// What this node sees of its fleet.
fn render_fleet(text: &mut Text, fleet: Option<(usize, Figures)>) {
    let nodes = fleet.map(|(nodes, _)| nodes as f64);
    let figures = fleet.map(|(_, figures)| figures);
    text.single("trefoil_fleet_nodes", "gauge", "Nodes of the fleet that this one sees", nodes);
    let help = "Age of what this node knows of the changes of other nodes of its fleet; after a second it refuses every caller";
    let news_age = figures.map(|figures| figures.news_age.as_secs_f64());
    text.single("trefoil_fleet_news_age_seconds", "gauge", help, news_age);
    let help = "Turns that this node took in the log of seals of its fleet";
    let turns = figures.map(|figures| figures.log_turns as f64);
    text.single("trefoil_fleet_log_turns_total", "counter", help, turns);
    let waited = figures.map(|figures| figures.log_turn_wait.as_secs_f64());
    let name = "trefoil_fleet_log_turn_wait_seconds_total";
    text.single(name, "counter", "Time that it waited for these turns", waited);
}

/// How much memory templates take, and how much they may.
fn render_arenas(text: &mut Text, arenas: &[(KeyStructure, ArenaSize); 2]) {
    let help = "Memory of templates by their keys, per-tenant for shared probes; used: by templates; reserved: taken from the system so far; limit: at most";
    text.family("trefoil_template_arena_bytes", "gauge", help);
    for (keys, size) in arenas {
        let keys = match keys {
            KeyStructure::PerSubject => "per-subject",
            KeyStructure::PerTenant => "per-tenant",
        };
        let ArenaSize { used, slots_max, slot_bytes, reserved_bytes } = *size;
        let sizes =
            [("used", used * slot_bytes), ("reserved", reserved_bytes), ("limit", slots_max * slot_bytes)];
        for (what, bytes) in sizes {
            let labels = format!("{{keys=\"{keys}\",what=\"{what}\"}}");
            text.sample("trefoil_template_arena_bytes", &labels, bytes as f64);
        }
    }
}

/// Which of three key-holders can be reached, and how often each one failed.
fn render_key_holders(text: &mut Text, holders: &[SeatState]) {
    if holders.is_empty() {
        return;
    }
    text.family("trefoil_key_holder_up", "gauge", "1 if this one of three key-holders can be reached");
    for SeatState { seat, away, .. } in holders {
        let up = f64::from(u8::from(away.is_none()));
        text.sample("trefoil_key_holder_up", &format!("{{seat=\"{seat}\"}}"), up);
    }
    let help = "Batches in which this one of three key-holders was named: silent: no decision; disagreed: another decision than \
                the other two; lied: both others found its part wrong; accused: one did";
    text.family("trefoil_key_holder_faults_total", "counter", help);
    for SeatState { seat, silent, disagreed, convicted, accused, .. } in holders {
        let named = [("silent", silent), ("disagreed", disagreed), ("lied", convicted), ("accused", accused)];
        for (fault, count) in named {
            let labels = format!("{{seat=\"{seat}\",fault=\"{fault}\"}}");
            text.sample("trefoil_key_holder_faults_total", &labels, *count as f64);
        }
    }
}

/// What the key-holder counts.
fn render_counted(text: &mut Text, status: Option<&Status>, trips: &[(TenantId, u64)]) {
    let Some(status) = status else { return };
    let Status { attempts, failures, enrolments, frozen, tenants, templates, vaults, .. } = status;
    for (name, kind, help, count) in [
        ("attempts_total", "counter", "Attempts that the key-holder has counted since it started", *attempts),
        ("failures_total", "counter", "Those of these attempts that failed", *failures),
        (
            "enrolments_total",
            "counter",
            "Enrolments that the key-holder has counted since it started",
            *enrolments,
        ),
        (
            "malformed_jobs",
            "gauge",
            "Jobs that an honest gateway does not send, since its operator last reset the count",
            status.malformed_jobs(),
        ),
        ("frozen_tenants", "gauge", "Tenants that malformed jobs froze", frozen.len() as u64),
        ("tenants", "gauge", "Tenants that the key-holder knows", *tenants),
        ("templates", "gauge", "Templates whose keys the key-holder has", *templates),
    ] {
        text.single(&format!("trefoil_key_holder_{name}"), kind, help, count as f64);
    }
    let help = "Attempts that the key-holder refused since it started, because a budget of the subject was spent, of the 1,024 tenants with most; \
                a worker remembers a refusal for a second, so not every login is counted";
    text.family("trefoil_budget_trips_total", "counter", help);
    for (tenant, trips) in trips {
        let labels = format!("{{tenant=\"{}\"}}", hex::encode(tenant));
        text.sample("trefoil_budget_trips_total", &labels, *trips as f64);
    }
    let help =
        "Transactions of the key-holder's vault; never less than before, unless an older copy was restored";
    text.family("trefoil_key_holder_vault_generation", "gauge", help);
    for (seat, state) in (1..).zip(vaults) {
        if let Some(state) = state {
            let labels = format!("{{seat=\"{seat}\"}}");
            text.sample("trefoil_key_holder_vault_generation", &labels, state.generation as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_attest::Decision;
    use trefoil_pipeline::{Bound, BoundLane, StageTimes};

    /// Exact to the last digit, so that stored scrapes stay comparable.
    #[test]
    fn durations_are_shown_by_buckets_quantiles_and_exact_sums() {
        let counters = Counters::default();
        for n in 1..=1000u64 {
            let times = StageTimes {
                proof_lookup_ns: n / 20,
                match_ns: 1_000 * n,
                key_holder_ns: 123_456,
                digest_ns: n * n,
            };
            let lane = || BoundLane {
                reply: (),
                decision: Some(Decision::Match),
                statement: vec![],
                digest: [0; 32],
            };
            counters
                .sealed(&[Bound { lanes: vec![lane(), lane()], refused: Vec::new(), times }], 1_000_000 * n);
        }
        let Counts { batches, lanes, .. } = counters.counts();
        assert_eq!([batches, lanes], [1_000, 2_000]);
        let (_, matching) = counters.stages().find(|(stage, _)| *stage == "match").unwrap();
        let mut text = Text::default();
        text.histogram("seconds", "stage=\"match\"", matching, crate::text::bounds_ns());
        let text = text.into_string();
        // 1 to 1,000 us, one of each.
        for line in [
            "seconds_bucket{stage=\"match\",le=\"0.000001024\"} 1\n",
            "seconds_bucket{stage=\"match\",le=\"0.00065536\"} 655\n",
            "seconds_bucket{stage=\"match\",le=\"0.001048576\"} 1000\n",
            "seconds_bucket{stage=\"match\",le=\"+Inf\"} 1000\n",
            "seconds_sum{stage=\"match\"} 0.5005\n",
            "seconds_count{stage=\"match\"} 1000\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert_eq!(text.lines().count(), 22 * 4 + 3);
        let mut text = Text::default();
        text.summary("seconds", "stage=\"match\"", matching);
        let expected = "seconds{stage=\"match\",quantile=\"0.5\"} 0.0005038075\nseconds{stage=\"match\",quantile=\"0.99\"} 0.0009912315\n\
                        seconds_sum{stage=\"match\"} 0.5005\nseconds_count{stage=\"match\"} 1000\n";
        assert_eq!(text.into_string(), expected);
    }

    #[test]
    fn a_summary_of_nothing_has_no_quantiles() {
        let mut text = Text::default();
        text.summary("seconds", "", &Durations::default());
        let expected =
            "seconds{quantile=\"0.5\"} NaN\nseconds{quantile=\"0.99\"} NaN\nseconds_sum 0\nseconds_count 0\n";
        assert_eq!(text.into_string(), expected);
    }
}
