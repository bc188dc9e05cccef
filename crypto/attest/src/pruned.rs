//! Seals of which a log keeps no signatures any more.
//!
//! Of an old seal a log keeps the header, which is enough for the chain and the tree. A later seal of the same keys signs the log
//! that holds this header, so a [`PrunedSeal`], the header with its path to that later seal, shows what the seal's own signatures
//! did: these keys signed it. Nothing else about the seal is lost. What the keys sign is the number, and so the order, too.

use alloc::vec::Vec;

use crate::attestation::SealReference;
use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};
use crate::seal::{HEADER_BYTES_MAX, SEAL_BYTES_MAX, Seal, SealHeader, write_path};
use crate::tree::{Hash, PATH_MAX};

/// Name and version of the format of a pruned seal.
pub const PRUNED_SEAL_FORMAT: &str = "trefoil:pruned-seal/1";
/// Upper bound on an encoded pruned seal.
pub const PRUNED_SEAL_BYTES_MAX: usize = HEADER_BYTES_MAX + 34 * PATH_MAX + SEAL_BYTES_MAX + 64;

/// What a log keeps of a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// All of it.
    Signed(Seal),
    /// Its header: the signatures were pruned.
    Pruned(SealHeader),
}

impl LogEntry {
    /// Decodes a seal or the header of one.
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match SealHeader::decode(bytes) {
            Ok(header) => Ok(Self::Pruned(header)),
            Err(_) => Seal::decode(bytes).map(Self::Signed),
        }
    }

    /// The header, which both have.
    #[must_use]
    pub const fn header(&self) -> &SealHeader {
        match self {
            Self::Signed(seal) => &seal.header,
            Self::Pruned(header) => header,
        }
    }
}

/// The header of a seal with the proof that a later seal signs the log which holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedSeal {
    /// The header of the seal.
    pub header: SealHeader,
    /// Its path in the log that `checkpoint` signs, from the leaf upwards.
    pub path: Vec<Hash>,
    /// A later seal of the same key set, with its signatures.
    pub checkpoint: Seal,
}

impl PrunedSeal {
    /// The name of the seal, which a compact attestation carries.
    #[must_use]
    pub fn reference(&self) -> SealReference {
        SealReference { seal_number: self.header.seal_number, digest: self.header.digest() }
    }

    /// The canonical encoding: `[format, header, path, seal]`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEAL_BYTES_MAX);
        let mut w = Writer(&mut out);
        w.array(4);
        w.text(PRUNED_SEAL_FORMAT);
        self.header.write(&mut w);
        write_path(&mut w, &self.path);
        self.checkpoint.write(&mut w);
        out
    }

    /// Decodes the one canonical encoding of a pruned seal. Nothing is verified: see
    /// [`verify_pruned_seal`](crate::verify_pruned_seal).
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > PRUNED_SEAL_BYTES_MAX {
            return Err(r.error("pruned_seal", Problem::WrongLength));
        }
        r.array("pruned_seal", 4..=4)?;
        r.format("pruned_seal.format", PRUNED_SEAL_FORMAT)?;
        let header = SealHeader::read(&mut r)?;
        let length = r.array("pruned_seal.path", 0..=PATH_MAX)?;
        let path = (0..length).map(|_| r.fixed("pruned_seal.path")).collect::<Result<_, _>>()?;
        let checkpoint = Seal::read(&mut r)?;
        r.finish("pruned_seal")?;
        Ok(Self { header, path, checkpoint })
    }
}
