//! A share sealed to the key-holder: X25519 and ML-KEM-768 (FIPS 203) together, AES-256-GCM under what they agree on.
//!
//! The two shared secrets are combined as X-Wing does (draft-connolly-cfrg-xwing-kem): SHA3-256 over both, the X25519 ephemeral
//! and the X25519 public key; anybody who is to read a share must break both. The AES key is SHA3-256 over a domain string and
//! that. It encrypts once, so its nonce is zero. Associated data is the [`Context`].
//!
//! Layout: ML-KEM ciphertext (1088) | X25519 ephemeral (32) | share (272) | tag (16).

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::encoding::{AsBigEndian as _, Curve25519SeedBin};
use aws_lc_rs::kem::{DecapsulationKey, EncapsulationKey, ML_KEM_768};
use sha3::{Digest as _, Sha3_256};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use trefoil_bfv::Share;
use trefoil_types::{Handle, SessionId, TenantId};
use zeroize::Zeroizing;

/// ML-KEM-768: encapsulation key, decapsulation key, ciphertext.
const KEM_PUBLIC_BYTES: usize = 1184;
const KEM_SECRET_BYTES: usize = 2400;
const KEM_CIPHERTEXT_BYTES: usize = 1088;
const X25519_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
/// The label of X-Wing's combiner.
const COMBINER: &[u8; 6] = b"\\.//^\\";

/// What a sealed share is for. It opens under no other. Device and key-holder each compute it from what they know themselves: a
/// gateway between them cannot name another use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context([u8; 32]);

/// SHA3-256 of a sealing key: what devices pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// The key-holder's public key for shares. Cheap to clone compared with its use.
#[derive(Clone, PartialEq, Eq)]
pub struct SealingKey {
    bytes: [u8; SealingKey::BYTES],
}

/// The key-holder's secret key for shares.
pub struct OpeningKey {
    kem: DecapsulationKey,
    x25519: PrivateKey,
    public: SealingKey,
}

/// A share that only the key-holder reads.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedShare {
    bytes: Box<[u8; SealedShare::BYTES]>,
}

/// Why a sealing key is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealingKeyError {
    /// These are not the bytes of a key.
    #[error("a sealing key has {expected} bytes of an ML-KEM-768 and an X25519 key", expected = SealingKey::BYTES)]
    Key,
    /// A key, but another one.
    #[error(
        "the sealing key is not the one that was pinned: somebody between here and the key-holder may have replaced it"
    )]
    Fingerprint,
}

/// The bytes are not a share that was sealed to this key for this use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the share was not sealed to this key-holder for this use")]
pub struct OpenError;

impl Context {
    /// A probe of a subject in a session, under the request's nonce and the second at which the device sealed it.
    pub fn probe(
        tenant: &TenantId,
        handle: &Handle,
        session: &SessionId,
        nonce: &[u8],
        issued_at: u64,
    ) -> Context {
        Context::of(b"trefoil/split/probe/2", tenant, handle, session, issued_at, nonce)
    }

    /// A template of a subject, under the enrolment's idempotency key and the second at which the device sealed it.
    pub fn template(tenant: &TenantId, handle: &Handle, idempotency_key: &[u8], issued_at: u64) -> Context {
        Context::of(
            b"trefoil/split/template/2",
            tenant,
            handle,
            &SessionId::new([0; 32]),
            issued_at,
            idempotency_key,
        )
    }

    /// A domain string, four fixed lengths, and one variable at the end.
    fn of(
        domain: &[u8],
        tenant: &TenantId,
        handle: &Handle,
        session: &SessionId,
        issued_at: u64,
        nonce: &[u8],
    ) -> Context {
        let digest = Sha3_256::new_with_prefix(domain).chain_update(tenant).chain_update(handle);
        let digest = digest.chain_update(session).chain_update(issued_at.to_le_bytes());
        Context(digest.chain_update(nonce).finalize().into())
    }
}

impl SealingKey {
    /// Length of the encoding: 1216.
    pub const BYTES: usize = KEM_PUBLIC_BYTES + X25519_BYTES;

    /// The encoding: the ML-KEM-768 encapsulation key, then the X25519 key.
    pub fn to_bytes(&self) -> [u8; SealingKey::BYTES] {
        self.bytes
    }

    /// Reads the encoding.
    ///
    /// # Errors
    /// [`SealingKeyError::Key`].
    pub fn from_bytes(bytes: &[u8]) -> Result<SealingKey, SealingKeyError> {
        let bytes: [u8; SealingKey::BYTES] = bytes.try_into().map_err(|_| SealingKeyError::Key)?;
        // The check of FIPS 203, section 7.2, is made where the key is used.
        EncapsulationKey::new(&ML_KEM_768, &bytes[..KEM_PUBLIC_BYTES])
            .ok()
            .and_then(|key| key.encapsulate().ok())
            .ok_or(SealingKeyError::Key)?;
        Ok(SealingKey { bytes })
    }

