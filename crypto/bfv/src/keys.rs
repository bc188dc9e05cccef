//! Keys: one master per tenant, one derived key per template.

use crate::basis::expand;
use crate::drbg::Drbg;
use crate::sample::TernarySampler;
use crate::wipe::wipe;
use crate::{Handle, Scheme};
use sha3::{Digest, Sha3_256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// A secret of 32 random bytes that is stored, and wiped on drop.
macro_rules! secret_bytes {
    ($(#[$text:meta])* $name:ident) => {
        $(#[$text])*
        #[derive(Clone, zeroize::Zeroize, zeroize::ZeroizeOnDrop)]
        pub struct $name([u8; 32]);

        impl $name {
            /// A fresh one.
            pub fn random(rng: &mut impl rand::CryptoRng) -> $name {
                let mut fresh = $name([0; 32]);
                rng.fill_bytes(&mut fresh.0);
                fresh
            }

            /// One that was stored.
            pub fn from_bytes(bytes: [u8; 32]) -> $name {
                $name(bytes)
            }

            /// The bytes to store.
            pub fn expose_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }
    };
}
pub(crate) use secret_bytes;

secret_bytes! {
    /// The secret from which a tenant's template keys are derived. Wiped on drop.
    MasterKey
}

secret_bytes! {
    /// The random part of one template's key. Erasing it shreds the template. Wiped on drop.
    Salt
}

/// The key of one template: a seed that expands to a ternary polynomial. Wiped on drop.
#[derive(Clone)]
pub struct SubjectKey([u8; 32]);

impl MasterKey {
    /// The key of template `generation` of `handle`: SHA3-256 over a domain string, the master key, the handle, the
    /// generation (4 bytes, little-endian) and the salt, all of fixed length. With the key in front, the sponge is a PRF.
    pub fn subject_key(&self, handle: &Handle, generation: u32, salt: &Salt) -> SubjectKey {
        let digest = Sha3_256::new()
            .chain_update(b"trefoil/bfv/subject/1")
            .chain_update(self.0)
            .chain_update(handle.as_bytes())
            .chain_update(generation.to_le_bytes())
            .chain_update(salt.0);
        let mut key = SubjectKey([0; 32]);
        digest.finalize_into((&mut key.0).into());
        key
    }

    /// The seed of the tenant's one key, in the structure that has one: SHA3-256 over a domain string and the master key.
    pub(crate) fn tenant_seed(&self) -> Zeroizing<[u8; 32]> {
        let mut seed = Zeroizing::new([0; 32]);
        let digest = Sha3_256::new().chain_update(b"trefoil/bfv/tenant/1").chain_update(self.0);
        digest.finalize_into((&mut *seed).into());
        seed
    }

    /// The generator of the error of the tenant's public encryption of zero with this seed.
    pub(crate) fn zero_seed(&self, seed: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let mut drawn = Zeroizing::new([0; 32]);
        let digest =
            Sha3_256::new().chain_update(b"trefoil/bfv/zero-error/1").chain_update(self.0).chain_update(seed);
        digest.finalize_into((&mut *drawn).into());
        drawn
    }
}

/// As a block: every batch wipes 32 of them.
impl Zeroize for SubjectKey {
    fn zeroize(&mut self) {
        wipe(&mut self.0);
    }
}

impl Drop for SubjectKey {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for SubjectKey {}

impl SubjectKey {
    /// The key that expands from `seed`.
    pub(crate) fn from_seed(seed: Zeroizing<[u8; 32]>) -> SubjectKey {
        SubjectKey(*seed)
    }

    /// The seed that [`TernarySampler::expand`] takes.
    pub(crate) fn seed(&self) -> &[u8; 32] {
        &self.0
    }

    /// The uniform polynomial that goes with this key where the secret is the tenant's: `c1` of the template.
    pub(crate) fn second_part(&self, scheme: &Scheme) -> Vec<u64> {
        expand(scheme, b"trefoil/bfv/pair/1", &self.0)
    }

    /// Adds `scale` times this key's polynomial to `acc`.
    pub(crate) fn add_to(&self, sampler: &mut TernarySampler, scale: i32, acc: &mut [i32]) {
        sampler.add(&mut Drbg::from_seed(self.0), scale, acc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cpu, N, Tier};

    #[test]
    fn every_input_changes_the_key() {
        let key = |master: u8, handle: u8, generation: u32, salt: u8| {
            MasterKey::from_bytes([master; 32])
                .subject_key(&Handle::new([handle; 32]), generation, &Salt::from_bytes([salt; 32]))
                .0
        };
        let keys = [key(1, 1, 1, 1), key(2, 1, 1, 1), key(1, 2, 1, 1), key(1, 1, 2, 1), key(1, 1, 1, 2)];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
        assert_eq!(keys[0], key(1, 1, 1, 1));
    }

    #[test]
    fn the_expansion_is_pinned() {
        // Stored templates are encrypted under expanded keys: another derivation would make them unreadable. The digest is of
        // the 4096 digits, one byte each, and holds on every tier.
        let key =
            MasterKey::from_bytes([1; 32]).subject_key(&Handle::new([2; 32]), 3, &Salt::from_bytes([4; 32]));
        for tier in Tier::available() {
            let mut digits = vec![0; N];
            key.add_to(&mut TernarySampler::new(Cpu::at_most(tier)), 1, &mut digits);
            let bytes: Vec<u8> = digits.iter().map(|digit| *digit as u8).collect();
            assert_eq!(Sha3_256::digest(&bytes)[..8], PINNED_KEY, "{tier:?}");
        }
    }

    /// Computed independently of this crate: SHA3-256 and integer division of Python, AES of OpenSSL.
    const PINNED_KEY: [u8; 8] = [143, 13, 58, 42, 35, 115, 150, 152];

    #[test]
    fn keys_are_wiped() {
        let mut rng = Drbg::from_seed([1; 32]);
        let (mut master, mut salt) = (MasterKey::random(&mut rng), Salt::random(&mut rng));
        let mut key = master.subject_key(&Handle::new([0; 32]), 0, &salt);
        assert!(master.0 != [0; 32] && salt.0 != [0; 32] && key.0 != [0; 32]);
        master.zeroize();
        salt.zeroize();
        key.zeroize();
        assert_eq!((master.0, salt.0, key.0), ([0; 32], [0; 32], [0; 32]));
    }
}
