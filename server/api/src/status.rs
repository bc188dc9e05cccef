//! The service's health, for operators.

use super::{Hex, TenantLogins};
use serde::{Deserialize, Serialize};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing is wrong; the text says what was checked.
    Ok,
    /// It works, but an operator should act.
    Warning,
    /// It does not work, or will not start again.
    Broken,
}

/// One check, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Its severity.
    pub level: Level,
    /// Its stable name, such as `certificate-expired`.
    pub code: String,
    /// The file, address or setting.
    pub place: String,
    /// What is wrong there.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Finding {
    /// Nothing is wrong; `what` says what was checked.
    pub fn ok(code: &str, place: impl ToString, what: impl Into<String>) -> Finding {
        let (code, place) = (code.to_owned(), place.to_string());
        Finding { level: Level::Ok, code, place, what: what.into(), remedy: String::new() }
    }

    /// Adds what to do.
    #[must_use]
    pub fn do_this(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }
}

/// `GET /v1/status`: counts since the service's process began, and present values. A rate is the difference of two counts divided by the
/// difference of their `clock_ms`. A quantile comes from the difference of two histograms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ServiceStatus {
    /// Version of the program.
    pub version: String,
    /// Name in attestations.
    pub issuer: String,
    /// Start of the process, Unix seconds. If it changed, counts began again.
    pub started_at: u64,
    /// The service's time, Unix seconds.
    pub now: u64,
    /// Milliseconds of a clock that never steps.
    pub clock_ms: u64,
    /// Whether it accepts logins.
    pub ready: bool,
    /// Findings that need attention, the worst first.
    pub attention: Vec<Finding>,
    /// Logins.
    pub logins: LoginCounts,
    /// Batches sealed, and the logins in them.
    pub batches: BatchCounts,
    /// Seals.
    pub seals: SealCounts,
    /// Upper bounds of the buckets of `stages`, seconds.
    pub stage_bounds_s: Vec<f64>,
    /// Time of each batch in a stage; `seal`: time of each seal; `total`: time of a batch with its seal.
    pub stages: Vec<StageTimes>,
    /// Upper bounds of the buckets of `requests`, seconds.
    pub request_bounds_s: Vec<f64>,
    /// Requests by method, route and status.
    pub requests: Vec<RequestTimes>,
    /// Refusals and faults by code and route.
    pub problems: Vec<ProblemCount>,
    /// The verdict cache of each tenant.
    pub caches: Vec<CacheCounts>,
    /// How the logins of each tenant ended lately, the tenant with most refusals of the day first.
    #[serde(default)]
    pub tenants: Vec<TenantLogins>,
    /// Three key-holders, where there are three.
    pub key_holders: Vec<KeyHolderSeat>,
    /// The nodes of the fleet, as the database saw them some seconds ago; empty for a service that is alone.
    #[serde(default)]
    pub nodes: Vec<FleetNode>,
    /// The key-holder's counts; `null` until it has reported them.
    pub key_holder: Option<KeyHolderCounts>,
    /// Proof verification.
    pub proofs: ProofCounts,
    /// Logins that wait for a batch, and their bound.
    pub queue: Filled,
    /// Nonces remembered of the current two minutes, and their bound.
    pub nonces: Filled,
    /// Requests of one tenant that may be in flight.
    pub in_flight_limit: usize,
    /// Templates in memory, and their bound.
    pub templates: Filled,
    /// Room under the data directory.
    pub disk: DiskRoom,
    /// The connections of each listener.
    pub connections: Vec<ListenerConnections>,
    /// When the TLS certificate expires, Unix seconds.
    pub certificate_until: Option<u64>,
    /// When the signing keys expire, Unix seconds.
    pub signing_keys_until: Option<u64>,
    /// Log lines that could not be written.
    pub log_lines_lost: u64,
    /// The process.
    pub process: ProcessFigures,
}

/// A quantity and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Filled {
    /// Now.
    pub used: usize,
    /// At most.
    pub limit: usize,
}

/// Logins since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LoginCounts {
    /// Handed to the pipeline.
    pub submitted: u64,
    /// Decided with a match.
    pub matched: u64,
    /// Decided with no match.
    pub not_matched: u64,
}

/// Batches since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct BatchCounts {
    /// Sealed.
    pub sealed: u64,
    /// Logins in them.
    pub lanes: u64,
    /// Logins that fit into one.
    pub lanes_max: u64,
}

/// Seals since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SealCounts {
    /// Stored.
    pub stored: u64,
    /// Seals whose signatures were pruned.
    pub pruned: u64,
    /// Written to the archive.
    pub archived: u64,
    /// Whether a seal waits for the store.
    pub waits: bool,
}