    /// What devices pin.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(
            Sha3_256::new_with_prefix(b"trefoil/sealing-key/1").chain_update(self.bytes).finalize().into(),
        )
    }

    /// This key, if it is the one with this fingerprint.
    ///
    /// # Errors
    /// [`SealingKeyError::Fingerprint`].
    pub fn pinned(self, fingerprint: &Fingerprint) -> Result<SealingKey, SealingKeyError> {
        if self.fingerprint() == *fingerprint { Ok(self) } else { Err(SealingKeyError::Fingerprint) }
    }

    /// Seals a share.
    ///
    /// # Panics
    /// If the operating system gives no randomness.
    pub fn seal(&self, context: &Context, share: &Share) -> SealedShare {
        let (kem, x25519) = self.bytes.split_at(KEM_PUBLIC_BYTES);
        let kem = EncapsulationKey::new(&ML_KEM_768, kem).expect("checked when the key was made");
        let (ciphertext, post_quantum) = kem.encapsulate().expect(RANDOM);
        let ephemeral = PrivateKey::generate(&X25519).expect(RANDOM);
        let public = ephemeral.compute_public_key().expect(RANDOM);
        // A point of low order gives no agreement; its owner would read the share anyway.
        let classic = diffie_hellman(&ephemeral, x25519).unwrap_or_default();
        let key = combine(post_quantum.as_ref(), &*classic, public.as_ref(), x25519);

        let mut bytes = Vec::with_capacity(SealedShare::BYTES);
        bytes.extend_from_slice(ciphertext.as_ref());
        bytes.extend_from_slice(public.as_ref());
        let mut body = Zeroizing::new(share.to_bytes());
        let tag = key
            .seal_in_place_separate_tag(once(), Aad::from(context.0), &mut *body)
            .expect("a share is short");
        bytes.extend_from_slice(&*body);
        bytes.extend_from_slice(tag.as_ref());
        SealedShare { bytes: bytes.try_into().expect("the lengths add up") }
    }
}

impl SealedShare {
    /// Length of the encoding: 1408.
    pub const BYTES: usize = KEM_CIPHERTEXT_BYTES + X25519_BYTES + Share::BYTES + TAG_BYTES;

    /// The encoding, see the module.
    pub fn as_bytes(&self) -> &[u8; SealedShare::BYTES] {
        &self.bytes
    }

    /// Takes bytes of the right length.
    pub fn from_bytes(bytes: &[u8]) -> Option<SealedShare> {
        Some(SealedShare { bytes: Box::new(bytes.try_into().ok()?) })
    }
}

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
        let bytes = public.try_into().expect("the lengths add up");
        OpeningKey { kem, x25519, public: SealingKey { bytes } }
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
        bytes.extend_from_slice(&self.public.bytes);
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
    pub fn open(&self, context: &Context, sealed: &SealedShare) -> Result<Share, OpenError> {
        let (ciphertext, rest) = sealed.bytes.split_at(KEM_CIPHERTEXT_BYTES);
        let (ephemeral, body) = rest.split_at(X25519_BYTES);
        let post_quantum = self.kem.decapsulate(ciphertext.into()).map_err(|_| OpenError)?;
        let classic = diffie_hellman(&self.x25519, ephemeral).ok_or(OpenError)?;
        let key =
            combine(post_quantum.as_ref(), &*classic, ephemeral, &self.public.bytes[KEM_PUBLIC_BYTES..]);
        let mut body = Zeroizing::new(body.to_vec());
        let share = key.open_in_place(once(), Aad::from(context.0), &mut body).map_err(|_| OpenError)?;
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

fn combine(post_quantum: &[u8], classic: &[u8], ephemeral: &[u8], public: &[u8]) -> LessSafeKey {
    let combined = Sha3_256::new_with_prefix(post_quantum)
        .chain_update(classic)
        .chain_update(ephemeral)
        .chain_update(public)
        .chain_update(COMBINER);
    let combined = Zeroizing::new(<[u8; 32]>::from(combined.finalize()));
    let key = Sha3_256::new_with_prefix(b"trefoil/split/aes-256-gcm/1").chain_update(*combined);
    let key = Zeroizing::new(<[u8; 32]>::from(key.finalize()));
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).expect("AES-256 takes 32 bytes"))
}

/// The nonce of a key that encrypts once.
fn once() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

const RANDOM: &str = "the operating system's random source answers";

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Fingerprint, hex::FromHexError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Fingerprint(bytes))
    }
}

impl fmt::Debug for SealedShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedShare(..)")
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId::new([1; 16]);
    const HANDLE: Handle = Handle::new([2; 32]);

    fn share() -> Share {
        Share::random(&mut rand::rng())
    }

    #[test]
    fn a_share_opens_for_its_key_and_use_only() {
        let (key, other) = (OpeningKey::generate(), OpeningKey::generate());
        let context = Context::probe(&TENANT, &HANDLE, &SessionId::new([3; 32]), b"nonce", 7);
        let share = share();
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
        let bytes = *key.sealing_key().seal(&context, &share()).as_bytes();
        for at in 0..bytes.len() {
            let mut altered = bytes;
            altered[at] ^= 1;
            let altered = SealedShare::from_bytes(&altered).expect("the length");
            assert!(key.open(&context, &altered) == Err(OpenError), "{at}");
        }
        assert!(SealedShare::from_bytes(&bytes[1..]).is_none());
        assert!(SealedShare::from_bytes(&[&bytes[..], &[0]].concat()).is_none());
    }

    #[test]
    fn keys_are_read_back_and_pinned() {
        let key = OpeningKey::generate();
        let again = OpeningKey::from_bytes(&key.to_bytes()).expect("its own");
        assert_eq!(key.to_bytes().len(), OpeningKey::BYTES);
        let (context, share) = (Context::template(&TENANT, &HANDLE, b"", 7), share());
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
