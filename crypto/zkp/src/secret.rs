//! The device's credential secret.

use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rand::{CryptoRng, RngExt};
use sha3::{Digest as _, Sha3_256};
use trefoil_types::TenantId;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::digest::{Field, LIMBS, NonCanonical, words};

/// 248 bits made on the device and never sent: eight limbs, each uniform below the KoalaBear modulus.
///
/// Wiped when dropped; no `Debug` of the value, no `Clone`, no comparison.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret([u32; LIMBS]);

impl Secret {
    /// A fresh secret. Production callers pass an OS-seeded generator.
    pub fn random(rng: &mut (impl CryptoRng + ?Sized)) -> Secret {
        Secret(std::array::from_fn(|_| rng.random::<Field>().as_canonical_u32()))
    }

    /// Reads back what [`Secret::to_bytes`] wrote: eight little-endian limbs, each below the modulus.
    ///
    /// # Errors
    /// [`NonCanonical`] when a limb is not below the modulus.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Secret, NonCanonical> {
        let words = Zeroizing::new(words(bytes));
        if words.iter().all(|&word| word < Field::ORDER_U32) { Ok(Secret(*words)) } else { Err(NonCanonical) }
    }

    /// The 32 bytes to keep in the device's protected storage. Wiped when dropped.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        let mut bytes = Zeroizing::new([0; 32]);
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(&self.0) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The seed of the key with which this secret's holder signs for its account with `audience`: SHA3-256("trefoil/account-key/1" | secret |
    /// tenant | u32 length | audience), little-endian. Wiped when dropped.
    pub fn account_key_seed(&self, tenant: &TenantId, audience: &str) -> Zeroizing<[u8; 32]> {
        let hash = Sha3_256::new()
            .chain_update(b"trefoil/account-key/1")
            .chain_update(&self.to_bytes()[..])
            .chain_update(tenant)
            .chain_update((audience.len() as u32).to_le_bytes())
            .chain_update(audience);
        Zeroizing::new(hash.finalize().into())
    }

    pub(crate) fn limbs(&self) -> [Field; LIMBS] {
        self.0.map(Field::from_u32)
    }
}

trefoil_types::opaque_debug!(Secret);

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn bytes_round_trip_and_non_canonical_bytes_are_refused() {
        let secret = Secret::random(&mut StdRng::seed_from_u64(1));
        let again = Secret::from_bytes(&secret.to_bytes()).expect("canonical");
        assert_eq!(*again.to_bytes(), *secret.to_bytes());
        assert_eq!(Secret::from_bytes(&[0xff; 32]).err(), Some(NonCanonical));
    }

    #[test]
    fn debug_does_not_show_the_value() {
        assert_eq!(format!("{:?}", Secret::random(&mut StdRng::seed_from_u64(1))), "Secret(..)");
    }

    #[test]
    fn wiping_leaves_zero() {
        let mut secret = Secret::random(&mut StdRng::seed_from_u64(1));
        secret.zeroize();
        assert_eq!(secret.0, [0; LIMBS]);
    }
}
