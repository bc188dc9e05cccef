//! Encrypted files of a backup: ChaCha20-Poly1305 in the STREAM construction, in pieces of 1 MiB.
//!
//! Argon2id (RFC 9106) makes a key from the passphrase and a fresh salt. HMAC-SHA256 of a file's name under it is that file's key, so no two
//! files share a key and no file opens as another. STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015) numbers the pieces and marks the last, so
//! that none can be moved, repeated or cut off.

use super::passphrase::Passphrase;
use aead_stream::{DecryptorBE32, EncryptorBE32};
use aws_lc_rs::hmac;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _};
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use trefoil_storage::stretch::Cost;
use zeroize::Zeroizing;

/// Plain bytes of a piece.
const PIECE: usize = 1 << 20;
const TAG: usize = 16;

/// An encrypted file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// Its name without `.sealed`.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its digest, hexadecimal.
    pub sha3_256: String,
}

/// Makes a file for its owner only. An existing file is an error.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .custom_flags(trefoil_storage::data_dir::no_follow())
        .open(path)
}

/// The key from a passphrase and a salt.
pub struct Keys(hmac::Key);

impl Keys {
    /// Cost and salt are bounded.
    pub fn derive(passphrase: &Passphrase, cost: Cost, salt: &[u8]) -> Keys {
        Keys(hmac::Key::new(hmac::HMAC_SHA256, &cost.stretch(passphrase.as_bytes(), salt)[..]))
    }

    fn sign(&self, what: &str, bytes: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&(what.len() as u64).to_le_bytes());
        context.update(what.as_bytes());
        context.update(bytes);
        context.sign()
    }

    /// Authenticates a manifest.
    pub fn tag(&self, manifest: &[u8]) -> Vec<u8> {
        self.sign("trefoil/backup-manifest/1", manifest).as_ref().to_vec()
    }

    /// Whether a manifest has this tag.
    pub fn verifies(&self, manifest: &[u8], tag: &[u8]) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.tag(manifest), tag).is_ok()
    }

    fn cipher(&self, name: &str) -> ChaCha20Poly1305 {
        let tag = self.sign("trefoil/backup-file/1", name.as_bytes());
        ChaCha20Poly1305::new_from_slice(tag.as_ref()).expect("HMAC-SHA256 has 32 bytes")
    }
}

/// A file that is being encrypted.
pub struct Sealing {
    name: String,
    file: File,
    /// `None` once the last piece is encrypted.
    stream: Option<EncryptorBE32<ChaCha20Poly1305>>,
    piece: Zeroizing<Vec<u8>>,
    digest: Sha3_256,
    bytes: u64,
}

impl Sealing {
    /// Makes a new file.
    pub fn begin(path: &Path, keys: &Keys, name: &str) -> io::Result<Sealing> {
        // The key is for this file alone, so its nonces may begin with zeros.
        let stream = EncryptorBE32::from_aead(keys.cipher(name), &Default::default());
        Ok(Sealing {
            name: name.to_owned(),
            file: create(path)?,
            stream: Some(stream),
            piece: Zeroizing::new(Vec::with_capacity(PIECE)),
            digest: Sha3_256::new(),
            bytes: 0,
        })
    }

    fn put(&mut self, sealed: &[u8]) -> io::Result<()> {
        self.digest.update(sealed);
        self.bytes += sealed.len() as u64;
        self.file.write_all(sealed)
    }

    /// Encrypts the last piece. Returns the file's entry for the manifest.
    pub fn finish(mut self) -> io::Result<Stored> {
        let stream = self.stream.take().ok_or_else(refused)?;
        let sealed = stream.encrypt_last(self.piece.as_slice()).map_err(|_| refused())?;
        self.put(&sealed)?;
        self.file.sync_all()?;
        Ok(Stored { name: self.name, bytes: self.bytes, sha3_256: hex::encode(self.digest.finalize()) })
    }
}

