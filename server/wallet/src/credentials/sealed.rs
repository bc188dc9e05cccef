//! Secrets under a passphrase: Argon2id (RFC 9106) and XChaCha20-Poly1305.
//!
//! Layout: magic "TFE1", memory in KiB u32, passes u32, lanes u32 (little-endian), salt (16), nonce (24), ciphertext with
//! its tag, and a checksum of everything before it (SHA3-256, first 16 bytes). The checksum needs no secret: it distinguishes
//! a damaged file from a wrong passphrase, which the tag cannot.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rand::{CryptoRng, RngExt as _};
use sha3::{Digest as _, Sha3_256};
use thiserror::Error;
use zeroize::Zeroizing;

const MAGIC: [u8; 4] = *b"TFE1";
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 16;
const HEAD_BYTES: usize = 4 + 12 + SALT_BYTES + NONCE_BYTES;
const TAG_BYTES: usize = 16;

/// Largest memory that a file may ask for, KiB, because a stranger's file must not exhaust the machine.
const MEMORY_KIB_MAX: u32 = 1 << 20;
const PASSES_MAX: u32 = 16;
const LANES_MAX: u32 = 8;
/// Shortest passphrase in bytes.
pub const PASSPHRASE_BYTES_MIN: usize = 8;

/// The cost of a guess of the passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory, KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Cost {
    /// RFC 9106's second recommendation: 64 MiB, three passes, four lanes.
    pub const RECOMMENDED: Cost = Cost { memory_kib: 1 << 16, passes: 3, lanes: 4 };
}

/// Why a sealed secret does not open, or cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealedError {
    /// Not of this format.
    #[error("not a sealed file of version 1 (it does not begin with TFE1)")]
    Format,
    /// Its checksum is wrong.
    #[error("damaged: the checksum does not hold; restore the file from a backup")]
    Damaged,
    /// Its parameters are out of bounds.
    #[error("asks for more memory or time than is allowed (1 GiB, 16 passes, 8 lanes)")]
    Cost,
    /// The passphrase does not open it.
    #[error("wrong passphrase, or a file of another kind")]
    Passphrase,
    /// Too short.
    #[error("the passphrase has {0} bytes; use at least 8")]
    Short(usize),
}

/// Seals `plain` as a file of `kind`, which is authenticated but not written: only the same kind opens it.
///
/// # Errors
/// [`SealedError`] when the passphrase is too short or the cost is out of bounds.
pub fn seal(
    plain: &[u8],
    passphrase: &[u8],
    kind: &str,
    cost: Cost,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Vec<u8>, SealedError> {
    if passphrase.len() < PASSPHRASE_BYTES_MIN {
        return Err(SealedError::Short(passphrase.len()));
    }
    let salt: [u8; SALT_BYTES] = rng.random();
    let nonce: [u8; NONCE_BYTES] = rng.random();
    let mut bytes = MAGIC.to_vec();
    for number in [cost.memory_kib, cost.passes, cost.lanes] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(salt);
    bytes.extend(nonce);
    let associated = [&bytes, kind.as_bytes()].concat();
    let cipher = cipher(passphrase, &salt, cost)?;
    let payload = Payload { msg: plain, aad: &associated };
    bytes.extend(cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| SealedError::Cost)?);
    bytes.extend(checksum(&bytes));
    Ok(bytes)
}

