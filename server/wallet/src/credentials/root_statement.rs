//! One credential root, signed by its issuer.

use sha3::{Digest as _, Sha3_256};
use thiserror::Error;
use trefoil_attest::{Family, ML_DSA_65_PUBLIC_KEY_BYTES, ML_DSA_65_SIGNATURE_BYTES};
use trefoil_zkp::Digest;
use trefoil_zkp::TenantId;

/// Prefix of the signed and hashed bytes.
const DOMAIN: &[u8] = b"trefoil/credential-root/1";
const MAGIC: [u8; 4] = *b"TFC1";

/// Names an issuer key: SHA3-256("trefoil/issuer-key/1" | public key).
pub use trefoil_types::IssuerKeyId;

/// A tenant's public key for credential roots: ML-DSA-65 (FIPS 204), empty context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerPublicKey(Box<[u8; ML_DSA_65_PUBLIC_KEY_BYTES]>);

/// "From now on the members of this tenant are those under this root."
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootStatement {
    /// The tenant.
    pub tenant: TenantId,
    /// Counts the tenant's roots from 1.
    pub generation: u32,
    /// Sessions under an older generation end.
    pub generation_min: u32,
    /// Root of the credential tree.
    pub root: Digest,
    /// Unix seconds, by the issuer's clock.
    pub issued_at: u64,
    /// [`RootStatement::digest`] of the statement before, zero for the first.
    pub previous: [u8; 32],
    /// The key that signs.
    pub key_id: IssuerKeyId,
}

/// A statement with its signature, which is not yet verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRoot {
    /// The statement's encoding.
    pub statement: Vec<u8>,
    /// ML-DSA-65 over domain and encoding.
    pub signature: Vec<u8>,
}

/// Why a signed root is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RootError {
    /// Not a statement of this version.
    #[error("not a credential root of version 1: expected {expected} bytes that begin with TFC1, got {got}")]
    Form {
        /// Bytes of a statement.
        expected: usize,
        /// Bytes received.
        got: usize,
    },
    /// The root is a malformed digest.
    #[error("the root is not eight little-endian limbs below 2^31 - 2^24 + 1")]
    Root,
    /// The minimum is above the generation.
    #[error("generation_min {generation_min} is above generation {generation}")]
    Minimum {
        /// The minimum.
        generation_min: u32,
        /// The generation.
        generation: u32,
    },
    /// Signed by another key than expected.
    #[error("signed by issuer key {}, expected {}", hex::encode(got), hex::encode(expected))]
    Key {
        /// The statement's key.
        got: IssuerKeyId,
        /// The key that was expected.
        expected: IssuerKeyId,
    },
    /// The signature does not verify.
    #[error("the signature does not verify under the issuer key")]
    Signature,
}

impl IssuerPublicKey {
    /// The key with these bytes; `None` for another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<IssuerPublicKey> {
        Some(IssuerPublicKey(Box::new(bytes.try_into().ok()?)))
    }

    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0[..]
    }

    /// Names the key.
    pub fn id(&self) -> IssuerKeyId {
        IssuerKeyId::new(
            Sha3_256::new().chain_update(b"trefoil/issuer-key/1").chain_update(&self.0[..]).finalize().into(),
        )
    }
}

impl RootStatement {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 16 + 4 + 4 + 32 + 8 + 32 + 32;

    /// The canonical encoding, integers little-endian: magic, tenant, generation, minimum, root, time, previous, key id.
    pub fn encode(&self) -> Vec<u8> {
        let RootStatement { tenant, generation, generation_min, root, issued_at, previous, key_id } = self;
        let mut bytes = Vec::with_capacity(RootStatement::BYTES);
        bytes.extend(MAGIC);
        bytes.extend(tenant.as_bytes());
        bytes.extend(generation.to_le_bytes());
        bytes.extend(generation_min.to_le_bytes());
        bytes.extend(root.as_bytes());
        bytes.extend(issued_at.to_le_bytes());
        bytes.extend(previous);
        bytes.extend(key_id.as_bytes());
        bytes
    }

