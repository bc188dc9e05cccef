//! Signing in two halves: one thread signs and another checks.
//!
//! A seal takes as long to check as to sign, because SLH-DSA is computed a second time. A signer of many seals signs the
//! next one meanwhile. Between the halves the signatures are in a type that does not expose them and is zeroised.

use trefoil_attest::{Family, PublicKeySet, Seal, SealHeader};
use zeroize::Zeroizing;

use crate::error::SignError;
use crate::falcon_512::Falcon512;
use crate::family::released;
use crate::ml_dsa_65::MlDsa65;
use crate::slh_dsa_sha2_128f::{SlhDsaSha2_128f, UncheckedSignature};

/// A header and its unchecked signatures. Only [`SealChecker::check`] gets a seal out of it.
pub struct UncheckedSeal {
    pub(crate) header: SealHeader,
    pub(crate) signatures: UncheckedSignatures,
}

impl UncheckedSeal {
    /// What is signed.
    #[must_use]
    pub fn header(&self) -> &SealHeader {
        &self.header
    }
}

/// One signature of each family.
pub(crate) struct UncheckedSignatures {
    pub(crate) ml_dsa_65: Zeroizing<Vec<u8>>,
    pub(crate) falcon_512: Zeroizing<Vec<u8>>,
    pub(crate) slh_dsa_sha2_128f: UncheckedSignature,
}

/// Checks the signatures of [`crate::SigningKeys`]: verifies all three under the public keys, and computes that of
/// SLH-DSA again, with a copy of its key (a fault in one copy is detected by the other).
pub struct SealChecker {
    pub(crate) public: PublicKeySet,
    pub(crate) slh_dsa_sha2_128f: SlhDsaSha2_128f,
}

impl SealChecker {
    /// The seal, if all of it is correct: the signed message is recomputed from the header that is released, not
    /// taken over from the signer.
    ///
    /// # Errors
    /// [`SignError::Fault`]; nothing is released then.
    pub fn check(&self, unchecked: UncheckedSeal) -> Result<Seal, SignError> {
        let UncheckedSeal { header, signatures } = unchecked;
        let messages = Family::ALL.map(|family| header.to_be_signed(family));
        let signatures = self.released(&messages, signatures)?;
        Ok(Seal { header, signatures })
    }

    pub(crate) fn released(
        &self,
        [ml_dsa_65, falcon_512, slh_dsa_sha2_128f]: &[Vec<u8>; 3],
        unchecked: UncheckedSignatures,
    ) -> Result<[Vec<u8>; 3], SignError> {
        let public = &self.public;
        Ok([
            released::<MlDsa65>(&public.ml_dsa_65[..], ml_dsa_65, unchecked.ml_dsa_65)?,
            released::<Falcon512>(&public.falcon_512[..], falcon_512, unchecked.falcon_512)?,
            self.slh_dsa_sha2_128f.check(
                &public.slh_dsa_sha2_128f,
                slh_dsa_sha2_128f,
                unchecked.slh_dsa_sha2_128f,
            )?,
        ])
    }
}
