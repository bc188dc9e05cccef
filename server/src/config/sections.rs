//! The sections of the configuration, each under its name in `default.toml`.

use super::{ConfigError, Place};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use trefoil_attest::witness::Witness;
use trefoil_cache::Sampling;
use trefoil_host::settings::listen_address_of;
use trefoil_postgres::{Address, PasswordFiles, without_password};
use trefoil_service::limits::distinct_failures::Bounds;
use trefoil_service::limits::pace::Pace;
use trefoil_service::limits::quota::QuotaConfig;
use trefoil_service::log::retention::Keeping;
use trefoil_service::tenants::directory::VerdictRoom;
use trefoil_service::tenants::wiring::VerdictCacheConfig;
use trefoil_storage::disk::DiskLimits;
use trefoil_zkp::Circuit;

/// `[server]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Directory of databases, keys, certificate and admin token.
    pub data_dir: PathBuf,
    /// Public listener.
    #[serde(deserialize_with = "listen_address_of")]
    pub listen: SocketAddr,
    /// Where callers reach the public listener; empty means at `listen`.
    pub public_url: String,
    /// Admin listener.
    #[serde(deserialize_with = "listen_address_of")]
    pub admin_listen: SocketAddr,
    /// Issuer name in attestations; empty: see [`Config::issuer`](super::Config::issuer).
    pub issuer: String,
    /// Whether the log has a line for each request.
    pub access_log: bool,
    /// Whether memory is kept out of core dumps, swap space, and the reach of debuggers.
    pub protect_memory: bool,
    /// How long it goes on after a signal to end, seconds, so that a balancer sends callers elsewhere.
    pub leave_s: u64,
}

/// `[tls]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// PEM chain; empty with `private_key` empty means self-signed.
    pub certificate: PathBuf,
    /// PEM key.
    pub private_key: PathBuf,
    /// Names of the self-signed certificate.
    pub names: Vec<String>,
    /// Findings warn so many days before a certificate of this section ends.
    pub warn_days: u64,
    /// PEM certificates of the authorities that sign callers' certificates for the public listener; empty: callers need no certificate.
    pub client_ca: PathBuf,
}

/// `[keys]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// File with the passphrase of the signing keys; empty means a systemd credential or a generated one.
    pub passphrase_file: PathBuf,
    /// How much of the SLH-DSA key's hypertree is computed once after each start.
    pub precompute: Precompute,
}

/// How much is computed once after each start, for faster signatures; see [`trefoil_sign::Extent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precompute {
    /// 4 MB.
    Brief,
    /// 34 MB.
    Usual,
    /// 71 MB.
    Large,
}

impl From<Precompute> for trefoil_sign::Extent {
    fn from(precompute: Precompute) -> Self {
        match precompute {
            Precompute::Brief => Self::Brief,
            Precompute::Usual => Self::Usual,
            Precompute::Large => Self::Large,
        }
    }
}

/// `[limits]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Open connections per listener.
    pub connections: usize,
    /// Open connections of one address, or of one IPv6 network of 64 bits.
    pub connections_per_peer: usize,
    /// TLS handshakes in progress.
    pub handshakes: usize,
    /// Requests of one tenant in flight, at most.
    pub in_flight_per_tenant: usize,
    /// Under overload a tenant may have as many requests in flight as are answered in about this time, and never fewer than half of
    /// `in_flight_per_tenant`.
    pub latency_aim_ms: u64,
    /// Subjects that may have failed with one API key and not matched since, besides a quarter of those that matched; 0 for no limit.
    pub distinct_failures: usize,
    /// The same for subjects that failed from one source, which logins may name.
    pub source_failures: usize,
    /// For how long they are remembered.
    pub distinct_failures_window_s: u64,
    /// TLS handshake.
    pub handshake_timeout_s: u64,
    /// From the handshake to the first request.
    pub first_request_timeout_s: u64,
    /// Between two requests.
    pub idle_timeout_s: u64,
    /// Request head.
    pub header_timeout_s: u64,
    /// Request body, first to last byte.
    pub body_timeout_s: u64,
    /// Waiting for a batch to be sealed.
    pub answer_timeout_s: u64,
    /// For a peer to take an answer.
    pub write_timeout_s: u64,
    /// For a peer to take its last answers and hang up.
    pub close_timeout_s: u64,
    /// Refusals in a row after which a connection is closed.
    pub refusals_in_a_row: u32,
    /// Requests in flight at shutdown.
    pub drain_timeout_s: u64,
}

impl Limits {
    /// How many requests of a tenant may be in flight, to begin with.
    pub(crate) fn pace(&self) -> Pace {
        Pace::new(self.in_flight_per_tenant, self.latency_aim())
    }