/// Durations of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StageTimes {
    /// Its name.
    pub stage: String,
    /// How many.
    pub count: u64,
    /// Their sum.
    pub seconds: f64,
    /// How many are below each bound.
    pub below: Vec<u64>,
}

/// Durations of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RequestTimes {
    /// Method.
    pub method: String,
    /// The pattern, which names no subject.
    pub route: String,
    /// Status.
    pub status: u16,
    /// How many.
    pub count: u64,
    /// Their sum.
    pub seconds: f64,
    /// How many are below each bound.
    pub below: Vec<u64>,
}

/// Refusals or faults of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProblemCount {
    /// The problem's code.
    pub code: String,
    /// The pattern, which names no subject.
    pub route: String,
    /// How many.
    pub count: u64,
    /// What it means.
    pub title: String,
    /// What to do.
    pub cure: String,
}

/// A tenant's part of the verdict cache, since it was made or the process began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CacheCounts {
    /// The tenant.
    pub tenant: Hex<16>,
    /// Its name for operators.
    pub name: String,
    /// Whether its API keys are refused.
    pub disabled: bool,
    /// Verdicts held.
    pub entries: usize,
    /// Verdicts that it can hold at present. It grows up to the tenant's quota.
    pub capacity: usize,
    /// Look-ups that found one.
    pub hits: u64,
    /// Look-ups that found none.
    pub misses: u64,
    /// Verdicts that were evicted.
    pub evictions: u64,
    /// New verdicts that were kept because they were used more often than others.
    pub admissions_won: u64,
    /// New verdicts that were not kept.
    pub admissions_lost: u64,
}

/// A node of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FleetNode {
    /// Its machine and process.
    pub name: String,
    /// Where its connection to the database comes from.
    pub address: String,
    /// Since when that connection stands, Unix seconds.
    pub since: u64,
    /// Whether it is the one that prunes old seals and finishes what other nodes left.
    pub keeps_house: bool,
    /// The first eight digits of the key set that it signs with; `null` if it has not told yet.
    #[serde(default)]
    pub key_set: Option<String>,
}

/// One of three key-holders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct KeyHolderSeat {
    /// From 1.
    pub seat: usize,
    /// Its address.
    pub address: String,
    /// Why it cannot be reached; `null` if it can.
    pub away: Option<String>,
    /// Decisions that it did not answer.
    pub silent: u64,
    /// Decisions in which it disagreed with the other two.
    pub disagreed: u64,
    /// Decisions in which both others found its part wrong.
    pub lied: u64,
    /// Decisions in which one other found it wrong.
    pub accused: u64,
}

/// What the key-holder counts for this service: of its own tenants, if others share the key-holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct KeyHolderCounts {
    /// Attempts since it started.
    pub attempts: u64,
    /// Those that failed.
    pub failures: u64,
    /// Enrolments since it started.
    pub enrolments: u64,
    /// Malformed jobs since an operator last reset the count.
    pub malformed: u64,
    /// Tenants that they froze.
    pub frozen: Vec<Hex<16>>,
    /// Attempts that it refused since it started, because a budget of the subject was spent.
    pub budget_trips: u64,
    /// Those of each tenant that has any, of at most 1,024 tenants.
    pub budget_trips_by_tenant: Vec<BudgetTrips>,
    /// Tenants that it knows.
    pub tenants: u64,
    /// Templates whose keys it has.
    pub templates: u64,
}

/// Attempts on a tenant's subjects that the key-holder refused because a budget of the subject was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct BudgetTrips {
    /// The tenant.
    pub tenant: Hex<16>,
    /// Since the key-holder started.
    pub trips: u64,
    /// In the last five to ten minutes, or since the service started.
    pub recent: u64,
}

/// Proof verification since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProofCounts {
    /// Valid ones.
    pub accepted: u64,
    /// Invalid ones.
    pub refused: u64,
    /// Proofs that wait for a thread now.
    pub waiting: usize,
}

/// Room under the data directory, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DiskRoom {
    /// Free.
    pub free_bytes: u64,
    /// Below this logins are refused.
    pub low_water_bytes: u64,
}

/// Connections of a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ListenerConnections {
    /// `public` or `admin`.
    pub listener: String,
    /// Open now.
    pub open: usize,
    /// Most that may be open.
    pub limit: usize,
    /// Accepted since the start.
    pub accepted: u64,
    /// Dropped on arrival, because their peer had too many.
    pub refused: u64,
}

/// Figures of the process; absent where the system does not report them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProcessFigures {
    /// Processor time.
    pub processor_seconds: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Open files and sockets.
    pub open_files: Option<usize>,
}
