//! Settings in layers, for every program: defaults < file < environment < flags.
//!
//! The defaults are a commented TOML file with every key. A file may set any of them, and so may the variable `<PREFIX><SECTION>_<KEY>`.
//! A key or a variable that names no setting is refused, and the error suggests the nearest name. If a mistyped limit were
//! ignored, it would protect nothing.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::path::Path;
use thiserror::Error;
use trefoil_contents::{parse_error, shown};

/// The prefix of all our variables.
const FAMILY: &str = "TREFOIL_";
/// Variables that are not settings.
const OTHERS: [&str; 2] = ["TREFOIL_BACKUP_PASSPHRASE", "TREFOIL_TIER"];
/// Variables of tests.
const TESTS: &str = "TREFOIL_TEST_";

/// The settings of one program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Every key with its default, TOML.
    pub defaults: &'static str,
    /// The prefix of its variables.
    pub prefix: &'static str,
    /// The command that prints the defaults.
    pub list: &'static str,
}

/// The error in a setting, where it was set, and what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("configuration file {path}: {cause}; check the path given with --config")]
    Unreadable {
        /// The file.
        path: String,
        /// The operating system's message.
        cause: String,
    },
    /// The file is not TOML or has a key that does not exist or of the wrong kind.
    #[error("configuration file {path}: {cause}\n`{list}` shows every section and key")]
    File {
        /// The file.
        path: String,
        /// Line, column and reason.
        cause: String,
        /// The command that lists the settings.
        list: &'static str,
    },
    /// A variable that has our prefix and names no setting.
    #[error(
        "environment variable {name} names no setting{hint} `{list}` shows every section and key; the variable of a key is \
         {prefix}<SECTION>_<KEY>. Correct it, or unset it"
    )]
    Unknown {
        /// The variable.
        name: String,
        /// The nearest name that exists.
        hint: String,
        /// The prefix of the program's variables.
        prefix: &'static str,
        /// The command that lists the settings.
        list: &'static str,
    },
    /// A variable has a value of the wrong kind.
    #[error("environment variable {name}: {cause}")]
    Value {
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

/// The prefix of the key-holder's variables. Both programs may run in one environment.
pub const KEY_HOLDER_PREFIX: &str = "TREFOIL_KEY_HOLDER_";
/// Sections that only the key-holder's settings have.
const KEY_HOLDER_SECTIONS: [&str; 3] = ["policy", "quorum", "vault"];
/// Sections of the service's settings, whose variables the service checks.
pub const SERVICE_SECTIONS: [&str; 12] = [
    "server",
    "tls",
    "keys",
    "witnesses",
    "limits",
    "pipeline",
    "proofs",
    "keyholder",
    "store",
    "retention",
    "disk",
    "log",
];

/// Whether a variable belongs to a section of the service's settings.
pub fn is_of_the_service(name: &OsString) -> bool {
    let section = name.to_str().and_then(|name| name.strip_prefix(FAMILY)?.split_once('_'));
    section.is_some_and(|(section, _)| SERVICE_SECTIONS.contains(&section.to_ascii_lowercase().as_str()))
}

/// The layers that were read so far, for the settings `T`.
pub struct Layers<T> {
    program: Program,
    table: toml::Table,
    /// Where a key was set, by its dotted name.
    origins: BTreeMap<String, String>,
    settings: PhantomData<T>,
}

impl<T: DeserializeOwned> Layers<T> {
    /// The defaults.
    ///
    /// # Panics
    /// When they are not TOML, which tests of each program exclude.
    pub fn new(program: Program) -> Layers<T> {
        let table = program.defaults.parse().expect("the defaults are tested to parse");
        Layers { program, table, origins: BTreeMap::new(), settings: PhantomData }
    }

    /// Adds the keys of a file as a layer.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, the key and the remedy.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let (name, list) = (path.display().to_string(), self.program.list);
        let file = std::fs::read(path)
            .map_err(|cause| ConfigError::Unreadable { path: name.clone(), cause: cause.to_string() })?;
        let refused = |cause: String| ConfigError::File { path: name.clone(), cause, list };
        let text = trefoil_contents::text(&file).map_err(refused)?;
        let file: toml::Table =
            text.parse().map_err(|cause| refused(format!("this is not TOML: {}", located(text, &cause))))?;
        for (section, keys) in file {
            let sections: Vec<String> = self.table.keys().cloned().collect();
            let known = self.table.get_mut(&section).and_then(toml::Value::as_table_mut);
            let (Some(known), toml::Value::Table(keys)) = (known, keys) else {
                let hint = self
                    .other_program(&section, path)
                    .unwrap_or_else(|| did_you_mean(&section, &sections, |name| format!("[{name}]")));
                return Err(refused(format!("unknown section or key {}{hint}", unknown(&section, &hint))));
            };
            for (key, value) in keys {
                let names: Vec<String> = known.keys().cloned().collect();
                let nothing = || {
                    let hint = did_you_mean(&key, &names, |name| format!("`{section}.{name}`"));
                    refused(format!("unknown key {} in [{section}]{hint}", unknown(&key, &hint)))
                };
                let slot = known.get_mut(&key).ok_or_else(nothing)?;
                if slot.type_str() != value.type_str() {
                    let (want, got) = (slot.type_str(), value.type_str());
                    return Err(refused(format!("key `{section}.{key}` is {got}, expected {want}")));
                }
                *slot = value;
                self.origins.insert(format!("{section}.{key}"), format!("set in {name}"));
            }
            self.read().map_err(|cause| refused(format!("in section [{section}]: {cause}")))?;
        }
        Ok(())
    }

    /// That a section is one of the other program's, and how to start that.
    fn other_program(&self, section: &str, path: &Path) -> Option<String> {
        let path = path.display();
        match self.program.prefix {
            KEY_HOLDER_PREFIX if SERVICE_SECTIONS.contains(&section) => {
                Some(format!("; this is a service's file: `trefoil serve --config {path}`"))
            }
            FAMILY if KEY_HOLDER_SECTIONS.contains(&section) => {
                Some(format!("; this is a key-holder's file: `trefoil key-holder --config {path}`"))
            }
            _ => None,
        }
    }

    /// Adds variables of the process as a layer. Leave out those of the other program.
    ///
    /// # Errors
    /// [`ConfigError`] names the variable and the remedy.
    pub fn environment(
        &mut self,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        for (name, value) in variables {
            // A name that is not UTF-8 is not ours.
            let Some(name) = name.to_str().filter(|name| name.starts_with(FAMILY)) else { continue };
            if OTHERS.contains(&name) || name.starts_with(TESTS) {
                continue;
            }
            let found = name.strip_prefix(self.program.prefix).and_then(|rest| self.key(rest));
            let Some((section, key)) = found else { return Err(self.unknown(name)) };
            let refused = |cause: String| ConfigError::Value { name: name.to_owned(), cause };
            let value = value.to_str().ok_or_else(|| refused("the value is not UTF-8".to_owned()))?;
            let slot = &mut self.table[&section][&key];
            *slot = parsed(slot, value).map_err(&refused)?;
            self.read().map_err(refused)?;
            self.origins.insert(format!("{section}.{key}"), format!("set by {name}"));
        }
        Ok(())
    }

    /// Notes that a flag will replace a key.
    pub fn flag(&mut self, key: &str, flag: &str) {
        self.origins.insert(key.to_owned(), format!("set by {flag}"));
    }

    /// Whether no layer set this key.
    pub fn is_default(&self, key: &str) -> bool {
        !self.origins.contains_key(key)
    }

    /// The settings of all layers.
    ///
    /// # Errors
    /// Why the values are invalid, with the key. Each layer refuses such a value, so this succeeds.
    pub fn read(&self) -> Result<T, String> {
        let read = self.table.clone().try_into();
        read.map_err(|cause: toml::de::Error| parse_error(cause).trim_end().replace('\n', " "))
    }

    /// A value out of its range, with the place where it was set.
    pub fn located(&self, cause: ConfigError) -> ConfigError {
        match cause {
            ConfigError::Range { key, cause } => {
                let origin = self.origins.get(key).map(|origin| format!(" ({origin})"));
                ConfigError::Range { key, cause: cause + &origin.unwrap_or_default() }
            }
            other => other,
        }
    }

    /// The section and the key of `SECTION_KEY`.
    fn key(&self, rest: &str) -> Option<(String, String)> {
        let (section, key) = rest.split_once('_')?;
        let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
        self.table.get(&section)?.get(&key)?;
        Some((section, key))
    }

    fn unknown(&self, name: &str) -> ConfigError {
        let Program { prefix, list, .. } = self.program;
        let names: Vec<String> =
            names(&self.table, prefix).chain(OTHERS.iter().map(|&name| name.to_owned())).collect();
        let hint = match did_you_mean(name, &names, str::to_owned) {
            none if none.is_empty() => ".".to_owned(),
            hint => hint,
        };
        ConfigError::Unknown { name: name.to_owned(), hint, prefix, list }
    }
}