    /// How many different subjects an API key may fail for.
    pub(crate) fn distinct_failures(&self) -> Bounds {
        Bounds { most: self.distinct_failures, window_s: self.distinct_failures_window_s }
    }

    /// How many different subjects may fail from one source.
    pub(crate) fn source_failures(&self) -> Bounds {
        Bounds { most: self.source_failures, window_s: self.distinct_failures_window_s }
    }

    /// Target time for an answer under overload.
    pub(crate) fn latency_aim(&self) -> Duration {
        Duration::from_millis(self.latency_aim_ms)
    }

    /// Deadline for an answer.
    pub fn answer_timeout(&self) -> Duration {
        Duration::from_secs(self.answer_timeout_s)
    }

    /// Deadline for the first request of a connection.
    pub(crate) fn first_request_timeout(&self) -> Duration {
        Duration::from_secs(self.first_request_timeout_s)
    }

    /// Deadline for a further request.
    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_timeout_s)
    }

    /// Deadline for the head of a request over HTTP/1.1.
    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_secs(self.header_timeout_s)
    }

    /// Deadline for taking an answer.
    pub(crate) fn write_timeout(&self) -> Duration {
        Duration::from_secs(self.write_timeout_s)
    }

    /// Deadline for a connection that was told to close and for which no handler works.
    pub(crate) fn close_timeout(&self) -> Duration {
        Duration::from_secs(self.close_timeout_s)
    }
}

/// `[witnesses]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witnesses {
    /// Public keys of the witnesses.
    pub keys: Vec<String>,
}

impl Witnesses {
    /// Most witnesses: the cosignatures of this many fit into one request.
    const MAX: usize = 16;

    /// The witnesses whose cosignatures are accepted.
    ///
    /// # Errors
    /// A malformed key, or too many keys.
    pub fn parse(&self) -> Result<Vec<Witness>, ConfigError> {
        let refused = |cause: String| ConfigError::Range { key: "witnesses.keys", cause };
        if self.keys.len() > Self::MAX {
            return Err(refused(format!("{} keys, at most {}", self.keys.len(), Self::MAX)));
        }
        let witness = |(number, key): (usize, &String)| {
            Witness::parse(key).map_err(|cause| refused(format!("key {}: {cause}", number + 1)))
        };
        self.keys.iter().enumerate().map(witness).collect()
    }
}

/// When the sealer signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// One seal over all logins that wait.
    Group,
    /// One seal for each batch of 32, made by the worker that decided it.
    PerBatch,
}

/// `[pipeline]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Matching threads; 0 means one for each physical core.
    pub workers: usize,
    /// When the sealer signs.
    pub cadence: Cadence,
    /// Threads that seal groups; 0 means two where the workers leave two cores free, and one elsewhere.
    pub sealers: usize,
    /// Time between seals while few logins wait, milliseconds.
    pub seal_floor_ms: u64,
    /// Number of waiting logins that are sealed at once, without waiting for it.
    pub seal_floor_logins: usize,
    /// Age at which an unfilled batch is sealed.
    pub batch_delay_us: u64,
    /// Lanes that may wait.
    pub queue: usize,
    /// Most nonces remembered in two minutes.
    pub nonces: usize,
}

/// `[proofs]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proofs {
    /// Verification threads; 0 means half the available processors.
    pub workers: usize,
    /// Proofs that may wait.
    pub queue: usize,
    /// Longest wait of a proof, milliseconds.
    pub deadline_ms: u64,
    /// Names of the circuits whose proofs are accepted.
    pub circuits: Vec<String>,
    /// Uploads of one API key open at one time.
    pub uploads_per_caller: usize,
    /// Credit that an API key regains in a second.
    pub credit_per_s: u32,
    /// Its largest credit.
    pub credit_max: u32,
    /// Most verdicts in memory.
    pub cache_capacity: usize,
    /// The most verdicts in memory that a tenant's policy may ask for.
    pub sessions_in_memory_max: u32,
    /// One in this many of its operations is timed and watched for patterns.
    pub cache_sampling: u64,
    /// Lifetime of a session.
    pub session_life_s: u64,
}

impl Proofs {
    /// The circuits whose proofs are accepted. Names were checked when the configuration was read.
    pub fn circuits(&self) -> impl Iterator<Item = Circuit> {
        Circuit::ALL.into_iter().filter(|circuit| self.circuits.iter().any(|name| name == circuit.name()))
    }

    /// The room of tenants in the verdict cache. The sampling was checked when the configuration was read.
    pub(crate) fn verdict_room(&self) -> VerdictRoom {
        VerdictRoom {
            default: VerdictCacheConfig {
                capacity: self.cache_capacity,
                sampling: Sampling::one_in(self.cache_sampling).unwrap_or_default(),
            },
            quota_max: self.sessions_in_memory_max,
        }
    }

