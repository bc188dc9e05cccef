//! One typed configuration from four layers, read by [`settings`]: embedded defaults < file < environment < flags.
//!
//! `config/default.toml` lists every key. It is parsed by the same code as a user's file, so a test fails when it documents
//! a key that does not exist. Errors name the key, where it was set and what to do.

mod key_holder;
mod sections;

use axum::http::uri::Authority;
pub use key_holder::{KeyHolder, Place};
pub use sections::{
    Cadence, DatabaseUrl, Disk, Keys, Limits, OldSeals, Pipeline, Precompute, Proofs, Retention, Server,
    Store, Tls, Witnesses,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use trefoil_api::SESSIONS_IN_MEMORY_MAX;
use trefoil_cache::Sampling;
use trefoil_contents::shown;
pub use trefoil_host::logging::{Log, LogFormat};
pub use trefoil_host::settings::ConfigError;
use trefoil_host::settings::{self, KEY_HOLDER_PREFIX, Layers, Program};
use trefoil_zkp::Circuit;

/// The documented defaults, also the text that `serve --print-config` starts from.
pub const DEFAULTS: &str = include_str!("config/default.toml");

/// How the service's settings are named.
const PROGRAM: Program =
    Program { defaults: DEFAULTS, prefix: "TREFOIL_", list: "trefoil serve --print-defaults" };

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
    /// Witnesses that may cosign the log of seals.
    pub witnesses: Witnesses,
    /// Bounds on connections and requests of callers.
    pub limits: Limits,
    /// Workers and batching.
    pub pipeline: Pipeline,
    /// Proof verification and the verdict cache.
    pub proofs: Proofs,
    /// Where the key-holder runs. `TREFOIL_KEY_HOLDER_…` are the variables of the key-holder's own program.
    #[serde(rename = "keyholder")]
    pub key_holder: KeyHolder,
    /// Templates.
    pub store: Store,
    /// Old seals.
    pub retention: Retention,
    /// Free space.
    pub disk: Disk,
    /// Logs.
    pub log: Log,
}

/// The flags of `trefoil serve` that override keys.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Overrides {
    /// Directory of databases, keys, certificate and admin token.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Public listener, such as 0.0.0.0:8443.
    #[arg(long, value_name = "ADDR", value_parser = settings::listen_address)]
    pub listen: Option<SocketAddr>,
    /// Where callers reach the public listener, such as `https://auth.example`; also the name in attestations unless server.issuer is set.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Admin listener, such as 127.0.0.1:9443.
    #[arg(long, value_name = "ADDR", value_parser = settings::listen_address)]
    pub admin_listen: Option<SocketAddr>,
    /// Matching threads; 0 means one for each physical core.
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// When the sealer signs.
    #[arg(long, value_enum)]
    pub cadence: Option<Cadence>,
    /// Address of a key-holder in another process, as `trefoil key-holder` prints it. Give it three times, in the order of their seats, for
    /// three key-holders of which any two decide. Without it, the key-holder runs in this process.
    #[arg(long, value_name = "URL")]
    pub key_holder: Vec<String>,
    /// Accept a vault in the data directory that is an older copy than the newest seal shows. Budgets and templates are as they
    /// were then, and every seal shows that it happened. A key-holder in another process has a flag of this name itself.
    #[arg(long)]
    pub accept_older_vault: bool,
    /// Keep tenants, templates and the log in a PostgreSQL database instead of a file: postgres://USER@HOST/DATABASE. Keys, the certificate and
    /// the vault stay in the data directory.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Wait until no other process uses the PostgreSQL database, then take over.
    #[arg(long)]
    pub standby: bool,
    /// Share the PostgreSQL database and the key-holders with other nodes that are started with this flag, all at a time.
    #[arg(long, conflicts_with = "standby")]
    pub fleet: bool,
    /// The PostgreSQL database was restored from a backup: note that in the log, where every later seal shows it, and end all sessions. For
    /// one start.
    #[arg(long)]
    pub store_restored: bool,
    /// This machine's clock is right, and the newest seals are dated ahead of it because it was wrong: accept logins again. Requests that may have
    /// been accepted before are refused. For one start; stop all other nodes first.
    #[arg(long)]
    pub accept_clock: bool,
}

