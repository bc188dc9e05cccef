//! Keys from passphrases: Argon2id (RFC 9106).

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Bytes of a salt.
pub const SALT_BYTES: std::ops::RangeInclusive<usize> = 8..=64;

/// The cost of one guess. It is stored in the file that it protects, so that it can rise without a new format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Memory, KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Cost {
    /// For passphrases that people choose: the second recommended option of RFC 9106 section 4, 64 MiB.
    pub const CHOSEN: Cost = Cost { memory_kib: 64 * 1024, passes: 3, lanes: 4 };
    /// For 256 random bits, which cannot be guessed: the lowest cost that password guidance (OWASP) allows.
    pub const RANDOM: Cost = Cost { memory_kib: 19 * 1024, passes: 2, lanes: 1 };

    /// Up to 1 GiB, 64 passes and 16 lanes, so that an altered file cannot exhaust the machine.
    #[must_use]
    pub fn is_bounded(self) -> bool {
        let Cost { memory_kib, passes, lanes } = self;
        (1..=16).contains(&lanes) && (8 * lanes..=1 << 20).contains(&memory_kib) && (1..=64).contains(&passes)
    }

    /// The key of a passphrase and a salt.
    ///
    /// # Panics
    /// Unless the cost is bounded and the salt's length is in [`SALT_BYTES`].
    #[must_use]
    pub fn stretch(self, passphrase: &[u8], salt: &[u8]) -> Zeroizing<[u8; 32]> {
        let Cost { memory_kib, passes, lanes } = self;
        assert!(self.is_bounded() && SALT_BYTES.contains(&salt.len()), "checked when they were read");
        let params = Params::new(memory_kib, passes, lanes, Some(32)).expect("the cost is bounded");
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase, salt, &mut key[..])
            .expect("passphrase, salt and key have lengths that Argon2 takes");
        key
    }
}
