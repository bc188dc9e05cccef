//! Where the key-holder runs: in this process, in another one, or as three in three others.

use super::ConfigError;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use trefoil_key_holder::{Address, Bounds};

/// `[keyholder]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyHolder {
    /// `tls://HOST:PORT#FINGERPRINT`; empty means in this process.
    pub url: String,
    /// Three such addresses in the order of their seats, any two of which decide; empty means one key-holder.
    pub quorum: Vec<String>,
    /// Longest time for one decision.
    pub timeout_ms: u64,
    /// Decisions in flight with each key-holder.
    pub connections: usize,
    /// Whether the vault in the data directory may be an older copy than the newest seal shows. A flag only, because
    /// it is for one start.
    #[serde(skip)]
    pub accept_older_vault: bool,
}

/// Where decisions are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this process.
    Here,
    /// By one key-holder elsewhere.
    One(Address),
    /// By three key-holders, in the order of their seats.
    Three([Address; 3]),
}

impl KeyHolder {
    /// Where decisions are made.
    ///
    /// # Errors
    /// [`ConfigError`] when an address is malformed, or there are neither none, one nor three.
    pub fn place(&self) -> Result<Place, ConfigError> {
        let read = |key, text: &String| text.parse().map_err(|cause| ConfigError::Range { key, cause });
        match (&self.url[..], &self.quorum[..]) {
            ("", []) => Ok(Place::Here),
            _ if self.accept_older_vault => {
                let cause =
                    "the vault is with the key-holder: start the key-holder itself with this flag".to_owned();
                Err(ConfigError::Range { key: "--accept-older-vault", cause })
            }
            (_, []) => read("keyholder.url", &self.url).map(Place::One),
            ("", [one, two, three]) => {
                let [one, two, three] = [one, two, three].map(|text| read("keyholder.quorum", text));
                let three = [one?, two?, three?];
                let distinct = |a: usize, b: usize| three[a].fingerprint != three[b].fingerprint;
                if distinct(0, 1) && distinct(1, 2) && distinct(2, 0) {
                    return Ok(Place::Three(three));
                }
                let cause = "two of the three have the same fingerprint".to_owned();
                Err(ConfigError::Range { key: "keyholder.quorum", cause })
            }
            (url, list) => {
                let given = list.len() + usize::from(!url.is_empty());
                let cause = format!("{given} key-holders: give none, one, or three of which two decide");
                Err(ConfigError::Range { key: "keyholder.quorum", cause })
            }
        }
    }

    /// Bounds of each connection.
    pub fn bounds(&self) -> Bounds {
        Bounds { timeout: Duration::from_millis(self.timeout_ms), connections: self.connections }
    }

    /// Uses the addresses of the flags, which replace those of the other layers.
    pub(super) fn apply(&mut self, flags: &[String]) {
        match flags {
            [] => {}
            [one] => (self.url, self.quorum) = (one.clone(), Vec::new()),
            several => (self.url, self.quorum) = (String::new(), several.to_vec()),
        }
    }
}
