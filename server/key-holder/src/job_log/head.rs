//! The signed head of the log. Each line names the one before, so one signature binds every line below it: the newest is enough.

use super::chain::{Head, check_file, file_path, files};
use super::entry::Entry;
use super::error::{JobLogError, failed};
use aws_lc_rs::signature::{KeyPair as _, ML_DSA_65, ML_DSA_65_SIGNING, PqdsaKeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use std::io;
use std::path::Path;
use trefoil_storage::data_dir::{DataDir, DataDirError};

/// Beside the log, replaced by each newer one.
pub(crate) const HEAD_FILE: &str = "jobs.head";
/// The seed of the key, made once.
const KEY_FILE: &str = "job-log-signing.key";
const SIGNATURE_BYTES: usize = 3309;

/// A head of the log, signed by its key-holder with ML-DSA-65 and an empty context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    /// Lines of the log.
    pub lines: u64,
    /// SHA3-256 of the last, without its newline; [`SignedHead::signer`] if there is none.
    #[serde(with = "hex::serde")]
    pub digest: [u8; 32],
    /// When it was signed, Unix seconds by the key-holder's clock.
    pub at: u64,
    /// How often an older copy of the vault was taken, by the vault.
    pub restored: u64,
    #[serde(with = "hex::serde")]
    key: Vec<u8>,
    #[serde(with = "hex::serde")]
    signature: Vec<u8>,
}

impl SignedHead {
    /// SHA3-256 of the public key, by which an auditor knows the key-holder again. The chain begins with it, so no two key-holders have a head in common.
    pub fn signer(&self) -> [u8; 32] {
        Sha3_256::digest(&self.key).into()
    }

    /// Reads the one in a directory, and checks its signature.
    fn read(directory: &Path) -> Result<Option<SignedHead>, JobLogError> {
        let path = directory.join(HEAD_FILE);
        let text = match std::fs::read(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|cause| failed(&path, cause))?,
        };
        let broken = |cause| JobLogError::Broken { path: path.display().to_string(), line: 1, cause };
        let head: SignedHead =
            serde_json::from_slice(&text).map_err(|cause| broken(trefoil_contents::parse_error(cause)))?;
        let verified =
            UnparsedPublicKey::new(&ML_DSA_65, &head.key).verify(&head.to_be_signed(), &head.signature);
        verified.map_err(|_| broken("its signature does not verify".to_owned())).map(|()| Some(head))
    }

    /// A name that nothing else is signed under, and the fields in order, little-endian.
    fn to_be_signed(&self) -> Vec<u8> {
        let SignedHead { lines, digest, at, restored, .. } = self;
        let numbers = [lines, at, restored].map(|number| number.to_le_bytes());
        [b"trefoil:job-log-head/1".as_slice(), digest, numbers.as_flattened()].concat()
    }
}

/// Checks every file of the log in `directory`, from the oldest kept, and its signed head. `each` gets the lines up to that head, each with the head of the
/// log that ends with it. Returns the end of the log, and what is signed; `None` before the first start, and then the
/// first line is trusted.
///
/// # Errors
/// [`JobLogError::Broken`] names the first line that does not follow the one before; [`JobLogError::OtherHead`].
pub fn read(
    directory: &Path,
    each: &mut dyn FnMut(&Entry, Head),
) -> Result<(Head, Option<SignedHead>), JobLogError> {
    // First, because the log of a running key-holder grows.
    let signed = SignedHead::read(directory)?;
    let first = signed.as_ref().map(|signed| Head { digest: signed.signer(), ..Head::default() });
    let (mut end, mut is_signed) = (None, false);
    for path in files(directory)? {
        let oldest = path == file_path(directory, 0);
        let before = if oldest { first } else { end };
        let after = check_file(&path, before, &mut |entry, head: Head| {
            let Some(signed) = signed.as_ref().filter(|signed| head.next <= signed.lines) else { return };
            is_signed = (head.next, head.digest) == (signed.lines, signed.digest);
            each(entry, head);
        })?;
        end = after.or(end);
    }
    let end = end.or(first).unwrap_or_default();
    match &signed {
        Some(SignedHead { lines, .. }) if *lines > 0 && !is_signed => {
            let path = directory.display().to_string();
            Err(JobLogError::OtherHead { path, found: end.next, lines: *lines })
        }
        _ => Ok((end, signed)),
    }
}

/// Signs heads.
pub(super) struct Signer(PqdsaKeyPair);

impl Signer {
    pub(super) fn open(directory: &DataDir) -> Result<Signer, DataDirError> {
        let seed = directory.secret::<32>(KEY_FILE)?;
        let key = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &seed[..]);
        Ok(Signer(key.expect("every 32 bytes are the seed of a key")))
    }

    /// The head of an empty log.
    pub(super) fn first(&self) -> Head {
        Head { digest: Sha3_256::digest(self.0.public_key()).into(), ..Head::default() }
    }

    /// The head, if its signature verifies: a faulty one may reveal the key.
    pub(super) fn sign(
        &self,
        Head { next: lines, digest, .. }: Head,
        restored: u64,
        at: u64,
    ) -> io::Result<SignedHead> {
        let key = self.0.public_key().as_ref().to_vec();
        let mut head = SignedHead { lines, digest, at, restored, key, signature: vec![0; SIGNATURE_BYTES] };
        let message = head.to_be_signed();
        let signed = self.0.sign(&message, &mut head.signature);
        let verify = |_| UnparsedPublicKey::new(&ML_DSA_65, &head.key).verify(&message, &head.signature);
        match signed.and_then(verify) {
            Ok(()) => Ok(head),
            Err(_) => Err(io::Error::other("its head could not be signed")),
        }
    }
}
