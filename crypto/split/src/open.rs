//! Opening, at the key-holder: with aws-lc, because it opens a share for each lane of a batch.

use crate::seal::{Context, KEM_CIPHERTEXT_BYTES, SealedShare, SealingKey, X25519_BYTES, combine};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::encoding::{AsBigEndian as _, Curve25519SeedBin};
use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};
use thiserror::Error;
use trefoil_bfv::Share;
use zeroize::Zeroizing;

const KEM_SECRET_BYTES: usize = 2400;

/// The key-holder's secret key for shares.
pub struct OpeningKey {
    kem: DecapsulationKey,
    x25519: PrivateKey,
    public: SealingKey,
}

/// The bytes are not a share that was sealed to this key for this use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the share was not sealed to this key-holder for this use")]
pub struct OpenError;

impl OpeningKey {
    /// Length of the stored form.
    pub const BYTES: usize = KEM_SECRET_BYTES + X25519_BYTES + SealingKey::BYTES;

    /// A fresh key.
    ///
    /// # Panics
    /// If the operating system gives no randomness.
    pub fn generate() -> OpeningKey {
        let kem = DecapsulationKey::generate(&ML_KEM_768).expect(RANDOM);
        let x25519 = PrivateKey::generate(&X25519).expect(RANDOM);
        let kem_public = kem.encapsulation_key().and_then(|key| key.key_bytes()).expect(RANDOM);
        let public = [kem_public.as_ref(), x25519.compute_public_key().expect(RANDOM).as_ref()].concat();
        let public = SealingKey::from_bytes(&public).expect("the public key of a key");
        OpeningKey { kem, x25519, public }
    }

    /// The key to store: secret.
    ///
    /// # Panics
    /// Never: the key can be written.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(OpeningKey::BYTES));
        bytes.extend_from_slice(self.kem.key_bytes().expect("a key can be written").as_ref());
        let x25519: Curve25519SeedBin<'_> = self.x25519.as_be_bytes().expect("a key can be written");
        bytes.extend_from_slice(x25519.as_ref());
        bytes.extend_from_slice(&self.public.to_bytes());
        bytes
    }

    /// A key that was stored.
    pub fn from_bytes(bytes: &[u8]) -> Option<OpeningKey> {
        let (kem, rest) = bytes.split_at_checked(KEM_SECRET_BYTES)?;
        let (x25519, public) = rest.split_at_checked(X25519_BYTES)?;
        Some(OpeningKey {
            kem: DecapsulationKey::new(&ML_KEM_768, kem).ok()?,
            x25519: PrivateKey::from_private_key(&X25519, x25519).ok()?,
            public: SealingKey::from_bytes(public).ok()?,
        })
    }

    /// The public key.
    pub fn sealing_key(&self) -> SealingKey {
        self.public.clone()
    }

    /// Opens a share.
    ///
    /// # Errors
    /// [`OpenError`] for anything that was not sealed to this key for this use.
    ///
    /// # Panics
    /// Never: the key has the length that AES-256 takes.
    pub fn open(&self, context: &Context, sealed: &SealedShare) -> Result<Share, OpenError> {
        let (ciphertext, rest) = sealed.as_bytes().split_at(KEM_CIPHERTEXT_BYTES);
        let (ephemeral, body) = rest.split_at(X25519_BYTES);
        let post_quantum = self.kem.decapsulate(ciphertext.into()).map_err(|_| OpenError)?;
        let classic = diffie_hellman(&self.x25519, ephemeral).ok_or(OpenError)?;
        let key = combine(post_quantum.as_ref(), &classic, ephemeral, self.public.x25519());
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).expect("AES-256 takes 32 bytes"));
        let mut body = Zeroizing::new(body.to_vec());
        let share = key
            .open_in_place(Nonce::assume_unique_for_key([0; NONCE_LEN]), Aad::from(context.0), &mut body)
            .map_err(|_| OpenError)?;
        Share::from_bytes(share).map_err(|_| OpenError)
    }
}

fn diffie_hellman(secret: &PrivateKey, public: &[u8]) -> Option<Zeroizing<[u8; X25519_BYTES]>> {
    let public = UnparsedPublicKey::new(&X25519, public);
    agree(secret, public, (), |shared| {
        let mut agreed = Zeroizing::new([0; X25519_BYTES]);
        agreed.copy_from_slice(shared);
        Ok(agreed)
    })
    .ok()
}