/// Adds the service's variables as a layer, and checks those of the key-holder's own program by its names.
fn read_variables(
    layers: &mut Layers<Config>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(), ConfigError> {
    let is_the_key_holders = |(name, _): &(OsString, OsString)| {
        name.to_str().is_some_and(|name| name.starts_with(KEY_HOLDER_PREFIX))
    };
    let (the_key_holders, ours): (Vec<_>, Vec<_>) = environment.partition(is_the_key_holders);
    layers.environment(ours.into_iter())?;
    trefoil_key_holder::config::Config::check_variables(the_key_holders.into_iter())
}

impl Config {
    /// Reads all layers. A variable of `environment` that has our prefix and names no setting is refused.
    ///
    /// # Errors
    /// [`ConfigError`] names the place, the key and the remedy.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: &Overrides,
    ) -> Result<Config, ConfigError> {
        let mut layers = Layers::new(PROGRAM);
        if let Some(path) = file {
            layers.file(path)?;
        }
        read_variables(&mut layers, environment)?;
        let read = layers.read().map_err(|cause| ConfigError::Range { key: "configuration", cause });
        let mut config: Config = read?;
        config.apply(flags, &mut layers);
        config.check().map_err(|cause| layers.located(cause))?;
        Ok(config)
    }

    /// Refuses variables of `environment` that have our prefix and name no setting of either program: for commands that read no variables.
    ///
    /// # Errors
    /// [`ConfigError`] names the variable and the remedy.
    pub fn check_variables(
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        read_variables(&mut Layers::<Config>::new(PROGRAM), environment)
    }

    /// The embedded defaults.
    ///
    /// # Panics
    /// Never: a test reads the defaults.
    pub fn embedded() -> Config {
        Layers::new(PROGRAM).read().expect("default.toml is tested to parse")
    }

    /// The effective configuration as TOML; it holds no secret.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("every field has a TOML form")
    }

    /// The issuer name in attestations: `server.issuer`, else `server.public_url`, else the name in the directory's trust root
    /// (`kept`), else a name made from the address of the public listener.
    ///
    /// # Errors
    /// The address names no machine, so that the name must be configured.
    pub fn issuer(&self, kept: Option<&str>) -> Result<String, ConfigError> {
        let Server { listen, public_url, issuer, .. } = &self.server;
        if let Some(name) = [issuer, public_url].into_iter().find(|name| !name.is_empty()) {
            return Ok(name.clone());
        }
        if let Some(kept) = kept {
            return Ok(kept.to_owned());
        }
        match (listen.ip(), listen.port()) {
            (ip, _) if ip.is_unspecified() => Err(ConfigError::Range {
                key: "server.public_url",
                cause: format!(
                    "{listen} names no machine, and attestations need the name of their issuer. Set it to the address that callers use, \
                     such as --public-url https://auth.example:{}",
                    listen.port()
                ),
            }),
            // Port 0 means a free port, which differs at the next start.
            (IpAddr::V4(ip), 0) => Ok(format!("https://{ip}")),
            (IpAddr::V6(ip), 0) => Ok(format!("https://[{ip}]")),
            _ => Ok(format!("https://{listen}")),
        }
    }

    fn apply(&mut self, flags: &Overrides, layers: &mut Layers<Config>) {
        let Overrides {
            data_dir,
            listen,
            public_url,
            admin_listen,
            workers,
            cadence,
            key_holder,
            accept_older_vault,
            store,
            store_restored,
            accept_clock,
            standby,
            fleet,
        } = flags;
        if let Some(value) = data_dir {
            self.server.data_dir.clone_from(value);
        }
        if let Some(value) = listen {
            self.server.listen = *value;
            layers.flag("server.listen", "--listen");
        }
        if let Some(value) = public_url {
            self.server.public_url.clone_from(value);
            layers.flag("server.public_url", "--public-url");
        }
        if let Some(value) = admin_listen {
            self.server.admin_listen = *value;
            layers.flag("server.admin_listen", "--admin-listen");
        }
        if let Some(value) = workers {
            self.pipeline.workers = *value;
            layers.flag("pipeline.workers", "--workers");
        }
        if let Some(value) = cadence {
            self.pipeline.cadence = *value;
        }
        if !key_holder.is_empty() {
            self.key_holder.apply(key_holder);
            layers.flag("keyholder.url", "--key-holder");
            layers.flag("keyholder.quorum", "--key-holder");
        }
        self.key_holder.accept_older_vault |= accept_older_vault;
        if let Some(value) = store {
            self.store.url = DatabaseUrl(value.clone());
            layers.flag("store.url", "--store");
        }
        self.store.restored |= store_restored;
        self.store.accept_clock |= accept_clock;
        self.store.standby |= standby;
        self.store.fleet |= fleet;
    }

    fn check(&self) -> Result<(), ConfigError> {
        let range = |key, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(ConfigError::Range { key, cause: format!("{value} is not between {low} and {high}") })
        };
        self.witnesses.parse()?;
        range("server.leave_s", self.server.leave_s, 0, 300)?;
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
        range("tls.warn_days", self.tls.warn_days, 0, 365)?;
        range("limits.refusals_in_a_row", self.limits.refusals_in_a_row.into(), 1, 1_000_000)?;
        range("limits.drain_timeout_s", self.limits.drain_timeout_s, 1, 600)?;
        range("pipeline.workers", self.pipeline.workers as u64, 0, 1024)?;
        range("pipeline.sealers", self.pipeline.sealers as u64, 0, 64)?;
        range("pipeline.seal_floor_ms", self.pipeline.seal_floor_ms, 0, 1_000)?;
        range("pipeline.seal_floor_logins", self.pipeline.seal_floor_logins as u64, 1, 32_768)?;
        range("pipeline.batch_delay_us", self.pipeline.batch_delay_us, 0, 1_000_000)?;
        range("pipeline.queue", self.pipeline.queue as u64, 32, 1_000_000)?;
        range("pipeline.nonces", self.pipeline.nonces as u64, 1_000, 1_000_000_000)?;
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
        let quota_max = self.proofs.sessions_in_memory_max;
        range("proofs.sessions_in_memory_max", quota_max.into(), 1, SESSIONS_IN_MEMORY_MAX.into())?;
        if Sampling::one_in(self.proofs.cache_sampling).is_none() {
            let cause = "a power of two from 1 to 64".to_owned();
            return Err(ConfigError::Range { key: "proofs.cache_sampling", cause });
        }
        // A proof of the current epoch stays valid for at least this long.
        range("proofs.session_life_s", self.proofs.session_life_s, 1, trefoil_zkp::EPOCH_SECONDS)?;
        range("keyholder.timeout_ms", self.key_holder.timeout_ms, 10, 60_000)?;
        range("keyholder.connections", self.key_holder.connections as u64, 1, 100_000)?;
        let key_holder = self.key_holder.place()?;
        self.store.check(&key_holder)?;
        range("store.timeout_ms", self.store.timeout_ms, 100, 60_000)?;
        if self.store.url.0.is_empty() && self.store.restored {
            let cause = "a store in the data directory is restored with `trefoil restore`".to_owned();
            return Err(ConfigError::Range { key: "--store-restored", cause });
        }
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
        check_url(&self.server.public_url)?;
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

/// `https://HOST` or `https://HOST:PORT`, or empty.
fn check_url(url: &str) -> Result<(), ConfigError> {
    let refused = |why: &str| {
        let cause =
            format!("{} {why}; write it as https://auth.example or https://auth.example:8443", shown(url));
        Err(ConfigError::Range { key: "server.public_url", cause })
    };
    if url.is_empty() {
        return Ok(());
    }
    let Some(authority) = url.strip_prefix("https://") else {
        return refused("does not begin with https://");
    };
    match authority.parse::<Authority>() {
        Ok(authority) if authority.host().is_empty() || authority.as_str().contains('@') => {
            refused("names no machine")
        }
        Ok(authority) if authority.port_u16() == Some(0) => refused("has port 0"),
        Ok(_) if url.len() > 255 => refused("has more than 255 bytes"),
        Ok(_) => Ok(()),
        Err(_) => refused("is not a machine with an optional port, without a path"),
    }
}

#[cfg(test)]
mod tests;
