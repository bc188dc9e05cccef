//! One typed configuration from four layers: embedded defaults < file < environment < flags.
//!
//! `config/default.toml` lists every key; it is parsed by the same code as a user's file, so a documented key that does
//! not exist cannot compile its way into a release. Errors name the key, where it was set and what to do.

mod key_holder;
mod sections;

pub use key_holder::{KeyHolder, Place};
pub use sections::{
    Cadence, Disk, Keys, Limits, OldSeals, Pipeline, Precompute, Proofs, Retention, Server, Store, Tls,
    Witnesses,
};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;
pub use trefoil_key_holder::config::{Log, LogFormat};
use trefoil_zkp::Circuit;

/// The documented defaults, also the text that `serve --print-config` starts from.
pub const DEFAULTS: &str = include_str!("config/default.toml");

/// Environment variables that start with this prefix and a section name set configuration keys.
const ENV_PREFIX: &str = "TREFOIL_";

/// The whole configuration, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Addresses and data.
    pub server: Server,
    /// Certificate.
    pub tls: Tls,
    /// Signing keys at rest.
    pub keys: Keys,
    /// Who may cosign the log of seals.
    pub witnesses: Witnesses,
    /// Bounds on what callers may hold open.
    pub limits: Limits,
    /// Workers and batching.
    pub pipeline: Pipeline,
    /// Proof verification and the verdict cache.
    pub proofs: Proofs,
    /// Where the key-holder runs.
    pub keyholder: KeyHolder,
    /// Templates.
    pub store: Store,
    /// Old seals.
    pub retention: Retention,
    /// Free space.
    pub disk: Disk,
    /// Logs.
    pub log: Log,
}

/// What was wrong, where it was set, and what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("configuration file {path}: {cause}; check the path given with --config")]
    Unreadable {
        /// The file.
        path: String,
        /// The operating system's words.
        cause: String,
    },
    /// The file is not TOML or has a key that does not exist or of the wrong kind.
    #[error(
        "configuration file {path}: {cause}\n`trefoil serve --print-config` lists every key with its default"
    )]
    File {
        /// The file.
        path: String,
        /// Line, column and reason.
        cause: String,
    },
    /// A variable names no key.
    #[error("environment variable {name} names no key of section [{section}]; its keys are {keys}")]
    EnvironmentKey {
        /// The variable.
        name: String,
        /// The section.
        section: String,
        /// What exists there.
        keys: String,
    },
    /// A variable has a value of the wrong kind.
    #[error("environment variable {name}: {cause}")]
    EnvironmentValue {
        /// The variable.
        name: String,
        /// Reason.
        cause: String,
    },
    /// A value is out of its range.
    #[error("{key}: {cause}")]
    Range {
        /// Dotted key.
        key: &'static str,
        /// Reason and remedy.
        cause: String,
    },
}

/// The flags of `trefoil serve` that override keys.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Overrides {
    /// Directory of databases, keys, certificate and admin token.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Public listener, such as 0.0.0.0:8443.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Admin listener, such as 127.0.0.1:9443.
    #[arg(long, value_name = "ADDR")]
    pub admin_listen: Option<SocketAddr>,
    /// Matching threads; 0 means one for each physical core.
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// When the sealer signs.
    #[arg(long, value_enum)]
    pub cadence: Option<Cadence>,
    /// A key-holder that runs apart, as `trefoil key-holder` prints it; three times, in the order of their seats: three, any two of
    /// which decide; absent: in this process.
    #[arg(long, value_name = "URL")]
    pub key_holder: Vec<String>,
    /// Take a vault in the data directory that is an older copy than the newest seal shows. Budgets and templates are as they
    /// were then, and every seal shows that it happened. A key-holder that runs apart has a flag of this name itself.
    #[arg(long)]
    pub accept_older_vault: bool,
    /// Let databases that an earlier version of the program wrote become ones of this version. Make a backup first.
    #[arg(long)]
    pub migrate: bool,
}

