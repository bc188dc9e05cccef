//! Witnesses: parties that saw a head of the log of seals, found it consistent with the one before, and signed that.
//!
//! The formats are those of C2SP: a checkpoint is a signed note, and a cosignature is of type 0x06, ML-DSA-44 over a
//! `cosigned_message` (tlog-cosignature). They are taken over because witnesses, and tools for them, exist; and because
//! a witness must not be the issuer, its one family of signatures is a second opinion beside the issuer's three. COSE
//! would have fitted our other formats and no witness. A checkpoint's origin is the issuer's name. The issuer signs heads by
//! its seals, so its own signature line carries the seal that signs the head (see [`issuer_line`]).

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use base64ct::{Base64, Encoding as _};
use sha2::{Digest as _, Sha256};

use crate::family::{ML_DSA_44_PUBLIC_KEY_BYTES, ML_DSA_44_SIGNATURE_BYTES, verify_ml_dsa_44};
use crate::key_set::Hex;
use crate::seal::{SEAL_FORMAT, Seal, SealHeader};
use crate::tree::Hash;

/// Bytes of a witness's public key.
pub const PUBLIC_KEY_BYTES: usize = ML_DSA_44_PUBLIC_KEY_BYTES;
/// Bytes of a witness's signature.
pub const SIGNATURE_BYTES: usize = ML_DSA_44_SIGNATURE_BYTES;
/// Longest note that is read: a checkpoint with some 60 cosignatures.
pub const NOTE_BYTES_MAX: usize = 256 * 1024;

/// Signature type of ML-DSA-44 cosignatures.
const COSIGNATURE_TYPE: u8 = 0x06;
/// What begins a signature type without an assigned byte (C2SP signed-note); a longer name follows.
const NAMED_TYPE: u8 = 0xff;
/// Label of `cosigned_message`.
const LABEL: &[u8; 12] = b"subtree/v1\n\0";
/// What begins a signature line: an em dash and a space.
const SIGNATURE_LINE: &str = "\u{2014} ";

/// A head of the log: its first `size` entries have this root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The issuer.
    pub origin: String,
    /// Number of entries, at least 1.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Hash,
}

/// A witness that a relying party trusts to look.
#[derive(Clone, PartialEq, Eq)]
pub struct Witness {
    name: String,
    public_key: [u8; PUBLIC_KEY_BYTES],
}

/// A cosignature that verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosigned {
    /// The witness.
    pub witness: String,
    /// When it saw the head, Unix seconds.
    pub time: u64,
    /// The signature line, with its end: what a note needs to show this cosignature to others.
    pub line: String,
}

/// Why a checkpoint or a witness was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// Not a key of the form `name+key id+key`, type 0x06.
    #[error("not a witness key: name+key id+base64 of type 06 (ML-DSA-44) belongs here")]
    Key,
    /// Not a checkpoint: three lines, an empty one, signature lines.
    #[error("not a checkpoint of three lines with signature lines; fetch it again")]
    Note,
    /// A signature line of a known witness does not verify.
    #[error("the cosignature of {witness} does not verify; do not accept")]
    Signature {
        /// The witness.
        witness: String,
    },
    /// Fewer witnesses than required have cosigned.
    #[error("{found} of {needed} required witnesses have cosigned; ask for a newer checkpoint")]
    TooFew {
        /// Required.
        needed: usize,
        /// Found.
        found: usize,
    },
}

/// The issuer's signature line under the head that a seal signs: the signature is the seal. Its type is 0xff and the name
/// of the seal's format, its public key the identifier of the key set. None for the first seal, which signs no head, and for
/// an issuer that a note cannot name.
#[must_use]
pub fn issuer_line(seal: &Seal) -> Option<String> {
    let SealHeader { issuer, key_set_id, .. } = &seal.header;
    Checkpoint::signed_by(&seal.header).filter(|_| is_key_name(issuer))?;
    let kind = [&[NAMED_TYPE], SEAL_FORMAT.as_bytes()].concat();
    Some(signature_line(issuer, key_id(issuer, &kind, key_set_id.as_bytes()), &[&seal.encode()]))
}

/// Whether a note's signature line can have this name.
fn is_key_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    !name.is_empty() && name.len() <= 255 && !name.contains(forbidden)
}

fn signature_line(name: &str, key_id: [u8; 4], signature: &[&[u8]]) -> String {
    let blob = [&key_id[..], &signature.concat()].concat();
    format!("{SIGNATURE_LINE}{name} {}\n", Base64::encode_string(&blob))
}

fn key_id(name: &str, kind: &[u8], public_key: &[u8]) -> [u8; 4] {
    let hash = Sha256::new()
        .chain_update(name)
        .chain_update(b"\n")
        .chain_update(kind)
        .chain_update(public_key)
        .finalize();
    core::array::from_fn(|at| hash[at])
}

impl Checkpoint {
    /// The head that a seal signs: the log of all seals before it. None for the first seal, which has none before it.
    #[must_use]
    pub fn signed_by(seal: &SealHeader) -> Option<Self> {
        let SealHeader { issuer, seal_number, log_root, .. } = seal;
        (*seal_number > 0).then(|| Self { origin: issuer.clone(), size: *seal_number, root: *log_root })
    }

