//! The pin of a trust root.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use trefoil_attest::TrustRoot;

/// A pin names one version of a trust root and is short enough to be read out: `sha3-256:` and the hexadecimal digits of
/// [`TrustRoot::digest`], which covers the issuer, the version and all keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

/// Why a trust root is not the pinned one.
#[derive(Debug, Error)]
pub enum PinError {
    /// It names the pinned one as the version before; [`TrustRoot::accept`] checks whether it may.
    #[error(
        "version {version} of the trust root of {issuer} follows the pinned one, if its signatures hold: \
         `trefoil keys accept` checks them and prints the next pin"
    )]
    Next {
        /// The issuer that the trust root names.
        issuer: String,
        /// Its version.
        version: u64,
    },
    /// The trust root of another issuer, another version, or an altered one.
    #[error("version {version} of the trust root of {issuer} is {found}, and {pinned} is pinned")]
    Other {
        /// The issuer that the trust root names.
        issuer: String,
        /// Its version.
        version: u64,
        /// Its pin.
        found: Pin,
        /// The pin that was given.
        pinned: Pin,
    },
}

impl Pin {
    /// The pin of a trust root.
    pub fn of(root: &TrustRoot) -> Pin {
        Pin(root.digest())
    }

    /// Whether `root` is the pinned one.
    ///
    /// # Errors
    /// Names the trust root that it is instead.
    pub fn check(self, root: &TrustRoot) -> Result<(), PinError> {
        let (issuer, version, found) = (root.issuer().to_owned(), root.version(), Pin::of(root));
        if found == self {
            Ok(())
        } else if *root.previous() == self.0 {
            Err(PinError::Next { issuer, version })
        } else {
            Err(PinError::Other { issuer, version, found, pinned: self })
        }
    }
}

impl FromStr for Pin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Pin, Self::Err> {
        let form = "a pin is `sha3-256:` and 64 hexadecimal digits, as `trefoil keys show` prints it";
        let mut digest = [0; 32];
        hex::decode_to_slice(text.strip_prefix(PIN_PREFIX).ok_or(form)?, &mut digest).map_err(|_| form)?;
        // What version 1 names as the version before; nothing hashes to it.
        if digest == [0; 32] { Err(form) } else { Ok(Pin(digest)) }
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PIN_PREFIX}{}", hex::encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const PIN_PREFIX: &str = "sha3-256:";

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_attest::{KeySetStatus, PublicKeySet, TrustedKeySet};

    fn root() -> TrustRoot {
        let keys = PublicKeySet {
            ml_dsa_65: Box::new([1; 1952]),
            falcon_512: Box::new([2; 897]),
            slh_dsa_sha2_128f: [3; 32],
            not_before: 4,
            not_after: 5,
        };
        let retired = PublicKeySet { not_after: 6, ..keys.clone() };
        let status = KeySetStatus::Retired { since: 7 };
        let sets = vec![
            TrustedKeySet { keys, status: KeySetStatus::Active },
            TrustedKeySet { keys: retired, status },
        ];
        TrustRoot::new("https://auth.example", sets).unwrap()
    }

    #[test]
    fn a_pin_names_one_trust_root_and_tells_its_successor_from_others() {
        let first = root();
        let second = first.successor(first.key_sets().to_vec()).unwrap();
        let third = second.successor(first.key_sets().to_vec()).unwrap();
        let other = TrustRoot::new("https://other.example", first.key_sets().to_vec()).unwrap();
        let pin: Pin = Pin::of(&first).to_string().parse().unwrap();
        pin.check(&first).unwrap();
        assert!(matches!(pin.check(&second), Err(PinError::Next { version: 2, .. })));
        for wrong in [third, other] {
            let found = Pin::of(&wrong);
            let cause = pin.check(&wrong).unwrap_err();
            assert!(matches!(&cause, PinError::Other { .. }));
            let said = cause.to_string();
            assert!([found, pin].iter().all(|pin| said.contains(&pin.to_string())), "{said}");
            assert!(said.contains(wrong.issuer()), "{said}");
        }
    }

    #[test]
    fn malformed_pins_are_refused() {
        let good = Pin::of(&root()).to_string();
        let digits = &good["sha3-256:".len()..];
        let zeros = format!("sha3-256:{}", "0".repeat(64));
        let cut = &good[..good.len() - 1];
        let longer = format!("{good}0");
        let letter = format!("{cut}g");
        let other = format!("sha256:{digits}");
        let space = format!(" {good}");
        for malformed in ["", "sha3-256:", digits, cut, &longer, &letter, &other, &space, &zeros] {
            assert!(malformed.parse::<Pin>().is_err(), "{malformed}");
        }
        assert!(good.parse::<Pin>() == Ok(Pin::of(&root())));
    }
}