fn refused() -> io::Error {
    io::Error::other("the encryption refuses; start anew")
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The last piece may be a full one, so a piece is written when the next begins.
        if self.piece.len() == PIECE && !bytes.is_empty() {
            let stream = self.stream.as_mut().ok_or_else(refused)?;
            let sealed = stream.encrypt_next(self.piece.as_slice()).map_err(|_| refused())?;
            self.put(&sealed)?;
            self.piece.clear();
        }
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An encrypted file that is being read.
pub struct Opened {
    file: BufReader<File>,
    /// `None` once the last piece is read.
    stream: Option<DecryptorBE32<ChaCha20Poly1305>>,
    piece: Zeroizing<Vec<u8>>,
    read: usize,
}

impl Opened {
    /// Opens `path`, which was sealed under this name.
    pub fn begin(path: &Path, keys: &Keys, name: &str) -> io::Result<Opened> {
        let stream = DecryptorBE32::from_aead(keys.cipher(name), &Default::default());
        Ok(Opened {
            file: BufReader::new(File::open(path)?),
            stream: Some(stream),
            piece: Zeroizing::default(),
            read: 0,
        })
    }

    fn next(&mut self) -> io::Result<()> {
        let Some(mut stream) = self.stream.take() else { return Ok(()) };
        let mut sealed = Vec::with_capacity(PIECE + TAG);
        (&mut self.file).take((PIECE + TAG) as u64).read_to_end(&mut sealed)?;
        let is_last = self.file.fill_buf()?.is_empty();
        let failed = |_| io::Error::new(io::ErrorKind::InvalidData, "altered, or cut short");
        let plain = match is_last {
            true => stream.decrypt_last(sealed.as_slice()).map_err(failed)?,
            false => {
                let plain = stream.decrypt_next(sealed.as_slice()).map_err(failed)?;
                self.stream = Some(stream);
                plain
            }
        };
        (self.piece, self.read) = (Zeroizing::new(plain), 0);
        Ok(())
    }
}

impl Read for Opened {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.read == self.piece.len() && self.stream.is_some() {
            self.next()?;
        }
        let taken = bytes.len().min(self.piece.len() - self.read);
        bytes[..taken].copy_from_slice(&self.piece[self.read..self.read + taken]);
        self.read += taken;
        Ok(taken)
    }
}

/// Length and digest of a file.
pub(super) fn measure(path: &Path) -> io::Result<(u64, String)> {
    let mut digest = Sha3_256::new();
    let mut file = File::open(path)?;
    let (mut bytes, mut part) = (0, vec![0; PIECE]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok((bytes, hex::encode(digest.finalize()))),
            read => {
                digest.update(&part[..read]);
                bytes += read as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys(hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]))
    }

    fn sealed(path: &Path, plain: &[u8]) -> Vec<u8> {
        let _ = std::fs::remove_file(path);
        let mut sealing = Sealing::begin(path, &keys(), "files").unwrap();
        sealing.write_all(plain).unwrap();
        let stored = sealing.finish().unwrap();
        assert_eq!(measure(path).unwrap(), (stored.bytes, stored.sha3_256));
        std::fs::read(path).unwrap()
    }

    fn opened(path: &Path, name: &str) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Opened::begin(path, &keys(), name)?.read_to_end(&mut plain).map(|_| plain)
    }

    #[test]
    fn pieces_are_read_back_and_cannot_be_moved_repeated_cut_off_or_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files.sealed");
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            let plain: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let whole = sealed(&path, &plain);
            assert_eq!(opened(&path, "files").unwrap(), plain, "{length} bytes");
            assert!(opened(&path, "vault.sqlite").is_err(), "under another name");
            let (pieces, each) = (whole.len().div_ceil(PIECE + TAG), PIECE + TAG);
            let mut others: Vec<Vec<u8>> = vec![[&whole[..], &[0]].concat(), whole[1..].to_vec()];
            others.extend((0..pieces).map(|cut| whole[..cut * each].to_vec()));
            others.extend([0, whole.len() / 2, whole.len() - 1].map(|at| {
                let mut other = whole.clone();
                other[at] ^= 1;
                other
            }));
            if pieces > 1 {
                let (first, rest) = whole.split_at(each);
                others.push([rest, first].concat());
                others.push([first, &whole[..]].concat());
                others.push(rest.to_vec());
            }
            for (which, other) in others.into_iter().enumerate() {
                std::fs::write(&path, &other).unwrap();
                assert!(opened(&path, "files").is_err(), "{length} bytes, change {which}");
            }
        }
    }
}
