//! The file of the signing keys: encrypted under a passphrase.
//!
//! Layout: magic (8) | memory in KiB | passes | lanes (u32 each, big-endian) | salt (16) | AES-256-GCM of the stored
//! form of [`SigningKeys`], as [`trefoil_storage::store::wrap`] lays it out, with everything before as associated data. The key is
//! Argon2id (RFC 9106) of the passphrase. The cost is in the file, so that it can rise without a new format. It is
//! bounded when it is read, so that an altered file cannot exhaust the machine.

use thiserror::Error;
use trefoil_sign::SigningKeys;
use trefoil_storage::store::wrap::WrapKey;
use trefoil_storage::stretch::Cost;

const MAGIC: &[u8; 8] = b"TFKEYS02";
const HEADER_BYTES: usize = 8 + 3 * 4 + 16;

/// Why a key file does not open.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum AtRestError {
    /// The file is no key file of a known version.
    #[error("it is no key file of this version; restore it from a backup")]
    Format,
    /// Another passphrase, or an altered file.
    #[error(
        "the passphrase does not open it, or it was altered; give the passphrase that it was made with, or restore the whole directory from one backup"
    )]
    Passphrase,
    /// The decrypted keys are damaged.
    #[error("its keys do not decode ({0}); restore the whole directory from one backup")]
    Keys(trefoil_sign::KeyError),
}

/// The file for these keys, under a passphrase that is stretched at this cost.
pub(super) fn seal(keys: &SigningKeys, passphrase: &[u8], cost: Cost) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    for number in [cost.memory_kib, cost.passes, cost.lanes] {
        header.extend_from_slice(&number.to_be_bytes());
    }
    header.extend_from_slice(&rand::random::<[u8; 16]>());
    let sealed =
        derive(passphrase, cost, &header[HEADER_BYTES - 16..]).wrap(&header, &keys.to_secret_bytes());
    [header, sealed].concat()
}

/// The keys in this file.
pub(super) fn open(file: &[u8], passphrase: &[u8]) -> Result<SigningKeys, AtRestError> {
    let (header, sealed) = file.split_at_checked(HEADER_BYTES).ok_or(AtRestError::Format)?;
    let (magic, rest) = header.split_at(MAGIC.len());
    let number = |at: usize| rest[4 * at..4 * at + 4].iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
    let cost = Cost { memory_kib: number(0), passes: number(1), lanes: number(2) };
    if magic != MAGIC || !cost.is_bounded() {
        return Err(AtRestError::Format);
    }
    let key = derive(passphrase, cost, &rest[12..]);
    let bytes = key.open(header, sealed).map_err(|_| AtRestError::Passphrase)?;
    SigningKeys::from_secret_bytes(&bytes).map_err(AtRestError::Keys)
}

fn derive(passphrase: &[u8], cost: Cost, salt: &[u8]) -> WrapKey {
    WrapKey::new(&cost.stretch(passphrase, salt))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 KiB, so that every byte of a file can be tried.
    const CHEAP: Cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };

    #[test]
    fn keys_open_under_their_passphrase_only() {
        let keys = SigningKeys::generate(1, 2, &mut rand::rng()).unwrap();
        let file = seal(&keys, b"correct horse", CHEAP);
        let opened = open(&file, b"correct horse").unwrap();
        assert_eq!(*opened.to_secret_bytes(), *keys.to_secret_bytes());
        assert_eq!(open(&file, b"correct hors").err(), Some(AtRestError::Passphrase));
        assert_ne!(seal(&keys, b"correct horse", CHEAP), file, "fresh salt and nonce");
        let secret = keys.to_secret_bytes();
        for window in secret.windows(16).step_by(16) {
            assert!(!file.windows(16).any(|bytes| bytes == window), "a part of the keys is in the clear");
        }
    }

    #[test]
    fn altered_and_cut_files_are_refused() {
        let keys = SigningKeys::generate(1, 2, &mut rand::rng()).unwrap();
        let file = seal(&keys, b"correct horse", CHEAP);
        for at in (0..file.len()).step_by(5).chain(0..HEADER_BYTES + 12) {
            // The bounds refuse a huge cost in the header, so it is not tried.
            let mut altered = file.clone();
            altered[at] ^= 0x10;
            let expected = if at < 8 { AtRestError::Format } else { AtRestError::Passphrase };
            let found = open(&altered, b"correct horse").err();
            assert!(found == Some(expected) || (at < 20 && found == Some(AtRestError::Format)), "byte {at}");
            assert!(open(&file[..at], b"correct horse").is_err());
        }
    }

    #[test]
    fn an_absurd_cost_is_refused_before_it_is_paid() {
        for (memory_kib, passes, lanes) in [
            (1 << 21, 1, 1),
            (64, 65, 1),
            (1 << 20, 1, 17),
            (0, 1, 1),
            (64, 0, 1),
            (64, 1, 1 << 30),
            (64, 1, 0),
        ] {
            assert!(!Cost { memory_kib, passes, lanes }.is_bounded());
        }
        assert!(Cost::CHOSEN.is_bounded() && Cost::RANDOM.is_bounded() && CHEAP.is_bounded());
    }
}
