//! Encryption at rest: AES-256-GCM under a key of 256 bits.
//!
//! Associated data names the kind and owner of the bytes, so a record moved to another row does not open.
//!
//! Layout of wrapped bytes: nonce (12, random) | ciphertext | tag (16). Random nonces are safe up to 2^32 messages a
//! key (SP 800-38D section 8.3).

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use sha3::{Digest as _, Sha3_256};
use thiserror::Error;
use zeroize::Zeroizing;

/// A 256-bit key that wraps bytes.
pub struct WrapKey {
    key: RandomizedNonceKey,
    id: [u8; 8],
}

/// This key did not wrap the bytes under this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "stored bytes do not open under their key and name: the record was altered, moved, or belongs to another key"
)]
pub struct WrapError;

impl WrapKey {
    /// The key with these bytes.
    ///
    /// # Panics
    /// Never: AES-256 takes 32 bytes.
    pub fn new(bytes: &[u8; 32]) -> WrapKey {
        let key = RandomizedNonceKey::new(&AES_256_GCM, bytes).expect("AES-256 takes 32 bytes");
        let digest = Sha3_256::new().chain_update(b"trefoil/wrap-key-id/1").chain_update(bytes).finalize();
        WrapKey { key, id: std::array::from_fn(|i| digest[i]) }
    }

    /// Wraps `plain` so that it opens only under the same `name`.
    ///
    /// # Panics
    /// When `plain` is 64 GiB or more.
    pub fn wrap(&self, name: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut body = Vec::with_capacity(NONCE_LEN + plain.len() + AES_256_GCM.tag_len());
        body.extend_from_slice(plain);
        let aad = Aad::from(self.bind(name));
        let nonce = self.key.seal_in_place_append_tag(aad, &mut body).expect("records are far below 64 GiB");
        body.splice(0..0, *nonce.as_ref());
        body
    }

    /// Opens bytes that [`WrapKey::wrap`] made.
    pub fn open(&self, name: &[u8], wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, WrapError> {
        let (nonce, body) = wrapped.split_first_chunk::<NONCE_LEN>().ok_or(WrapError)?;
        let mut body = Zeroizing::new(body.to_vec());
        let aad = Aad::from(self.bind(name));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.key.open_in_place(nonce, aad, &mut body).map_err(|_| WrapError)?.len();
        body.truncate(length);
        Ok(body)
    }

    /// The associated data: key id, then the name. The id has a fixed length, so the two cannot run together.
    fn bind(&self, name: &[u8]) -> Vec<u8> {
        [self.id.as_slice(), name].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_altered_byte_and_every_cut_is_refused() {
        let key = WrapKey::new(&[7; 32]);
        let wrapped = key.wrap(b"name", b"plain");
        assert_eq!(key.open(b"name", &wrapped).unwrap().as_slice(), b"plain");
        for at in 0..wrapped.len() {
            let mut altered = wrapped.clone();
            altered[at] ^= 1;
            assert_eq!(key.open(b"name", &altered), Err(WrapError));
            assert_eq!(key.open(b"name", &wrapped[..at]), Err(WrapError));
        }
        assert_eq!(key.open(b"nam", &wrapped), Err(WrapError));
    }
}
