//! The key-holder's configuration, read by [`settings`]: embedded defaults < file < environment < flags.

use crate::address::Address;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use trefoil_host::logging::Log;
use trefoil_host::settings::{self, ConfigError, KEY_HOLDER_PREFIX, Layers, Program};
use trefoil_matching::DecisionPolicy;
use trefoil_matching::quorum::Seat;
use trefoil_storage::database::Survives;
use trefoil_storage::disk::DiskLimits;

/// The documented defaults.
pub const DEFAULTS: &str = include_str!("default.toml");

/// The default of `policy.failures_per_generation_max` for one of three. With it the laxest policy tells a dishonest gateway less than a template
/// holds there too.
const FAILURES_PER_GENERATION_MAX_OF_SEAT: u32 = 110;

/// How its settings are named.
const PROGRAM: Program =
    Program { defaults: DEFAULTS, prefix: KEY_HOLDER_PREFIX, list: "trefoil key-holder --print-defaults" };

/// The flags that override keys.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Overrides {
    /// Directory of vault, keys, list of clients and job log.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where gateways connect, such as 0.0.0.0:7443.
    #[arg(long, value_name = "ADDR", value_parser = settings::listen_address)]
    pub listen: Option<SocketAddr>,
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and data.
    pub server: Server,
    /// The laxest policy that a gateway may give a tenant.
    pub policy: PolicyLimits,
    /// Durability.
    pub vault: Vault,
    /// Free space.
    pub disk: Disk,
    /// Its seat in a quorum.
    pub quorum: Quorum,
    /// Logs for people; the job log is separate.
    pub log: Log,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Directory of all persistent data.
    pub data_dir: PathBuf,
    /// Address to which gateways connect.
    #[serde(deserialize_with = "settings::listen_address_of")]
    pub listen: SocketAddr,
    /// Connections of known clients.
    pub connections: usize,
    /// Whether memory is kept out of core dumps, swap space, and the reach of debuggers.
    pub protect_memory: bool,
}

/// `[policy]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyLimits {
    /// Lowest threshold.
    pub threshold_min: i32,
    /// Most failures in a row before a delay.
    pub consecutive_max: u32,
    /// Shortest delay.
    pub delay_s_min: u64,
    /// Most failures a day.
    pub failures_per_day_max: u32,
    /// Most failures of one template generation.
    pub failures_per_generation_max: u32,
    /// Most attempts a day, matches included.
    pub attempts_per_day_max: u32,
    /// Most attempts of one template generation, matches included.
    pub attempts_per_generation_max: u32,
}

/// `[disk]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Free space below which only deletions and queries are answered.
    pub low_water_mib: u64,
    /// Space that is released so that deletions still succeed.
    pub reserve_mib: u64,
}

impl Disk {
    pub(crate) fn limits(self) -> DiskLimits {
        DiskLimits { low_water_bytes: self.low_water_mib << 20, reserve_bytes: self.reserve_mib << 20 }
    }
}

/// `[vault]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vault {
    /// The fault that a counted failure must survive before its attempt is answered.
    pub attempts_survive: Survives,
}

/// A seat, and the addresses of the other two.
pub(crate) type Seated = (Seat, [(Seat, Address); 2]);

/// `[quorum]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quorum {
    /// 0 for a single key-holder, else its seat from 1.
    pub seat: usize,
    /// Addresses of the other two, in the order of their seats.
    pub peers: Vec<String>,
    /// Longest wait for the second copy of a part.
    pub patience_ms: u64,
    /// Longest wait for a part that is needed.
    pub timeout_ms: u64,
}

impl Quorum {
    /// The seat and the other two, unless this is a single key-holder.
    pub(crate) fn seats(&self) -> Result<Option<Seated>, ConfigError> {
        let wrong = |key, cause: String| Err(ConfigError::Range { key, cause });
        if self.seat == 0 && !self.peers.is_empty() {
            return wrong("quorum.seat", "set it to 1, 2 or 3 where there are peers".to_owned());
        }
        if self.seat == 0 {
            return Ok(None);
        }
        let Some(seat) = Seat::new(self.seat - 1) else {
            return wrong("quorum.seat", format!("{} is not 0, 1, 2 or 3", self.seat));
        };
        let [one, other] = &self.peers[..] else {
            return wrong("quorum.peers", "list the addresses of the other two key-holders".to_owned());
        };
        let mut others = seat.others();
        others.sort();
        let address = |text: &String| {
            let key = "quorum.peers";
            text.parse::<Address>().map_err(|cause| ConfigError::Range { key, cause })
        };
        let (one, other) = (address(one)?, address(other)?);
        if one.fingerprint == other.fingerprint {
            return wrong("quorum.peers", "both have the same fingerprint".to_owned());
        }
        Ok(Some((seat, [(others[0], one), (others[1], other)])))
    }
}