    /// What an API key may spend on uploads.
    pub(crate) fn quota(&self) -> QuotaConfig {
        QuotaConfig {
            per_second: self.credit_per_s,
            credit_max: self.credit_max,
            open_max: self.uploads_per_caller,
        }
    }
}

/// `[store]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Address of a PostgreSQL database; empty: `store.sqlite` in the data directory. Shown without its password.
    pub url: DatabaseUrl,
    /// File with the password alone; empty: the address has it, or the file that PGPASSFILE names.
    pub password_file: PathBuf,
    /// Longest time for one statement, milliseconds.
    pub timeout_ms: u64,
    /// Templates in memory.
    pub templates_in_memory: usize,
    /// Whether to wait until no other process uses the PostgreSQL database, instead of giving up.
    pub standby: bool,
    /// Whether other nodes use the PostgreSQL database at the same time.
    pub fleet: bool,
    /// Whether the PostgreSQL database was restored from a backup. A flag only, because it is for one start.
    #[serde(skip)]
    pub restored: bool,
    /// Whether the clock is right although seals are dated ahead of it. A flag only, because it is for one start.
    #[serde(skip)]
    pub accept_clock: bool,
}

/// The address of a database, whose password is never shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DatabaseUrl(pub String);

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", without_password(&self.0))
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&without_password(&self.0))
    }
}

impl Store {
    /// The PostgreSQL database, if one is configured. `libpq` is the file that PGPASSFILE names.
    ///
    /// # Errors
    /// The address is malformed or unsafe, or a password file cannot be read.
    pub fn database(&self, libpq: Option<PathBuf>) -> Result<Option<Address>, ConfigError> {
        if self.url.0.is_empty() {
            return Ok(None);
        }
        let own = Some(self.password_file.clone()).filter(|path| !path.as_os_str().is_empty());
        let read = Address::read(&self.url.0, &PasswordFiles { own, libpq });
        read.map(Some).map_err(|cause| ConfigError::Range { key: "store.url", cause })
    }

    /// Longest time for one statement.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Nodes that take over from one another, or work at the same time, share a database and key-holders.
    pub(super) fn check(&self, key_holder: &Place) -> Result<(), ConfigError> {
        let (key, what) = match (self.standby, self.fleet) {
            (false, false) => return Ok(()),
            (true, true) => {
                let cause =
                    "a node of a fleet waits for no other: leave out one of store.standby and store.fleet"
                        .to_owned();
                return Err(ConfigError::Range { key: "store.standby", cause });
            }
            (true, false) => ("store.standby", "a standby"),
            (false, true) => ("store.fleet", "a node of a fleet"),
        };
        if self.url.0.is_empty() {
            let cause = format!("{what} shares a PostgreSQL database with other nodes: give store.url");
            return Err(ConfigError::Range { key, cause });
        }
        if matches!(key_holder, Place::Here) {
            let cause = format!(
                "{what} needs key-holders that the other nodes use too, in processes of their own: give keyholder.url or keyholder.quorum"
            );
            return Err(ConfigError::Range { key, cause });
        }
        Ok(())
    }
}

/// `[retention]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// What becomes of the signatures of old seals.
    pub old_seals: OldSeals,
    /// For how long seals keep their signatures, seconds.
    pub full_s: u64,
    /// The last seal of each period of this length keeps them, seconds.
    pub checkpoint_s: u64,
    /// Where old seals are written to.
    pub archive_dir: PathBuf,
}

impl Retention {
    /// What becomes of old seals; nothing where they are kept.
    pub fn keeping(&self) -> Option<Keeping> {
        let archive = match self.old_seals {
            OldSeals::Keep => return None,
            OldSeals::Prune => None,
            OldSeals::Archive => Some(self.archive_dir.clone()),
        };
        Some(Keeping { full_s: self.full_s, checkpoint_s: self.checkpoint_s, archive })
    }
}

/// What becomes of the signatures of old seals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OldSeals {
    /// They stay.
    Keep,
    /// They are dropped.
    Prune,
    /// The seals are written to files first.
    Archive,
}

/// `[disk]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Free space below which requests that need more than an erasure are refused.
    pub low_water_mib: u64,
    /// Space that is released so that erasures still succeed.
    pub reserve_mib: u64,
}

impl Disk {
    /// Bounds for the disk under the data directory.
    pub(crate) fn limits(&self) -> DiskLimits {
        DiskLimits { low_water_bytes: self.low_water_mib << 20, reserve_bytes: self.reserve_mib << 20 }
    }
}