impl Config {
    /// Reads all layers. `environment` is the process environment; names without a section of ours are ignored.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
        flags: &Overrides,
    ) -> Result<Config, ConfigError> {
        let mut table = defaults();
        if let Some(path) = file {
            overlay_file(&mut table, path)?;
        }
        for (name, value) in environment {
            overlay_variable(&mut table, &name, &value)?;
        }
        // Every leaf was checked against the type of its default, so what remains are enums and addresses, which
        // `overlay_*` have tried as well; a failure here still names the key.
        let mut config: Config = table.try_into().map_err(|cause: toml::de::Error| ConfigError::Range {
            key: "configuration",
            cause: cause.to_string(),
        })?;
        config.apply(flags);
        config.check()?;
        Ok(config)
    }

    /// The embedded defaults.
    pub fn embedded() -> Config {
        defaults().try_into().expect("default.toml is tested to parse")
    }

    /// The effective configuration as TOML; it holds no secret.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("every field has a TOML form")
    }

    /// The issuer name in attestations.
    pub fn issuer(&self) -> String {
        match self.server.issuer.as_str() {
            "" => format!("https://{}", self.server.listen),
            name => name.to_owned(),
        }
    }

    fn apply(&mut self, flags: &Overrides) {
        let Overrides {
            data_dir,
            listen,
            admin_listen,
            workers,
            cadence,
            key_holder,
            accept_older_vault,
            migrate,
        } = flags;
        if let Some(value) = data_dir {
            self.server.data_dir.clone_from(value);
        }
        if let Some(value) = listen {
            self.server.listen = *value;
        }
        if let Some(value) = admin_listen {
            self.server.admin_listen = *value;
        }
        if let Some(value) = workers {
            self.pipeline.workers = *value;
        }
        if let Some(value) = cadence {
            self.pipeline.cadence = *value;
        }
        self.keyholder.apply(key_holder);
        self.keyholder.accept_older_vault |= accept_older_vault;
        self.store.migrate |= migrate;
    }

    fn check(&self) -> Result<(), ConfigError> {
        let range = |key, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(ConfigError::Range { key, cause: format!("{value} is not between {low} and {high}") })
        };
        self.witnesses.parse()?;
        range("limits.connections", self.limits.connections as u64, 1, 1_000_000)?;
        let per_peer = self.limits.connections_per_peer as u64;
        range("limits.connections_per_peer", per_peer, 1, self.limits.connections as u64)?;
        range("limits.handshakes", self.limits.handshakes as u64, 1, 1_000_000)?;
        range("limits.in_flight_per_tenant", self.limits.in_flight_per_tenant as u64, 1, 1_000_000)?;
        range("limits.latency_aim_ms", self.limits.latency_aim_ms, 1, 60_000)?;
        range("limits.handshake_timeout_s", self.limits.handshake_timeout_s, 1, 60)?;
        range("limits.first_request_timeout_s", self.limits.first_request_timeout_s, 1, 300)?;
        range("limits.idle_timeout_s", self.limits.idle_timeout_s, 1, 600)?;
        range("limits.header_timeout_s", self.limits.header_timeout_s, 1, 60)?;
        range("limits.body_timeout_s", self.limits.body_timeout_s, 1, 300)?;
        range("limits.answer_timeout_s", self.limits.answer_timeout_s, 1, 60)?;
        range("limits.write_timeout_s", self.limits.write_timeout_s, 1, 300)?;
        range("limits.close_timeout_s", self.limits.close_timeout_s, 1, 60)?;
        range("limits.refusals_in_a_row", self.limits.refusals_in_a_row.into(), 1, 1_000_000)?;
        range("limits.drain_timeout_s", self.limits.drain_timeout_s, 1, 600)?;
        range("pipeline.workers", self.pipeline.workers as u64, 0, 1024)?;
        range("pipeline.seal_floor_ms", self.pipeline.seal_floor_ms, 0, 1_000)?;
        range("pipeline.seal_floor_logins", self.pipeline.seal_floor_logins as u64, 1, 32_768)?;
        range("pipeline.batch_delay_us", self.pipeline.batch_delay_us, 0, 1_000_000)?;
        range("pipeline.queue", self.pipeline.queue as u64, 32, 1_000_000)?;
        range("proofs.workers", self.proofs.workers as u64, 0, 1024)?;
        range("proofs.queue", self.proofs.queue as u64, 1, 100_000)?;
        range("proofs.deadline_ms", self.proofs.deadline_ms, 10, 60_000)?;
        range("proofs.uploads_per_caller", self.proofs.uploads_per_caller as u64, 1, 100_000)?;
        range("proofs.credit_per_s", self.proofs.credit_per_s.into(), 1, 1_000_000)?;
        range("proofs.credit_max", self.proofs.credit_max.into(), 1, 1_000_000)?;
        let known = |name: &String| Circuit::ALL.iter().any(|circuit| circuit.name() == name);
        if self.proofs.circuits.is_empty() || !self.proofs.circuits.iter().all(known) {
            let cause = format!("list one or more of {}", Circuit::ALL.map(Circuit::name).join(", "));
            return Err(ConfigError::Range { key: "proofs.circuits", cause });
        }
        range("proofs.cache_capacity", self.proofs.cache_capacity as u64, 64, 1 << 32)?;
        // A proof of the present epoch counts for at least this long.
        range("proofs.session_life_s", self.proofs.session_life_s, 1, trefoil_zkp::EPOCH_SECONDS)?;
        range("keyholder.timeout_ms", self.keyholder.timeout_ms, 10, 60_000)?;
        range("keyholder.connections", self.keyholder.connections as u64, 1, 100_000)?;
        self.keyholder.place()?;
        range("store.templates_in_memory", self.store.templates_in_memory as u64, 64, 1 << 32)?;
        range("retention.full_s", self.retention.full_s, 0, 1 << 32)?;
        range("retention.checkpoint_s", self.retention.checkpoint_s, 1, 1 << 32)?;
        range("disk.low_water_mib", self.disk.low_water_mib, 0, 1 << 32)?;
        range("disk.reserve_mib", self.disk.reserve_mib, 0, 1 << 20)?;
        let empty = |path: &Path| path.as_os_str().is_empty();
        if (self.retention.old_seals == OldSeals::Archive) == empty(&self.retention.archive_dir) {
            let cause = "set it for retention.old_seals = \"archive\", and only then".to_owned();
            return Err(ConfigError::Range { key: "retention.archive_dir", cause });
        }
        if empty(&self.tls.certificate) != empty(&self.tls.private_key) {
            let cause = "set both tls.certificate and tls.private_key, or neither for a self-signed one";
            return Err(ConfigError::Range { key: "tls.certificate", cause: cause.to_owned() });
        }
        if self.server.issuer.len() > 255 {
            let cause = "an issuer name has at most 255 bytes".to_owned();
            return Err(ConfigError::Range { key: "server.issuer", cause });
        }
        if self.server.listen == self.server.admin_listen && self.server.listen.port() != 0 {
            let cause = "the public and the admin listener need different addresses".to_owned();
            return Err(ConfigError::Range { key: "server.admin_listen", cause });
        }
        Ok(())
    }
}

