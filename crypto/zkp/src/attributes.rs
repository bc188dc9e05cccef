//! An issuer's assertions about a member, as they enter the leaf.

use p3_field::PrimeCharacteristicRing;
use rand::{CryptoRng, RngExt};

use crate::{
    digest::{Field, LIMBS, NonCanonical},
    epoch::EPOCH_LIMIT,
};

/// Limb of the leaf's right half that holds the expiry epoch.
pub(crate) const EXPIRY_LIMB: usize = 0;
/// Limb of the leaf's right half that holds the level.
pub(crate) const LEVEL_LIMB: usize = 1;

const SALT_LIMBS: usize = 3;

/// Attributes of one credential: eight limbs (expiry, level, roles, serial low, serial high, three of salt).
///
/// The salt (93 bits) keeps a leaf from being guessed from its attributes by someone who learnt the member's
/// commitment. It is drawn by the issuer and handed to the device with the attributes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    expiry: u32,
    level: u8,
    roles: u16,
    serial: u32,
    salt: [Field; SALT_LIMBS],
}

/// Why attributes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributesError {
    /// The expiry does not fit the range that the circuit compares in.
    #[error("expiry {0} is not an epoch: give hours since 1970, below 2^24")]
    Expiry(u32),
    /// A salt limb is at or above the modulus.
    #[error("salt: {0}")]
    Salt(#[from] NonCanonical),
}

impl Attributes {
    /// Length of [`Attributes::to_bytes`].
    pub const BYTES: usize = 23;

    /// Attributes with a fresh salt. `expiry` is the last epoch that the credential can prove, see [`expiry_of`](crate::expiry_of).
    ///
    /// # Errors
    /// [`AttributesError`] when a field is wider than its bits in the circuit.
    pub fn new(
        expiry: u32,
        level: u8,
        roles: u16,
        serial: u32,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Attributes, AttributesError> {
        Attributes { expiry, level, roles, serial, salt: rng.random() }.check()
    }

    /// Last epoch that the credential can prove.
    pub fn expiry(&self) -> u32 {
        self.expiry
    }

    /// Assurance level.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Role bits, not disclosed by this circuit.
    pub fn roles(&self) -> u16 {
        self.roles
    }

    /// Issuer's serial number, not disclosed by this circuit.
    pub fn serial(&self) -> u32 {
        self.serial
    }

    /// Storage form: expiry u32, level u8, roles u16, serial u32, three salt limbs u32, all little-endian.
    pub fn to_bytes(&self) -> [u8; Attributes::BYTES] {
        use p3_field::PrimeField32;
        let Attributes { expiry, level, roles, serial, salt } = self;
        let mut bytes = [0; Attributes::BYTES];
        bytes[..4].copy_from_slice(&expiry.to_le_bytes());
        bytes[4] = *level;
        bytes[5..7].copy_from_slice(&roles.to_le_bytes());
        bytes[7..11].copy_from_slice(&serial.to_le_bytes());
        for (chunk, limb) in bytes[11..].chunks_exact_mut(4).zip(salt) {
            chunk.copy_from_slice(&limb.as_canonical_u32().to_le_bytes());
        }
        bytes
    }

    /// Reads back [`Attributes::to_bytes`].
    ///
    /// # Errors
    /// [`AttributesError`] when a field is wider than its bits in the circuit.
    pub fn from_bytes(bytes: &[u8; Attributes::BYTES]) -> Result<Attributes, AttributesError> {
        use p3_field::PrimeField32;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let salt = [word(11), word(15), word(19)];
        if salt.iter().any(|&limb| limb >= Field::ORDER_U32) {
            return Err(NonCanonical.into());
        }
        Attributes {
            expiry: word(0),
            level: bytes[4],
            roles: u16::from_le_bytes([bytes[5], bytes[6]]),
            serial: word(7),
            salt: salt.map(Field::from_u32),
        }
        .check()
    }

    pub(crate) fn limbs(&self) -> [Field; LIMBS] {
        let Attributes { expiry, level, roles, serial, salt } = self;
        let [low, high] = [serial & 0xffff, serial >> 16];
        let mut limbs = [Field::ZERO; LIMBS];
        limbs[EXPIRY_LIMB] = Field::from_u32(*expiry);
        limbs[LEVEL_LIMB] = Field::from_u8(*level);
        limbs[2] = Field::from_u16(*roles);
        limbs[3] = Field::from_u32(low);
        limbs[4] = Field::from_u32(high);
        limbs[5..].copy_from_slice(salt);
        limbs
    }

    fn check(self) -> Result<Attributes, AttributesError> {
        if self.expiry < EPOCH_LIMIT { Ok(self) } else { Err(AttributesError::Expiry(self.expiry)) }
    }
}

trefoil_types::opaque_debug!(Attributes);

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn expiry_beyond_the_last_epoch_is_refused() {
        let rng = &mut StdRng::seed_from_u64(3);
        assert_eq!(Attributes::new(EPOCH_LIMIT, 1, 0, 0, rng), Err(AttributesError::Expiry(EPOCH_LIMIT)));
        let mut bytes = Attributes::new(1, 1, 0, 0, rng).expect("in range").to_bytes();
        bytes[3] = 1;
        assert_eq!(Attributes::from_bytes(&bytes), Err(AttributesError::Expiry(EPOCH_LIMIT + 1)));
    }

    #[test]
    fn a_salt_limb_above_the_modulus_is_refused() {
        let rng = &mut StdRng::seed_from_u64(3);
        let mut bytes = Attributes::new(1, 1, 0, 0, rng).expect("in range").to_bytes();
        bytes[19..].fill(0xff);
        assert_eq!(Attributes::from_bytes(&bytes), Err(AttributesError::Salt(NonCanonical)));
    }
}