impl Config {
    /// The embedded defaults.
    ///
    /// # Panics
    /// Never: a test reads the defaults.
    pub fn embedded() -> Config {
        toml::from_str(DEFAULTS).expect("default.toml is tested to parse")
    }

    /// The defaults, under the keys of `file`, under the variables `TREFOIL_KEY_HOLDER_<SECTION>_<KEY>`, under the flags, checked.
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
        layers.environment(environment.filter(|(name, _)| !settings::is_of_the_service(name)))?;
        let read = layers.read().map_err(|cause| ConfigError::Range { key: "configuration", cause });
        let mut config: Config = read?;
        if config.quorum.seat != 0 && layers.is_default("policy.failures_per_generation_max") {
            config.policy.failures_per_generation_max = FAILURES_PER_GENERATION_MAX_OF_SEAT;
        }
        if let Some(path) = &flags.data_dir {
            config.server.data_dir.clone_from(path);
        }
        if let Some(address) = flags.listen {
            config.server.listen = address;
        }
        config.check().map_err(|cause| layers.located(cause))?;
        Ok(config)
    }

    /// Checks that each variable with the prefix `TREFOIL_KEY_HOLDER_` names a setting and has a value of its kind.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn check_variables(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<(), ConfigError> {
        Layers::<Config>::new(PROGRAM).environment(variables)
    }

    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// [`ConfigError::Range`].
    fn check(&self) -> Result<(), ConfigError> {
        if !(1..=100_000).contains(&self.server.connections) {
            let cause = format!("{} is not between 1 and 100000", self.server.connections);
            return Err(ConfigError::Range { key: "server.connections", cause });
        }
        if !(-32_768..=32_768).contains(&self.policy.threshold_min) {
            let cause = format!("{} is not between -32768 and 32768", self.policy.threshold_min);
            return Err(ConfigError::Range { key: "policy.threshold_min", cause });
        }
        for (key, value) in
            [("disk.low_water_mib", self.disk.low_water_mib), ("disk.reserve_mib", self.disk.reserve_mib)]
        {
            if value > 1 << 32 {
                let cause = format!("{value} is not between 0 and {}", 1_u64 << 32);
                return Err(ConfigError::Range { key, cause });
            }
        }
        for (key, value) in
            [("quorum.patience_ms", self.quorum.patience_ms), ("quorum.timeout_ms", self.quorum.timeout_ms)]
        {
            if !(1..=60_000).contains(&value) {
                return Err(ConfigError::Range { key, cause: format!("{value} is not between 1 and 60000") });
            }
        }
        self.quorum.seats()?;
        Ok(())
    }

    /// The effective configuration as TOML; it holds no secret.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("every field has a TOML form")
    }
}

impl PolicyLimits {
    /// Refuses a policy that is laxer than its limits.
    pub(crate) fn check(&self, policy: &DecisionPolicy) -> Result<(), String> {
        let DecisionPolicy { threshold, previous, attempts, .. } = *policy;
        let lowest = previous.map_or(threshold, |(_, previous)| previous.min(threshold));
        let at_least = [
            ("threshold", i64::from(lowest), i64::from(self.threshold_min)),
            ("delay_s", clamped(attempts.delay_s), clamped(self.delay_s_min)),
        ];
        let at_most = [
            ("consecutive", attempts.consecutive, self.consecutive_max),
            ("failures_per_day", attempts.failures_per_day, self.failures_per_day_max),
            ("failures_per_generation", attempts.failures_per_generation, self.failures_per_generation_max),
            ("attempts_per_day", attempts.attempts_per_day, self.attempts_per_day_max),
            ("attempts_per_generation", attempts.attempts_per_generation, self.attempts_per_generation_max),
        ];
        let refused = |name: &str, limit: String| {
            Err(format!("the policy is laxer than its operator allows: {name} is to be {limit}"))
        };
        if let Some((name, _, least)) = at_least.into_iter().find(|(_, value, least)| value < least) {
            return refused(name, format!("at least {least}"));
        }
        match at_most.into_iter().find(|(_, value, most)| value > most) {
            Some((name, _, most)) => refused(name, format!("at most {most}")),
            None => Ok(()),
        }
    }
}