/// The variables of the settings in `table`.
fn names<'a>(table: &'a toml::Table, prefix: &'a str) -> impl Iterator<Item = String> + 'a {
    let keys = table.iter().filter_map(|(section, keys)| Some((section, keys.as_table()?)));
    keys.flat_map(move |(section, keys)| {
        keys.keys().map(move |key| format!("{prefix}{section}_{key}").to_ascii_uppercase())
    })
}

/// A variable's text as a value of the default's type. A list is written with commas.
fn parsed(slot: &toml::Value, text: &str) -> Result<toml::Value, String> {
    Ok(match slot {
        toml::Value::Integer(_) => toml::Value::Integer(
            text.parse().map_err(|_| format!("{} is not a whole number, such as {slot}", shown(text)))?,
        ),
        toml::Value::Boolean(_) => {
            let neither = |_| format!("{} is neither true nor false", shown(text));
            toml::Value::Boolean(text.parse().map_err(neither)?)
        }
        toml::Value::Array(_) if text.is_empty() => toml::Value::Array(Vec::new()),
        toml::Value::Array(_) => toml::Value::Array(text.split(',').map(|item| item.trim().into()).collect()),
        _ => toml::Value::String(text.to_owned()),
    })
}

/// Where a text is not TOML, and why.
pub fn located(text: &str, cause: &toml::de::Error) -> String {
    let before = cause.span().and_then(|at| text.get(..at.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, parse_error(cause.message()))
}

/// A name that does not exist. It is a mistyped one if another is near; else it may be a secret in the wrong place.
fn unknown(name: &str, hint: &str) -> String {
    if hint.is_empty() { shown(name) } else { format!("`{name}`") }
}

/// "; did you mean ...?", if a name is similar enough.
fn did_you_mean(name: &str, names: &[String], show: impl Fn(&str) -> String) -> String {
    let bare = |name: &str| name.strip_prefix(FAMILY).unwrap_or(name).to_ascii_uppercase();
    let name = bare(name);
    // A name without its section counts as similar, however long the section's name is.
    let ending = names
        .iter()
        .filter(|known| bare(known).ends_with(&format!("_{name}")))
        .min_by_key(|known| known.len());
    let distance = |known: &String| strsim::damerau_levenshtein(&name, &bare(known));
    let nearest = ending.or_else(|| {
        let nearest = names.iter().min_by_key(|&known| distance(known))?;
        (distance(nearest) <= name.len().div_ceil(3)).then_some(nearest)
    });
    nearest.map_or(String::new(), |known| format!("; did you mean {}?", show(known)))
}

/// The address of a listener: an IP address and a port.
///
/// # Errors
/// The text that it is instead, with an example.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let text = shown(text);
        format!("{text} is not an IP address with a port; write it as 127.0.0.1:8443 or [::1]:8443 (names are not looked up)")
    })
}

/// What to do about an address that cannot be bound.
pub fn not_bound(cause: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as K;
    match cause.kind() {
        K::AddrNotAvailable => "this machine has no such address: give one of its own, or 0.0.0.0 for all",
        K::PermissionDenied => "a port below 1024 needs a privilege: give a higher one",
        _ => "is another process using it?",
    }
}

/// For `#[serde(deserialize_with)]`: see [`listen_address`].
///
/// # Errors
/// As [`listen_address`].
pub fn listen_address_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    listen_address(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests;