    /// The text that a note carries.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, Base64::encode_string(&self.root))
    }

    /// The bytes that a witness signs: `cosigned_message` of tlog-cosignature for the whole tree. None where a name is
    /// empty or longer than 255 bytes.
    #[must_use]
    pub fn cosigned_message(&self, witness: &str, time: u64) -> Option<Vec<u8>> {
        let named = |out: &mut Vec<u8>, name: &str| {
            let length = u8::try_from(name.len()).ok().filter(|&length| length > 0)?;
            out.push(length);
            out.extend_from_slice(name.as_bytes());
            Some(())
        };
        let mut out = Vec::with_capacity(640);
        out.extend_from_slice(LABEL);
        named(&mut out, witness)?;
        out.extend_from_slice(&time.to_be_bytes());
        named(&mut out, &self.origin)?;
        out.extend_from_slice(&0_u64.to_be_bytes());
        out.extend_from_slice(&self.size.to_be_bytes());
        out.extend_from_slice(&self.root);
        Some(out)
    }

    /// Reads a note and requires cosignatures of `needed` different witnesses out of `witnesses`. Lines of unknown keys
    /// are passed over, as C2SP asks; a line of a known key must verify.
    ///
    /// # Errors
    /// See [`WitnessError`].
    pub fn verify(
        note: &str,
        witnesses: &[Witness],
        needed: usize,
    ) -> Result<(Self, Vec<Cosigned>), WitnessError> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(WitnessError::Note);
        }
        let (text, lines) = note.split_once("\n\n").ok_or(WitnessError::Note)?;
        let checkpoint = Self::parse(text)?;
        let mut cosigned: Vec<Cosigned> = Vec::new();
        for line in lines.split_terminator('\n') {
            let (name, signature) = line
                .strip_prefix(SIGNATURE_LINE)
                .and_then(|line| line.split_once(' '))
                .ok_or(WitnessError::Note)?;
            let signature = Base64::decode_vec(signature).map_err(|_| WitnessError::Note)?;
            let (key_id, signature) = signature.split_at_checked(4).ok_or(WitnessError::Note)?;
            let known = |witness: &&Witness| witness.name == name && witness.key_id() == key_id;
            if let Some(witness) = witnesses.iter().find(known) {
                let time = witness.verify(&checkpoint, signature)?;
                if cosigned.iter().all(|earlier| earlier.witness != name) {
                    cosigned.push(Cosigned { witness: name.into(), time, line: format!("{line}\n") });
                }
            }
        }
        match cosigned.len() {
            found if found < needed => Err(WitnessError::TooFew { needed, found }),
            _ => Ok((checkpoint, cosigned)),
        }
    }

    fn parse(text: &str) -> Result<Self, WitnessError> {
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(WitnessError::Note);
        };
        let parsed = || {
            let root = Base64::decode_vec(root).ok()?.try_into().ok()?;
            Some(Self { origin: origin.into(), size: size.parse().ok()?, root })
        };
        // One text per checkpoint: no other way to write a number or base64.
        let same = |one: &Self| !one.origin.is_empty() && one.size > 0 && one.text().trim_end() == text;
        parsed().filter(same).ok_or(WitnessError::Note)
    }
}

impl Witness {
    /// A witness by its name and public key.
    ///
    /// # Errors
    /// [`WitnessError::Key`] for a name that is empty, longer than 255 bytes, or holds white space, `+` or control
    /// characters.
    pub fn new(name: &str, public_key: [u8; PUBLIC_KEY_BYTES]) -> Result<Self, WitnessError> {
        match is_key_name(name) {
            true => Ok(Self { name: name.into(), public_key }),
            false => Err(WitnessError::Key),
        }
    }

    /// Reads a verifier key of C2SP signed-note: `name+key id+base64`.
    ///
    /// # Errors
    /// [`WitnessError::Key`].
    pub fn parse(text: &str) -> Result<Self, WitnessError> {
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(WitnessError::Key);
        };
        let key = Base64::decode_vec(key).map_err(|_| WitnessError::Key)?;
        let public_key = match key.split_first() {
            Some((&COSIGNATURE_TYPE, key)) => key.try_into().map_err(|_| WitnessError::Key)?,
            _ => return Err(WitnessError::Key),
        };
        let witness = Self::new(name, public_key)?;
        match Hex(&witness.key_id()).to_string() == id {
            true => Ok(witness),
            false => Err(WitnessError::Key),
        }
    }

    /// The verifier key, which [`Witness::parse`] reads.
    #[must_use]
    pub fn verifier_key(&self) -> String {
        let key = [&[COSIGNATURE_TYPE], &self.public_key[..]].concat();
        format!("{}+{}+{}", self.name, Hex(&self.key_id()), Base64::encode_string(&key))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A note's signature line for a signature over [`Checkpoint::cosigned_message`] at `time`.
    #[must_use]
    pub fn signature_line(&self, time: u64, signature: &[u8]) -> String {
        signature_line(&self.name, self.key_id(), &[&time.to_be_bytes(), signature])
    }

    fn key_id(&self) -> [u8; 4] {
        key_id(&self.name, &[COSIGNATURE_TYPE], &self.public_key)
    }

    /// The time of a `timestamped_signature` that verifies.
    fn verify(&self, checkpoint: &Checkpoint, signature: &[u8]) -> Result<u64, WitnessError> {
        let verified = || {
            let (time, signature) = signature.split_first_chunk::<8>()?;
            let time = u64::from_be_bytes(*time);
            let signature: &[u8; SIGNATURE_BYTES] = signature.try_into().ok()?;
            let message = checkpoint.cosigned_message(&self.name, time)?;
            // Times beyond 2^63 - 1 are not allowed.
            (time >> 63 == 0 && verify_ml_dsa_44(&self.public_key, &message, signature)).then_some(time)
        };
        verified().ok_or_else(|| WitnessError::Signature { witness: self.name.clone() })
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Witness({}+{})", self.name, Hex(&self.key_id()))
    }
}