/// Opens a file that [`seal`] made for the same `kind`.
///
/// # Errors
/// [`SealedError`] when it is no such file, or the passphrase is wrong.
pub fn open(bytes: &[u8], passphrase: &[u8], kind: &str) -> Result<Zeroizing<Vec<u8>>, SealedError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(SealedError::Format);
    }
    let (body, expected) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(SealedError::Damaged)?;
    if body.len() < HEAD_BYTES + TAG_BYTES || checksum(body) != *expected {
        return Err(SealedError::Damaged);
    }
    let (head, ciphertext) = body.split_at(HEAD_BYTES);
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| head[at + k]));
    let cost = Cost { memory_kib: number(4), passes: number(8), lanes: number(12) };
    let salt: [u8; SALT_BYTES] = std::array::from_fn(|k| head[16 + k]);
    let nonce: [u8; NONCE_BYTES] = std::array::from_fn(|k| head[16 + SALT_BYTES + k]);
    let associated = [head, kind.as_bytes()].concat();
    let payload = Payload { msg: ciphertext, aad: &associated };
    let plain = cipher(passphrase, &salt, cost)?.decrypt(&XNonce::from(nonce), payload);
    plain.map(Zeroizing::new).map_err(|_| SealedError::Passphrase)
}

fn cipher(passphrase: &[u8], salt: &[u8], cost: Cost) -> Result<XChaCha20Poly1305, SealedError> {
    let Cost { memory_kib, passes, lanes } = cost;
    if memory_kib > MEMORY_KIB_MAX || passes > PASSES_MAX || lanes > LANES_MAX {
        return Err(SealedError::Cost);
    }
    let params = Params::new(memory_kib, passes, lanes, Some(32)).map_err(|_| SealedError::Cost)?;
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase, salt, &mut key[..])
        .map_err(|_| SealedError::Cost)?;
    Ok(XChaCha20Poly1305::new((&*key).into()))
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha3_256::new_with_prefix(b"trefoil/sealed-file/1").chain_update(bytes).finalize();
    std::array::from_fn(|i| digest[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    const CHEAP: Cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
    const PASSPHRASE: &[u8] = b"correct horse";

    fn sealed() -> Vec<u8> {
        seal(b"secret", PASSPHRASE, "wallet", CHEAP, &mut StdRng::seed_from_u64(1)).unwrap()
    }

    #[test]
    fn it_opens_with_its_passphrase_and_kind_only() {
        let bytes = sealed();
        assert_eq!(open(&bytes, PASSPHRASE, "wallet").unwrap().as_slice(), b"secret");
        assert_eq!(open(&bytes, b"correct hors", "wallet"), Err(SealedError::Passphrase));
        assert_eq!(open(&bytes, PASSPHRASE, "issuer"), Err(SealedError::Passphrase));
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
        let again = seal(b"secret", PASSPHRASE, "wallet", CHEAP, &mut StdRng::seed_from_u64(2)).unwrap();
        assert_ne!(again, bytes, "fresh salt and nonce");
        let short = seal(b"", b"1234567", "wallet", CHEAP, &mut StdRng::seed_from_u64(1));
        assert_eq!(short, Err(SealedError::Short(7)));
    }

    #[test]
    fn damage_is_told_from_a_wrong_passphrase() {
        let bytes = sealed();
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            let expected = if at < 4 { SealedError::Format } else { SealedError::Damaged };
            assert_eq!(open(&altered, PASSPHRASE, "wallet"), Err(expected), "byte {at}");
            let cut = open(&bytes[..at], PASSPHRASE, "wallet");
            assert!(matches!(cut, Err(SealedError::Format | SealedError::Damaged)), "cut at {at}");
        }
    }

    #[test]
    fn an_altered_file_with_a_mended_checksum_does_not_open_and_takes_no_memory() {
        let bytes = sealed();
        let mend = |mut bytes: Vec<u8>| {
            let body = bytes.len() - CHECKSUM_BYTES;
            let checksum = checksum(&bytes[..body]);
            bytes[body..].copy_from_slice(&checksum);
            bytes
        };
        for at in HEAD_BYTES - NONCE_BYTES..bytes.len() - CHECKSUM_BYTES {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            assert_eq!(open(&mend(altered), PASSPHRASE, "wallet"), Err(SealedError::Passphrase), "{at}");
        }
        for at in [7, 11, 15] {
            let mut altered = bytes.clone();
            altered[at] = 0xff;
            assert_eq!(open(&mend(altered), PASSPHRASE, "wallet"), Err(SealedError::Cost), "{at}");
        }
    }
}