fn clamped(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_matching::{AttemptPolicy, Model};

    fn load(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key-holder.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(Some(&path), std::iter::empty(), &Overrides::default())
    }

    #[test]
    fn a_file_replaces_what_it_names_and_nothing_else() {
        let config =
            load("[server]\nlisten = \"0.0.0.0:1\"\n[vault]\nattempts_survive = \"kill\"\n").unwrap();
        let mut expected = Config::embedded();
        expected.server.listen = "0.0.0.0:1".parse().unwrap();
        expected.vault.attempts_survive = Survives::Kill;
        assert_eq!(config, expected);
        assert_eq!(toml::from_str::<Config>(&config.to_toml()).unwrap(), config);
        config.check().unwrap();
    }

    #[test]
    fn mistakes_are_named() {
        for (text, name) in [
            ("[server]\nlisen = \"0.0.0.0:1\"", "`lisen` in [server]"),
            ("[sever]\nlisten = \"0.0.0.0:1\"", "sever"),
            ("listen = \"0.0.0.0:1\"", "listen"),
            ("[server]\nlisten = 7", "is integer, expected string"),
            ("[vault]\nattempts_survive = \"fire\"", "power-cut"),
            ("[quorum]\nset = 1", "`set` in [quorum]"),
            ("[server", "line 1"),
        ] {
            let cause = load(text).unwrap_err().to_string();
            assert!(cause.contains(name), "{text}: {cause}");
        }
        let mut config = Config::embedded();
        config.policy.threshold_min = 40_000;
        assert!(config.check().unwrap_err().to_string().contains("policy.threshold_min"));
        let peer = |digit: char| format!("tls://127.0.0.1:7443#{}", digit.to_string().repeat(64));
        for (seat, peers, name) in [
            (0, vec![peer('1')], "quorum.seat"),
            (4, vec![peer('1'), peer('2')], "quorum.seat"),
            (1, vec![peer('1')], "quorum.peers"),
            (1, vec![peer('1'), "127.0.0.1".to_owned()], "quorum.peers"),
            (1, vec![peer('1'), peer('1')], "quorum.peers"),
        ] {
            let mut config = Config::embedded();
            (config.quorum.seat, config.quorum.peers) = (seat, peers);
            assert!(config.check().unwrap_err().to_string().contains(name), "{seat}");
        }
        let mut config = Config::embedded();
        (config.quorum.seat, config.quorum.peers) = (2, vec![peer('1'), peer('3')]);
        config.check().unwrap();
        let (seat, others) = config.quorum.seats().unwrap().unwrap();
        assert_eq!((seat.index(), others.map(|(other, _)| other.index())), (1, [0, 2]));
    }

    /// Claim M9.
    #[test]
    fn a_policy_may_be_stricter_and_not_laxer() {
        let limits = Config::embedded().policy;
        let strict = DecisionPolicy::new(Model::of("model", 128).unwrap(), 18_000, AttemptPolicy::default());
        assert_eq!(limits.check(&strict), Ok(()));
        let lax = |name: &str, change: fn(&mut DecisionPolicy)| {
            let mut policy = strict;
            change(&mut policy);
            let refused = limits.check(&policy).unwrap_err();
            assert!(refused.contains(&format!(": {name} is")), "{refused}");
        };
        lax("threshold", |policy| policy.threshold = 5999);
        lax("threshold", |policy| policy.previous = Some((policy.model, 5999)));
        lax("consecutive", |policy| policy.attempts.consecutive = 11);
        lax("delay_s", |policy| policy.attempts.delay_s = 29);
        lax("failures_per_day", |policy| policy.attempts.failures_per_day = 101);
        lax("failures_per_generation", |policy| policy.attempts.failures_per_generation = 121);
        lax("attempts_per_day", |policy| policy.attempts.attempts_per_day = 1001);
        lax("attempts_per_generation", |policy| policy.attempts.attempts_per_generation = 3001);
    }

    /// Claim M9.
    /// Claim M19.
    #[test]
    fn the_laxest_policy_tells_less_than_a_template_holds() {
        let PolicyLimits {
            failures_per_generation_max,
            attempts_per_generation_max,
            attempts_per_day_max,
            failures_per_day_max,
            ..
        } = Config::embedded().policy;
        let laxest = AttemptPolicy {
            failures_per_generation: failures_per_generation_max,
            attempts_per_generation: attempts_per_generation_max,
            ..AttemptPolicy::UNLIMITED
        };
        let bits = trefoil_matching::bits_per_generation(&laxest);
        assert_eq!(format!("{bits:.1}"), "740.3");
        let peers = ['1', '2'].map(|digit| format!("tls://127.0.0.1:7443#{}", digit.to_string().repeat(64)));
        let seat = format!("[quorum]\nseat = 3\npeers = {peers:?}\n");
        let of_seat = |more: &str| load(&format!("{more}{seat}")).unwrap().policy.failures_per_generation_max;
        assert_eq!(of_seat("[policy]\nfailures_per_generation_max = 115\n"), 115, "as its operator says");
        let of_quorum = AttemptPolicy {
            failures_per_generation: of_seat(""),
            attempts_per_day: attempts_per_day_max,
            failures_per_day: failures_per_day_max,
            ..laxest
        };
        let bits = trefoil_matching::bits_per_generation_of_quorum(&of_quorum);
        assert_eq!(format!("{bits:.1}"), "744.5");
        assert!(trefoil_matching::bits_per_generation_of_quorum(&laxest) > 768.0, "why it is lower there");
        let days = [
            trefoil_matching::bits_per_day(&of_quorum),
            trefoil_matching::bits_per_day_of_quorum(&of_quorum),
        ];
        assert_eq!(days.map(|bits| format!("{bits:.1}")), ["481.9", "526.3"]);
    }
}