fn defaults() -> toml::Table {
    DEFAULTS.parse().expect("default.toml is tested to parse")
}

/// Puts the keys of a file over `table`, refusing those that have no default.
fn overlay_file(table: &mut toml::Table, path: &Path) -> Result<(), ConfigError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|cause| ConfigError::Unreadable { path: name.clone(), cause: cause.to_string() })?;
    let refused = |cause: String| ConfigError::File { path: name.clone(), cause };
    let file: toml::Table = text.parse().map_err(|cause: toml::de::Error| refused(cause.to_string()))?;
    for (section, keys) in file {
        let known = table.get_mut(&section).and_then(|value| value.as_table_mut());
        let (Some(known), toml::Value::Table(keys)) = (known, keys) else {
            return Err(refused(format!("unknown section or key `{section}`")));
        };
        for (key, value) in keys {
            let slot =
                known.get_mut(&key).ok_or_else(|| refused(format!("unknown key `{section}.{key}`")))?;
            if slot.type_str() != value.type_str() {
                let (want, got) = (slot.type_str(), value.type_str());
                return Err(refused(format!("key `{section}.{key}` is {got}, expected {want}")));
            }
            *slot = value;
        }
        let candidate: Result<Config, _> = table.clone().try_into();
        candidate
            .map_err(|cause| refused(format!("in section [{section}]: {}", cause.to_string().trim_end())))?;
    }
    Ok(())
}

/// Puts `TREFOIL_<SECTION>_<KEY>` over `table`. A list is written with commas.
fn overlay_variable(table: &mut toml::Table, name: &str, value: &str) -> Result<(), ConfigError> {
    let Some(rest) = name.strip_prefix(ENV_PREFIX) else { return Ok(()) };
    let Some((section, key)) = rest.split_once('_') else { return Ok(()) };
    let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
    let Some(keys) = table.get_mut(&section).and_then(|value| value.as_table_mut()) else { return Ok(()) };
    let Some(slot) = keys.get_mut(&key) else {
        let keys = keys.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(ConfigError::EnvironmentKey { name: name.to_owned(), section, keys });
    };
    let refused = |cause: String| ConfigError::EnvironmentValue { name: name.to_owned(), cause };
    *slot = match slot {
        toml::Value::Integer(_) => {
            let number = value.parse().map_err(|_| refused(format!("`{value}` is not a whole number")))?;
            toml::Value::Integer(number)
        }
        toml::Value::Array(_) => {
            toml::Value::Array(value.split(',').map(|item| item.trim().into()).collect())
        }
        _ => toml::Value::String(value.to_owned()),
    };
    let candidate: Result<Config, _> = table.clone().try_into();
    candidate.map(drop).map_err(|cause| refused(cause.to_string().trim_end().to_owned()))
}

#[cfg(test)]
mod tests;
