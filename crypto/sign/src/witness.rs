//! The signing key of a witness of the log: ML-DSA-44 by aws-lc-rs, independent of every issuer.

use aws_lc_rs::signature::{KeyPair as _, ML_DSA_44, ML_DSA_44_SIGNING, PqdsaKeyPair, UnparsedPublicKey};
use rand::CryptoRng;
use trefoil_attest::witness::{Checkpoint, SIGNATURE_BYTES, Witness, WitnessError};
use zeroize::Zeroizing;

/// A witness's name and secret key, stored as the 32-byte seed.
pub struct WitnessKey {
    seed: Zeroizing<[u8; 32]>,
    key: PqdsaKeyPair,
    witness: Witness,
}

impl WitnessKey {
    /// A new key for this name.
    ///
    /// # Errors
    /// A name that a note cannot carry.
    pub fn generate(name: &str, rng: &mut impl CryptoRng) -> Result<Self, WitnessError> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut seed[..]);
        Self::from_seed(name, &seed)
    }

    /// The key that was stored as `seed` under this name.
    ///
    /// # Errors
    /// A name that a note cannot carry.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, WitnessError> {
        let key = PqdsaKeyPair::from_seed(&ML_DSA_44_SIGNING, seed).map_err(|_| WitnessError::Key)?;
        let public_key = key.public_key().as_ref().try_into().map_err(|_| WitnessError::Key)?;
        let witness = Witness::new(name, public_key)?;
        Ok(Self { seed: Zeroizing::new(*seed), key, witness })
    }

    /// The seed to store, for a file that only the witness can read.
    #[must_use]
    pub fn seed(&self) -> &Zeroizing<[u8; 32]> {
        &self.seed
    }

    /// The public side.
    #[must_use]
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// A note's signature line over a head that the caller has found consistent with everything it saw before. The
    /// signature is verified before it is returned; none if it does not verify or a name is too long.
    #[must_use]
    pub fn cosign(&self, checkpoint: &Checkpoint, time: u64) -> Option<String> {
        let message = checkpoint.cosigned_message(self.witness.name(), time)?;
        let mut signature = vec![0; SIGNATURE_BYTES];
        let length = self.key.sign(&message, &mut signature).ok()?;
        let verifies = UnparsedPublicKey::new(&ML_DSA_44, self.key.public_key().as_ref())
            .verify(&message, &signature)
            .is_ok();
        (length == SIGNATURE_BYTES && verifies).then(|| self.witness.signature_line(time, &signature))
    }
}
