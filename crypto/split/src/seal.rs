//! A share sealed to the key-holder: X25519 and ML-KEM-768 (FIPS 203) together, AES-256-GCM under the agreed secret.
//!
//! The two shared secrets are combined as X-Wing does (draft-connolly-cfrg-xwing-kem): SHA3-256 over both, the X25519 ephemeral
//! and the X25519 public key. An attacker must break both to read a share. The AES key is SHA3-256 over a domain string and
//! that. It encrypts once, so its nonce is zero. Associated data is the [`Context`].
//!
//! Devices seal with pure Rust, in a browser too; the key-holder opens with aws-lc ([`crate::OpeningKey`]), so that each is the
//! other's check.
//!
//! Layout: ML-KEM ciphertext (1088) | X25519 ephemeral (32) | share (272, 544 or 1088 by width) | tag (16).

use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes256Gcm, KeyInit as _};
use ml_kem::kem::Encapsulate as _;
use ml_kem::ml_kem_768::EncapsulationKey;
use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;
use sha3::{Digest as _, Sha3_256};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use trefoil_bfv::Share;
use trefoil_types::{Handle, SessionId, TenantId, Width};
use x25519_dalek::{EphemeralSecret, PublicKey};
use zeroize::Zeroizing;

/// ML-KEM-768: encapsulation key and ciphertext.
pub(crate) const KEM_PUBLIC_BYTES: usize = 1184;
pub(crate) const KEM_CIPHERTEXT_BYTES: usize = 1088;
pub(crate) const X25519_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
/// The label of X-Wing's combiner.
const COMBINER: &[u8; 6] = b"\\.//^\\";

/// The use of a sealed share. It opens under no other. Device and key-holder each compute it from their own knowledge: a
/// gateway between them cannot name another use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context(pub(crate) [u8; 32]);

/// SHA3-256 of a sealing key, which devices pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// The key-holder's public key for shares. Cheap to clone compared with its use.
#[derive(Clone, PartialEq, Eq)]
pub struct SealingKey {
    bytes: [u8; SealingKey::BYTES],
}

/// A share that only the key-holder reads.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedShare {
    bytes: Box<[u8]>,
}

/// Why a sealing key is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealingKeyError {
    /// These are not the bytes of a key.
    #[error("a sealing key has {expected} bytes of an ML-KEM-768 and an X25519 key", expected = SealingKey::BYTES)]
    Key,
    /// A key, but not the pinned one.
    #[error(
        "the sealing key is not the pinned one; it may have been replaced in transit. Compare fingerprints with the key-holder's operator"
    )]
    Fingerprint,
}

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
        let key = SealingKey { bytes };
        key.kem().map(|_| key).ok_or(SealingKeyError::Key)
    }

    /// The ML-KEM part, if it passes the check of FIPS 203, section 7.2.
    fn kem(&self) -> Option<EncapsulationKey> {
        let bytes = self.bytes[..KEM_PUBLIC_BYTES].try_into().ok()?;
        EncapsulationKey::new(bytes).ok()
    }

    /// The X25519 part.
    pub(crate) fn x25519(&self) -> &[u8; X25519_BYTES] {
        self.bytes.last_chunk().expect("longer than that")
    }

    /// The fingerprint that devices pin.
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
        let kem = self.kem().expect("checked when the key was made");
        let mut random = UnwrapErr(SysRng);
        let (ciphertext, post_quantum) = kem.encapsulate_with_rng(&mut random);
        let ephemeral = EphemeralSecret::random_from_rng(&mut random);
        let public = PublicKey::from(&ephemeral);
        // A point of low order gives no shared secret; its owner would read the share anyway.
        let classic = ephemeral.diffie_hellman(&PublicKey::from(*self.x25519()));
        let key =
            combine(&Zeroizing::new(post_quantum), classic.as_bytes(), public.as_bytes(), self.x25519());

        let mut bytes = Vec::with_capacity(SealedShare::bytes(share.width()));
        bytes.extend_from_slice(&ciphertext);
        bytes.extend_from_slice(public.as_bytes());
        let mut body = Zeroizing::new(share.to_bytes());
        let tag = Aes256Gcm::new((&*key).into())
            .encrypt_inout_detached((&ONCE).into(), &context.0, body.as_mut_slice().into())
            .expect("a share is short");
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&tag);
        SealedShare { bytes: bytes.into() }
    }
}

impl SealedShare {
    /// Length of the encoding: 1,408, 1,680 or 2,224 by the width of the vector.
    pub const fn bytes(width: Width) -> usize {
        KEM_CIPHERTEXT_BYTES + X25519_BYTES + Share::bytes(width) + TAG_BYTES
    }

    /// The encoding, see the module.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes bytes of the length that shares of this width have.
    pub fn from_bytes(width: Width, bytes: &[u8]) -> Option<SealedShare> {
        (bytes.len() == SealedShare::bytes(width)).then(|| SealedShare { bytes: bytes.into() })
    }
}

/// The AES-256 key from the shared secrets and the public values.
pub(crate) fn combine(
    post_quantum: &[u8],
    classic: &[u8; X25519_BYTES],
    ephemeral: &[u8],
    public: &[u8; X25519_BYTES],
) -> Zeroizing<[u8; 32]> {
    let combined = Sha3_256::new_with_prefix(post_quantum)
        .chain_update(classic)
        .chain_update(ephemeral)
        .chain_update(public)
        .chain_update(COMBINER);
    let combined = Zeroizing::new(<[u8; 32]>::from(combined.finalize()));
    let key = Sha3_256::new_with_prefix(b"trefoil/split/aes-256-gcm/1").chain_update(*combined);
    Zeroizing::new(key.finalize().into())
}

/// The nonce of a key that encrypts once.
const ONCE: [u8; 12] = [0; 12];

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

trefoil_types::opaque_debug!(SealedShare);

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", self.fingerprint())
    }
}