const RANDOM: &str = "the operating system's random source answers";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fingerprint, SealingKeyError};
    use trefoil_types::{Handle, SessionId, TenantId, Width};

    const TENANT: TenantId = TenantId::new([1; 16]);
    const HANDLE: Handle = Handle::new([2; 32]);

    fn share(width: Width) -> Share {
        Share::random(width, &mut rand::rng())
    }

    #[test]
    fn a_share_opens_for_its_key_and_use_only() {
        let (key, other) = (OpeningKey::generate(), OpeningKey::generate());
        let context = Context::probe(&TENANT, &HANDLE, &SessionId::new([3; 32]), b"nonce", 7);
        let share = share(Width::W256);
        let sealed = key.sealing_key().seal(&context, &share);
        assert!(key.open(&context, &sealed) == Ok(share.clone()));
        assert!(key.sealing_key().seal(&context, &share) != sealed, "fresh randomness");
        assert!(other.open(&context, &sealed) == Err(OpenError));
        for context in [
            Context::probe(&TenantId::new([9; 16]), &HANDLE, &SessionId::new([3; 32]), b"nonce", 7),
            Context::probe(&TENANT, &Handle::new([9; 32]), &SessionId::new([3; 32]), b"nonce", 7),
            Context::probe(&TENANT, &HANDLE, &SessionId::new([9; 32]), b"nonce", 7),
            Context::probe(&TENANT, &HANDLE, &SessionId::new([3; 32]), b"nonce2", 7),
            Context::probe(&TENANT, &HANDLE, &SessionId::new([3; 32]), b"nonce", 8),
            Context::template(&TENANT, &HANDLE, b"nonce", 7),
        ] {
            assert!(key.open(&context, &sealed) == Err(OpenError));
        }
    }

    #[test]
    fn every_altered_byte_and_every_other_length_is_refused() {
        let key = OpeningKey::generate();
        let context = Context::template(&TENANT, &HANDLE, b"key", 7);
        for width in Width::ALL {
            let share = share(width);
            let bytes = key.sealing_key().seal(&context, &share).as_bytes().to_vec();
            assert!(
                key.open(&context, &SealedShare::from_bytes(width, &bytes).expect("its own")) == Ok(share)
            );
            for at in 0..bytes.len() {
                let mut altered = bytes.clone();
                altered[at] ^= 1;
                let altered = SealedShare::from_bytes(width, &altered).expect("the length");
                assert!(key.open(&context, &altered) == Err(OpenError), "{at}");
            }
            assert!(SealedShare::from_bytes(width, &bytes[1..]).is_none());
            assert!(SealedShare::from_bytes(width, &[&bytes[..], &[0]].concat()).is_none());
            for other in Width::ALL.into_iter().filter(|other| *other != width) {
                assert!(SealedShare::from_bytes(other, &bytes).is_none());
                // What was cut to another length, or filled up.
                let mut other_length = bytes.clone();
                other_length.resize(SealedShare::bytes(other), 0);
                let cut = SealedShare::from_bytes(other, &other_length).expect("the length");
                assert!(key.open(&context, &cut) == Err(OpenError));
            }
        }
    }

    #[test]
    fn keys_are_read_back_and_pinned() {
        let key = OpeningKey::generate();
        let again = OpeningKey::from_bytes(&key.to_bytes()).expect("its own");
        assert_eq!(key.to_bytes().len(), OpeningKey::BYTES);
        let (context, share) = (Context::template(&TENANT, &HANDLE, b"", 7), share(Width::W512));
        assert!(again.open(&context, &key.sealing_key().seal(&context, &share)) == Ok(share));
        let public = SealingKey::from_bytes(&again.sealing_key().to_bytes()).expect("its own");
        let pin: Fingerprint = public.fingerprint().to_string().parse().expect("its own");
        assert!(public.clone().pinned(&pin).is_ok());
        let other = OpeningKey::generate().sealing_key();
        assert_eq!(other.pinned(&pin), Err(SealingKeyError::Fingerprint));
        assert_eq!(SealingKey::from_bytes(&[0; 1215]), Err(SealingKeyError::Key));
        assert_eq!(SealingKey::from_bytes(&[0xff; 1216]), Err(SealingKeyError::Key));
        assert!(OpeningKey::from_bytes(&key.to_bytes()[1..]).is_none());
    }
}
