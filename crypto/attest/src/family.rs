//! The three signature families of suite 1: names, identifiers, sizes, verification.

use core::fmt;

use fn_dsa_vrfy::VerifyingKey as _;
use slh_dsa::signature::Verifier as _;

/// A signature family with its exact parameter set and encoding. All three sign every seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// ML-DSA-65, FIPS 204, empty context.
    MlDsa65,
    /// Falcon-512 as submitted to round 3, padded 666-byte signatures. Not FN-DSA: FIPS 206 is unpublished.
    Falcon512,
    /// SLH-DSA-SHA2-128f, FIPS 205, pure, empty context.
    SlhDsaSha2_128f,
}

/// Bytes of an ML-DSA-44 public key (FIPS 204 table 2).
pub const ML_DSA_44_PUBLIC_KEY_BYTES: usize = 1312;
/// Bytes of an ML-DSA-44 signature (FIPS 204 table 2).
pub const ML_DSA_44_SIGNATURE_BYTES: usize = 2420;
/// Bytes of an ML-DSA-65 public key (FIPS 204 table 2).
pub const ML_DSA_65_PUBLIC_KEY_BYTES: usize = 1952;
/// Bytes of an ML-DSA-65 signature (FIPS 204 table 2).
pub const ML_DSA_65_SIGNATURE_BYTES: usize = 3309;
/// Bytes of a Falcon-512 public key (Falcon specification 1.2, table 3.3).
pub const FALCON_512_PUBLIC_KEY_BYTES: usize = 897;
/// Bytes of a padded Falcon-512 signature (Falcon specification 1.2, table 3.3).
pub const FALCON_512_SIGNATURE_BYTES: usize = 666;
/// Bytes of an SLH-DSA-SHA2-128f public key (FIPS 205 table 2).
pub const SLH_DSA_SHA2_128F_PUBLIC_KEY_BYTES: usize = 32;
/// Bytes of an SLH-DSA-SHA2-128f signature (FIPS 205 table 2).
pub const SLH_DSA_SHA2_128F_SIGNATURE_BYTES: usize = 17_088;

impl Family {
    /// The families in the fixed order of key sets, seals and attestations.
    pub const ALL: [Self; 3] = [Self::MlDsa65, Self::Falcon512, Self::SlhDsaSha2_128f];

    /// Position in [`Family::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::MlDsa65 => 0,
            Self::Falcon512 => 1,
            Self::SlhDsaSha2_128f => 2,
        }
    }

    /// The identifier used in JSON, command lines and logs.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::MlDsa65 => "ml-dsa-65",
            Self::Falcon512 => "falcon-512-padded-r3",
            Self::SlhDsaSha2_128f => "slh-dsa-sha2-128f",
        }
    }

    /// The name shown to people, with the document that defines it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa65 => "ML-DSA-65 (FIPS 204)",
            Self::Falcon512 => "Falcon-512 (round 3, padded)",
            Self::SlhDsaSha2_128f => "SLH-DSA-SHA2-128f (FIPS 205)",
        }
    }

    /// COSE algorithm. ML-DSA-65 is registered (RFC 9964); the others have no registration for exactly these
    /// parameters and use the private-use range (below -65536).
    #[must_use]
    pub const fn cose_algorithm(self) -> i64 {
        match self {
            Self::MlDsa65 => -49,
            Self::Falcon512 => -66512,
            Self::SlhDsaSha2_128f => -66128,
        }
    }

    /// Bytes of a public key.
    #[must_use]
    pub const fn public_key_bytes(self) -> usize {
        match self {
            Self::MlDsa65 => ML_DSA_65_PUBLIC_KEY_BYTES,
            Self::Falcon512 => FALCON_512_PUBLIC_KEY_BYTES,
            Self::SlhDsaSha2_128f => SLH_DSA_SHA2_128F_PUBLIC_KEY_BYTES,
        }
    }

    /// Bytes of a signature: every family has exactly one length here.
    #[must_use]
    pub const fn signature_bytes(self) -> usize {
        match self {
            Self::MlDsa65 => ML_DSA_65_SIGNATURE_BYTES,
            Self::Falcon512 => FALCON_512_SIGNATURE_BYTES,
            Self::SlhDsaSha2_128f => SLH_DSA_SHA2_128F_SIGNATURE_BYTES,
        }
    }

    /// Whether `signature` over `message` verifies under `public_key`. Wrong lengths and undecodable keys or
    /// signatures are `false`. Inputs are public: the time may depend on them.
    #[must_use]
    pub fn verifies(self, public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::MlDsa65 => verify_ml_dsa_65(public_key, message, signature),
            Self::Falcon512 => verify_falcon_512(public_key, message, signature),
            Self::SlhDsaSha2_128f => verify_slh_dsa_sha2_128f(public_key, message, signature),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether an ML-DSA-44 signature with an empty context verifies. No family of seals: devices and witnesses sign with it.
pub(crate) fn verify_ml_dsa_44(
    public_key: &[u8; ML_DSA_44_PUBLIC_KEY_BYTES],
    message: &[u8],
    signature: &[u8; ML_DSA_44_SIGNATURE_BYTES],
) -> bool {
    use fips204::traits::{SerDes as _, Verifier as _};
    fips204::ml_dsa_44::PublicKey::try_from_bytes(*public_key)
        .is_ok_and(|public_key| public_key.verify(message, signature, &[]))
}

fn verify_ml_dsa_65(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    use fips204::traits::{SerDes as _, Verifier as _};
    let (Ok(public_key), Ok(signature)) = (public_key.try_into(), signature.try_into()) else {
        return false;
    };
    fips204::ml_dsa_65::PublicKey::try_from_bytes(public_key)
        .is_ok_and(|public_key| public_key.verify(message, signature, &[]))
}

fn verify_falcon_512(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    fn_dsa_vrfy::VerifyingKey512::decode(public_key).is_some_and(|public_key| {
        public_key.verify(
            signature,
            &fn_dsa_vrfy::DOMAIN_NONE,
            &fn_dsa_vrfy::HASH_ID_ORIGINAL_FALCON,
            message,
        )
    })
}

fn verify_slh_dsa_sha2_128f(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    use slh_dsa::{Sha2_128f, Signature, VerifyingKey};
    let (Ok(public_key), Ok(signature)) =
        (VerifyingKey::<Sha2_128f>::try_from(public_key), Signature::<Sha2_128f>::try_from(signature))
    else {
        return false;
    };
    public_key.verify(message, &signature).is_ok()
}