    /// Reads exactly one encoding.
    ///
    /// # Errors
    /// [`RootError`] names what cannot be read.
    pub fn decode(bytes: &[u8]) -> Result<RootStatement, RootError> {
        let form = || RootError::Form { expected: RootStatement::BYTES, got: bytes.len() };
        if bytes.len() != RootStatement::BYTES || bytes[..4] != MAGIC {
            return Err(form());
        }
        let mut rest = &bytes[4..];
        let tenant = take(&mut rest).ok_or_else(form)?;
        let generation = u32::from_le_bytes(take(&mut rest).ok_or_else(form)?);
        let generation_min = u32::from_le_bytes(take(&mut rest).ok_or_else(form)?);
        let root = Digest::from_bytes(&take(&mut rest).ok_or_else(form)?).map_err(|_| RootError::Root)?;
        let issued_at = u64::from_le_bytes(take(&mut rest).ok_or_else(form)?);
        let previous = take(&mut rest).ok_or_else(form)?;
        let key_id = take(&mut rest).ok_or_else(form)?;
        if generation_min > generation {
            return Err(RootError::Minimum { generation_min, generation });
        }
        Ok(RootStatement {
            tenant: TenantId::new(tenant),
            generation,
            generation_min,
            root,
            issued_at,
            previous,
            key_id: IssuerKeyId::new(key_id),
        })
    }

    /// The signed bytes: "trefoil/credential-root/1" | encoding.
    pub fn message(&self) -> Vec<u8> {
        [DOMAIN, &self.encode()].concat()
    }

    /// SHA3-256("trefoil/credential-root/1" | encoding), which the next statement names as its predecessor.
    pub fn digest(&self) -> [u8; 32] {
        Sha3_256::new().chain_update(DOMAIN).chain_update(self.encode()).finalize().into()
    }
}

impl SignedRoot {
    /// The statement, if `key` signed it.
    ///
    /// # Errors
    /// [`RootError`] when the signature is wrong or the statement cannot be read.
    pub fn verify(&self, key: &IssuerPublicKey) -> Result<RootStatement, RootError> {
        let statement = RootStatement::decode(&self.statement)?;
        let expected = key.id();
        if statement.key_id != expected {
            return Err(RootError::Key { got: statement.key_id, expected });
        }
        let message = [DOMAIN, &self.statement].concat();
        match Family::MlDsa65.verifies(key.as_bytes(), &message, &self.signature) {
            true => Ok(statement),
            false => Err(RootError::Signature),
        }
    }

    /// Statement and signature, concatenated; both have a fixed length.
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.statement.as_slice(), &self.signature].concat()
    }

    /// Reads the bytes of [`SignedRoot::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Option<SignedRoot> {
        if bytes.len() != RootStatement::BYTES + ML_DSA_65_SIGNATURE_BYTES {
            return None;
        }
        let (statement, signature) = bytes.split_at(RootStatement::BYTES);
        Some(SignedRoot { statement: statement.to_vec(), signature: signature.to_vec() })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::testing::{public_key, sign};
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use trefoil_sign::{MlDsa65, SignatureFamily as _};

    fn signed() -> (SignedRoot, IssuerPublicKey, RootStatement) {
        let mut rng = StdRng::seed_from_u64(1);
        let mut key = MlDsa65::generate(&mut rng).unwrap();
        let public = public_key(&key);
        let statement = RootStatement {
            tenant: TenantId::new([1; 16]),
            generation: 0x0203_0405,
            generation_min: 7,
            root: Digest::from_bytes(&[8; 32]).unwrap(),
            issued_at: 9,
            previous: [10; 32],
            key_id: public.id(),
        };
        (sign(&statement, &mut key, &mut rng), public, statement)
    }

    #[test]
    fn a_signed_root_verifies_under_its_key_and_every_bit_counts() {
        let (signed, public, statement) = signed();
        assert_eq!(signed.verify(&public), Ok(statement));
        assert_eq!(SignedRoot::from_bytes(&signed.to_bytes()), Some(signed.clone()));
        for bit in 0..8 * signed.statement.len() {
            let mut altered = signed.clone();
            altered.statement[bit / 8] ^= 1 << (bit % 8);
            assert!(altered.verify(&public).is_err(), "bit {bit}");
        }
        for bit in (0..8 * signed.signature.len()).step_by(211) {
            let mut altered = signed.clone();
            altered.signature[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(altered.verify(&public), Err(RootError::Signature), "bit {bit}");
        }
    }

    #[test]
    fn what_is_no_statement_is_refused() {
        let (signed, _, statement) = signed();
        for length in 0..signed.statement.len() {
            assert!(RootStatement::decode(&signed.statement[..length]).is_err());
        }
        assert!(RootStatement::decode(&[signed.statement.as_slice(), &[0]].concat()).is_err());
        let above = RootStatement { generation: 6, ..statement };
        let refused = RootError::Minimum { generation_min: 7, generation: 6 };
        assert_eq!(RootStatement::decode(&above.encode()), Err(refused));
        let other = IssuerPublicKey::from_bytes(&[0; ML_DSA_65_PUBLIC_KEY_BYTES]).unwrap();
        assert!(matches!(signed.verify(&other), Err(RootError::Key { .. })));
        assert_eq!(IssuerPublicKey::from_bytes(&[0; 1951]), None);
    }
}
